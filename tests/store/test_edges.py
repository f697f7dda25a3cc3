"""What becomes of an edge that meets another of the same ends and type (spec 4, rules)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.memory.edge_builders import edges_of
from mnemond.model.changes import AddInsight, RemoveEdge
from mnemond.model.memory import MAX_METADATA, CreatedBy, Edge, Relation
from mnemond.store import edges, insights
from mnemond.store.connection import Connection, ConstraintError
from mnemond.store.edges import MAX_AT_ONCE
from tests.store.factories import engine_at, insight_id, open_at, remember, stored_edges
from tests.tables import each_row

ONE, TWO, THREE = insight_id(1), insight_id(2), insight_id(3)
NOW, LATER = "2026-02-18T09:00:00.000000Z", "2026-02-19T09:00:00.000000Z"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2), remember(3)])
    engine.close()
    connection = open_at(tmp_path / "a.db").connection
    yield connection
    connection.close()


def edge(weight: float = 0.5, by: CreatedBy = "auto", metadata: str = "{}", **fields: Any) -> Edge:
    return Edge(ONE, TWO, "semantic", weight, metadata, by, **fields)


def joined(db: Connection, *several: Edge, strict: bool = False) -> Edge:
    """What is stored after these were written in that order."""
    for each in several:
        after, _ = edges.upsert(db, each, NOW, strict=strict)
    assert edges.read(db, ONE, TWO, "semantic") == after
    return after


def test_a_new_edge_is_stored_as_it_is(db: Connection) -> None:
    new = edge(0.25, "host", '{"a":1}', boost_days=2.5, last_boosted_at=NOW)
    assert edges.upsert(db, new, NOW) == (new, None)
    assert edges.read(db, ONE, TWO, "semantic") == new
    assert edges.read(db, TWO, ONE, "semantic") is None


def test_the_larger_weight_counts_and_the_creation_time_stays(db: Connection) -> None:
    assert joined(db, edge(0.5), edge(0.75)).weight == 0.75
    assert edges.upsert(db, edge(0.25), LATER) == (edge(0.75), edge(0.75))
    assert db.rows("SELECT created_at FROM edges") == [(NOW,)]


@pytest.mark.parametrize("maker", ["host", "user"])
def test_an_automatic_edge_changes_nothing_about_one_that_was_chosen(db: Connection, maker: CreatedBy) -> None:
    chosen = edge(0.25, maker, '{"a":1}')
    automatic = edge(1.0, "auto", '{"b":2}', boost_days=5.0)
    assert joined(db, chosen, automatic) == chosen
    assert edges.upsert(db, automatic, NOW) == (chosen, chosen)


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("auto", "auto", "auto"), ("auto", "host", "host"), ("auto", "user", "user"), ("auto", "worker", "worker"),
        ("host", "user", "user"), ("user", "host", "host"), ("import", "auto", "import"), ("worker", "auto", "worker"),
        ("host", "worker", "host"), ("user", "import", "user"), ("import", "host", "host"),
    ],
)  # fmt: skip
def test_what_somebody_chose_stays_chosen(db: Connection, before: CreatedBy, new: CreatedBy, after: CreatedBy) -> None:
    assert joined(db, edge(0.5, before), edge(0.75, new)).created_by == after


def test_metadata_are_merged_and_the_new_ones_win(db: Connection) -> None:
    after = joined(db, edge(metadata='{"a":1,"b":[1,2]}'), edge(metadata='{"b":"x","c":null}'), edge())
    assert msgspec.json.decode(after.metadata) == {"a": 1, "b": "x", "c": None}


def test_a_boost_is_never_lowered(db: Connection) -> None:
    after = joined(db, edge(boost_days=3.0, last_boosted_at=NOW), edge(boost_days=1.0))
    assert (after.boost_days, after.last_boosted_at) == (3.0, NOW)
    assert joined(db, edge(boost_days=4.0, last_boosted_at=LATER)).last_boosted_at == LATER


def of_size(key: str, size: int) -> str:
    bare = len(f'{{"{key}":""}}')
    return f'{{"{key}":"{"x" * (size - bare)}"}}'


def test_metadata_stay_within_their_limit(db: Connection) -> None:
    half = MAX_METADATA // 2
    fits = joined(db, edge(metadata=of_size("a", half)), edge(metadata=of_size("b", half + 1)), strict=True)
    assert len(fits.metadata.encode()) == MAX_METADATA
    with pytest.raises(MnemonError, match="metadata of this edge would be 4,102 bytes; the limit is 4,096") as caught:
        edges.upsert(db, edge(0.9, metadata='{"c":1}'), NOW, strict=True)
    assert (caught.value.kind, caught.value.outcome) == (INVALID_PARAMS, "rejected")
    assert edges.read(db, ONE, TWO, "semantic") == fits
    later = joined(db, edge(0.9, metadata='{"c":1}'))
    assert (later.metadata, later.weight) == (fits.metadata, 0.9)


@given(
    st.lists(
        st.builds(edge, st.floats(0, 1), st.sampled_from(["auto", "host", "user", "import", "worker"])), min_size=1
    )
)
def test_whatever_comes_the_weight_never_falls_and_a_choice_is_never_lost(several: list[Edge]) -> None:
    after = several[0]
    for each in several[1:]:
        before, after = after, edges._merged(after, each, strict=True)
        assert after.weight >= before.weight
        assert before.created_by not in edges.CHOSEN or after.created_by in edges.CHOSEN
        if each.created_by == "auto" and before.created_by in edges.CHOSEN:
            assert after == before


def test_several_new_edges_go_together_and_none_may_be_there(db: Connection) -> None:
    both = [edge(), Edge(TWO, ONE, "semantic", 0.5)]
    edges.insert_all(db, both, NOW)
    assert edges.touching(db, ONE) == both
    with pytest.raises(ConstraintError):
        edges.insert_all(db, [edge()], NOW)


@pytest.mark.parametrize(
    "bad", [Edge(ONE, ONE, "causal", 0.5), Edge(ONE, TWO, "causal", 1.5), Edge(ONE, "x", "causal", 0.5)]
)
def test_the_database_refuses_what_no_edge_may_be(db: Connection, bad: Edge) -> None:
    with pytest.raises(ConstraintError):
        edges.upsert(db, bad, NOW)


def test_removing_tells_what_was_there(db: Connection) -> None:
    edges.upsert(db, edge(0.5, "host"), NOW)
    assert edges.remove(db, RemoveEdge(ONE, TWO, "causal")) is None
    assert edges.remove(db, RemoveEdge(ONE, TWO, "semantic")) == edge(0.5, "host")
    assert edges.touching(db, ONE) == []


def test_touching_are_those_of_either_end(db: Connection) -> None:
    links = [
        Edge(ONE, TWO, "causal", 0.5), Edge(THREE, ONE, "causal", 0.25), Edge(ONE, THREE, "entity", 0.25),
        Edge(THREE, ONE, "entity", 0.75), Edge(TWO, THREE, "entity", 0.5), Edge(THREE, TWO, "entity", 0.5),
    ]  # fmt: skip
    edges.insert_all(db, links, NOW)
    assert sorted(map(edges.key, edges.touching(db, ONE))) == sorted(map(edges.key, links[:4]))
    edges.remove_all(db, edges.touching(db, ONE))
    assert sorted(map(edges.key, stored_edges(db))) == sorted(map(edges.key, links[4:]))


def test_edges_of_one_way_are_strays_that_only_a_search_of_all_finds(db: Connection) -> None:
    edges.insert_all(db, [Edge(TWO, ONE, "entity", 0.5)], NOW)
    assert edges.touching(db, ONE) == []
    assert edges.remove_strays(db, ONE) == 1
    assert edges.touching(db, TWO) == []


def test_a_moved_edge_has_the_successor_in_place_of_its_predecessor() -> None:
    link = edge(0.5, "host", '{"a":1}')
    assert edges.moved(link, ONE, THREE) == msgspec.structs.replace(link, source_id=THREE)
    assert edges.moved(link, TWO, THREE) == msgspec.structs.replace(link, target_id=THREE)
    assert edges.moved(link, ONE, TWO) is None


def test_logical_links_count_a_pair_once_but_causes_by_direction() -> None:
    links = [edge(), Edge(TWO, ONE, "semantic", 1.0), Edge(ONE, TWO, "causal", 1.0), Edge(TWO, ONE, "causal", 1.0)]
    assert edges.logical_links(links) == 3
    assert edges.logical_links([]) == 0


@each_row("many", [1, 2, MAX_AT_ONCE, 2 * MAX_AT_ONCE + 1])
def test_relations_are_the_edges_they_stand_for(tmp_path: Path, many: int) -> None:
    db = open_at(tmp_path / "a.db").connection
    for number in range(many + 1):
        change = remember(number).changes[0]
        assert isinstance(change, AddInsight)
        insights.insert(db, change, None)
    ways: list[tuple[str | None, str | None]] = [("{}", '{"a":1}')] * 30 + [("{}", None), (None, '{"b":2}')]
    relations = [Relation(insight_id(n), "entity", n / 128, *ways[n % 32]) for n in range(1, many + 1)]
    edges.insert_relations(db, insight_id(0), relations, "2026-02-18T00:00:00.000000Z")
    wanted = [edge for each in relations for edge in edges_of(insight_id(0), each)]
    found = [
        Edge(*row) for row in db.rows("SELECT source_id, target_id, edge_type, weight, metadata, created_by FROM edges")
    ]
    assert sorted(found, key=edges.key) == sorted(wanted, key=edges.key)
    assert {row[0] for row in db.rows("SELECT created_at FROM edges")} == {"2026-02-18T00:00:00.000000Z"}
    db.close()
