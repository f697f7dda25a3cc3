"""A file of ours in somebody else's directory: it says so, and whether it is still as we wrote it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Literal

import msgspec

from mnemond.errors import DATA_DIR, MnemonError

State = Literal["missing", "same", "older", "edited", "foreign"]
"""How a file stands to the one that would be written: not there, equal, another of ours, ours but changed, not ours."""

_SIGNATURE = re.compile(r"^.*written by mnemonctl daemon install, sha256 ([0-9a-f]{64}).*\n", re.MULTILINE)
MODE = 0o644
"""As systemd and launchd expect: nothing in it is secret."""

LARGEST = 1 << 20
"""Bytes of an existing file that are looked at; a larger one is not ours."""


class UnitFile(msgspec.Struct, frozen=True):
    """What is to stand at `path`, with our signature in it."""

    path: Path
    text: str

    def state(self) -> State:
        """How the file that is there stands to this one. Raises MnemonError when it cannot be read."""
        try:
            if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
                return "foreign"
            with self.path.open("rb") as there:
                found = there.read(LARGEST).decode("utf-8", "replace")
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            raise _unusable(self.path, error) from None
        if found == self.text:
            return "same"
        signature = _SIGNATURE.search(found)
        if signature is None:
            return "foreign"
        return "older" if signature[1] == _digest(_SIGNATURE.sub("", found, count=1)) else "edited"

    def write(self) -> None:
        """Put it there, as a whole or not at all. Raises MnemonError."""
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
            try:
                os.fchmod(descriptor, MODE)
                os.write(descriptor, self.text.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            fresh.replace(self.path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _unusable(self.path, error) from None

    def remove(self) -> None:
        """Take it away, and its directory if that was made for it alone. Raises MnemonError."""
        try:
            self.path.unlink(missing_ok=True)
            if self.path.parent.suffix == ".d" and self.path.parent.is_dir() and not os.listdir(self.path.parent):
                self.path.parent.rmdir()
        except OSError as error:
            raise _unusable(self.path, error) from None


def signed(path: Path, text: str, comment: tuple[str, str] = ("# ", ""), after_lines: int = 0) -> UnitFile:
    """`text` with our signature, a comment of its language, after that many lines."""
    lines = text.splitlines(keepends=True)
    before, after = comment
    lines.insert(after_lines, f"{before}written by mnemonctl daemon install, sha256 {_digest(text)}{after}\n")
    return UnitFile(path, "".join(lines))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unusable(path: Path, error: OSError) -> MnemonError:
    return MnemonError(DATA_DIR, f"{path} cannot be used: {error.strerror}", hint="look at it and at its directory")
