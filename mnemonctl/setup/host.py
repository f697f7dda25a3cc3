"""What one agent program needs in order to know mnemond."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from mnemonctl.setup import launchers
from mnemonctl.setup.entries import Ours, Wanted
from mnemonctl.setup.own_file import OwnFile

HOOK_TIMEOUT_S: Final = 3
"""Seconds after which a host gives up a hook. Ours ends by itself within a quarter of a second; Codex allows a hook at
the end of a session no more than three."""


class Place(msgspec.Struct, frozen=True):
    """Where things are: this user's home and environment, and the data directory."""

    home: Path
    environ: Mapping[str, str]
    directory: Path

    @property
    def ours(self) -> Ours:
        """The programs that hosts run for this data directory."""
        return Ours(launchers.path(self.directory, "hook"), launchers.path(self.directory, "mcp"))

    def config(self, variable: str, usual: str) -> Path:
        """The directory that a variable names, else one in the home directory."""
        named = self.environ.get(variable, "")
        return Path(os.path.abspath(named)) if named else self.home / usual

    def program(self, name: str) -> str | None:
        """The absolute path of a host's own program, if it is installed."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return None if found is None else os.path.abspath(found)


class Settings(msgspec.Struct, frozen=True):
    """What is wanted in one file of a host."""

    path: Path
    wanted: Wanted


class Registration(Protocol):
    """What a host does by its own program."""

    def files(self) -> list[OwnFile]:
        """What of ours the program points to."""
        ...

    def is_known(self) -> bool:
        """Whether the host's settings name ours; the program is not asked. Raises MnemonError."""
        ...

    def rewritten(self) -> list[Path]:
        """Settings that the program writes when it does this."""
        ...

    def commands(self) -> list[list[str]]:
        """What it has to be told, as things stand; nothing when all is in order. Raises MnemonError for settings that
        should not be touched by it."""
        ...

    def undo(self) -> list[list[str]]:
        """What takes that back, as things stand."""
        ...


class Host(Protocol):
    """One program. Looking changes nothing."""

    name: str
    title: str

    def found(self) -> str | None:
        """By what it is known to be installed here, in words; None when it is not."""
        ...

    def settings(self) -> list[Settings]:
        """Files in which our entries are to stand."""
        ...

    def registration(self) -> Registration | None:
        """What its own program does, if there is such a thing."""
        ...

    def remarks(self) -> list[str]:
        """What the user has to do or know after it was set up. May ask the host's program."""
        ...

    def untrusted(self) -> list[str]:
        """Hooks of ours that the host does not run before its user approves them. Asks the host's program."""
        ...

    def duplicates(self) -> list[str]:
        """What would run our hooks a second time, in words."""
        ...

    def switched_off(self) -> list[str]:
        """Settings of the host that keep our hooks from running."""
        ...


class OfSettingsAlone:
    """A host that is set up by its settings and nothing else, of which no trap is known."""

    def registration(self) -> Registration | None:
        """None."""
        return None

    def remarks(self) -> list[str]:
        """Nothing."""
        return []

    def untrusted(self) -> list[str]:
        """It asks nobody."""
        return []

    def duplicates(self) -> list[str]:
        """Nothing known."""
        return []

    def switched_off(self) -> list[str]:
        """Nothing known."""
        return []


def first_of(*reasons: str | None) -> str | None:
    """The first that is one."""
    return next((reason for reason in reasons if reason is not None), None)


def said_by_directory(path: Path) -> str | None:
    """That there is such a directory."""
    return f"{path} is there" if path.is_dir() else None


def said_by_program(program: str | None) -> str | None:
    """That there is such a program."""
    return None if program is None else f"{program} is installed"
