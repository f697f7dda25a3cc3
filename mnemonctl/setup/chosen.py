"""Which programs a command is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from mnemonctl.setup import manifest
from mnemonctl.setup.host import Host, Place
from mnemonctl.setup.hosts import generic
from mnemonctl.setup.hosts.claude_code import ClaudeCode
from mnemonctl.setup.hosts.codex import Codex
from mnemonctl.setup.hosts.copilot_cli import CopilotCli
from mnemonctl.setup.hosts.cursor import Cursor
from mnemonctl.setup.hosts.gemini import Gemini
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError

KINDS: Final[tuple[Callable[[Place], Host], ...]] = (ClaudeCode, Codex, Gemini, Cursor, CopilotCli)
"""Every program that can be set up, in the order reports have."""


class Chosen(msgspec.Struct, frozen=True):
    """Hosts, and whether the text for any other program is wanted."""

    hosts: list[Host]
    generic: bool = False

    @classmethod
    def by(cls, place: Place, targets: Sequence[str], *, eject: bool) -> Chosen:
        """Those that were named, else those that are here; those that were set up once, when it is to be taken back.

        Raises MnemonError.
        """
        known = hosts(place)
        names = ", ".join([*known, generic.NAME])
        odd = [name for name in targets if name not in known and name != generic.NAME]
        if odd:
            raise MnemonError(INVALID_PARAMS, f'there is no target "{odd[0][:60]}"', hint=f"Choose from: {names}")
        if targets:
            return cls([known[name] for name in known if name in targets], generic.NAME in targets)
        recorded = manifest.read(place.directory).hosts if eject else {}
        found = [each for each in known.values() if each.name in recorded or each.found() is not None]
        if not found and not eject:
            message = "none of the programs that mnemond knows is installed here"
            raise MnemonError(NOT_FOUND, message, hint=f"Name one with --target: {names}")
        return cls(found)


def hosts(place: Place) -> dict[str, Host]:
    """All of them, by name."""
    return {each.name: each for each in (kind(place) for kind in KINDS)}
