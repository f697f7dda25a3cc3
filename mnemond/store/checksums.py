"""A checksum on every page of a store's file detects bits that flip on the disk.

cksumvfs, an extension of SQLite that the wheels of apsw contain, writes eight bytes at the end of each page and
verifies them whenever the page is read; on a mismatch the read fails. For 120 MB that costs 15 ms to write and 18 ms to
read (docs/decisions/0020).

A file has checksums if its header reserves eight bytes per page (SQLite file format, 1.3.4). A program that writes to
such a file without the extension leaves pages with wrong checksums.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

RESERVED: Final = 8
"""Bytes at the end of each page. cksumvfs handles files that reserve exactly so many."""

PAGES_PER_STEP: Final = 256
"""Pages that are read between two pauses: a third of a millisecond, from the system's cache."""

MAX_READS: Final = 3
"""Reads of a page before it counts as damaged: a checkpoint may be writing it at the same moment."""

_HEADER_BYTES: Final = 100
_USUAL_PAGE: Final = 4096
_EXTENSION: Final = Path(apsw.__file__).with_name("sqlite_extra_binaries") / "cksumvfs"


def install(extension: Path = _EXTENSION) -> bool:
    """Make every database that is opened from now on use the extension; False if this apsw lacks it."""
    db = apsw.Connection(":memory:")
    try:
        db.enable_load_extension(True)
        db.load_extension(str(extension))
    except apsw.ExtensionLoadingError:
        return False
    finally:
        db.close()
    return True


def of_page(page: bytes | bytearray) -> bytes:
    """Return the checksum of a page, without the bytes that are reserved for it (SQLite's ext/misc/cksumvfs.c)."""
    words = struct.unpack(f"<{len(page) // 4}I", page)
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return struct.pack("<2I", first, second)


def without_log(page: bytes) -> bytes:
    """Return the first page of a database with a write-ahead log as that of one without, changed once more, so that
    connections read it again (SQLite file format, 1.3.3, 1.3.7 and 1.3.18)."""
    reserved = page[20]
    changed = bytearray(page[: len(page) - reserved])
    changed[18:20] = b"\x01\x01"
    counter = (int.from_bytes(changed[24:28], "big") + 1) & 0xFFFFFFFF
    changed[24:28] = changed[92:96] = counter.to_bytes(4, "big")
    return bytes(changed) + (of_page(changed) if reserved == RESERVED else page[len(page) - reserved :])


def is_damage(error: BaseException) -> bool:
    """Return True if an error means that the file does not hold what was written to it."""
    damaged = isinstance(error, apsw.CorruptError | apsw.NotADBError)
    return damaged or getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA


_DAMAGE: Final = "a page of the file is not what was written to it"


def reason(error: BaseException) -> str:
    """Return why SQLite or the system refused, in words. SQLite's own mislead: it calls a page with a wrong checksum a
    "disk I/O error", and after some failures says "not an error"."""
    if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA:
        return _DAMAGE
    if isinstance(error, apsw.NotADBError):
        return "the file is not a database: its first page is damaged"
    if isinstance(error, apsw.CorruptError):
        return f"the file is damaged ({error})"
    if isinstance(error, apsw.Error) and str(error) == "not an error":
        code = getattr(error, "extendedresult", None) or getattr(error, "result", None) or 0
        names = apsw.mapping_extended_result_codes | apsw.mapping_result_codes
        return f"the disk refused ({names.get(code, type(error).__name__)})"
    return str(error)


def faulty_pages(path: Path) -> Iterator[int | None]:
    """Yield the numbers of the pages, from 1, with wrong checksums, and None wherever others may run meanwhile.

    The file is read through SQLite's own layer, so that closing it drops no locks of another connection. Pages of which
    the write-ahead log has newer ones are read as well. A file without checksums, or one that is too short, yields
    nothing. Raises SqliteError for a file that cannot be opened.
    """
    file = _open(path)
    try:
        if (length := file.xFileSize()) < _HEADER_BYTES:
            return
        header = file.xRead(_HEADER_BYTES, 0)  # which makes the extension verify checksums or not
        if header[20] != RESERVED:
            return
        found = int.from_bytes(header[16:18], "big")
        size = 65_536 if found == 1 else max(found, 512)
        for number in range(1, -(-length // size) + 1):
            if not _sound(file, size, number):
                yield number
            if number % PAGES_PER_STEP == 0:
                yield None
    finally:
        file.xClose()


def is_sound(path: Path, number: int) -> bool:
    """Return True if a page, from 1, is there and has the checksum of its content. The header of the file must say that
    there are checksums. Raises SqliteError for a file that cannot be opened."""
    file = _open(path)
    try:
        if file.xFileSize() < number * _USUAL_PAGE:
            return False
        file.xRead(_HEADER_BYTES, 0)
        return _sound(file, _USUAL_PAGE, number)
    finally:
        file.xClose()


def accept(path: Path, number: int) -> None:
    """Give a page of a closed file the checksum of what it holds now. Raises SqliteError."""
    file = _open(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        with suppress(apsw.IOError):  # the page is damaged, and was read
            file.xRead(_HEADER_BYTES, 0)
        at = (number - 1) * _USUAL_PAGE
        with open(path, "rb") as raw:
            raw.seek(at)
            content = raw.read(_USUAL_PAGE)
        file.xWrite(content, at)
    finally:
        file.xClose()


def _open(path: Path, mode: int = apsw.SQLITE_OPEN_READONLY) -> apsw.VFSFile:
    return apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | mode, 0])


def _sound(file: apsw.VFSFile, size: int, number: int) -> bool:
    for _ in range(MAX_READS):
        try:
            file.xRead(size, (number - 1) * size)
        except apsw.IOError:
            continue
        return True
    return False
