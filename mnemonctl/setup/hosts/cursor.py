"""Cursor: `hooks.json` and `mcp.json` in ~/.cursor."""

from __future__ import annotations

import shlex
from typing import Final

from mnemonctl.setup.entries import Wanted
from mnemonctl.setup.host import (
    HOOK_TIMEOUT_S,
    OfSettingsAlone,
    Place,
    Settings,
    first_of,
    said_by_directory,
    said_by_program,
)
from mnemonctl.setup.json_text import Dialect

EVENTS: Final = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "subagentStart", "sessionEnd")
DIALECT: Final = Dialect(comments=True, trailing_commas=True)
"""It is made from VS Code, whose settings allow both."""


class Cursor(OfSettingsAlone):
    """This user's ~/.cursor."""

    name = "cursor"
    title = "Cursor"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._home = place.home / ".cursor"

    def found(self) -> str | None:
        """Its program or its directory."""
        return first_of(said_by_directory(self._home), said_by_program(self._place.program("cursor-agent")))

    def settings(self) -> list[Settings]:
        """The hooks, and the MCP server in a file of its own. `version` must be the number 1."""
        handler: dict[str, object] = {"command": shlex.quote(str(self._place.ours.hook)), "timeout": HOOK_TIMEOUT_S}
        hooks = Wanted(dict.fromkeys(EVENTS, handler), "flat", root={"version": 1}, dialect=DIALECT)
        server: dict[str, object] = {"command": str(self._place.ours.mcp), "args": []}
        return [
            Settings(self._home / "hooks.json", hooks),
            Settings(self._home / "mcp.json", Wanted(server=server, dialect=DIALECT)),
        ]
