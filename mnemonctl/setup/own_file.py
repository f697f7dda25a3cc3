"""A file that is wholly ours: it is written as a whole, and taken away again only while it is as it was written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from mnemond.errors import DATA_DIR, MnemonError


class OwnFile(msgspec.Struct, frozen=True):
    """What is to stand at `path`, in directories that are made for it (0700)."""

    path: Path
    text: str
    mode: int = 0o600

    def is_there(self) -> bool:
        """Whether it stands there already, byte for byte and with this mode. Raises MnemonError."""
        try:
            return self.path.read_bytes() == self.text.encode() and self.path.stat().st_mode & 0o777 == self.mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unusable(self.path, error) from None

    def write(self) -> None:
        """Put it there, as a whole or not at all. Raises MnemonError."""
        try:
            make_directories(self.path.parent)
        except OSError as error:
            raise unusable(self.path.parent, error) from None
        replace(self.path, self.text.encode(), self.mode)

    def remove(self) -> None:
        """Take it away. Raises MnemonError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(self.path, error) from None


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are not there, all of them 0700: `Path.mkdir` gives its mode to the last
    one only. Raises OSError."""
    for each in (*reversed(path.parents), path):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def replace(path: Path, content: bytes, mode: int) -> None:
    """Put `content` in the place of a file, as a whole and on the disk, or not at all. Raises MnemonError."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".mnemond", dir=path.parent)
        draft = Path(name)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unusable(path, error) from None
    with contextlib.suppress(OSError):  # some file systems sync no directories; the file itself is on the disk
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def unusable(path: Path, error: OSError) -> MnemonError:
    """The error for a path that the system refuses."""
    return MnemonError(DATA_DIR, f"{path} cannot be used: {error.strerror}", hint="look at it and at its directory")
