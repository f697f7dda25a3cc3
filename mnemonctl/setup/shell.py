"""Files that setup writes for the user's shell: completion of `mnemonctl`, and its manual page.

The wheel has them as well, but below the prefix of its environment, where no shell looks when that is pipx's or a
virtual environment's. Setup of one host alone writes none, as taking that back removes none. A file of another author
at such a place stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.files import OwnFile, digest, make_directories, read_host_file, remove_empty
from mnemond.cli.completion import SCRIPTS, manual

PLACES: Final = {
    "bash": "bash-completion/completions/mnemonctl",
    "zsh": "zsh/site-functions/_mnemonctl",
    "fish": "fish/vendor_completions.d/mnemonctl.fish",
}
"""Files below $XDG_DATA_HOME that bash-completion 2, zsh and fish load at the first completion; zsh only where
`fpath` has the directory."""

MANUAL: Final = "man/man1/mnemonctl.1"

MODE: Final = 0o644
"""As other programs install them; they say nothing about the user."""

State = Literal["created", "changed", "unchanged", "kept"]
"""kept: the file is another author's, or was changed."""


class Written(msgspec.Struct):
    """What setup wrote: SHA-256 of each file by its path, and the directories that were made for them."""

    files: dict[str, str] = {}
    directories: list[str] = []


class ShellFile(msgspec.Struct, frozen=True):
    """One of them, and what `install` does about it."""

    own: OwnFile
    state: State

    @property
    def is_pending(self) -> bool:
        """Return True if `install` writes it."""
        return self.state in ("created", "changed")


def is_short(path: Path) -> bool:
    """Return True if a diff of the file is shown; the manual page has a thousand lines."""
    return path.name != Path(MANUAL).name


def planned(environment: SetupEnvironment, written: Written) -> list[ShellFile]:
    """Return a file for each shell that is installed, and the manual page. Raises MnemonError."""
    texts = {PLACES[shell]: text for shell, text in SCRIPTS.items() if shell == "bash" or environment.program(shell)}
    data = environment.config("XDG_DATA_HOME", ".local/share")
    files = [OwnFile(data / place, text, MODE) for place, text in {**texts, MANUAL: manual()}.items()]
    return [ShellFile(file, _state(file, written.files)) for file in files]


def _state(file: OwnFile, written: Mapping[str, str]) -> State:
    there = read_host_file(file.path).fingerprint
    if there is None:
        return "created"
    if there == digest(file.text.encode()):
        return "unchanged"
    return "changed" if there == written.get(str(file.path)) else "kept"


def is_pending(environment: SetupEnvironment, written: Written) -> bool:
    """Return True if `install` would write anything. Raises MnemonError."""
    return any(each.is_pending for each in planned(environment, written))


def install(environment: SetupEnvironment, written: Written) -> None:
    """Write those that are missing or outdated, and note them in `written`. Raises MnemonError."""
    for each in planned(environment, written):
        if each.is_pending:
            written.directories += map(str, make_directories(each.own.path.parent))
            each.own.write()
            written.files[str(each.own.path)] = digest(each.own.text.encode())


def removable(written: Written) -> list[Path]:
    """Return those that `install` wrote and that nothing changed since. Raises MnemonError."""
    return [Path(path) for path, known in written.files.items() if read_host_file(Path(path)).fingerprint == known]


def remove(written: Written) -> list[Path]:
    """Remove them, and the directories that were made for them and are empty; return the files. Raises MnemonError."""
    paths = removable(written)
    for path in paths:
        OwnFile(path, "").remove()
    remove_empty(map(Path, written.directories))
    written.files.clear()
    written.directories.clear()
    return paths
