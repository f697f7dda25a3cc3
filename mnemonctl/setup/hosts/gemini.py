"""Gemini CLI: everything in one `settings.json`, in which comments are allowed.

`gemini mcp add` is not used: it writes the whole file anew and loses its indentation and its final line break.
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
from mnemonctl.setup.json_text import Dialect

EVENTS: Final = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
MILLISECONDS: Final = 1000
"""In which Gemini CLI counts a timeout; all others count seconds."""

DIALECT: Final = Dialect(comments=True)


class Gemini(OfSettingsAlone):
    """This user's ~/.gemini."""

    name = "gemini"
    title = "Gemini CLI"

    def __init__(self, place: Place) -> None:
        self._place = place
        self._file = place.home / ".gemini" / "settings.json"
        self._program = place.program("gemini")

    def found(self) -> str | None:
        """Its program or its directory."""
        return first_of(said_by_program(self._program), said_by_directory(self._file.parent))

    def settings(self) -> list[Settings]:
        """The hooks and the MCP server."""
        handler: dict[str, object] = {"name": "mnemond", "type": "command"}
        handler |= {"command": shlex.quote(str(self._place.ours.hook)), "timeout": HOOK_TIMEOUT_S * MILLISECONDS}
        server: dict[str, object] = {"command": str(self._place.ours.mcp), "args": []}
        return [Settings(self._file, Wanted(dict.fromkeys(EVENTS, handler), server=server, dialect=DIALECT))]

    def switched_off(self) -> list[str]:
        """`hooksConfig.enabled`, and the names that are switched off one by one."""
        off = settings_file.switches(
            self._file, DIALECT, {("hooksConfig", "enabled"): False, ("hooks", "enabled"): False}
        )
        disabled = settings_file.value(self._file, DIALECT, "hooksConfig", "disabled")
        return off + (
            [f"mnemond is among hooksConfig.disabled in {self._file}"]
            if isinstance(disabled, list) and "mnemond" in disabled
            else []
        )
