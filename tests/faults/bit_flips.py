"""Flips single bits of a database, one at a time, and counts those that a check of the file notices."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

Verify = Callable[[Path], Collection[object]]
"""What is wrong with the store at a path; it may raise instead for a file that cannot be opened."""


class Missed(NamedTuple):
    """A bit that nobody noticed."""

    offset: int
    bit: int


def missed(path: Path, verify: Verify, flips: int, seed: int, refusals: tuple[type[Exception], ...]) -> list[Missed]:
    """Flip so many bits of the file at `path`, anywhere, as `missed_of` does."""
    size, chance = path.stat().st_size, random.Random(seed)
    return missed_of(path, verify, [(chance.randrange(size), chance.randrange(8)) for _ in range(flips)], refusals)


def missed_of(
    path: Path, verify: Verify, flips: Iterable[tuple[int, int]], refusals: tuple[type[Exception], ...]
) -> list[Missed]:
    """Flip bits, (offset, number) each, of the file at `path`, each in a copy of its own, and return those that
    `verify` finds nothing wrong with. `refusals` are exceptions that count as noticed; any other one passes through."""
    whole = path.read_bytes()
    copy = path.with_name("flipped.db")
    found = []
    for flip in (Missed(*each) for each in flips):
        damaged = bytearray(whole)
        damaged[flip.offset] ^= 1 << flip.bit
        for suffix in ("-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
        copy.touch(0o600)
        copy.write_bytes(damaged)
        try:
            noticed = bool(verify(copy))
        except refusals:
            noticed = True
        if not noticed:
            found.append(flip)
    return found
