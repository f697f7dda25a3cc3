"""A memory whose text changed gets a row of its own, and takes with it what hung on the old one."""

from __future__ import annotations

from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import PutInsight
from mnemond.model.memory import Edge
from tests.index.worlds import DIMENSION, insight


def test_a_rewritten_row_takes_the_edges_of_both_directions_along() -> None:
    rows = [insight(f"{row:06d}", at=row) for row in range(3)]
    edges = [Edge("000000", "000001", "causal", 0.5), Edge("000001", "000002", "causal", 0.25)]
    index = MemoryIndex.build([(row, None) for row in rows], edges, DIMENSION)
    snapshot = index.apply([PutInsight(insight("000001", "sqlite", at=1))])
    row = snapshot.row_of("000001")
    assert row == 3
    assert [(link["row"], link["outgoing"], link["weight"]) for link in snapshot.neighbours(row)] == [
        (0, 0, 0.5),
        (2, 1, 0.25),
    ]
    assert snapshot.columns.degree.tolist() == [1, 2, 1, 2]
