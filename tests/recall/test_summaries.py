"""Summaries among the results: only where they beat their sources, or where room is short."""

from __future__ import annotations

import msgspec

from mnemond.model.answers import Signals
from mnemond.model.memory import DERIVED_FROM, SUMMARIZED, Insight
from mnemond.model.query import Filter, Hit, Query
from mnemond.recall.brief import select
from mnemond.recall.recall import recall
from mnemond.recall.result_order import with_summaries
from tests.index.worlds import built, insight

SOURCES = {
    "a": "Redis holds the sessions of the shop",
    "b": "Redis restarts every night",
    "c": "Redis runs on node two",
}


def summary(content: str = "Redis: sessions, nightly restart, node two", *sources: str) -> Insight:
    metadata = msgspec.json.encode({DERIVED_FROM: sources or tuple(SOURCES)}).decode()
    return insight("s", content, channel=SUMMARIZED, metadata=metadata, at=9)


SNAPSHOT = built(*(insight(each, text) for each, text in SOURCES.items()), summary()).snapshot


def hits(*ids: str) -> list[Hit]:
    every = {**{each: insight(each, text) for each, text in SOURCES.items()}, "s": summary(), "x": insight("x", "tea")}
    signals = Signals(0.0, 0.0, 0.0, 0.0)
    return [Hit(every[each], 1.0 - place / 10, "high", ("keyword",), signals) for place, each in enumerate(ids)]


def shown(*ids: str, budget: int | None = None) -> str:
    return "".join(hit.insight.id for hit in with_summaries(SNAPSHOT, hits(*ids), budget))


def test_it_is_shown_only_if_it_beats_its_sources() -> None:
    assert shown("s", "a", "x") == "sax"
    assert shown("a", "s", "x") == "ax"
    assert shown("x", "s") == "xs"
    assert shown("x", "a") == "xa"


def test_where_room_is_short_it_stands_for_them() -> None:
    assert shown("x", "a", "s", "b", "c", budget=20) == "xs"
    assert shown("s", "x", "a", "b", budget=20) == "sx"
    assert shown("x", "a", "s", "b", "c", budget=4_000) == "xabc"
    assert shown("x", "a", "s", budget=4) == "xa"  # one source is no more than its summary


def test_a_store_without_summaries_pays_nothing() -> None:
    plain = built(insight("a", "tea")).snapshot
    found = hits("a")
    assert with_summaries(plain, found, 10) is found


def test_what_a_session_begins_with_has_no_summary() -> None:
    told = {it.id for it in select(SNAPSHOT, Filter(), 1_000_000).all()}
    assert told == set(SOURCES)


def test_a_recall_fills_the_place_of_a_summary_that_is_left_out() -> None:
    found = recall(SNAPSHOT, Query("which Redis holds the sessions of the shop", limit=3), None, lambda: 0.0)
    assert found.hits[0].insight.id == "a"
    assert "s" not in {hit.insight.id for hit in found.hits}
    assert len(found.hits) == 3
