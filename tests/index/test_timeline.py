"""Looking only nearby gives the answers that looking at every row gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index import neighbourhood
from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import RetireInsight
from tests.index.worlds import DIMENSION, insight
from tests.tables import each_row

NEARBY = 3
"""So small that what lies just behind it matters."""


@pytest.fixture(autouse=True)
def _short_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "NEARBY", NEARBY)


@st.composite
def stores(draw: st.DrawFn) -> Snapshot:
    """Rows in the order of their times, some of equal times, some dead."""
    times = sorted(draw(st.lists(st.integers(0, 12), min_size=1, max_size=24)))
    rows = [
        insight(f"{row:06d}", "redis", at=at, source=draw(st.sampled_from(["ana", "bo"])))
        for row, at in enumerate(times)
    ]
    index = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION)
    dead = draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row.id, max_size=len(rows) - 1))
    return index.apply([RetireInsight(row.id, "forgotten") for row in dead])


def everywhere(snapshot: Snapshot) -> Snapshot:
    """The same rows, not known to be in order, so that all of them are looked at."""
    return Snapshot(snapshot.generation, snapshot.parts._replace(ordered=False))


def answers(snapshot: Snapshot, at: int, source: str, k: int, within: int) -> tuple[object, ...]:
    around = Neighbourhood(snapshot, insight("new", at=at, source=source), None)
    before, after = around.backbone()
    near = around.nearest_in_time(k, within, [row for row in (before, after) if row is not None])
    return before, after, near, [row.id for row, _ in around.recent(k)]


@given(stores(), st.integers(-1, 14), st.sampled_from(["ana", "bo", "cy"]), st.integers(0, 6), st.integers(0, 20))
def test_nearby_is_as_good_as_everywhere(snapshot: Snapshot, at: int, source: str, k: int, within: int) -> None:
    assert snapshot.parts.ordered
    assert answers(snapshot, at, source, k, within) == answers(everywhere(snapshot), at, source, k, within)


@each_row(("at", "k"), [(50, 2), (50, 6), (0, 6), (99, 6), (50, 40)])
@each_row("equal", [False, True])
def test_at_the_edges_of_what_is_nearby(at: int, k: int, equal: bool) -> None:
    rows = [insight(f"{row:06d}", at=row // 10 * 10 if equal else row) for row in range(100)]
    snapshot = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION).snapshot
    assert answers(snapshot, at, "user", k, 10**9) == answers(everywhere(snapshot), at, "user", k, 10**9)


def test_of_rows_in_no_order_nothing_is_certain() -> None:
    created = np.array([5, 1, 9], dtype=np.int64)
    nearby = neighbourhood.Timeline(created, ordered=False, mask=None, at_us=6)
    assert [nearby.newest(1), nearby.latest(1), nearby.around(1)] == [None, None, None]


def test_behind_the_last_row_the_last_ones_are_the_nearest() -> None:
    nearby = neighbourhood.Timeline(np.array([1, 5, 9], dtype=np.int64), ordered=True, mask=None, at_us=10)
    around = nearby.around(2)
    assert around is not None
    assert around.tolist() == [1, 2]
