"""Passages among the results of a recall."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from msgspec import structs

from mnemond.index.passages import PassageIndex
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import Signals
from mnemond.model.memory import Insight, Scope
from mnemond.model.passages import Passage
from mnemond.model.query import Confidence, Filter, Hit, Query
from mnemond.recall.passages import EXCERPT, excerpt, session_label, with_passages
from mnemond.recall.recall import recall
from mnemond.text.passages import pieces
from tests.tables import each_row

SHOP = "shop#0011223344556677"
DAY = "2026-11-03T09:00:00Z"


def said(name: str, prompt: str, answer: str = "", project: str = SHOP) -> Passage:
    return Passage(id=name, said_at=DAY, host="codex", prompt=prompt, answer=answer, project=project)


PASSAGES = PassageIndex.build(
    [
        (said("cause", "the nightly import died again", "Found it: two rows had the same amendment_seq."), None),
        (said("port", "which port is free", "We settled on 8191."), None),
        (said("elsewhere", "the nightly import of the bank died", "Its disk was full.", "bank#8899aabbccddeeff"), None),
    ],
    4,
).snapshot
MEMORIES = [
    Insight(id="m1", content="The nightly import runs at 03:00 UTC", created_at=DAY, updated_at=DAY),
    Insight(id="m2", content="We settled on 8191.", created_at=DAY, updated_at=DAY),
]


OF_SHOP = Scope(project=SHOP)


def found(question: str, scope: Scope = OF_SHOP, **fields: Any) -> tuple[Hit, ...]:
    memories = MemoryIndex.build([(each, None) for each in MEMORIES], (), 4).snapshot
    query = Query(text=question, filter=Filter(scope=scope), here=SHOP, **fields)
    return recall(memories, query, None, perf_counter, None, PASSAGES).hits


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.insight.id for hit in hits]


def test_a_passage_answers_beside_memories_with_its_session() -> None:
    first, *rest = found("why did the import die with a duplicate amendment_seq")
    assert (first.insight.id, first.session) == ("cause", "session of 2026-11-03 in shop, user/assistant")
    assert "m1" in names(tuple(rest))
    assert "elsewhere" not in names(tuple(rest))


@each_row(
    ("scope", "kept"),
    [(Scope(), {"cause"}), (OF_SHOP, {"cause"}), (Scope(project="bank#8899aabbccddeeff"), {"elsewhere"})],
)
def test_only_passages_of_the_project_asked_from_or_named_are_found(scope: Scope, kept: set[str]) -> None:
    assert {hit.insight.id for hit in found("why did the nightly import die", scope) if hit.session} == kept


def test_a_memory_comes_before_the_passage_that_says_it() -> None:
    hits = names(found("which port did we settle on"))
    assert hits.index("m2") < hits.index("port")


def test_doubtful_memories_follow_passages_whose_order_stays() -> None:
    signals = Signals(0.0, 0.0, 0.0, 0.0)

    def hit(name: str, score: float, confidence: Confidence) -> Hit:
        return Hit(Insight(id=name, content=name, created_at=DAY, updated_at=DAY), score, confidence, (), signals)

    memories = [hit("sure", 0.5, "medium"), hit("doubtful", 0.4, "low")]
    passages = [hit("first", 0.6, "low"), hit("second", 0.3, "high"), hit("third", 0.1, "low")]
    merged = with_passages(PASSAGES, memories, passages, 5)
    assert names(merged) == ["first", "sure", "second", "doubtful", "third"]


@each_row(
    ("fields", "kinds"),
    [
        ({}, {"memory", "passage"}),
        ({"kind": "memory"}, {"memory"}),
        ({"kind": "passage"}, {"passage"}),
        ({"profile": "mnemon"}, {"memory"}),
    ],
)
def test_a_query_may_leave_one_kind_out(fields: dict[str, Any], kinds: set[str]) -> None:
    hits = found("nightly import port settled", **fields)
    assert {"passage" if hit.session else "memory" for hit in hits} == kinds


def test_a_filter_on_what_only_memories_have_leaves_passages_out() -> None:
    memories = MemoryIndex.build([(each, None) for each in MEMORIES], (), 4).snapshot
    for wanted in (Filter(category="general"), Filter(tags_all=("ops",)), Filter(min_importance=2)):
        query = Query(text="nightly import", filter=wanted)
        assert not any(hit.session for hit in recall(memories, query, None, perf_counter, None, PASSAGES).hits)


def test_an_excerpt_has_the_best_pieces_in_the_order_in_which_they_were_said() -> None:
    text = said("long", "question? " * 60, " ".join(f"sentence number {n}." for n in range(400)))
    parts = pieces(text)
    assert excerpt(parts, [5, 2]) == f"{parts[2]} … {parts[5]}"
    assert excerpt(parts, [3, 2]) == f"{parts[2]} {parts[3]}"
    assert all(len(excerpt(parts, list(range(len(parts)))[n:])) <= EXCERPT for n in range(len(parts)))


def test_a_label_says_who_spoke() -> None:
    assert session_label(said("a", "x", project="")) == "session of 2026-11-03, user"
    summary = Passage(id="s", said_at=DAY, host="codex", answer="We did much.", kind="summary")
    assert session_label(summary) == "session of 2026-11-03, summary by the host"


def test_of_two_passages_about_one_thing_the_newer_comes_first() -> None:
    def at(name: str, day: int, answer: str) -> Passage:
        text = "which port does the gateway of the shop listen on"
        return Passage(id=name, said_at=f"2026-11-{day:02}T09:00:00Z", host="codex", prompt=text, answer=answer)

    older, newer = at("older", 3, "It is 8080, the gateway listens there."), at("newer", 9, "Now 8191.")
    others = [at(f"other{n}", 4, "") for n in range(20)]
    others = [structs.replace(each, prompt=f"subject {number} of the day") for number, each in enumerate(others)]
    passages = PassageIndex.build([(each, None) for each in (newer, older, *others)], 4).snapshot
    query = Query(text="which port does the gateway listen on")
    hits = recall(MemoryIndex.build([], (), 4).snapshot, query, None, perf_counter, None, passages).hits
    assert names(hits)[:2] == ["newer", "older"]
    assert hits[0].score >= hits[1].score
