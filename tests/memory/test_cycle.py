"""A way back along causes: found when there is one, as short as can be, with a bound on the work."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.links import causal_chain, is_cause
from mnemond.model.memory import Edge, EdgeType
from tests.index.worlds import DIMENSION, insight
from tests.tables import each_row

ROWS = 8
MANY = 1000


def snapshot_of(causes: set[tuple[int, int]], other: EdgeType = "semantic", rows: int = ROWS) -> Snapshot:
    """Rows with these causal links, and the way back of each over another type."""
    names = [f"{number:08x}" for number in range(rows)]
    insights = [(insight(name, "text", at=at), None) for at, name in enumerate(names)]
    edges = [Edge(names[one], names[two], "causal", 0.5) for one, two in causes]
    edges += [Edge(names[two], names[one], other, 0.5) for one, two in causes]
    return MemoryIndex.build(insights, edges, DIMENSION).snapshot


def test_a_chain_is_found_in_one_direction_alone() -> None:
    snapshot = snapshot_of({(0, 1), (1, 2), (2, 3)})
    assert causal_chain(snapshot, 0, 3, MANY) == ((0, 1, 2, 3), True)
    assert causal_chain(snapshot, 3, 0, MANY) == (None, True)
    assert (is_cause(snapshot, 0, 1), is_cause(snapshot, 1, 0), is_cause(snapshot, 0, 2)) == (True, False, False)


def test_the_smaller_side_is_searched() -> None:
    causes = {(0, first) for first in range(1, 6)} | {(200, 201)}
    causes |= {(first, 20 * first + number) for first in range(1, 6) for number in range(20)}
    assert causal_chain(snapshot_of(causes, rows=202), 0, 201, most=10) == (None, True)
    assert causal_chain(snapshot_of({(two, one) for one, two in causes}, rows=202), 201, 0, most=10) == (None, True)


@each_row(("most", "complete"), [(20, True), (5, False)])
def test_the_work_has_a_bound(most: int, complete: bool) -> None:
    ahead = {(number, number + 1) for number in range(7)}
    behind = {(number, number + 1) for number in range(10, 17)}
    assert causal_chain(snapshot_of(ahead | behind, rows=18), 0, 17, most) == (None, complete)


@given(st.sets(st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)).filter(lambda pair: pair[0] != pair[1])))
def test_as_the_obvious_way(causes: set[tuple[int, int]]) -> None:
    snapshot = snapshot_of(causes)
    for effect in range(1, ROWS):
        found = causal_chain(snapshot, 0, effect, MANY)
        length = _length(causes, effect)
        assert found.complete
        if length is None:
            assert found.rows is None
            continue
        assert found.rows is not None
        assert (found.rows[0], found.rows[-1], len(found.rows)) == (0, effect, length)
        assert all(pair in causes for pair in zip(found.rows, found.rows[1:], strict=False))


def _length(causes: set[tuple[int, int]], effect: int) -> int | None:
    """Rows on the shortest chain from row 0."""
    ring, seen = {0}, {0}
    for length in range(2, ROWS + 1):
        ring = {two for one, two in causes if one in ring} - seen
        seen |= ring
        if effect in ring:
            return length
    return None
