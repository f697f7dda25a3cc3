"""Files and directories that are there after a power cut once they have been made."""

from __future__ import annotations

import os
from pathlib import Path


def make_directory(path: Path) -> None:
    """Create a directory (0700) and flush its entry in the parent; nothing when it is there. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Flush the entries of a directory: what was made, renamed or removed in it. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write(path: Path, content: bytes) -> None:
    """Replace a small file (0600) by one that holds `content`: readers see the old one or the new one, whole.

    A symbolic link in its place is replaced, not followed. Raises OSError; the old file is as it was then.
    """
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush_directory(path.parent)
