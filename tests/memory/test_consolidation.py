"""Clusters of memories that say nearly the same: what is one, what is not, what it would become."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.settings import Config
from mnemond.memory import consolidation
from mnemond.memory.alike import Limits
from mnemond.memory.consolidation import Pairs, Plan, pair_of, planned, preview, proposals
from mnemond.memory.merged_text import unkept
from mnemond.memory.write import write_rules
from mnemond.model.memory import Insight, Scope, Trigger
from mnemond.text.contrast import numbers
from tests.examples import examples
from tests.index.worlds import built, finished, insight
from tests.tables import each_row

RULES = write_rules(None, Config()).diff
INDEX = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven"
EACH = "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven"
LONGER = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven again"


def row_id(at: int) -> str:
    return f"{at:08x}-0000-4000-8000-000000000000"


def memory(at: int, content: str, **fields: Any) -> Insight:
    return insight(row_id(at), content, at=at, **fields)


def plan_of(*memories: Insight, known: Pairs | None = None) -> Plan:
    return finished(planned(built(*memories).snapshot, Limits(0.92, 0.8), RULES, known or {}))


def clusters(plan: Plan) -> list[list[str]]:
    return [[each.centre.id, *(member.insight.id for member in each.members)] for each in plan.clusters]


def test_a_cluster_is_the_oldest_memory_and_those_like_it() -> None:
    plan = plan_of(memory(3, LONGER), memory(1, INDEX), memory(2, EACH), memory(4, "The office is in Berlin"))
    assert clusters(plan) == [[row_id(1), row_id(2), row_id(3)]]
    assert [each.suggestion for each in plan.clusters[0].members] == ["DUPLICATE", "MERGE"]
    assert (plan.apart, plan.refused) == (0, 0)


@each_row(
    "fields",
    [
        {"pinned": True},
        {"quarantined": True},
        {"when": (Trigger("Bash(rm *)", "deny"),)},
        {"category": "decision"},
        {"scope": Scope(user_id="ana")},
        {"scope": Scope(project="p#00000000")},
    ],
)
def test_what_is_never_merged(fields: dict[str, Any]) -> None:
    assert plan_of(memory(1, INDEX), memory(2, EACH, **fields)).clusters == ()
    assert plan_of(memory(1, INDEX, **fields), memory(2, EACH)).clusters == ()


REST = " while the old one of last year stays as it was for all other customers"


@each_row(
    ("older", "newer"),
    [
        ("Rate limit of the API is 100 requests per second", "Rate limit of the API is 200 requests per second"),
        ("Ana leads the payments team in the Lisbon office", "Bob leads the payments team in the Lisbon office"),
        ("The release train of the web team runs on Friday", "The release train of the web team never runs on Friday"),
        ("Room 7b of the east wing has no heating at all", "Room 7c of the east wing has no heating at all"),
        ("The pool gpu-small scales to zero at night", "The pool gpu-large scales to zero at night"),
        ("Ask server B before the restart of the cache", "Ask server C before the restart of the cache"),
        ("Sprint 12 of the team ended with all goals reached", "Sprint 13 of the team ended with all goals reached"),
    ],
)
def test_what_is_alike_and_yet_another_statement(older: str, newer: str) -> None:
    names = [tuple(name for name in ("Ana", "Bob") if name in text) for text in (older, newer)]
    plan = plan_of(memory(1, older + REST, entities=names[0]), memory(2, newer + REST, entities=names[1]))
    assert plan.clusters == ()
    assert plan.apart == 1


def test_a_question_is_no_statement() -> None:
    asked, said = f"Does the nightly job still run{REST}?", f"The nightly job does still run{REST}"
    assert plan_of(memory(1, asked), memory(2, said)).clusters == ()


def test_events_of_different_days_are_two() -> None:
    first, second = ({"event_start": f"2026-02-0{day}T00:00:00.000000Z"} for day in (1, 5))
    assert plan_of(memory(1, INDEX, **first), memory(2, EACH, **second)).clusters == ()


def test_a_pair_that_was_left_apart_is_not_one_again() -> None:
    pair = pair_of(row_id(1), row_id(2))
    plan = plan_of(memory(1, INDEX), memory(2, EACH), known={pair: None})
    assert (plan.clusters, plan.refused) == ((), 1)
    plan = plan_of(memory(1, INDEX), memory(2, EACH), known={pair: 7})
    assert clusters(plan) == [[row_id(1), row_id(2)]]
    assert proposals(plan, {pair: 7}, 1) == []


def test_a_run_asks_about_some_and_never_floods_the_reviews() -> None:
    words = [f"word{at} of note{at} about topic{at} and thing{at}" for at in range(30)]
    plan = plan_of(*(memory(2 * at + turn, text) for at, text in enumerate(words) for turn in (0, 1)))
    assert len(plan.clusters) == 30
    assert len(proposals(plan, {}, 0)) == consolidation.MAX_PROPOSED
    assert len(proposals(plan, {}, consolidation.MAX_WAITING - 3)) == 3
    assert proposals(plan, {}, consolidation.MAX_WAITING + 9) == []
    [first, *_] = proposals(plan, {}, 0)
    assert (first.kind, first.older, first.newer) == ("merge", row_id(0), row_id(1))
    assert "word" not in first.reason.replace("words", "")


def test_a_cluster_is_not_endless() -> None:
    plan = plan_of(*(memory(at, INDEX) for at in range(consolidation.MAX_MEMBERS + 3)))
    assert [len(each.members) for each in plan.clusters] == [consolidation.MAX_MEMBERS, 1]


def test_a_preview_holds_every_statement_once() -> None:
    [cluster] = plan_of(memory(1, INDEX), memory(2, INDEX + "; it takes eleven minutes"), memory(3, EACH)).clusters
    shown = preview(cluster)
    assert shown.text.count("eleven minutes") == 1
    assert shown.apart == ()
    assert unkept(shown.text, [INDEX, EACH]) == []


def test_a_preview_leaves_out_what_contradicts_what_was_merged_before(monkeypatch: pytest.MonkeyPatch) -> None:
    [cluster] = plan_of(memory(1, INDEX), memory(2, EACH), memory(3, LONGER)).clusters
    monkeypatch.setattr(consolidation, "opposed", lambda _, newer: "no" if newer == EACH else None)
    shown = preview(cluster)
    assert shown.apart == (row_id(2),)
    assert "each night" not in shown.text


PARTS = ("the cache runs on node", "the queue keeps", "the limit of the api is", "Redis holds", "Ana reviews")


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 30)), min_size=1, max_size=4), st.data())
@examples(60)
def test_no_number_and_no_name_is_lost_in_a_preview(said: list[tuple[str, int]], data: st.DataObject) -> None:
    texts = ["; ".join(f"{part} {number} items" for part, number in said)]
    for _ in range(data.draw(st.integers(1, 3))):
        more = data.draw(st.sampled_from(PARTS))
        texts.append(f"{texts[0]}; {more} {data.draw(st.integers(1, 30))} items")
    for cluster in plan_of(*(memory(at, text) for at, text in enumerate(texts))).clusters:
        shown = preview(cluster)
        kept = [cluster.centre, *(it.insight for it in cluster.members if it.insight.id not in shown.apart)]
        for it in kept:
            assert numbers(it.content) <= numbers(shown.text)
            assert unkept(shown.text, [it.content], it.entities) == []
