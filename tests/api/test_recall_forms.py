"""recall and context in every shape they are answered in."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest
import trio

from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import ContextParams, RecallParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import ContextResult, RecallResult
from mnemond.model.outcomes import RememberResult
from mnemond.recall import recall as recall_recall
from tests.api.factories import CALL, Bench, bench
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
