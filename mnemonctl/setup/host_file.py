"""A file that belongs to a host and its user: read with care, changed only as a whole, and never behind their back."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl.setup.own_file import digest, make_directories, replace, unusable
from mnemond.errors import BUSY, CONFIG, DATA_DIR, MnemonError

LARGEST: Final = 1 << 20
"""Bytes of settings that are looked at; a person writes some thousand."""

BOM: Final = b"\xef\xbb\xbf"
NEW_MODE: Final = 0o600
"""Of a file that was not there; one that was keeps its own."""

BACKUP: Final = "mnemond-bak"
WRITE_BITS: Final = 0o222


class HostFile(msgspec.Struct, frozen=True):
    """What stood in a file when it was read. `place` is where a chain of links ends; `content` is None for no file."""

    path: Path
    place: Path
    content: bytes | None
    mode: int = NEW_MODE
    identity: tuple[int, int, int] = (0, 0, 0)

    @property
    def text(self) -> str | None:
        """Without a byte order mark, line breaks as they are. Raises MnemonError for what is not UTF-8."""
        if self.content is None:
            return None
        try:
            return self.content.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise refused(self.path, f"line {line}: it is not UTF-8") from None

    def bytes_of(self, text: str) -> bytes:
        """The file with another text: a byte order mark stays."""
        return (BOM if self.content is not None and self.content.startswith(BOM) else b"") + text.encode()


def read(path: Path) -> HostFile:
    """The file as it is now. Raises MnemonError for one that cannot be read, or is none."""
    place = Path(os.path.realpath(path))
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return HostFile(path, place, None)
    except NotADirectoryError:
        raise refused(path, "a directory on its path is a file") from None
    except OSError as error:
        raise unusable(path, error) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise refused(path, "it is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(content) > LARGEST:
        raise refused(path, f"it is larger than {LARGEST:,} bytes")
    return HostFile(path, place, content, stat.S_IMODE(found.st_mode), _identity(found))


def check_writable(file: HostFile) -> None:
    """Raises MnemonError for a file that its owner protected, or that is not this user's alone to change."""
    try:
        found = os.stat(file.place)
    except FileNotFoundError:
        return _check_directory(file)
    except OSError as error:
        raise unusable(file.path, error) from None
    if found.st_uid != os.geteuid():
        raise refused(file.path, f"it belongs to user {found.st_uid}")
    if not stat.S_IMODE(found.st_mode) & WRITE_BITS or not os.access(file.place, os.W_OK):
        raise refused(file.path, "it is read-only")
    if found.st_nlink > 1:
        raise refused(file.path, f"it has {found.st_nlink} names (hard links), and only one of them would change")
    return _check_directory(file)


def _check_directory(file: HostFile) -> None:
    there = next(path for path in file.place.parents if path.exists())
    if not there.is_dir():
        raise refused(file.path, f"{there} is a file")
    found = there.stat()
    if found.st_uid != os.geteuid():  # root in the home of somebody else: what it leaves there they could not change
        raise refused(file.path, f"the directory {there} belongs to user {found.st_uid}")
    if not stat.S_IMODE(found.st_mode) & WRITE_BITS or not os.access(there, os.W_OK):
        raise refused(file.path, f"the directory {there} is read-only")


def write(file: HostFile, content: bytes) -> list[Path]:
    """Put `content` in its place, if it is still as it was read; the directories that were made for it.

    Raises MnemonError: BUSY when somebody changed it meanwhile.
    """
    check_writable(file)
    made = [path for path in file.place.parents if not path.exists()]
    try:
        make_directories(file.place.parent)
    except OSError as error:
        raise unusable(file.place.parent, error) from None
    unchanged(file)
    replace(file.place, content, file.mode)
    return made


def unchanged(file: HostFile) -> None:
    """Raises MnemonError(BUSY) when the file is not as it was read any more."""
    now = read(file.path)
    if (now.content, now.identity, now.place) != (file.content, file.identity, file.place):
        message = f"{file.path} was changed by somebody else at this moment; nothing was written to it"
        raise MnemonError(BUSY, message, hint="run it again")


def backup(file: HostFile) -> Path | None:
    """A copy beside it that only this user can read; None for a file that was not there. Raises MnemonError."""
    if file.content is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(100):
        extra = f"-{number}" if number else ""
        path = file.place.with_name(f"{file.place.name}.{BACKUP}-{stamp}{extra}")
        if not os.path.lexists(path):
            replace(path, file.content, 0o600)
            return path
    raise MnemonError(DATA_DIR, f"there are a hundred backups of {file.path} of this second", hint="look at them")


def is_backup(path: Path, file: HostFile) -> bool:
    """Whether a path is that of a copy as `backup` makes them of this file."""
    return path.parent == file.place.parent and path.name.startswith(f"{file.place.name}.{BACKUP}-")


def remove(file: HostFile) -> None:
    """Take away a file that we made. Raises MnemonError."""
    unchanged(file)
    try:
        file.place.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(file.path, error) from None


def remove_empty(directories: Iterable[Path]) -> None:
    """Take away those of these directories that have nothing in them any more, the innermost first."""
    with contextlib.suppress(OSError):
        for directory in sorted(directories, key=lambda each: len(each.parts), reverse=True):
            if directory.is_dir() and not os.listdir(directory):
                directory.rmdir()


def fingerprint(file: HostFile) -> str | None:
    """SHA-256 of its content."""
    return None if file.content is None else digest(file.content)


def refused(path: Path, why: str) -> MnemonError:
    """The error for a file that is left alone."""
    return MnemonError(CONFIG, f"{path}: {why}; it was left as it is", hint="mend that, then run it again")


def _identity(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_size
