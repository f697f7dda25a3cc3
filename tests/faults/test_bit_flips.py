"""Every single bit of a database that flips is noticed by the store's own check."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.store.invariants import examination
from mnemond.store.invariants.check import Problem
from tests.faults.bit_flips import missed
from tests.faults.every_change import all_batches
from tests.store.factory import START_US, engine_at

DEEP = 2_000
NOTICED = (MnemonError, apsw.Error)

NOW_US = START_US + 100 * 86_400_000_000
"""After everything that was written."""
RESERVED_AT = 20
"""Place in a database's header that says how many bytes at the end of each page are reserved (fileformat2, 1.3.4): 8
with checksums."""


def verify(path: Path) -> list[Problem]:
    """Every check of a store that nobody has open."""
    return [problem for finding in examination.closed(path, "full", NOW_US) for problem in finding.problems]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store."""
    path = tmp_path_factory.mktemp("flips") / "a.db"
    engine = engine_at(path)
    for batch in all_batches():
        engine.commit(batch)
    engine.close()
    path.chmod(0o600)
    return path


def test_flips_are_counted(whole: Path) -> None:
    digest = hashlib.sha256(whole.read_bytes()).digest()

    def by_digest(path: Path) -> Collection[object]:
        return [] if hashlib.sha256(path.read_bytes()).digest() == digest else ["another file"]

    def fails(_: Path) -> Collection[object]:
        raise apsw.CorruptError

    def never(_: Path) -> Collection[object]:
        return []

    assert missed(whole, by_digest, 20, 1, NOTICED) == []
    assert missed(whole, fails, 20, 1, NOTICED) == []
    unnoticed = missed(whole, never, 20, 1, NOTICED)
    assert len(unnoticed) == 20
    assert len(set(unnoticed)) > 10
    with pytest.raises(apsw.CorruptError):
        missed(whole, fails, 1, 1, (MnemonError,))


def test_nothing_is_wrong_with_the_whole_file(whole: Path) -> None:
    assert verify(whole) == []


@pytest.mark.deep
def test_every_flip_is_noticed(whole: Path) -> None:
    if not whole.read_bytes()[RESERVED_AT]:
        pytest.skip(f"pages have no checksums: {DEEP:,} bit flips are not tried")
    assert missed(whole, verify, DEEP, 2, NOTICED) == []
