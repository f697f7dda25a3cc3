"""Summaries: what they hold, and how they follow the memories that they were made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.requests import one_active
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory import summaries
from mnemond.memory.draft import problems_of
from mnemond.memory.summaries import Summarize, propose_summarize, summary_text
from mnemond.model.memory import SUMMARIZED, Insight, Scope, TextWithCues, derived_from
from mnemond.model.outcomes import RememberResult, SummarizeResult, UndoResult
from mnemond.store import transaction
from mnemond.store.history import is_purged
from mnemond.text.contrast import numbers
from tests.examples import examples
from tests.index.worlds import insight
from tests.memory.audit_world import vector_of_memory
from tests.memory.revision_world import CONFIG, RevisionWorld

INDEX = "The search index is rebuilt every night at 02:30 UTC"
NODE = "The search index is rebuilt by the cron job on node seven"
LONG = "The rebuilding of the search index takes eleven minutes"


class World(RevisionWorld):
    """A world with summaries."""

    def summarize(self, *ids: str, text: str | None = None, **fields: Any) -> SummarizeResult:
        sources = [self.insight(each) for each in ids if each in self.active()]
        made = text or (summary_text(sources) if sources else None)
        embedded = None if made is None else TextWithCues(made)
        wish = Summarize(
            ids=ids, embedded_text=embedded, vector=None if embedded is None else vector_of_memory(embedded), **fields
        )
        return self._done(propose_summarize(wish, self._identity(None), one_active, self.rules), SummarizeResult)

    def three(self) -> tuple[str, str, str]:
        return self.new(INDEX), self.new(NODE), self.new(LONG)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "a.db", CONFIG)
    yield made
    made.mirrored()
    made.engine.close()


def test_a_summary_holds_what_each_says_and_names_them(world: World) -> None:
    ids = world.three()
    done = world.summarize(*ids)
    assert done.derived_from == list(ids)
    it = world.insight(done.id)
    assert (it.channel, derived_from(it), it.importance, it.scope) == (SUMMARIZED, ids, 3, Scope())
    for said in ("02:30 UTC", "node seven", "eleven minutes"):
        assert said in it.content
    kind = world.read(lambda db: db.value("SELECT memory_type FROM insights WHERE id = ?", (done.id,)))
    assert kind == "summary"
    assert world.ends(done.id, "semantic") == set(ids)
    assert set(world.active()) == {*ids, done.id}
    assert isinstance(world.undo(done.op_id), UndoResult)
    assert set(world.active()) == set(ids)


def test_what_is_said_again_is_known_by_its_source_not_by_the_summary(world: World) -> None:
    ids = world.three()
    done = world.summarize(*ids)
    again = world.remember(NODE)
    assert isinstance(again, RememberResult)
    assert (again.action, again.id) == ("skipped", ids[1])
    assert world.insight(done.id).corroboration_count == 0


@pytest.mark.parametrize("how", ["forget", "update", "supersede", "merge"])
def test_a_summary_leaves_with_what_it_says_and_an_undo_brings_it_back(world: World, how: str) -> None:
    one, two, three = world.three()
    done = world.summarize(one, two, three)
    match how:
        case "forget":
            op = world.drop(two).op_id
        case "update":
            op = world.update(two, content="The search index is rebuilt by hand").op_id
        case "supersede":
            op = world.supersede(two, world.new("The search index is rebuilt by hand")).op_id
        case _:
            op = world.merge(one, two).op_id
    assert done.id not in world.active()
    assert world.row(done.id).status == "superseded"
    assert world.read(lambda it: transaction.lapsed(it, 9)) == [done.id]
    assert isinstance(world.undo(op), UndoResult)
    assert done.id in world.active()
    assert world.read(lambda it: transaction.lapsed(it, 9)) == []


def test_what_changes_nothing_of_the_text_leaves_it(world: World) -> None:
    one, two, _ = world.three()
    done = world.summarize(one, two)
    world.update(one, importance=5)
    world.drop(str(world.new("The office is in Berlin")))
    assert done.id in world.active()


def test_a_purge_takes_the_summary_and_its_history_along(world: World) -> None:
    one, two, three = world.three()
    first = world.summarize(one, two)
    world.update(one, content="The search index is rebuilt every noon")
    second = world.summarize(one, two, three)
    world.drop(two, purge=True)
    for each in (first.id, second.id):
        assert world.read(partial(is_purged, insight_id=each))
        assert each not in world.active()
    words = world.read(
        lambda it: it.column("SELECT coalesce(before_state, '') || coalesce(after_state, '') FROM memory_operations")
    )
    assert not any("node seven" in text for text in words)
    assert set(world.active()) == {one, three}


def test_forgetting_a_summary_leaves_its_sources_and_is_remembered(world: World) -> None:
    one, two, _ = world.three()
    done = world.summarize(one, two)
    assert world.read(transaction.kept_or_refused) == {frozenset({one, two})}
    world.drop(done.id)
    assert {one, two} <= set(world.active())
    assert world.read(transaction.kept_or_refused) == {frozenset({one, two})}
    world.drop(done.id, purge=True)
    assert world.read(transaction.kept_or_refused) == set()


def test_both_may_be_purged_at_once(world: World) -> None:
    one, two, _ = world.three()
    done = world.summarize(one, two)
    world.drop(done.id, purge=True)
    world.drop(one, purge=True)
    assert done.id not in world.active()


def test_what_is_not_summed_up(world: World) -> None:
    one, two, three = world.three()
    berlin, munich = world.new("The office is in Berlin"), world.new("The office is in Munich")
    own = world.new("Ana likes tea", scope=Scope(user_id="ana"))
    made = world.summarize(one, two)
    for ids, said in (
        ((one, one), "two memories at least"),
        ((one, own), "not for the same user"),
        ((berlin, munich), "contradict each other"),
        ((three, made.id), "is a summary itself"),
    ):
        with pytest.raises(MnemonError, match=said) as caught:
            world.summarize(*ids)
        assert caught.value.kind is INVALID_PARAMS
    with pytest.raises(MnemonError) as caught:
        world.summarize(one, "ffffffff-0000")
    assert caught.value.kind is NOT_FOUND
    with pytest.raises(MnemonError) as caught:
        world.summarize(one, three, text="something else")
    assert caught.value.kind is BUSY
    hidden = [insight("a", quarantined=True), insight("b")]
    assert summaries.problem_of(hidden) == "one of them is never shown"


def test_no_client_uses_the_channel() -> None:
    [problem] = problems_of({"content": "text", "channel": "summary"})
    assert problem.field == "channel"
    assert derived_from(insight("a", channel="summary")) == ()


def test_what_an_earlier_version_stored_on_the_channel_is_no_summary(world: World) -> None:
    before, other = world.new("Ana likes tea"), world.new(INDEX)
    change = "UPDATE insights SET channel = ?, metadata = ? WHERE id = ?"
    world.engine.rewrite(lambda it: it.run(change, ("summary", None, before)))
    assert world.read(transaction.kept_or_refused) == set()
    world.drop(other, purge=True)
    assert before in world.active()


def test_a_long_summary_keeps_what_most_say() -> None:
    sources = [
        insight(f"{at:02}", ". ".join(f"Deploy part{at} step{n} to the staging cluster" for n in range(9)), at=at)
        for at in range(6)
    ]
    text = summary_text(sources)
    assert text is not None
    assert len(text) <= summaries.MAX_SUMMARY
    assert "staging cluster" in text
    unbroken = [insight("a", "word " * 350), insight("b", "term " * 350, at=1)]
    cut = summary_text(unbroken)
    assert cut is not None
    assert len(cut) <= summaries.MAX_SUMMARY


PARTS = ("The cache runs on node", "The queue keeps", "Redis holds", "Ana reviews")


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, 30)), min_size=2, max_size=5, unique=True))
@examples(60)
def test_no_number_is_lost_in_a_short_summary(said: list[tuple[str, int]]) -> None:
    sources: list[Insight] = [insight(f"{at:02}", f"{part} {n} items", at=at) for at, (part, n) in enumerate(said)]
    text = summary_text(sources)
    if text is not None:
        for it in sources:
            assert numbers(it.content) <= numbers(text)
