"""From a ranking to an answer: equal texts once, causes before effects, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import Signals
from mnemond.model.changes import RetireInsight
from mnemond.model.memory import Edge, EdgeType, Insight, Scope, noting_contradictions
from mnemond.model.query import CONFIDENCES, Confidence, Hit, Intent, Order, Query
from mnemond.recall.result_order import UNSURE, arranged, distinct, sure_hits
from tests.examples import examples
from tests.index.worlds import DIMENSION, built, insight


def hit(found: Insight, score: float) -> Hit:
    return Hit(found, score, "medium", ("keyword",), Signals(score, 0.0, 0.0, 0.0))


def query(intent: Intent = "GENERAL", order: Order = "score") -> tuple[Query, Intent]:
    return Query(text="x", order=order), intent


def ids(hits: Sequence[Hit]) -> list[str]:
    return [each.insight.id for each in hits]


# ------------------------------------------------------------ what can be relied on

PROJECTS = (None, "apollo#1", "zeus#2")
RATED = st.lists(st.tuples(st.sampled_from(CONFIDENCES), st.sampled_from(PROJECTS)), max_size=12)


@given(RATED, st.sampled_from(["", "apollo#1"]))
@examples(300)
def test_what_is_not_sure_is_left_out(rated: list[tuple[Confidence, str | None]], here: str) -> None:
    hits = [
        msgspec.structs.replace(hit(insight(f"{at}", scope=Scope(project=project)), 1.0), confidence=confidence)
        for at, (confidence, project) in enumerate(rated)
    ]
    found = sure_hits(hits, here)
    assert ids(found) == [it for it in ids(hits) if it in ids(found)]
    foreign = [it for it in hits if here and it.insight.scope.project == "zeus#2"]
    assert all(it.confidence == "high" for it in found if it in foreign)
    assert all(it in found for it in hits if it.confidence == "high")
    own = [it for it in hits if it not in foreign]
    assert all(it in found for it in own if it.confidence == "medium")
    low = [it for it in own if it.confidence == "low"]
    assert [it for it in found if it.confidence == "low"] == ([] if set(ids(found)) - set(ids(low)) else low[:UNSURE])


# ------------------------------------------------------------ equal texts

COPIES = built(
    *(insight(f"{at}", text) for at, text in enumerate(("redis", "tea", "Redis!", "redis", "tea again", "tea")))
).snapshot
"""Texts are equal apart from case, blanks and the marks at their ends."""


def test_equal_texts_fold_into_the_best_of_them() -> None:
    found = distinct(COPIES, [3, 1, 0, 4, 5, 2], 10)
    assert found.places == [0, 1, 3]
    assert found.also == {0: ("0", "2"), 1: ("5",)}


@pytest.mark.parametrize(
    ("limit", "places", "also"),
    [
        (1, [0], {0: ("0", "2")}),  # copies behind the cut are named all the same
        (2, [0, 1], {0: ("0", "2"), 1: ("5",)}),
        (0, [], {}),
    ],
)
def test_the_cut_counts_texts_and_not_copies(limit: int, places: list[int], also: dict[int, tuple[str, ...]]) -> None:
    assert distinct(COPIES, [3, 1, 0, 4, 5, 2], limit) == (places, also, {})


def test_no_rows_are_no_answer() -> None:
    assert distinct(COPIES, [], 5) == ([], {}, {})


# ------------------------------------------------------------ other wordings


def worded(*edges: tuple[str, str]) -> Snapshot:
    """Three wordings of one statement, of which the first and the last are a pair, and two memories of other things."""
    memories = [
        insight("0", "The gateway restarts every night", paired_with="2"),
        insight("1", "Every night there is a restart of the gateway"),
        insight("2", "Each restart of the gateway is at night, every night", paired_with="0"),
        insight("3", "Every night the gateway of squad 8 restarts"),
        insight("4", "tea"),
    ]
    linked = [Edge(*ends, "semantic", 0.9) for one, other in edges for ends in ((one, other), (other, one))]
    return MemoryIndex.build([(each, None) for each in memories], linked, DIMENSION).snapshot


def test_wordings_of_a_pair_and_what_is_linked_to_it_are_one_result() -> None:
    snapshot = worded(("0", "2"), ("0", "1"), ("0", "3"))
    found = distinct(snapshot, [1, 3, 0, 4, 2], 10, wordings=True)
    assert (found.places, found.also, found.wordings) == ([0, 1, 3], {0: ("0", "2")}, {0: 3})
    assert distinct(snapshot, [1, 3, 0, 4, 2], 10).places == [0, 1, 2, 3, 4]
    apart = distinct(snapshot, [1, 2, 0], 10, wordings=True)  # the link between the first two is behind them
    assert (apart.places, apart.wordings) == ([0], {0: 3})
    cut = distinct(snapshot, [4, 1, 0], 1, wordings=True)
    assert (cut.places, cut.wordings) == ([0], {})


def test_what_no_link_leads_to_is_a_result_of_its_own() -> None:
    assert distinct(worded(), [0, 1, 2], 3, wordings=True).places == [0, 1, 2]
    assert distinct(worded(("1", "4")), [1, 4], 3, wordings=True).places == [0, 1]
    assert distinct(worded(("0", "2")), [0, 1], 3, wordings=True).places == [0, 1]


@examples(100)
@given(st.lists(st.sampled_from(["a", "b", "c", "A", "b."]), max_size=12), st.integers(0, 13))
def test_every_row_is_shown_or_named_by_one_that_is_or_behind_the_cut(texts: list[str], limit: int) -> None:
    snapshot = built(*(insight(f"{at:02}", text) for at, text in enumerate(texts))).snapshot
    rows = list(range(len(texts)))
    every, cut = distinct(snapshot, rows, len(texts)), distinct(snapshot, rows, limit)
    assert cut.places == every.places[:limit]
    assert cut.also == {place: also for place, also in every.also.items() if place in cut.places}
    named = [int(name) for also in every.also.values() for name in also]
    assert sorted(every.places + named) == rows
    assert len(every.places) == len({text.strip(".").lower() for text in texts})


# ------------------------------------------------------------ order

X, Y, Z = (insight(name, name, at=at) for at, name in enumerate("xyz"))
HITS = [hit(X, 0.9), hit(Y, 0.8), hit(Z, 0.7)]


def linked(*pairs: tuple[str, str], kind: EdgeType = "causal") -> MemoryIndex:
    edges = [Edge(source, target, kind, 0.5) for source, target in pairs]
    return MemoryIndex.build([(each, None) for each in (X, Y, Z)], edges, DIMENSION)


def test_a_question_why_has_causes_first() -> None:
    snapshot = linked(("z", "x")).snapshot
    assert ids(arranged(snapshot, HITS, *query("WHY"))) == ["y", "z", "x"]
    assert ids(arranged(snapshot, HITS, *query("WHEN"))) == ["x", "y", "z"]
    assert ids(arranged(snapshot, HITS[:2], *query("WHY"))) == ["x", "y"]
    assert arranged(snapshot, [], *query("WHY")) == ()


def test_what_causes_each_other_stays_together_before_what_both_cause() -> None:
    snapshot = linked(("x", "z"), ("z", "x"), ("z", "y")).snapshot
    assert ids(arranged(snapshot, HITS, *query("WHY"))) == ["x", "z", "y"]


def test_links_of_other_kinds_are_no_causes() -> None:
    assert ids(arranged(linked(("z", "x"), kind="semantic").snapshot, HITS, *query("WHY"))) == ["x", "y", "z"]


def test_what_left_recall_has_no_links_and_keeps_its_place() -> None:
    index = linked(("z", "x"))
    index.apply([RetireInsight("y", "forgotten")])
    assert ids(arranged(index.snapshot, HITS, *query("WHY"))) == ["x", "y", "z"]
    assert ids(arranged(index.snapshot, [HITS[0], HITS[2]], *query("WHY"))) == ["z", "x"]


def empty() -> Snapshot:
    return MemoryIndex(DIMENSION).snapshot


def test_the_order_of_time_is_that_of_what_is_told_else_of_the_telling() -> None:
    told = [
        hit(insight("late", at=5_000_000), 0.9),
        hit(insight("of-old", at=9_000_000, event_start="1969-01-01T00:00:00Z"), 0.8),
        hit(insight("b", at=3_000_000), 0.7),
        hit(insight("a", at=3_000_000), 0.6),
        hit(insight("of-then", at=9_000_000, event_start="1970-01-01T00:00:04Z"), 0.5),
    ]
    for intent in ("WHY", "WHEN", "GENERAL"):
        found = arranged(empty(), told, *query(intent, "time"))
        assert ids(found) == ["of-old", "a", "b", "of-then", "late"]
    assert arranged(empty(), told, *query("WHEN")) == tuple(told)


# ------------------------------------------------------------ contradictions


def noting_hit(identity: str, score: float, *older: str) -> Hit:
    return hit(insight(identity, f"text {identity}", metadata=noting_contradictions("{}", older)), score)


def test_the_newer_of_a_contradiction_comes_first_and_both_are_marked() -> None:
    hits = [noting_hit("old", 0.9), noting_hit("other", 0.8), noting_hit("new", 0.7, "old", "gone")]
    found = arranged(built().snapshot, hits, *query())
    assert ids(found) == ["new", "old", "other"]
    assert [each.contradicts for each in found] == [("old",), ("new",), ()]


def test_by_time_the_oldest_stays_first_and_is_marked() -> None:
    hits = [noting_hit("new", 0.7, "old"), noting_hit("old", 0.9)]
    found = arranged(built().snapshot, hits, *query(order="time"))
    assert {each.insight.id: each.contradicts for each in found} == {"new": ("old",), "old": ("new",)}


def test_without_a_contradiction_the_order_stays() -> None:
    hits = [noting_hit("a", 0.9), noting_hit("b", 0.8, "gone")]
    assert arranged(built().snapshot, hits, *query()) == tuple(hits)


def test_a_statement_of_the_past_that_was_stored_later_is_the_older_one() -> None:
    late = hit(insight("late", "in Munich", at=2), 0.7)
    past = hit(insight("past", "in Berlin", at=1, metadata=noting_contradictions("{}", ["late"])), 0.9)
    found = arranged(built().snapshot, [past, late], *query())
    assert ids(found) == ["late", "past"]
    assert [each.contradicts for each in found] == [("past",), ("late",)]
