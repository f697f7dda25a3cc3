"""Which memories and links are in a picture, and what it says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.graph import Graph
from mnemond.model.memory import Edge, EdgeType, Scope
from mnemond.recall import graph_view
from mnemond.recall.graph_view import Wish, build, redacted
from mnemond.store.edges import Metric
from tests.index.worlds import insight

NOW = "2026-02-01T10:00:00.000000Z"
LETTERS = "abcdefghij"


def snapshot_of(texts: list[str], links: list[tuple[int, int, EdgeType, float]], **fields: Any) -> Snapshot:
    rows = [(insight(LETTERS[at], text, at=at, **fields), None) for at, text in enumerate(texts)]
    edges = [Edge(LETTERS[one], LETTERS[other], kind, weight) for one, other, kind, weight in links]
    return MemoryIndex.build(rows, edges, 2).snapshot


def drawn(snapshot: Snapshot, *, limit: int = 100, metrics: tuple[Metric, ...] = (), **wish: Any) -> Graph:
    return build(snapshot, snapshot.alive(), metrics, Wish(limit, **wish), "default", NOW)


def ids(graph: Graph) -> str:
    return "".join(it.id for it in graph.nodes)


CHAIN: list[tuple[int, int, EdgeType, float]] = [(at, at + 1, "temporal", 1.0) for at in range(5)]


def test_types_of_a_pair_are_one_edge_and_a_cause_leads_to_its_effect() -> None:
    snapshot = snapshot_of(
        ["a", "b", "c"],
        [
            (0, 1, "temporal", 1.0), (1, 0, "temporal", 1.0), (1, 0, "causal", 0.5), (1, 2, "causal", 0.4),
            (0, 2, "semantic", 0.0),
        ],
    )  # fmt: skip
    found = {(it.source, it.target): (it.types, it.weight) for it in drawn(snapshot).edges}
    pair = next(each for each in found if set(each) == {"a", "c"})
    assert found.pop(pair) == (["semantic"], 0.0)
    assert found == {("b", "a"): (["temporal", "causal"], 1.0), ("b", "c"): (["causal"], 0.4)}
    assert {it.id: it.degree for it in drawn(snapshot).nodes} == {"a": 2, "b": 2, "c": 2}


def test_the_newest_are_in_it_or_the_nearest() -> None:
    snapshot = snapshot_of(list("abcdef"), CHAIN)
    newest = drawn(snapshot, limit=4)
    assert (ids(newest), newest.total, newest.limit, newest.total_edges) == ("fedc", 6, 4, 3)
    assert ids(drawn(snapshot, around=2, depth=1)) == "cdb"
    assert ids(drawn(snapshot, around=2, depth=2)) == "cdbea"
    near = drawn(snapshot, around=2, depth=6, limit=3)
    assert (ids(near), near.total) == ("cdb", 6)
    mask = snapshot.alive()
    mask[3] = False
    there = build(snapshot, mask, (), Wish(9, 2, 6), "default", NOW)
    assert ids(there) == "cba"  # what is left out leads nowhere


def test_only_the_strongest_links_and_each_memory_keeps_one(monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[tuple[int, int, EdgeType, float]] = [
        (0, 1, "semantic", 1.0), (0, 2, "semantic", 0.9), (1, 2, "semantic", 0.8), (3, 0, "semantic", 0.1)
    ]  # fmt: skip
    snapshot = snapshot_of(list("abcd"), links)
    monkeypatch.setattr(graph_view, "MAX_EDGES", 3)
    found = drawn(snapshot)
    assert (len(found.edges), found.total_edges) == (3, 4)
    assert {frozenset((it.source, it.target)) for it in found.edges} == {
        frozenset("ab"), frozenset("ac"), frozenset("da")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "most", "cut_at", "lengths"),
    [
        (["x" * 10, "y" * 4, "z"], 15, None, [1, 4, 10]),
        (["x" * 10, "y" * 4, "z"], 12, 7, [1, 4, 7]),
        (["x" * 10, "y" * 4, "z"], 8, 3, [1, 3, 3]),
        (["x" * 10, "y" * 10], 20, None, [10, 10]),
        (["x" * 10, "y" * 10], 19, 9, [9, 9]),
    ],
)
def test_long_texts_are_cut_to_one_length(
    monkeypatch: pytest.MonkeyPatch, texts: list[str], most: int, cut_at: int | None, lengths: list[int]
) -> None:
    monkeypatch.setattr(graph_view, "MAX_TEXT", most)
    found = drawn(snapshot_of(texts, []))
    assert (found.cut_at, sorted(len(it.content) for it in found.nodes)) == (cut_at, lengths)
    assert sum(lengths) <= most


def test_communities_are_the_stored_ones_or_found_now() -> None:
    texts = ["Redis one", "Redis two", "tea one", "tea two", "alone"]
    snapshot = snapshot_of(texts, [(0, 1, "semantic", 1.0), (2, 3, "semantic", 1.0)], entities=("Redis",))
    found = drawn(snapshot)
    groups = {it.id: it.community for it in found.nodes}
    assert groups["a"] == groups["b"] != groups["c"] == groups["d"]
    assert groups["e"] is None
    assert sorted(it.memories for it in found.communities) == [2, 2]
    stored = (Metric("a", 0.5, 1, 7), Metric("e", 0.5, 0, 7), Metric("b", 0.1, 0, None))
    found = drawn(snapshot, metrics=stored)
    assert {it.id: it.community for it in found.nodes} == {"a": 7, "b": None, "c": None, "d": None, "e": 7}
    assert [(it.number, it.memories) for it in found.communities] == [(7, 2)]


def test_members_are_the_most_central_first_and_the_largest_group_before_others() -> None:
    snapshot = snapshot_of(list("abcde"), [])
    stored = [Metric("a", 0.1, 1, 4), Metric("b", 0.3, 1, 4), Metric("c", 0.1, 1, 9), Metric("gone", 0.3, 1, 4)]
    found = graph_view.members(snapshot, [*stored, Metric("d", 0.2, 1, None)], frozenset(range(5)))
    assert [(number, [it.id for it in group]) for number, group in found] == [(4, ["b", "a"]), (9, ["c"])]
    [(number, group)] = graph_view.members(snapshot, stored, frozenset({0}))
    assert (number, [it.id for it in group]) == (4, ["a"])


def test_an_empty_picture() -> None:
    snapshot = snapshot_of(["a"], [])
    nothing = build(snapshot, np.zeros(1, dtype=np.bool_), (), Wish(9), "default", NOW)
    assert (nothing.nodes, nothing.edges, nothing.communities, nothing.total) == ([], [], [], 0)


SECRET = "zebra"


def test_nothing_that_was_written_is_in_a_redacted_picture() -> None:
    from msgspec.json import encode
    from msgspec.structs import replace

    from mnemond.model.relations import StatedRelation

    snapshot = snapshot_of(
        [f"{SECRET} one", f"{SECRET} two"], [(0, 1, "semantic", 1.0)], entities=(SECRET, f"{SECRET}s"), tags=(SECRET,),
        scope=Scope(project=f"{SECRET}#0123456789abcdef"), keywords=f"{SECRET} word",
    )  # fmt: skip
    whole = replace(drawn(snapshot), relations=[StatedRelation(SECRET, SECRET, SECRET, "a")])
    assert encode(whole).count(SECRET.encode()) > 12
    for found in (redacted(whole), drawn(snapshot, redact=True)):
        assert SECRET.encode() not in encode(found)
        assert [it.content for it in found.nodes] == ["b", "a"]
        one, other = found.nodes
        assert (one.tags, one.entities, one.project) == (("tag 1",), ("entity 1", "entity 2"), "project 1")
        assert (other.tags, other.entities) == (one.tags, one.entities)
        assert found.redacted
