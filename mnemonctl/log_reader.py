"""The daemon's log files, read while it writes and renames them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

from mnemonctl.files import log_path

LONGEST = 1 << 16
"""Bytes of one line that are kept; what is longer is none of ours."""

Wanted = Callable[[bytes], bool]


class LogReader:
    """Reads to the end, then whatever comes. Use it as a context, so that no file stays open."""

    def __init__(self, directory: Path) -> None:
        self._path = log_path(directory)
        self._file: BinaryIO | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def last(self, count: int, wanted: Wanted) -> list[bytes]:
        """The last `count` wanted lines, older files included; reading goes on behind them. Raises OSError."""
        newest, *older = self._paths() or [self._path]
        file = self._read_on(_opened(newest))
        found = [] if file is None else list(deque(filter(wanted, self._continue(file)), count))
        for path in older:
            if len(found) >= count or (earlier := _opened(path)) is None:
                break
            with earlier:
                found = [*deque(filter(wanted, _lines(earlier)), count - len(found)), *found]
        return found

    def more(self) -> Iterator[bytes]:
        """What was written since, in order, whichever files it is in by now. Raises OSError."""
        while True:
            following = self._following()  # looked for first: what is written after it was begun is not in ours
            if self._file is not None:
                yield from self._continue(self._file)
            if following is None:
                return
            if self._rest:
                yield self._rest
            self._read_on(following)

    def _continue(self, file: BinaryIO) -> Iterator[bytes]:
        """Whole lines up to the end; the beginning of one more is kept for the next time."""
        if file.tell() > os.fstat(file.fileno()).st_size:
            file.seek(0)  # somebody cut it back
            self._rest = b""
        while part := file.readline(LONGEST):
            self._rest = (self._rest + part)[:LONGEST]
            if self._rest.endswith(b"\n") or len(self._rest) == LONGEST:
                line, self._rest = self._rest, b""
                yield line.rstrip(b"\n")

    def _read_on(self, file: BinaryIO | None) -> BinaryIO | None:
        if self._file is not None:
            self._file.close()
        self._file, self._rest = file, b""
        return file

    def _following(self) -> BinaryIO | None:
        """The file begun after the one that is read; the oldest there is when that was removed. Files are told apart by
        what they are, not by their names, which change while we look."""
        candidate: BinaryIO | None = None
        for path in self._paths():
            if (file := _opened(path)) is None:
                continue
            if self._file is not None and os.path.sameopenfile(file.fileno(), self._file.fileno()):
                file.close()
                break
            if candidate is not None:
                candidate.close()
            candidate = file
        return candidate

    def _paths(self) -> list[Path]:
        """Newest first."""
        try:
            names = os.listdir(self._path.parent)
        except FileNotFoundError:
            return []
        endings = [name.removeprefix(f"{self._path.name}.") for name in names if name.startswith(f"{self._path.name}.")]
        numbers = sorted(int(ending) for ending in endings if ending.isascii() and ending.isdecimal())
        here = [self._path] if self._path.name in names else []
        return [*here, *(self._path.with_name(f"{self._path.name}.{number}") for number in numbers)]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        yield line.rstrip(b"\n")


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
