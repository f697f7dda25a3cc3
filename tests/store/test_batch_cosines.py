"""Vectors of a batch, compared with a store: all at once, or few of them by codes."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.index import vectors as vectors_module
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight
from mnemond.store.engine import BatchCosines
from tests.index.vector_worlds import DIMENSION, unit
from tests.index.worlds import insight


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("many", [1, 2, 40])
@pytest.mark.parametrize("scanned_from", [1, 1_000])
def test_cosines_are_those_of_the_rows_by_codes_as_without(
    monkeypatch: pytest.MonkeyPatch, scanned_from: int, many: int, late: int
) -> None:
    monkeypatch.setattr(vectors_module, "SCANNED_FROM", scanned_from)
    rows = unit(200, 1)
    known = [(insight(f"m{number:03}", f"text {number}", at=number), rows[number]) for number in range(200)]
    index = MemoryIndex.build(known, [], DIMENSION)
    index.apply([AddInsight(insight("late", "without a code yet", at=998), unit(1, 3)[0])] * late)
    base, vectors = index.snapshot, unit(many, 2)
    vector = vectors[-1]
    assert (base.parts.dense.scanned is not None) == (scanned_from == 1)
    compared = BatchCosines(base, [None, *vectors])
    assert compared.of(0, base) is None
    index.apply([AddInsight(insight("new", "another", at=999), vector)])
    for now in (base, index.snapshot):
        found = compared.of(many, now)
        assert found is not None
        assert found.of(np.arange(now.rows)) == pytest.approx(now.dense.similarity(vector), abs=1e-5)
