"""The log's file: private, never too large, and found again when somebody moved it away."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAME: Final = "mnemond.log"
FOLDER: Final = "log"

_STANDARD_STREAMS: Final = (1, 2)


class LogFile:
    """`log/mnemond.log` in a data directory; `mnemond.log.1` is what it was before, and so on. For any thread.

    What cannot be written is lost: a full disk must not end the daemon, and there is nowhere left to say so.
    """

    def __init__(self, data_dir: Path, max_bytes: int, older_files: int) -> None:
        """Open it. Raises OSError, for a symbolic link too."""
        self._folder = data_dir / FOLDER
        self._turn = threading.Lock()
        self._max_bytes, self._older_files = max_bytes, older_files
        self._descriptor = self._open()

    def limit(self, max_bytes: int, older_files: int) -> None:
        """From now on begin a new file at another size, and keep another number of older ones."""
        with self._turn:
            self._max_bytes, self._older_files = max_bytes, older_files

    def is_stream(self, descriptor: int) -> bool:
        """Whether what is written to `descriptor` stands in this file."""
        try:
            return os.path.sameopenfile(descriptor, self._descriptor)
        except OSError:
            return False

    def write(self, line: bytes) -> None:
        """Append a line, in a file that has room for it if one can be had."""
        with self._turn:
            with contextlib.suppress(OSError):
                self._make_room(len(line))
            with contextlib.suppress(OSError):
                os.write(self._descriptor, line)

    def close(self) -> None:
        """Give the descriptor back."""
        with self._turn:
            os.close(self._descriptor)

    def _in_place(self) -> bool:
        """Whether readers still find the open file under its name."""
        try:
            return os.path.samestat(os.lstat(self._folder / NAME), os.fstat(self._descriptor))
        except OSError:
            return False

    def _make_room(self, length: int) -> None:
        if not self._in_place():
            self._take(self._open())
        elif (size := os.fstat(self._descriptor).st_size) > 0 and size + length > self._max_bytes:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Move every file on by one number and start an empty one. If that fails half-way nothing is lost: the open
        file is written on, wherever it is now."""
        with self._opened_folder() as folder:
            for number in sorted(_numbers(folder), reverse=True):
                if number >= self._older_files:
                    os.unlink(f"{NAME}.{number}", dir_fd=folder)
                else:
                    os.rename(f"{NAME}.{number}", f"{NAME}.{number + 1}", src_dir_fd=folder, dst_dir_fd=folder)
            if self._older_files:
                os.rename(NAME, f"{NAME}.1", src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.unlink(NAME, dir_fd=folder)
        self._take(self._open())

    def _take(self, descriptor: int) -> None:
        """Write there from now on; what the interpreter says when it dies too, if it went to the old file."""
        for stream in _STANDARD_STREAMS:
            if self.is_stream(stream):
                os.dup2(descriptor, stream)
        os.close(self._descriptor)
        self._descriptor = descriptor

    def _open(self) -> int:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with self._opened_folder() as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(NAME, flags, 0o600, dir_fd=folder)
        os.fchmod(descriptor, 0o600)
        return descriptor

    @contextlib.contextmanager
    def _opened_folder(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)


def _numbers(folder: int) -> list[int]:
    """Of the older files that there are."""
    endings = [name.removeprefix(f"{NAME}.") for name in os.listdir(folder) if name.startswith(f"{NAME}.")]
    return [int(ending) for ending in endings if ending.isascii() and ending.isdecimal() and ending[0] != "0"]
