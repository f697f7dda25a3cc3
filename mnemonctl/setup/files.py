"""Files that setup writes: our own, and with care those of hosts and their users."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl.files import replace_file, unusable
from mnemond.errors import BUSY, CONFIG, DATA_DIR, MnemonError


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class SettingsProblem(Exception):  # noqa: N818 - an outcome, named as one
    """Why the text of a host's file cannot be read or changed."""


def refused(path: Path, why: str) -> MnemonError:
    """Return the error for a file of a host that setup does not change."""
    return MnemonError(CONFIG, f"{path}: {why}; it was left as it is", hint="mend that, then run it again")


def make_directories(path: Path) -> list[Path]:
    """Make a directory and its missing parents, all of them 0700 (`Path.mkdir` gives its mode to the last one only).

    Returns those that were made. Raises MnemonError.
    """
    missing = [each for each in (*reversed(path.parents), path) if not each.is_dir()]
    try:
        for each in missing:
            each.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unusable(path, error) from None
    return missing


def remove_empty(directories: Iterable[Path]) -> None:
    """Remove those of these directories that are empty, the innermost first."""
    with contextlib.suppress(OSError):
        for directory in sorted(directories, key=lambda each: len(each.parts), reverse=True):
            if directory.is_dir() and not os.listdir(directory):
                directory.rmdir()


class OwnFile(msgspec.Struct, frozen=True):
    """A file that is wholly ours."""

    path: Path
    text: str
    mode: int = 0o600

    def is_there(self) -> bool:
        """Return True if the file has this text and mode. Raises MnemonError."""
        try:
            return self.path.read_bytes() == self.text.encode() and self.path.stat().st_mode & 0o777 == self.mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unusable(self.path, error) from None

    def write(self) -> None:
        """Write it, in directories that are made for it. Raises MnemonError."""
        make_directories(self.path.parent)
        replace_file(self.path, self.text.encode(), self.mode)

    def remove(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(self.path, error) from None


# ------------------------------------------------------------------ files of a host

MAX_BYTES: Final = 1 << 20
"""Size of settings that are read; a person writes some thousand bytes."""

BOM: Final = b"\xef\xbb\xbf"
NEW_MODE: Final = 0o600
"""Mode of a new file; others keep their own."""

BACKUP: Final = "mnemond-bak"
WRITE_BITS: Final = 0o222


class HostFile(msgspec.Struct, frozen=True):
    """A file as it was read. `place` is where a chain of links ends; `content` is None if there is no file."""

    path: Path
    place: Path
    content: bytes | None
    mode: int = NEW_MODE
    identity: tuple[int, int, int] = (0, 0, 0)

    @property
    def text(self) -> str | None:
        """Its text without a byte order mark, line breaks as they are. Raises MnemonError if it is not UTF-8."""
        if self.content is None:
            return None
        try:
            return self.content.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise refused(self.path, f"line {line}: it is not UTF-8") from None

    @property
    def fingerprint(self) -> str | None:
        """SHA-256 of its content."""
        return None if self.content is None else digest(self.content)

    def encode(self, text: str) -> bytes:
        """Return the content with another text: a byte order mark stays."""
        return (BOM if self.content is not None and self.content.startswith(BOM) else b"") + text.encode()


def read_host_file(path: Path) -> HostFile:
    """Read a file. Raises MnemonError for one that cannot be read, or is no regular file."""
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
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise refused(path, "it is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise refused(path, f"it is larger than {MAX_BYTES:,} bytes")
    identity = (status.st_ino, status.st_mtime_ns, status.st_size)
    return HostFile(path, place, content, stat.S_IMODE(status.st_mode), identity)


def check_writable(file: HostFile) -> None:
    """Raise MnemonError for a file that its owner protected, or that other users or links share."""
    try:
        status = os.stat(file.place)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise unusable(file.path, error) from None
    else:
        if status.st_uid != os.geteuid():
            raise refused(file.path, f"it belongs to user {status.st_uid}")
        if not stat.S_IMODE(status.st_mode) & WRITE_BITS or not os.access(file.place, os.W_OK):
            raise refused(file.path, "it is read-only")
        if status.st_nlink > 1:
            raise refused(file.path, f"it has {status.st_nlink} names (hard links), and only one of them would change")
    directory = next(path for path in file.place.parents if path.exists())
    if not directory.is_dir():
        raise refused(file.path, f"{directory} is a file")
    status = directory.stat()
    if status.st_uid != os.geteuid():  # root in the home of another user, who could not change what root leaves there
        raise refused(file.path, f"the directory {directory} belongs to user {status.st_uid}")
    if not stat.S_IMODE(status.st_mode) & WRITE_BITS or not os.access(directory, os.W_OK):
        raise refused(file.path, f"the directory {directory} is read-only")


def write_host_file(file: HostFile, content: bytes) -> list[Path]:
    """Replace a file if it is still as it was read; return the directories that were made for it.

    Raises MnemonError: BUSY if it was changed meanwhile.
    """
    check_writable(file)
    made = make_directories(file.place.parent)
    check_unchanged(file)
    replace_file(file.place, content, file.mode)
    return made


def remove_host_file(file: HostFile) -> None:
    """Remove a file that setup made. Raises MnemonError."""
    check_unchanged(file)
    try:
        file.place.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(file.path, error) from None


def restore_mode(file: HostFile) -> None:
    """Give a file the mode that it had when it was read, after another program wrote it. Raises MnemonError."""
    try:
        if file.content is not None and stat.S_IMODE(os.stat(file.place).st_mode) != file.mode:
            os.chmod(file.place, file.mode)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise unusable(file.path, error) from None


def check_unchanged(file: HostFile) -> None:
    """Raise MnemonError(BUSY) if the file is not as it was read any more."""
    now = read_host_file(file.path)
    if (now.content, now.identity, now.place) != (file.content, file.identity, file.place):
        message = f"{file.path} was changed by another program at this moment; nothing was written to it"
        raise MnemonError(BUSY, message, hint="run it again")


def back_up(file: HostFile) -> Path | None:
    """Copy a file beside itself, readable for this user only; None if there is no file. Raises MnemonError."""
    if file.content is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(100):
        extra = f"-{number}" if number else ""
        path = file.place.with_name(f"{file.place.name}.{BACKUP}-{stamp}{extra}")
        if not os.path.lexists(path):
            replace_file(path, file.content, 0o600)
            return path
    raise MnemonError(DATA_DIR, f"there are a hundred backups of {file.path} of this second", hint="look at them")


def is_backup(path: Path, file: HostFile) -> bool:
    """Return True if a path is as `back_up` names a copy of this file."""
    return path.parent == file.place.parent and path.name.startswith(f"{file.place.name}.{BACKUP}-")
