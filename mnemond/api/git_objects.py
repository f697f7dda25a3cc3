"""Commits of a repository of git, as far as their first parents lead: from loose objects and packs, bounded.

The formats are those of gitformat-pack(5) and gitrepository-layout(5). Of each object only the beginning is read.
"""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from mnemond.config.regular_files import open_regular
from mnemond.text.resources import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COMMITS: Final = 20_000
"""Commits that are followed: half a second. Repositories with a longer history have a remote."""

MAX_PACKS: Final = 64
"""Packs that are looked into; git repacks at 50 (`gc.autoPackLimit`)."""

MAX_ALTERNATES: Final = 4
"""Other directories of objects that are looked into."""

MAX_COMMIT: Final = 1 << 16
"""Bytes of a commit that others are stored as a difference to."""

HEAD: Final = 512
"""Bytes of a commit that are read: its tree and its first parent come first, and take 100, with SHA-256 150."""

MAX_DELTAS: Final = 64
"""Differences to differences that are followed; git makes 50."""

MAX_WORK: Final = 64 << 20
"""Bytes that are read and inflated for one history: a second. Ordinary ones of MAX_COMMITS take a third of that."""

PROBE: Final = 512
"""Bytes that looking for a name in one pack counts as."""

_NAME: Final = regex("[0-9a-f]{40}|[0-9a-f]{64}")
_PARENT: Final = regex("tree [0-9a-f]{40,64}\n(?:parent ([0-9a-f]{40,64})\n)?")
_COMMIT, _OFFSET_DELTA, _NAMED_DELTA = 1, 6, 7


def is_object_name(text: str) -> bool:
    """Return True for the name of an object in hexadecimal digits: SHA-1 or SHA-256."""
    return _NAME.fullmatch(text) is not None


class Objects:
    """The objects of a repository. Reads files; whatever is damaged, too large or no regular file is as if missing."""

    def __init__(self, common: str) -> None:
        """`common`: the directory with `objects`."""
        self._places = [f"{common}/objects"]
        for line in self._alternates(f"{common}/objects/info/alternates"):
            self._places.append(os.path.normpath(os.path.join(self._places[0], line)))
        self._packs: list[str] | None = None
        self._left = MAX_WORK

    @staticmethod
    def _alternates(path: str) -> list[str]:
        with opened(path) as descriptor:
            text = b"" if descriptor is None else read_at(descriptor, MAX_COMMIT, 0)
        lines = (line for line in text.decode("utf-8", "replace").splitlines() if line and line[0] != "#")
        return [line for _, line in zip(range(MAX_ALTERNATES), lines, strict=False) if "\0" not in line]

    def first_commit(self, tip: str, known: dict[str, str]) -> str:
        """Return the first commit of the history of `tip`, by first parents; `known` has that of some. Empty if it
        cannot be found within MAX_COMMITS, or the history was cut off."""
        name = tip
        for _ in range(MAX_COMMITS):
            if name in known:
                return known[name]
            commit = self._commit(name, HEAD)
            found = None if commit is None else _PARENT.match(commit.decode("latin-1"))
            if found is None:
                return ""
            if found[1] is None:
                return name
            name = found[1]
        return ""

    def _commit(self, name: str, most: int, deltas: int = MAX_DELTAS) -> bytes | None:
        """The first `most` bytes of a commit; up to `deltas` differences are followed, whatever names their base."""
        if not is_object_name(name):
            return None
        for place in self._places:
            with opened(f"{place}/{name[:2]}/{name[2:]}") as descriptor:
                if descriptor is not None:
                    whole = self._inflated(descriptor, 0, most + 32)
                    return whole.partition(b"\0")[2][:most] if whole and whole.startswith(b"commit ") else None
        packs = self._indices()
        for number, index in enumerate(packs):
            found = self._packed(index, bytes.fromhex(name), most, deltas)
            if found is not None:
                packs.insert(0, packs.pop(number))  # its parents are probably there, too
                return found
        return None

    def _indices(self) -> list[str]:
        if self._packs is None:
            self._packs = []
            for place in self._places:
                try:
                    with os.scandir(f"{place}/pack") as entries:
                        names = [each.path for _, each in zip(range(4 * MAX_PACKS), entries, strict=False)]
                except OSError:
                    continue
                self._packs += sorted(each for each in names if each.endswith(".idx"))[:MAX_PACKS]
        return self._packs

    def _packed(self, index: str, name: bytes, most: int, deltas: int) -> bytes | None:
        self._left -= PROBE
        if self._left <= 0:
            return None
        with opened(index) as descriptor:
            at = None if descriptor is None else _offset_of(descriptor, name)
        if at is None:
            return None
        with opened(f"{index[:-4]}.pack") as descriptor:
            return None if descriptor is None else self._entry(descriptor, at, len(name), most, deltas)

    def _entry(self, pack: int, at: int, width: int, most: int, deltas: int) -> bytes | None:
        """The first `most` bytes of a commit that a pack has at an offset."""
        entry = _Entry.read(pack, at, width)
        if entry is None or deltas == 0:
            return None
        if entry.kind == _COMMIT:
            return self._inflated(pack, entry.data, most)
        if entry.kind == _OFFSET_DELTA:
            base = self._entry(pack, entry.base_at, width, MAX_COMMIT, deltas - 1) if entry.base_at > 0 else None
        elif entry.kind == _NAMED_DELTA:
            base = self._commit(entry.base, MAX_COMMIT, deltas - 1)
        else:
            return None
        delta = self._inflated(pack, entry.data, MAX_COMMIT)
        return None if base is None or delta is None else applied(base, delta, most)

    def _inflated(self, descriptor: int, at: int, most: int) -> bytes | None:
        """The first `most` bytes of what is compressed at an offset of a file."""
        if self._left <= 0:
            return None
        try:
            found = zlib.decompressobj().decompress(read_at(descriptor, most + 256, at), most)
        except zlib.error:
            return None
        self._left -= most if most <= HEAD + 32 else len(found)
        return found


class _Entry(NamedTuple):
    """The head of an entry in a pack: its type, where its data begins, and its base, at an offset or by its name."""

    kind: int
    data: int
    base_at: int = 0
    base: str = ""

    @staticmethod
    def read(pack: int, at: int, width: int) -> _Entry | None:
        head = read_at(pack, 32 + width, at)
        if not head:
            return None
        kind, used = head[0] >> 4 & 7, 1
        while head[used - 1] & 0x80:
            used += 1
            if used >= len(head):
                return None
        if kind == _NAMED_DELTA:
            return _Entry(kind, at + used + width, base=head[used : used + width].hex())
        if kind != _OFFSET_DELTA:
            return _Entry(kind, at + used)
        back, more = 0, True
        while more:
            if used >= len(head):
                return None
            back = back << 7 | head[used] & 0x7F
            more = head[used] & 0x80 != 0
            back += more
            used += 1
        return _Entry(kind, at + used, base_at=at - back)


def applied(base: bytes, delta: bytes, most: int) -> bytes | None:
    """Return the first `most` bytes of what a difference makes of `base`; None for a damaged one."""
    at, made = 0, bytearray()
    for _ in range(2):  # the sizes of both
        while at < len(delta) and delta[at] & 0x80:
            at += 1
        at += 1
    while at < len(delta) and len(made) < most:
        code = delta[at]
        at += 1
        if code & 0x80:
            numbers = []
            for bit in range(7):
                numbers.append(delta[at] if code >> bit & 1 and at < len(delta) else 0)
                at += code >> bit & 1
            start = int.from_bytes(bytes(numbers[:4]), "little")
            size = int.from_bytes(bytes(numbers[4:]), "little") or 0x10000
            piece = base[start : start + size]
            if len(piece) < size and len(made) + len(piece) < most:
                return None
            made += piece
        elif code:
            made += delta[at : at + code]
            at += code
        else:
            return None
    return bytes(made[:most])


def _offset_of(index: int, name: bytes) -> int | None:
    """The offset of an object in the pack of an index of version 2."""
    width = len(name)
    if read_at(index, 8, 0) != b"\xfftOc\0\0\0\2":
        return None
    low = _number(index, 8 + 4 * (name[0] - 1), 4) if name[0] else 0
    high, total = _number(index, 8 + 4 * name[0], 4), _number(index, 8 + 4 * 255, 4)
    names, high = 8 + 4 * 256, min(high, total)
    while low < high:
        middle = (low + high) // 2
        found = read_at(index, width, names + width * middle)
        if found == name:
            offsets = names + (width + 4) * total
            offset = _number(index, offsets + 4 * middle, 4)
            if offset < 1 << 31:
                return offset
            return _number(index, offsets + 4 * total + 8 * (offset - (1 << 31)), 8)
        if found < name:
            low = middle + 1
        else:
            high = middle
    return None


def _number(descriptor: int, at: int, size: int) -> int:
    return int.from_bytes(read_at(descriptor, size, at), "big")


@contextmanager
def opened(path: str) -> Iterator[int | None]:
    """A descriptor of a regular file; None for anything else, a symbolic link included."""
    descriptor = None
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):  # before it is opened: opening a device may have an effect
            descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOCTTY)
    except (OSError, ValueError):
        descriptor = None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def read_at(descriptor: int, size: int, at: int) -> bytes:
    """Return up to `size` bytes at an offset; none where a damaged file names one that no file has."""
    try:
        return os.pread(descriptor, size, at)
    except (OSError, OverflowError):
        return b""
