"""The published ranking to the letter: its anchors, its signals and weights, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import RetireInsight
from mnemond.model.query import Intent, Recalled
from mnemond.recall.profiles import MNEMON
from tests.index.worlds import built, insight
from tests.recall.recall_world import Link, ask, ids, weights, world
from tests.tables import each_row

TOP = MNEMON.settings.anchors.top_k


def literal(snapshot: Snapshot, text: str, anchors: Sequence[str] = (), **query: Any) -> Recalled:
    if anchors:
        query["anchors"] = frozenset(anchors)
    return ask(snapshot, text, profile="mnemon", **query)


def by_id(found: Recalled) -> dict[str, float]:
    return {hit.insight.id: hit.score for hit in found.hits}


# ------------------------------------------------------------ weights


@each_row(
    ("intent", "vectors", "names", "known"),
    [
        ("WHY", True, True, (0.10, 0.10, 0.30, 0.50)),
        ("WHEN", True, True, (0.15, 0.15, 0.30, 0.40)),
        ("ENTITY", True, True, (0.20, 0.40, 0.20, 0.20)),
        ("GENERAL", True, True, (0.25, 0.25, 0.25, 0.25)),
        ("WHY", False, True, (0.20, 0.10, 0.0, 0.70)),
        ("WHEN", False, True, (0.25, 0.15, 0.0, 0.60)),
        ("ENTITY", False, True, (0.30, 0.50, 0.0, 0.20)),
        ("GENERAL", False, True, (0.35, 0.35, 0.0, 0.30)),
        ("WHY", True, False, (0.116667, 0.0, 0.30, 0.583333)),
        ("WHEN", True, False, (0.190909, 0.0, 0.30, 0.509091)),
        ("ENTITY", True, False, (0.40, 0.0, 0.20, 0.40)),
        ("GENERAL", True, False, (0.375, 0.0, 0.25, 0.375)),
        ("WHY", False, False, (0.222222, 0.0, 0.0, 0.777778)),
        ("WHEN", False, False, (0.294118, 0.0, 0.0, 0.705882)),
        ("ENTITY", False, False, (0.60, 0.0, 0.0, 0.40)),
        ("GENERAL", False, False, (0.538462, 0.0, 0.0, 0.461538)),
    ],
)
def test_weights_go_by_the_intent_and_by_what_there_is(
    intent: Intent, vectors: bool, names: bool, known: tuple[float, ...]
) -> None:
    snapshot = world([insight("a", "zebra", entities=("Redis",))], cosines={"a": 0.5})
    found = literal(snapshot, "zebra Redis" if names else "zebra", intent=intent, vectors=vectors)
    assert found.meta.weights == pytest.approx(known, abs=1e-6)


def test_the_intent_is_read_from_the_question_unless_it_is_given() -> None:
    snapshot = world([insight("a", "zebra")])
    read = literal(snapshot, "why a zebra")
    given = literal(snapshot, "why a zebra", intent="ENTITY")
    assert (read.meta.intent, read.meta.intent_source, given.meta.intent, given.meta.intent_source) == (
        "WHY",
        "auto",
        "ENTITY",
        "override",
    )
    assert weights(read)["graph"] == pytest.approx(7 / 9)
    assert weights(given)["graph"] == pytest.approx(0.4)


# ------------------------------------------------------------ signals and scores


def test_a_path_sums_up_and_may_lead_back() -> None:
    """From a, 1: b 1.525 and d 1.1, then c 1.945. Links also lead back to rows already visited: from b to a,
    2.05, and from c to b, 2.365. From 0 to 1 that is .750988, 1, .667984 and 0."""
    rows = [
        insight(name, text, at=at) for at, (name, text) in enumerate(zip("abcd", ("zebra", "x", "y", "z"), strict=True))
    ]
    links: list[Link] = [("a", "b", "causal", 0.75), ("b", "c", "causal", 0.6), ("a", "d", "temporal", 0.5)]
    found = literal(world(rows, links), "why zebra", ("keyword",))
    assert {hit.insight.id: hit.signals.graph for hit in found.hits} == pytest.approx(
        {"a": 0.750988, "b": 1.0, "c": 0.667984, "d": 0.0}, abs=1e-6
    )
    assert by_id(found) == pytest.approx({"a": 0.806324, "b": 0.777778, "c": 0.519543, "d": 0.0}, abs=1e-6)
    assert ids(found) == ["a", "b", "c", "d"]  # asked why: causes before their effects
    assert (found.meta.anchor_count, found.meta.traversed, found.meta.mode) == (1, 4, "beam")


def test_the_cosine_of_a_row_is_part_of_the_step_to_it() -> None:
    """With λ2 = .4 a cosine of .05 is worth .02: b 1 + .25 + .02, c 1 + .25, and a, from b, .25 more."""
    rows = [insight("a", "zebra", at=1), insight("b", "x", at=2), insight("c", "y", at=3)]
    links: list[Link] = [("a", "b", "causal", 1.0), ("a", "c", "causal", 1.0)]
    found = literal(world(rows, links, {"a": 0.0, "b": 0.05}), "zebra", ("keyword", "vector"), vectors=True)
    graph = {hit.insight.id: hit.signals.graph for hit in found.hits}
    assert graph == pytest.approx({"a": 1.0, "b": 0.02 / 0.27, "c": 0.0})


def test_signals_are_shares_of_words_and_names_and_the_cosine() -> None:
    """GENERAL with everything there: .25 each. words 2 of 4, names 1 of 2, cosine .6, and all start alike."""
    rows = [
        insight("a", "zebra crossing of Redis", entities=("Redis",)),
        insight("b", "nothing", entities=("Qdrant",)),
    ]
    snapshot = world(rows, cosines={"a": 0.6, "b": -0.5})
    found = literal(snapshot, "zebra stripes Redis Qdrant", mode="none", vectors=True)
    first = next(hit for hit in found.hits if hit.insight.id == "a")
    other = next(hit for hit in found.hits if hit.insight.id == "b")
    assert (first.signals.keyword, first.signals.entity, first.signals.graph) == (0.5, 0.5, 1.0)
    assert first.signals.similarity == pytest.approx(0.6)
    assert first.score == pytest.approx(0.25 * (0.5 + 0.5 + 0.6 + 1.0))
    assert (other.signals.keyword, other.signals.entity, other.signals.similarity) == (0.25, 0.5, 0.0)
    assert ids(found) == ["a", "b"]


def test_anchors_are_fused_by_their_ranks() -> None:
    """k: 1/61 for its word and 1/62 as the second newest; v: 1/61 twice. From 0 to 1, v is all and k is nothing."""
    snapshot = world([insight("k", "zebra", at=1), insight("v", "quagga", at=2)], cosines={"v": 0.8})
    found = literal(snapshot, "zebra", vectors=True)
    assert {hit.insight.id: hit.signals.graph for hit in found.hits} == {"v": 1.0, "k": 0.0}
    assert by_id(found) == pytest.approx({"v": 0.25 * 0.8 + 0.375, "k": 0.375})
    assert {hit.insight.id: hit.via for hit in found.hits} == {"v": ("vector", "recency"), "k": ("keyword", "recency")}


def test_a_score_is_in_order_and_ties_go_to_the_more_important_the_newer_and_the_smaller_id() -> None:
    rows = [
        insight("c", "zebra one", at=1),
        insight("b", "zebra two", at=1),
        insight("newer", "zebra three", at=2),
        insight("important", "zebra four", importance=5),
    ]
    found = literal(world(rows), "zebra", mode="none")
    assert ids(found) == ["important", "newer", "b", "c"]
    assert len({hit.score for hit in found.hits}) == 1


# ------------------------------------------------------------ anchors


def test_each_anchor_alone() -> None:
    rows = [
        insight("word", "zebra", at=1),
        insight("name", "quagga", entities=("Redis",), at=2),
        insight("near", "okapi", at=3),
        insight("none", "gnu", at=4),
    ]
    snapshot = world(rows, cosines={"near": 0.9})
    alone = {
        anchor: literal(snapshot, "zebra Redis", (anchor,), vectors=True, mode="none")
        for anchor in ("keyword", "entity", "vector", "recency")
    }
    assert {anchor: set(ids(found)) for anchor, found in alone.items()} == {
        "keyword": {"word", "name"},  # what it names can be found as a word
        "entity": {"name"},
        "vector": {"near"},
        "recency": {"word", "name", "near", "none"},
    }
    for anchor, found in alone.items():
        assert {hit.via for hit in found.hits} == {(anchor,)}
        assert found.meta.anchor_count == len(found.hits)


@each_row("anchor", ["keyword", "vector", "entity", "recency"])
def test_an_anchor_has_no_more_than_its_best_twenty(anchor: str) -> None:
    rows = [insight(f"r{at:02}", f"zebra number{at}", entities=("Redis",), at=at) for at in range(TOP + 5)]
    snapshot = world(rows, cosines={row.id: 0.9 for row in rows})
    found = literal(snapshot, "zebra Redis", (anchor,), vectors=True, mode="none", limit=100)
    assert (TOP, found.meta.anchor_count, len(found.hits)) == (20, 20, 20)
    if anchor != "vector":
        assert min(ids(found)) == "r05", "of equal ones the newest"


def test_what_names_rare_things_goes_before_what_names_common_ones() -> None:
    common = [insight(f"r{at:02}", f"number{at}", entities=("Redis",), at=at) for at in range(TOP + 1)]
    rare = insight("rare", "number", entities=("Qdrant",), at=-1)
    kept = insight("kept", "numbers", entities=("Redis",), at=-2, importance=5)
    found = literal(world([*common, rare, kept]), "Redis Qdrant", ("entity",), mode="none", limit=100)
    assert {"rare", "kept"} <= set(ids(found))
    assert {"r00", "r01", "r02"}.isdisjoint(ids(found))
    assert found.meta.anchor_count == TOP


def test_retired_rows_do_not_make_a_name_common() -> None:
    index = built(
        insight("rare", "number", entities=("Redis",), at=0),
        *(insight(f"gone{at}", "numbers", entities=("Redis",), at=1 + at) for at in range(4)),
        *(insight(f"kept{at}", "numbers more", entities=("Qdrant",), at=9 + at, importance=5) for at in range(2)),
    )
    index.apply([RetireInsight(f"gone{at}", "forgotten") for at in range(4)])
    assert ids(literal(index.snapshot, "Redis Qdrant", ("entity",)))[0] == "rare"


def test_next_to_no_likeness_is_none() -> None:
    snapshot = world([insight("a", "gnu"), insight("b", "okapi")], cosines={"a": 0.11, "b": 0.09})
    assert ids(literal(snapshot, "zebra", ("vector",), vectors=True, mode="none")) == ["a"]


def test_the_newest_are_results_though_nothing_else_speaks_for_them() -> None:
    rows = [insight(f"r{at:02}", f"number{at}", at=at) for at in range(TOP + 5)]
    found = literal(world(rows), "zebra", limit=100)
    assert len(found.hits) == TOP
    assert {hit.via for hit in found.hits} == {("recency",)}
    assert {hit.confidence for hit in found.hits} == {"low"}


def test_without_anything_there_is_nothing() -> None:
    assert literal(world([]), "zebra Redis", vectors=True).hits == ()
    assert literal(world([insight("a", "gnu")]), "zebra", ("keyword",)).hits == ()
    assert literal(world([insight("a", "gnu")]), "zebra", ("vector", "entity")).meta.traversed == 0


def test_equal_texts_are_one_result_that_names_the_others() -> None:
    rows = [insight(name, "zebra", at=at) for at, name in enumerate(("old", "middle", "new"))]
    found = literal(world(rows), "zebra", mode="none", limit=1)
    assert ids(found) == ["new"]
    assert found.hits[0].also == ("middle", "old")
