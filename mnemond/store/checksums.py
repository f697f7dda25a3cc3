"""A checksum on every page of a store's file: a bit that flips on the disk is noticed when its page is read.

The work is done by cksumvfs, an extension of SQLite's own that the wheels of apsw carry: between SQLite and the disk it
writes eight bytes at the end of each page, and compares them whenever the page is read. Where they differ the read
fails; nobody is ever shown what the page says. For 120 MB that costs 15 ms to write and 18 ms to read
(docs/decisions/0020).

A file has checksums when its header reserves eight bytes a page (fileformat2, 1.3.4). Whoever writes to such a file
without the extension leaves pages whose checksums are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw

RESERVED: Final = 8
"""Bytes at the end of each page. cksumvfs acts on files that reserve exactly so many."""

PAGES_A_STEP: Final = 256
"""Pages that are read before others may go on: a third of a millisecond, from the system's cache."""

TRIES: Final = 3
"""How often a page is read before it counts as damaged: a checkpoint may be writing it at the same moment."""

_HEADER_BYTES: Final = 100
_EXTENSION: Final = Path(apsw.__file__).with_name("sqlite_extra_binaries") / "cksumvfs"


def install(extension: Path = _EXTENSION) -> bool:
    """Have every database that is opened from now on go through the extension; whether this apsw has it."""
    db = apsw.Connection(":memory:")
    try:
        db.enable_load_extension(True)
        db.load_extension(str(extension))
    except apsw.ExtensionLoadingError:
        return False
    finally:
        db.close()
    return True


def is_damage(error: BaseException) -> bool:
    """Whether an error says that what the file holds is not what was written to it."""
    damaged = isinstance(error, apsw.CorruptError | apsw.NotADBError)
    return damaged or getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA


def has(path: Path) -> bool:
    """Whether the pages of a database carry checksums that are compared. Raises SqliteError."""
    file = _open(path)
    try:
        return file.xFileSize() >= _HEADER_BYTES and _reserved(file) == RESERVED
    finally:
        file.xClose()


def faulty_pages(path: Path) -> Iterator[int | None]:
    """Numbers of the pages, from 1, that are not as they were written; None wherever others may go on meanwhile.

    The file is read through SQLite's own layer, so that closing it takes no locks from a connection beside it. Pages
    that the write-ahead log has newer ones of are looked at as well. Nothing comes of a file without checksums, nor of
    one that is too short. Raises SqliteError for a file that cannot be opened.
    """
    file = _open(path)
    try:
        if (many := file.xFileSize()) < _HEADER_BYTES or _reserved(file) != RESERVED:
            return
        size = _page_size(file)
        for number in range(1, -(-many // size) + 1):
            if not _sound(file, size, number):
                yield number
            if number % PAGES_A_STEP == 0:
                yield None
    finally:
        file.xClose()


def _open(path: Path) -> apsw.VFSFile:
    return apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])


def _reserved(file: apsw.VFSFile) -> int:
    """Of the header, reading which tells the extension whether to compare checksums."""
    return file.xRead(_HEADER_BYTES, 0)[20]


def _page_size(file: apsw.VFSFile) -> int:
    """Bytes of a page; 1 stands for 65,536."""
    found = int.from_bytes(file.xRead(_HEADER_BYTES, 0)[16:18], "big")
    return 65_536 if found == 1 else max(found, 512)


def _sound(file: apsw.VFSFile, size: int, number: int) -> bool:
    for _ in range(TRIES):
        try:
            file.xRead(size, (number - 1) * size)
        except apsw.IOError:
            continue
        return True
    return False
