"""related: nearest first, through visible memories alone, the same every time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.links import MAX_LINKS, links_of, related
from mnemond.model.answers import RelatedMemory
from mnemond.model.memory import EDGE_TYPES, Edge, EdgeType, Scope
from mnemond.model.query import Filter
from tests.index.worlds import DIMENSION, insight
from tests.memory.factories import Desk, number_of
from tests.store.factories import forget

EVERYBODY = Filter()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    built = Desk(tmp_path / "mnemon.db", memories=6)
    yield built
    built.close()


def around(
    desk: Desk, start: int, wanted: Filter = EVERYBODY, edge_type: str | None = None, depth: int = 2, limit: int = 20
) -> list[tuple[int, int, str, float]]:
    found = related(desk.snapshot, desk.row(start), wanted, edge_type, depth, limit)
    return [(number_of(each.id), each.depth, each.via_edge_type, each.weight) for each in found]


def test_nearer_then_heavier_then_smaller_id(desk: Desk) -> None:
    desk.link(1, 4, weight=0.5)
    desk.link(1, 3, weight=0.9)
    desk.link(1, 2, weight=0.5)
    desk.link(2, 5, weight=1.0)
    assert around(desk, 1) == [
        (3, 1, "semantic", 0.9), (2, 1, "semantic", 0.5), (4, 1, "semantic", 0.5), (5, 2, "semantic", 1.0),
    ]  # fmt: skip
    assert around(desk, 1, depth=1) == around(desk, 1)[:3]
    assert around(desk, 1, limit=2) == around(desk, 1)[:2]
    assert around(desk, 6) == []


def test_the_heaviest_link_from_the_ring_before_is_told(desk: Desk) -> None:
    desk.link(1, 2, weight=0.9)
    desk.link(1, 3, weight=0.8)
    desk.link(2, 4, "entity", weight=0.2)
    desk.link(3, 4, "temporal", weight=0.7)
    desk.link(1, 2, "entity", weight=0.9)
    assert around(desk, 1)[0] == (2, 1, "semantic", 0.9)  # of equal weights the first type
    assert around(desk, 1)[2] == (4, 2, "temporal", 0.7)


def test_links_are_followed_whichever_way_they_lead(desk: Desk) -> None:
    desk.link(1, 2, "causal")
    desk.link(3, 2, "causal")
    assert [number for number, *_ in around(desk, 2)] == [1, 3]
    assert [number for number, *_ in around(desk, 1)] == [2, 3]


def test_one_type_alone(desk: Desk) -> None:
    desk.link(1, 2, "causal")
    desk.link(1, 3, "semantic")
    desk.link(3, 4, "causal")
    assert around(desk, 1, edge_type="causal") == [(2, 1, "causal", 0.5)]
    assert around(desk, 1, edge_type="temporal") == []


def test_what_is_hidden_is_neither_shown_nor_passed_through(desk: Desk) -> None:
    desk.add(7, Scope(session_id="s1"))
    desk.add(8, Scope(user_id="ana"))
    desk.link(1, 7)
    desk.link(7, 2)
    desk.link(1, 8)
    assert around(desk, 1) == [(8, 1, "semantic", 0.5)]
    assert [number for number, *_ in around(desk, 1, Filter(scope=Scope(user_id="ben")))] == []
    assert [number for number, *_ in around(desk, 1, Filter(scope=Scope(session_id="s1")))] == [7, 8, 2]
    assert [number for number, *_ in around(desk, 1, Filter(all_sessions=True))] == [7, 8, 2]
    assert [number for number, *_ in around(desk, 1, Filter(scope=Scope(session_id="s2")))] == [8]


def test_what_was_forgotten_is_not_related(desk: Desk) -> None:
    desk.link(1, 2)
    desk.link(2, 3)
    desk.commit(forget(2))
    assert around(desk, 1) == []


def test_the_depth_is_a_number_of_links(desk: Desk) -> None:
    for number in range(1, 6):
        desk.link(number, number + 1)
    assert [(number, depth) for number, depth, *_ in around(desk, 1, depth=5)] == [
        (number, number - 1) for number in range(2, 7)
    ]
    assert [number for number, *_ in around(desk, 1, depth=4, limit=2)] == [2, 3]


def test_no_more_rows_are_looked_around_than_asked_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2, 7):
        desk.link(1, number)
    looked: list[int] = []
    neighbours = Snapshot.neighbours

    def counted(self: Snapshot, row: int) -> object:
        looked.append(row)
        return neighbours(self, row)

    monkeypatch.setattr(Snapshot, "neighbours", counted)
    assert len(around(desk, 1, depth=5, limit=5)) == 5
    assert len(looked) == 1


# ------------------------------------------------------------ the links of one memory


def links(desk: Desk, number: int) -> tuple[dict[str, int], list[tuple[int, str, float, str]]]:
    counts, found = links_of(desk.snapshot, desk.row(number))
    return counts, [(number_of(each.id), each.edge_type, each.weight, each.direction) for each in found]


def test_links_are_counted_and_told_the_heaviest_first(desk: Desk) -> None:
    desk.link(1, 2, weight=0.5)
    desk.link(1, 2, "entity", weight=0.9)
    desk.link(1, 3, "causal", weight=0.7)
    desk.link(4, 1, "causal", weight=0.7)
    desk.link(2, 3, weight=1.0)
    assert links(desk, 1) == (
        {"semantic": 1, "causal": 2, "entity": 1},
        [
            (2, "entity", 0.9, "both"),
            (3, "causal", 0.7, "to"),
            (4, "causal", 0.7, "from"),
            (2, "semantic", 0.5, "both"),
        ],
    )
    assert links(desk, 5) == ({}, [])


def test_two_memories_may_each_be_a_cause_of_the_other(desk: Desk) -> None:
    desk.link(1, 2, "causal", weight=0.7, bidirectional=True, allow_cycle=True)
    assert links(desk, 1) == ({"causal": 2}, [(2, "causal", 0.7, "from"), (2, "causal", 0.7, "to")])


def test_of_many_links_the_heaviest_are_told(tmp_path: Path) -> None:
    many = Desk(tmp_path / "many.db", memories=MAX_LINKS + 10)
    for number in range(2, MAX_LINKS + 11):
        many.link(1, number, weight=0.5 if number % 2 else 0.01 * number)
        many.link(1, number, "causal", weight=0.001 * number)
    counts, found = links(many, 1)
    assert counts == {"semantic": MAX_LINKS + 9, "causal": MAX_LINKS + 9}
    assert len(found) == MAX_LINKS
    expected = sorted((-(0.5 if number % 2 else 0.01 * number), number) for number in range(2, MAX_LINKS + 11))
    assert [number for number, *_ in found] == [number for _, number in expected[:MAX_LINKS]]
    many.close()


# ------------------------------------------------------------ against the obvious way

ROWS = 8
EDGES = st.lists(
    st.tuples(
        st.integers(0, ROWS - 1), st.integers(0, ROWS - 1), st.sampled_from(EDGE_TYPES), st.sampled_from([0.25, 1.0])
    ),
    max_size=30,
)  # fmt: skip


@given(edges=EDGES, depth=st.integers(1, 5), kind=st.sampled_from([None, *EDGE_TYPES]), limit=st.integers(1, 9))
def test_the_same_as_one_link_at_a_time(
    edges: list[tuple[int, int, EdgeType, float]], depth: int, kind: str | None, limit: int
) -> None:
    insights = [(insight(f"{number:08x}", "text", at=number), None) for number in range(ROWS)]
    table = {(one, other, each): Edge(f"{one:08x}", f"{other:08x}", each, weight) for one, other, each, weight in edges}
    snapshot = MemoryIndex.build(insights, table.values(), DIMENSION).snapshot
    found = related(snapshot, 0, EVERYBODY, kind, depth, limit)
    assert [_flat(each) for each in found] == _slowly(table, depth, kind)[:limit]
    assert np.isfinite([each.weight for each in found]).all()


def _flat(each: RelatedMemory) -> tuple[int, float, str, str]:
    return each.depth, -each.weight, each.id, each.via_edge_type


def _slowly(
    table: dict[tuple[int, int, EdgeType], Edge], depth: int, kind: str | None
) -> list[tuple[int, float, str, str]]:
    ring, seen, found = {0}, {0}, []
    for distance in range(1, depth + 1):
        best: dict[int, tuple[float, int]] = {}
        for edge in table.values():
            one, other = int(edge.source_id, 16), int(edge.target_id, 16)
            if kind not in (None, edge.edge_type) or one == other:
                continue
            for near, far in ((one, other), (other, one)):
                if near in ring and far not in seen:
                    key = (-edge.weight, EDGE_TYPES.index(edge.edge_type))
                    best[far] = min(best.get(far, key), key)
        found += sorted((distance, weight, f"{row:08x}", EDGE_TYPES[code]) for row, (weight, code) in best.items())
        ring = set(best)
        seen |= ring
    return found
