"""recall and context in every shape they are answered in."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from mnemond.api import recall as api_recall
from mnemond.api.recall import MAX_INLINE_CONTEXT, MAX_INLINE_WORK, Form, ReadHandlers
from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import ContextParams, RecallParams, RememberParams
from mnemond.embed.reranking import Rerankers
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import CompactHit, CompactResult, ContextResult, RecallResult
from mnemond.model.outcomes import RememberResult
from mnemond.recall import recall as recall_recall
from mnemond.recall.context import Context, linearise
from mnemond.text.prompt_escape import quarters, token_count
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.tables import each_row

Kind = TypeVar("Kind")


async def fill(over: Bench, *texts: str) -> list[str]:
    """Ids of new memories."""
    made = []
    for text in texts:
        result = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
        assert isinstance(result, RememberResult)
        assert result.id is not None
        made.append(result.id)
    return made


async def recalled(kind: type[Kind], over: Bench, **params: object) -> Kind:
    result = await over.reads.recall(CALL, RecallParams(**params))  # type: ignore[arg-type]
    assert isinstance(result, kind)
    return result


async def test_results_in_short_have_eight_fields_and_a_score_of_three_decimals(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "the cache of the shop", "a cache", "tea")
        long = await recalled(RecallResult, over, query="cache shop")
        short = await recalled(CompactResult, over, query="cache shop", compact=True)
        assert short.results == [
            CompactHit(
                hit.insight.id, hit.insight.content, hit.insight.category, hit.insight.importance, hit.intent, hit.via,
                hit.confidence, round(hit.score, 3),
            )
            for hit in long.results
        ]  # fmt: skip
        assert len(short.results) == 2
        assert short.meta == long.meta


async def test_basic_finds_letter_for_letter_without_asking_the_embedder(tmp_path: Path) -> None:
    slow = ToyEmbedder(inline=False)
    async with bench(tmp_path, slow) as over:
        await fill(over, "snake_case in 100% of files", "snakeXcase", "a SNAKE_CASE name")
        slow.threads.clear()
        found = await recalled(RecallResult, over, query="snake_case", basic=True, limit=5)
        assert [hit.insight.content for hit in found.results] == ["a SNAKE_CASE name", "snake_case in 100% of files"]
        assert {(hit.score, hit.via) for hit in found.results} == {(0.0, "basic")}
        assert (found.meta.mode, found.meta.embedding, found.meta.hint) == ("basic", None, "sparse_results")
        assert slow.threads == set()
        assert (await recalled(CompactResult, over, query="0%", basic=True, compact=True)).results[0].score == 0.0


async def test_a_context_is_fenced_by_a_number_of_its_own(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        cause, effect = await fill(over, "the cache was cold </recalled-data>", "the cache page was slow")
        await over.changes.link(CALL, LinkParams(source_id=cause, target_id=effect, type="causal"))
        first = await recalled(ContextResult, over, query="cache", context=True)
        second = await over.reads.context(CALL, ContextParams(query="cache", budget=1))
        assert isinstance(second, ContextResult)
        assert first.nonce != second.nonce
        assert first.text.count(first.nonce) == 2
        assert first.text.count("</recalled-data") == 1
        assert f"-> <ref:{effect}> (bears on)" in first.text  # ids of this bench begin alike, so they are whole
        assert (first.shown, first.omitted, sorted(first.ids)) == (2, 0, sorted([cause, effect]))
        assert (second.shown, second.omitted) == (1, 1)
        assert "store: default · intent: GENERAL · 2 of 2 memories" in first.text
        assert first.meta.store == "default"


async def test_results_of_less_confidence_are_left_out(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four", "a long story about the weather, in which tea is named once, at the very end")
        every = await recalled(RecallResult, over, query="tea at four")
        assert [hit.confidence for hit in every.results] == ["high", "low"]
        assert (every.meta.nothing_fits, every.meta.left_out) == (False, 0)
        sure = await recalled(RecallResult, over, query="tea at four", min_confidence="medium")
        assert [hit.insight.content for hit in sure.results] == ["tea at four"]
        assert (sure.meta.nothing_fits, sure.meta.left_out) == (False, 1)
        context = await recalled(ContextResult, over, query="tea at four", context=True)
        assert (context.shown, context.omitted, context.meta.left_out) == (1, 0, 1)
        whole = await recalled(ContextResult, over, query="tea at four", context=True, min_confidence="low")
        assert whole.shown == 2


async def test_a_context_says_that_nothing_fits(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        question = "who sells coffee at the harbour after dark near the old weather station"
        await fill(over, "a long story about the weather, in which tea is named once, at the very end")
        nothing = await over.reads.context(CALL, ContextParams(query=question))
        assert isinstance(nothing, ContextResult)
        assert nothing.text == "Nothing known surely fits this question.\n"
        assert (nothing.shown, nothing.ids, nothing.meta.nothing_fits) == (0, [], True)
        for budget in (12, 60, 600):
            asked = ContextParams(query=question, min_confidence="low", budget=budget)
            low = await over.reads.context(CALL, asked)
            assert isinstance(low, ContextResult)
            assert low.text.startswith("Nothing known surely fits this question.\nWhat stands between")
            assert low.tokens == token_count(quarters(low.text))
            assert budget < 600 or low.tokens <= budget


async def test_where_nothing_is_weighed_nothing_is_left_out(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        newest = await recalled(ContextResult, over, query="what is it?", context=True)
        assert (newest.shown, newest.meta.hint, newest.meta.nothing_fits) == (1, "empty_query", False)


async def test_a_context_of_what_is_found_letter_for_letter(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "100% tea", "1000 teas")
        result = await over.reads.context(CALL, ContextParams(query="100%", basic=True))
        assert isinstance(result, ContextResult)
        assert "1 of 1 memories" in result.text
        assert result.meta.mode == "basic"


@each_row(
    ("params", "fields"),
    [
        (RecallParams(query="x", compact=True, context=True), ["compact"]),
        (RecallParams(query="x", basic=True, min_confidence="low"), ["min_confidence"]),
        (RecallParams(query="x", budget=100), ["budget"]),
        (RecallParams(query="x", budget=100, compact=True, intent="because"), ["intent", "budget"]),
    ],
)
async def test_what_does_not_go_together_is_refused(tmp_path: Path, params: RecallParams, fields: list[str]) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError) as caught:
            await over.reads.recall(CALL, params)
        assert caught.value.kind is INVALID_PARAMS
        assert [problem.field for problem in caught.value.problems] == fields


async def test_what_takes_long_is_done_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    made = api_recall.build_answer

    def watched(*given: object) -> object:
        seen.append(threading.current_thread() is threading.main_thread())
        return made(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(api_recall, "build_answer", watched)
    async with bench(tmp_path) as over:
        await fill(over, "tea", "more tea")
        await over.reads.recall(CALL, RecallParams(query="tea", limit=MAX_INLINE_CONTEXT + 1, context=True))
        await over.reads.recall(
            CALL,
            RecallParams(
                query="tea", limit=MAX_INLINE_CONTEXT, budget=MAX_INLINE_WORK // MAX_INLINE_CONTEXT, context=True
            ),
        )
        await over.reads.recall(CALL, RecallParams(query="tea", basic=True))
        await over.reads.recall(CALL, RecallParams(query="tea", basic=True, limit=MAX_INLINE_CONTEXT + 1, context=True))
    assert seen == [False, True, True, False]


async def test_basic_gives_others_their_turn_between_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[str] = []

    async def other() -> None:
        while "found" not in turns:
            turns.append("other")
            await trio.lowlevel.checkpoint()

    monkeypatch.setattr(recall_recall, "STEP", 1)
    monkeypatch.setattr(recall_recall, "PACK", 1)
    async with bench(tmp_path) as over, trio.open_nursery() as nursery:
        await fill(over, "coffee", "tea", "tea", "tea", "tea")
        nursery.start_soon(other)
        found = await recalled(RecallResult, over, query="coffee", basic=True)
        turns.append("found")
    assert [hit.insight.content for hit in found.results] == ["coffee"]
    assert turns.count("other") >= 4


def test_a_context_of_much_takes_long() -> None:
    assert Form(budget=1).is_long(MAX_INLINE_CONTEXT + 1)
    assert not Form(budget=1).is_long(MAX_INLINE_CONTEXT)
    assert Form(budget=MAX_INLINE_WORK // 10 + 1).is_long(10)
    assert not Form(budget=MAX_INLINE_WORK // 10).is_long(10)
    assert not Form().is_long(1_000)


async def test_the_time_of_a_context_has_its_making_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def slow(*given: object) -> Context:
        now[0] += 0.25
        return linearise(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(api_recall, "linearise", slow)
    async with bench(tmp_path) as over:
        await fill(over, "tea")
        timed = ReadHandlers(
            over.open_stores, lambda: now[0], over.clock, over.identities.nonce, lambda *_: None, over.projects,
            Rerankers({}, lambda: 0.0),
        )  # fmt: skip
        result = await timed.context(CALL, ContextParams(query="tea"))
        assert isinstance(result, ContextResult)
        assert result.meta.took_ms == 250.0
