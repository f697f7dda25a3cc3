"""The weight of a shared entity (spec 7.12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import EntitySettings
from mnemond.memory.edge_builders import idf_weight
from tests.tables import each_row

SETTINGS = EntitySettings()

CASES = [
    (5, 2, 1.0), (5, 5, 1.0), (2, 2, 1.0), (6, 2, 0.613147), (100, 1, 1.0), (100, 2, 0.849485), (100, 10, 0.5),
    (100, 50, 0.150515), (100, 80, 0.1), (100, 100, None), (6, 6, None), (100, 101, None),
]  # fmt: skip


@each_row(("documents", "holders", "expected"), CASES)
def test_worked_weights(documents: int, holders: int, expected: float | None) -> None:
    weight = idf_weight(documents, holders, SETTINGS)
    assert weight == (None if expected is None else pytest.approx(expected, abs=1e-6))


@given(st.integers(-5, 10**9), st.integers(-5, 10**9), st.integers(0, 20))
def test_total_for_any_counts_and_policy(documents: int, holders: int, min_docs: int) -> None:
    weight = idf_weight(documents, holders, EntitySettings(idf_min_docs=min_docs))
    assert weight is None or 0.1 <= weight <= 1.0


@given(st.integers(6, 10_000), st.data())
def test_rarer_never_weighs_less(documents: int, data: st.DataObject) -> None:
    holders = data.draw(st.integers(2, documents - 1))
    rarer, commoner = idf_weight(documents, holders - 1, SETTINGS), idf_weight(documents, holders, SETTINGS)
    assert rarer is not None
    assert commoner is not None
    assert rarer >= commoner
