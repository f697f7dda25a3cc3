"""What holds of every answer: to any question, of any store, for any limit, in every mode and profile."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Insight, Scope
from mnemond.model.query import ANCHORS, INTENTS, MODES, PROFILES, Filter, Recalled
from mnemond.recall.recall import EMPTY_QUERY
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.recall_world import NOW_US, Link, ask, days_ago, ids, weights, world
from tests.recall.small_graph import KINDS
from tests.tables import each_row

NAMES = "abcdefghij"
WORDS = (
    "zebra",
    "okapi",
    "Redis",
    "why",
    "last week",
    "2024-03-12",
    "斑马",
    "لماذا",
    "😀",
    "don't",
    "x" * 80,
    "\u200b",
)
TEXTS = st.one_of(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), st.text(max_size=40))
SESSIONS = st.sampled_from([None, None, "one", "two"])


@st.composite
def rows(draw: st.DrawFn) -> list[Insight]:
    return [
        insight(
            name, draw(TEXTS), at=days_ago(draw(st.integers(0, 12))), importance=draw(st.integers(1, 5)),
            source=draw(st.sampled_from(["ann", "assistant"])), scope=Scope(session_id=draw(SESSIONS)),
            conversation_id=draw(st.sampled_from([None, "talk"])), entities=draw(st.sampled_from([(), ("Redis",)])),
        )
        for name in NAMES[: draw(st.integers(0, len(NAMES)))]
    ]  # fmt: skip


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[Insight], list[Link], dict[str, float]]:
    """Memories, links among them, and the cosines of some."""
    made = draw(rows())
    name = st.sampled_from(NAMES)
    link = st.tuples(name, name, st.sampled_from(KINDS), st.sampled_from([0.0, 0.25, 1.0]))
    links = draw(st.lists(link, max_size=15, unique_by=lambda each: each[:3]))
    there = {row.id for row in made}
    kept = [each for each in links if {each[0], each[1]} <= there and each[0] != each[1]]
    return made, kept, {key: value for key, value in draw(COSINES).items() if key in there}


COSINES = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([-1.0, -0.5, 0.0, 0.05, 0.1, 0.5, 0.99, 1.0]))
QUERIES: dict[str, st.SearchStrategy[Any]] = {
    "limit": st.integers(1, 15),
    "filter": st.builds(Filter, scope=st.builds(Scope, session_id=SESSIONS), all_sessions=st.booleans()),
    "anchors": st.sets(st.sampled_from(sorted(ANCHORS))).map(frozenset),
    "intent": st.none() | st.sampled_from(INTENTS),
    "now_us": st.none() | st.just(NOW_US),
    "profile": st.sampled_from(PROFILES),
    "mode": st.none() | st.sampled_from(MODES),
    "seed": st.none() | st.integers(0, 2**53 - 1),
    "order": st.sampled_from(["score", "time"]),
    "explain": st.booleans(),
    "vectors": st.booleans(),
}
ASKED = st.fixed_dictionaries({}, optional=QUERIES)


def made_of(store: tuple[list[Insight], list[Link], dict[str, float]]) -> Snapshot:
    return world(*store)


def check_answer(found: Recalled, asked: dict[str, Any]) -> None:
    """What nobody needs to know the store for."""
    scores = [hit.score for hit in found.hits]
    assert len(scores) <= asked.get("limit", 10)
    assert len(set(ids(found))) == len(scores)
    assert all(math.isfinite(score) and 0.0 <= score <= 1.0 for score in scores)
    for hit in found.hits:
        assert all(0.0 <= value <= 1.0 for value in msgspec.structs.astuple(hit.signals) if value is not UNSET)
        assert hit.via
        assert all(0.0 <= step.weight <= 1.0 for step in hit.path)
        assert hit.insight.id not in hit.also
        assert (hit.explanation is None) is (not asked.get("explain") or found.meta.hint == EMPTY_QUERY)
    if asked.get("order", "score") == "score" and found.meta.intent != "WHY":
        assert scores == sorted(scores, reverse=True)
    assert 0.0 <= found.meta.trust <= 1.0
    assert sum(weights(found).values()) == pytest.approx(1.0, abs=ROUNDED) or not any(weights(found).values())
    assert len(ids(found)) <= found.meta.anchor_count + found.meta.traversed
    assert (found.meta.seed is None) is (found.meta.mode != "probabilistic")


ROUNDED = 4 * 0.5e-6
"""Four weights with six decimals."""


@given(stores(), TEXTS, ASKED)
@examples(400)
def test_any_question_has_an_answer_and_always_the_same(
    store: tuple[list[Insight], list[Link], dict[str, float]], text: str, asked: dict[str, Any]
) -> None:
    snapshot = made_of(store)
    found = ask(snapshot, text, **asked)
    check_answer(found, asked)
    encoded = msgspec.json.encode(found)
    assert msgspec.json.encode(ask(snapshot, text, **asked)) == encoded
    assert msgspec.json.encode(ask(made_of(store), text, **asked)) == encoded


@given(stores(), TEXTS, ASKED)
@examples(200)
def test_the_order_of_writing_does_not_matter(
    store: tuple[list[Insight], list[Link], dict[str, float]], text: str, asked: dict[str, Any]
) -> None:
    made, links, cosines = store
    apart = [
        insight(row.id, row.content, at=days_ago(number), source=row.source, importance=row.importance)
        for number, row in enumerate(made)
    ]
    one = ask(world(apart, links, cosines), text, **asked)
    other = ask(world(apart[::-1], links[::-1], cosines), text, **asked)
    assert ids(one) == ids(other)
    assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-5)


@given(stores(), TEXTS, st.sampled_from(PROFILES), st.booleans())
@examples(200)
def test_a_larger_limit_only_adds(
    store: tuple[list[Insight], list[Link], dict[str, float]], text: str, profile: str, vectors: bool
) -> None:
    snapshot = made_of(store)
    every = ask(snapshot, text, profile=profile, vectors=vectors, limit=20, intent="GENERAL")
    for limit in (1, 2, 5):
        few = ask(snapshot, text, profile=profile, vectors=vectors, limit=limit, intent="GENERAL")
        assert ids(few) == ids(every)[:limit]


@given(stores(), TEXTS, ASKED)
@examples(200)
def test_by_time_are_the_same_results_the_oldest_first(
    store: tuple[list[Insight], list[Link], dict[str, float]], text: str, asked: dict[str, Any]
) -> None:
    snapshot = made_of(store)
    by_score, by_time = (ask(snapshot, text, **(asked | {"order": order})) for order in ("score", "time"))
    assert sorted(ids(by_score)) == sorted(ids(by_time))
    made = [hit.insight.created_at for hit in by_time.hits]
    assert made == sorted(made)


@each_row("profile", PROFILES)
def test_a_question_of_no_words_gets_the_newest_in_the_order_that_is_asked_for(profile: str) -> None:
    snapshot = world([insight(name, f"the {name} of it", at=at) for at, name in enumerate("abcd")])
    newest = ask(snapshot, "what is the", profile=profile, limit=2)
    timed = ask(snapshot, "what is the", profile=profile, limit=2, order="time")
    assert (ids(newest), ids(timed)) == (["d", "c"], ["c", "d"])


@each_row("profile", [each for each in PROFILES if each != "mnemosyne"])  # which starts at few
@each_row("order", ["score", "time"])
def test_a_why_has_causes_first_unless_it_is_to_be_by_time(profile: str, order: str) -> None:
    texts = {"effect": "zebra zebra", "cause": "zebra among many other things that are said", "root": "one zebra less"}
    rows = [insight(name, text, at=at, importance=5 - at) for at, (name, text) in enumerate(texts.items())]
    links: list[Link] = [("cause", "effect", "causal", 1.0), ("root", "cause", "causal", 1.0)]
    found = ask(world(rows, links), "why zebra", profile=profile, mode="none", order=order)
    assert ids(found) == (["root", "cause", "effect"] if order == "score" else ["effect", "cause", "root"])
    general = ask(world(rows, links), "why zebra", profile=profile, mode="none", intent="GENERAL")
    assert ids(general) != ["root", "cause", "effect"]


def test_by_time_goes_by_what_is_spoken_of_before_when_it_was_made() -> None:
    event = "1999-01-01T00:00:00Z"
    rows = [
        insight("late", "zebra one", at=days_ago(1), event_start=event, event_end=event),
        insight("early", "zebra two", at=days_ago(9)),
        insight("b", "zebra three", at=days_ago(5)),
        insight("a", "zebra four", at=days_ago(5)),
    ]
    assert ids(ask(world(rows), "zebra", order="time")) == ["late", "early", "a", "b"]
