"""Cosines found by codes are the exact ones wherever anybody looks, and none that counts is missed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import VectorSettings
from mnemond.index import vectors
from mnemond.index.vectors import CODE_TAIL, Dense, cosines_of, is_stored
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import AddInsight, RetireInsight
from tests.examples import examples
from tests.index.vector_worlds import DIMENSION, coded, unit
from tests.index.worlds import insight
from tests.tables import each_row

Bits = npt.NDArray[np.bool_]
CLOSE = 1e-5


def searched(rows: int, seed: int, coded_rows: int | None) -> Dense:
    """Rows of which some are alike, some point the other way and some say nothing; the first ones have codes."""
    matrix = unit(rows, seed)
    matrix[rows // 3 : rows // 2] = matrix[0]
    matrix[rows // 2 :: 5] *= -1.0
    matrix[rows // 4 :: 7] = 0.0
    codes = None if coded_rows is None else coded(matrix, max(1, min(coded_rows, rows)))
    return Dense(matrix, np.ones(rows, dtype=np.uint8), scanned=codes)


def ranked(cosines: list[float], wanted: list[bool], k: int) -> list[tuple[int, float]]:
    rows = [row for row, is_wanted in enumerate(wanted) if is_wanted]
    return [(row, cosines[row]) for row in sorted(rows, key=lambda row: (-cosines[row], -row))[:k]]


def same(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> bool:
    """Rows may change places where float32 cannot tell their cosines apart."""
    return [cosine for _, cosine in found] == pytest.approx([cosine for _, cosine in expected], abs=CLOSE)


@given(
    st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([None, 1, 150, 1000]), st.integers(1, 20),
    st.sampled_from([-0.2, 0.0, 0.3, 0.6, 0.95]), st.sampled_from([0.5, 0.99, math.inf]), st.booleans(),
)  # fmt: skip
@examples(80)
def test_the_best_rows_are_those_of_all_cosines(
    seed: int, rows: int, coded_rows: int | None, k: int, least: float, below: float, masked: bool
) -> None:
    dense = searched(rows, seed, coded_rows)
    vector = unit(1, seed + 1)[0] if seed % 2 else dense.matrix[0].copy()
    mask: Bits | None = np.random.default_rng(seed).random(rows) < 0.6 if masked else None
    cosines = cosines_of(dense, vector)
    exact = (dense.matrix @ vector).tolist()
    seen = [True] * rows if mask is None else mask.tolist()
    assert len(cosines) == rows
    assert [cosines[row] for row in range(rows)] == pytest.approx(exact, abs=CLOSE)
    assert cosines.of(np.arange(rows)).tolist() == pytest.approx(exact, abs=CLOSE)
    positive = [shown and cosine > 0.0 for shown, cosine in zip(seen, exact, strict=True)]
    found = cosines.highest(k, mask)
    assert same(found, ranked(exact, positive, k))
    assert all(seen[row] and cosine > 0.0 for row, cosine in found)
    between = [shown and least <= cosine < below for shown, cosine in zip(seen, exact, strict=True)]
    edges = [cosine for cosine in exact if min(abs(cosine - least), abs(cosine - below)) < CLOSE]
    if not edges:  # one on the edge may fall on either side of it
        found = cosines.best_between(least, below, k, mask)
        assert same(found, ranked(exact, between, k))
        assert all(seen[row] and least <= cosine < below for row, cosine in found)


@given(st.integers(0, 2**32), st.integers(1, 200), st.booleans())
@examples(50)
def test_no_code_is_farther_off_than_it_says(seed: int, rows: int, worst: bool) -> None:
    matrix = unit(rows, seed)
    codes = coded(matrix)
    vector = unit(1, seed + 1)[0]
    if worst:  # where a code errs, and nowhere else
        vector = matrix[-1] - codes.matrix[-1] * codes.scales[-1]
        vector /= np.linalg.norm(vector)
    found, off = codes.cosines_within(vector)
    assert np.abs(found - matrix @ vector).max() <= off < 0.2


def test_a_writer_has_codes_long_before_readers_and_they_follow_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SCANNED_FROM", 10)
    matrix = unit(3 * CODE_TAIL, 33)
    index = MemoryIndex.build([], [], DIMENSION, Compaction(5, 0.1))
    empty = index.snapshot
    assert empty.parts.dense.scanned is None
    for at in range(0, len(matrix), 16):
        index.apply([AddInsight(insight(f"m{row:03}"), matrix[row]) for row in range(at, at + 16)])
        snapshot = index.snapshot
        assert snapshot.parts.dense.codes is None
        assert (snapshot.parts.dense.scanned is not None) == (snapshot.rows >= CODE_TAIL)
        assert snapshot.cosines(matrix[3]).highest(1, None)[0][1] == pytest.approx(1.0)
    index.apply([RetireInsight(f"m{row:03}", "forgotten") for row in range(0, len(matrix), 2)])
    assert index.snapshot.rows == len(matrix) // 2
    assert index.snapshot.parts.dense.scanned is not None
    row = index.snapshot.row_of("m091")
    assert index.snapshot.cosines(matrix[91]).highest(1, None)[0][0] == row


@pytest.mark.parametrize(("kind", "scanned"), [("auto", True), ("int8", True), ("exact", False)])
def test_whoever_wants_every_vector_scanned_has_no_codes(
    monkeypatch: pytest.MonkeyPatch, kind: str, scanned: bool
) -> None:
    monkeypatch.setattr(vectors, "SCANNED_FROM", 10)
    rows = [(insight(f"m{at}"), vector) for at, vector in enumerate(unit(CODE_TAIL, 3))]
    settings = VectorSettings(index=kind)  # type: ignore[arg-type]  # one of its kinds
    assert (MemoryIndex.build(rows, [], DIMENSION, search=settings).snapshot.parts.dense.scanned is not None) == scanned


def test_where_as_many_are_wanted_as_there_are_all_are_compared() -> None:
    dense, vector = searched(400, 3, 400), unit(1, 4)[0]
    exact = (dense.matrix @ vector).tolist()
    assert same(cosines_of(dense, vector).best_between(-2.0, 2.0, 400, None), ranked(exact, [True] * 400, 400))


@each_row(
    ("stored", "given", "same"),
    [
        (None, None, True),
        (None, [0.0, 0.0], True),
        (None, [3.0, 4.0], False),
        ([0.6, 0.8], None, False),
        ([0.6, 0.8], [0.0, 0.0], False),
        ([0.6, 0.8], [3.0, 4.0], True),
        ([0.6, 0.8], [4.0, 3.0], False),
        ([0.6, 0.8], [[3.0, 4.0], [0.0, 2.0]], False),
        ([[0.6, 0.8], [0.0, 1.0]], [[3.0, 4.0], [0.0, 2.0]], True),
    ],
)
def test_a_vector_is_known_again(stored: Any, given: Any, same: bool) -> None:
    """Rows are of length 1, whatever was given."""
    rows = [None if each is None else np.array(each, np.float32) for each in (stored, given)]
    assert is_stored(*rows) is same
    if rows[1] is not None and given is not None:
        assert rows[1].tolist() == np.array(given, np.float32).tolist()  # as it was
