"""A SQLite file system that notes everything that happens to the bytes of files, in order."""

from __future__ import annotations

import os
from typing import NamedTuple

import apsw

NAME = "recording"


class Opened(NamedTuple):
    """A file is there from now on, if it was not before."""

    file: str


class Written(NamedTuple):
    """`data` stands at `offset`."""

    file: str
    offset: int
    data: bytes


class Truncated(NamedTuple):
    """The file ends at `size` bytes."""

    file: str
    size: int


class Synced(NamedTuple):
    """What was done to the file so far is on the disk."""

    file: str


class Deleted(NamedTuple):
    """The file is gone; `flushed`: on the disk as well."""

    file: str
    flushed: bool


Operation = Opened | Written | Truncated | Synced | Deleted


class Tape:
    """What the file system has noted, and what a test notes between."""

    def __init__(self) -> None:
        self.entries: list[object] = []

    def note(self, entry: object) -> None:
        self.entries.append(entry)

    def take(self) -> list[object]:
        """Everything so far; the tape is empty afterwards."""
        entries, self.entries = self.entries, []
        return entries


TAPE = Tape()


class RecordingFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._file = os.path.basename(path) if path else None
        self._note(Opened)

    def _note(self, kind: type[Operation], *details: object) -> None:
        if self._file is not None:  # a temporary file has no name, and is nothing after a power cut
            TAPE.note(kind(self._file, *details))  # type: ignore[arg-type]

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - the name is SQLite's
        super().xWrite(data, offset)
        self._note(Written, offset, bytes(data))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._note(Synced)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._note(Truncated, newsize)


class RecordingVfs(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> RecordingFile:  # noqa: N802
        return RecordingFile(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        TAPE.note(Deleted(os.path.basename(filename), syncdir))
