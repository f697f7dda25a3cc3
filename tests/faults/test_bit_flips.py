"""Every single bit of a database that flips is noticed by the store's own check."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.store import verify as verify_module
from mnemond.store.verify_checks import Problem
from tests.faults.bit_flips import missed, missed_of
from tests.faults.every_change import all_batches
from tests.store.factories import START_US, engine_at
from tests.store.plain import make_plain

DEEP, QUICK = 2_000, 50
NOTICED = (MnemonError, apsw.Error)

NOW_US = START_US + 100 * 86_400_000_000
"""After everything that was written."""
HEADER_BYTES = 100
"""Of them the extension decides whether it compares checksums at all (fileformat2, 1.3)."""


def verify(path: Path) -> list[Problem]:
    """Every check of a store that nobody has open."""
    return [problem for finding in verify_module.verify_closed(path, "full", NOW_US) for problem in finding.problems]


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


def test_flips_are_noticed(whole: Path) -> None:
    assert missed(whole, verify, QUICK, 3, NOTICED) == []


@pytest.mark.deep
def test_every_flip_is_noticed(whole: Path) -> None:
    assert missed(whole, verify, DEEP, 2, NOTICED) == []


@pytest.mark.deep
def test_every_flip_of_the_header_is_noticed(whole: Path) -> None:
    every = [(offset, bit) for offset in range(HEADER_BYTES) for bit in range(8)]
    assert missed_of(whole, verify, every, NOTICED) == []


@pytest.mark.parametrize("bit", range(8))
def test_a_header_that_says_there_are_no_checksums_is_noticed(whole: Path, bit: int) -> None:
    assert missed_of(whole, verify, [(20, bit)], NOTICED) == []


def test_without_checksums_flips_are_missed(whole: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.db"
    plain.write_bytes(whole.read_bytes())
    make_plain(plain)
    assert verify(plain) == []
    assert len(missed(plain, verify, QUICK, 3, NOTICED)) > QUICK // 5
