"""All builders together: order, counts, and what holds for every edge whatever the store looks like."""

from __future__ import annotations

import json
import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import GraphSettings
from mnemond.memory.edge_builders import BUILDERS, build_all
from mnemond.model.memory import EDGE_TYPES, MAX_METADATA
from mnemond.model.outcomes import EdgesCreated
from tests.memory.small_store import Row, SmallStore, newcomer
from tests.recall.reading import edges as edges_in
from tests.recall.reading import removed

SETTINGS = GraphSettings()

LINES = (
    "Chose SQLite because the team lacks Redis experience",
    "Team lacks Redis experience",
    "The flaky NFS mount leads to WAL corruption",
    "WAL corruption on the build server blocks the Redis team",
    "因为团队没有经验所以选择了数据库",
    "",
)
NAMES = ("Redis", "SQLite", "WAL", "NFS", "界" * 200, '"\\\x00')

ROWS = st.lists(
    st.builds(
        Row,
        id=st.sampled_from("abcdefgh"),
        content=st.sampled_from(LINES),
        hours=st.floats(-50, 50),
        chain=st.sampled_from(["talk", "else"]),
        entities=st.lists(st.sampled_from(NAMES), max_size=6, unique=True).map(tuple),
        cosine=st.none() | st.floats(-1, 1),
        event_us=st.none() | st.integers(0, 10),
    ),
    max_size=12,
    unique_by=lambda row: row.id,
)


def test_there_is_one_builder_for_each_type() -> None:
    assert sorted(builder.edge_type for builder in BUILDERS) == sorted(EDGE_TYPES)


def test_each_type_is_built_in_turn_and_counted_as_links() -> None:
    store = SmallStore(
        Row("a", LINES[1], hours=-1, entities=("Redis",), cosine=0.9),
        Row("b", LINES[3], hours=2, entities=("Redis", "WAL")),
    )
    built = build_all(newcomer(LINES[0], "Redis", "WAL"), store, SETTINGS)
    assert built.links == EdgesCreated(temporal=2, entity=2, causal=1, semantic=1)
    assert removed(built.removed) == [("a", "b", "temporal"), ("b", "a", "temporal")]
    types = [edge.edge_type for edge in edges_in(built.relations)]
    assert types == ["temporal"] * 4 + ["entity"] * 4 + ["causal"] + ["semantic"] * 2


def test_an_empty_store_gives_nothing() -> None:
    built = build_all(newcomer(LINES[0], "Redis"), SmallStore(), SETTINGS)
    assert built == ([], [], EdgesCreated())


@given(ROWS, st.sampled_from(LINES), st.lists(st.sampled_from(NAMES), max_size=8))
def test_every_edge_can_be_stored(rows: list[Row], content: str, names: list[str]) -> None:
    new = newcomer(content, *names, event_us=5)
    built = build_all(new, SmallStore(*rows), SETTINGS)
    edges = edges_in(built.relations)
    keys = Counter((edge.source_id, edge.target_id, edge.edge_type) for edge in edges)
    assert all(count == 1 for count in keys.values())
    assert set(removed(built.removed)).isdisjoint(keys)
    for edge in edges:
        assert (edge.source_id == "new") != (edge.target_id == "new")
        assert math.isfinite(edge.weight)
        assert 0.0 <= edge.weight <= 1.0
        assert len(edge.metadata.encode()) <= MAX_METADATA
        assert isinstance(json.loads(edge.metadata), dict)
        assert edge.created_by == "auto"
        back = (edge.target_id, edge.source_id, edge.edge_type)
        assert (back in keys) == (edge.edge_type != "causal")


@given(ROWS, st.sampled_from(LINES), st.lists(st.sampled_from(NAMES), max_size=8))
def test_links_are_counted_as_pairs(rows: list[Row], content: str, names: list[str]) -> None:
    built = build_all(newcomer(content, *names), SmallStore(*rows), SETTINGS)
    pairs = {(edge.edge_type, frozenset((edge.source_id, edge.target_id))) for edge in edges_in(built.relations)}
    counts = Counter(edge_type for edge_type, _ in pairs)
    links = built.links
    assert (links.temporal, links.entity, links.causal, links.semantic) == tuple(
        counts[edge_type] for edge_type in ("temporal", "entity", "causal", "semantic")
    )


@given(ROWS, st.sampled_from(LINES))
def test_the_same_surroundings_give_the_same_changes(rows: list[Row], content: str) -> None:
    new = newcomer(content, "Redis", "WAL")
    assert build_all(new, SmallStore(*rows), SETTINGS) == build_all(new, SmallStore(*rows), SETTINGS)
