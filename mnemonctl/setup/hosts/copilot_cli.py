"""GitHub Copilot CLI: a file of our own among its hooks, and `mcp-config.json`.

Events are written as Claude Code has them: for those Copilot names the event in what it sends, for its own names
(`sessionStart` …) it does not (GitHub's hooks reference, "Hook event input payloads").
"""

from __future__ import annotations

import shlex
from typing import Final

from mnemonctl.setup import settings_file
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
from mnemonctl.setup.json_text import STRICT, Dialect

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")


class CopilotCli(OfSettingsAlone):
    """One configuration: $COPILOT_HOME, else ~/.copilot."""

    name = "copilot-cli"
    title = "Copilot CLI"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._home = place.config("COPILOT_HOME", ".copilot")

    def found(self) -> str | None:
        """Its program or its directory."""
        return first_of(said_by_program(self._place.program("copilot")), said_by_directory(self._home))

    def settings(self) -> list[Settings]:
        """The hooks in a file of our own, the MCP server beside the others."""
        handler: dict[str, object] = {"type": "command", "bash": shlex.quote(str(self._place.ours.hook))}
        handler |= {"timeoutSec": HOOK_TIMEOUT_S}
        hooks = Wanted(dict.fromkeys(EVENTS, handler), "flat", root={"version": 1}, dialect=STRICT)
        server: dict[str, object] = {"type": "local", "command": str(self._place.ours.mcp), "args": [], "tools": ["*"]}
        return [
            Settings(self._home / "hooks" / "mnemond.json", hooks),
            Settings(self._home / "mcp-config.json", Wanted(server=server)),
        ]

    def switched_off(self) -> list[str]:
        """`disableAllHooks`."""
        settings = self._home / "settings.json"
        return settings_file.switches(settings, Dialect(comments=True), {("disableAllHooks",): True})
