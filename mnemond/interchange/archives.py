"""Zip files, as ChatGPT and Claude.ai give an export: the files in one that can be imported. Nothing is unpacked to the
disk."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Final

from mnemond.interchange.items import NotReadableError

MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06")
"""The first bytes of a zip file, and of one without files."""

MAX_ENTRIES: Final = 10_000
"""Files in one: an export has one for each picture of a conversation."""

MAX_UNPACKED: Final = 200 << 20
"""Bytes of all files in one, unpacked."""

MAX_RATIO: Final = 100
"""Bytes of a file for each of its compressed bytes. Text in JSON has 3 to 20; a zip bomb has about 1,000."""

MAX_DIRECTORY: Final = 200 * MAX_ENTRIES
"""Bytes of the list of files, which is read whole before its entries can be counted."""

SUFFIXES: Final = (".md", ".json", ".jsonl")
"""Names of files that can be imported."""

_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_MAX_COMMENT: Final = 1 << 16
_LOCATOR64_BYTES: Final = 20
_END64: Final = b"PK\x06\x06"
_END64_BYTES: Final = 56


def files_in(file: IO[bytes], most: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file that can be imported, in the order of the names.

    Raises NotReadableError before anything is unpacked for names that lead out of the archive, links, encryption, and
    for more files or bytes than are admitted; for a file to be imported that has more than `most` bytes; and for
    damage.
    """
    _check_directory(file)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check(entries)
            for entry in sorted(filter(_is_wanted, entries), key=lambda entry: entry.filename):
                if entry.file_size > most:
                    raise _refused(entry, f"has more than {most:,} bytes")
                yield entry.filename, archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, struct.error, ValueError) as error:
        raise NotReadableError(f"it is a damaged zip file: {error}") from error


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a list of files that is too long. The end of the file is looked for as zipfile does it (Python's
    Lib/zipfile, _EndRecData; the format: PKWARE's APPNOTE.TXT, sections 4.3.14 to 4.3.16)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MAX_COMMENT - _END_BYTES - _LOCATOR64_BYTES - _END64_BYTES))
    tail = file.read()
    file.seek(0)
    at = len(tail) - _END_BYTES
    if at < 0 or tail[at : at + 4] != _END or tail[-2:] != b"\0\0":
        at = tail.rfind(_END)
    if at < 0 or len(tail) < at + _END_BYTES:
        raise NotReadableError("it is a damaged zip file: its end is missing")
    (length,) = struct.unpack_from("<L", tail, at + 12)
    at64 = at - _LOCATOR64_BYTES - _END64_BYTES
    if at64 >= 0 and tail[at64 : at64 + 4] == _END64:
        (length64,) = struct.unpack_from("<Q", tail, at64 + 40)
        length = max(length, length64) if length != 0xFFFFFFFF else length64
    if length > MAX_DIRECTORY:
        raise NotReadableError(f"it is a zip file with more than {MAX_ENTRIES:,} files, or with very long names")


def _check(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MAX_ENTRIES:
        raise NotReadableError(f"it is a zip file with {len(entries):,} files; at most {MAX_ENTRIES:,} are read")
    for entry in entries:
        name = entry.filename.replace("\\", "/")
        if name.startswith("/") or name[1:2] == ":":
            raise _refused(entry, "has an absolute name")
        if ".." in name.split("/"):
            raise _refused(entry, "has a name that leads out of the archive (..)")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(entry, "is a symbolic link")
        if entry.flag_bits & 1:
            raise _refused(entry, "is encrypted")
        if entry.compress_type not in _METHODS:
            raise _refused(entry, "is compressed in another way than deflate")
        if entry.file_size > MAX_RATIO * entry.compress_size:
            raise _refused(entry, f"would be more than {MAX_RATIO} times as large when it is unpacked")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise NotReadableError(f"it is a zip file with more than {MAX_UNPACKED >> 20} MB when it is unpacked")


def _refused(entry: zipfile.ZipInfo, why: str) -> NotReadableError:
    return NotReadableError(f"it is a zip file in which {entry.filename[:80]!a} {why}")


def _is_wanted(entry: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(entry.filename)
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return not entry.is_dir() and not hidden and path.suffix in SUFFIXES
