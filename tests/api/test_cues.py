"""Cues over the methods: what they find, what they change, and how memories without any are given some."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec import UNSET

from mnemond.api.types_changes import (
    CuesApplyParams,
    CuesMissingParams,
    CuesMissingResult,
    MemoryCues,
    UndoParams,
    UpdateParams,
)
from mnemond.api.types_extract import ExtractParams, ExtractResult
from mnemond.api.types_memories import GetParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.memory.cues import lacks_vector
from mnemond.model.answers import GetResult
from mnemond.model.outcomes import CuesApplied, HostFact, RememberResult
from tests.api.embedders import Words, alike, kept, until
from tests.api.factories import CALL, Bench
from tests.api.test_backfill import is_idle, snapshot

TEXT = "every change to main goes through a merge request"
CUES = ("can I just commit this", "push rejected 403")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


async def remember(over: Bench, content: str, cues: tuple[str, ...] = (), **fields: Any) -> str:
    params = RememberParams(content=content, cues=cues or UNSET, no_diff=True, **fields)
    result = await over.remembering.remember(CALL, params)
    assert isinstance(result, RememberResult)
    assert result.cues == len(cues)
    return cast("str", result.id)


async def shown(over: Bench, insight_id: str) -> list[str]:
    found = await over.reads.get(CALL, GetParams(id=insight_id))
    assert isinstance(found, GetResult)
    return [cue.text for cue in found.insight.cues]


async def test_other_cues_are_embedded_with_the_text_and_undo_brings_back_those_before(tmp_path: Path) -> None:
    words = Words(inline=True)
    async with kept(tmp_path, words) as over:
        one = await remember(over, TEXT, CUES[:1])
        before = snapshot(over).stored_vector(cast("int", snapshot(over).row_of(one)))
        done = await over.changes.update(CALL, UpdateParams(id=one, cues=CUES[1:]))
        assert (done.changed, done.embedded) == (["cues"], True)
        after = snapshot(over).stored_vector(cast("int", snapshot(over).row_of(one)))
        assert before is not None
        assert after is not None
        assert alike(before[0], after[0])
        assert not alike(before[1], after[1])
        assert (await over.changes.update(CALL, UpdateParams(id=one, cues=CUES[1:]))).status == "unchanged"
        assert (await over.changes.update(CALL, UpdateParams(id=one, content=f"{TEXT} now"))).embedded
        assert not lacks_vector(snapshot(over), one)
        await over.history.undo(CALL, UndoParams())
        await over.history.undo(CALL, UndoParams())
        again = snapshot(over).stored_vector(cast("int", snapshot(over).row_of(one)))
        assert again is not None
        assert np.allclose(before, again)
        assert await shown(over, one) == [CUES[0]]


async def test_cues_given_to_memories_without_any_are_one_operation_and_embedded_soon(tmp_path: Path) -> None:
    words = Words()
    async with kept(tmp_path, words) as over:
        one, two = await remember(over, TEXT, importance=4), await remember(over, "reviews take a day")
        with_cues = await remember(over, "the build of main takes an hour", CUES[:1])
        missing = await over.cues.missing(CALL, CuesMissingParams())
        assert isinstance(missing, CuesMissingResult)
        assert ([(each.id, each.cues) for each in missing.memories], missing.left) == ([(one, []), (two, [])], 0)
        few = await over.cues.missing(CALL, CuesMissingParams(limit=1))
        assert ([each.id for each in few.memories], few.left) == ([one], 1)
        filled = (
            MemoryCues(one, (CUES[0], f"token {SECRET}")), MemoryCues(two), MemoryCues(with_cues, CUES[:1]),
            MemoryCues("abcdef12", ("x",)),
        )  # fmt: skip
        done = await over.cues.apply(CALL, CuesApplyParams(memories=filled))
        assert isinstance(done, CuesApplied)
        assert (done.changed, done.unchanged, done.unknown) == ([one], [with_cues], ["abcdef12"])
        assert done.redacted
        assert SECRET not in str(await shown(over, one))
        await until(lambda: not lacks_vector(snapshot(over), one) and is_idle(over))
        await over.history.undo(CALL, UndoParams())
        assert await shown(over, one) == []


async def test_cues_that_cannot_be_stored_are_refused_with_every_problem(tmp_path: Path) -> None:
    async with kept(tmp_path, None) as over:
        one = await remember(over, TEXT)
        memories = (MemoryCues(one, ("x" * 201,)), MemoryCues(one, ("",)))
        with pytest.raises(MnemonError) as caught:
            await over.cues.apply(CALL, CuesApplyParams(memories=memories))
        assert caught.value.kind is INVALID_PARAMS
        fields = [each.field for each in caught.value.problems]
        assert fields == ["memories[0].cues[0]", "memories[1].cues[0]"]
        nothing = await over.cues.apply(CALL, CuesApplyParams(memories=(MemoryCues(one),)))
        assert nothing.changed == []


async def test_facts_of_a_host_bring_their_cues(tmp_path: Path) -> None:
    async with kept(tmp_path, Words(inline=True)) as over:
        from mnemond.api.extract import ExtractHandlers

        extracting = ExtractHandlers(over.open_stores, over.identities, over.clock, over.projects)
        fact = HostFact(content="Ana works at Acme in Berlin", importance=7, cues=("who knows Acme",))
        done = await extracting.extract(CALL, ExtractParams(facts=(fact,)))
        assert isinstance(done, ExtractResult)
        assert await shown(over, cast("str", done.facts[0].memory_id)) == ["who knows Acme"]
        bad = HostFact(content="Ana works at Acme", cues=("",))
        with pytest.raises(MnemonError) as caught:
            await extracting.extract(CALL, ExtractParams(facts=(bad,)))
        assert [each.field for each in caught.value.problems] == ["facts[0].cues[0]"]
