"""recall, get and list: what is refused, where the work is done, and what a store that is not well says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemond.api import recall
from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import GetParams, ListParams, RecallParams, RememberParams
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.model.answers import GetResult, ListResult, RecallResult
from mnemond.model.outcomes import RememberResult
from mnemond.store.database import Opened
from tests.api.factories import CALL, Bench, ToyEmbedder, bench, run_as_dispatched
from tests.tables import each_row


async def fill(over: Bench, *texts: str) -> None:
    for text in texts:
        await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))


async def recalled(over: Bench, query: str) -> list[str]:
    result = await over.reads.recall(CALL, RecallParams(query=query))
    assert isinstance(result, RecallResult)
    return [hit.insight.content for hit in result.results]


async def test_a_small_recall_is_answered_on_the_spot_and_a_large_one_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = ToyEmbedder()
    async with bench(tmp_path, toy) as over:
        await fill(over, "tea at four", "coffee at five")
        await over.warm()
        here = toy.threads.copy()
        params = RecallParams(query="tea")
        small, waited = await run_as_dispatched(over.reads.recall(CALL, params))
        assert isinstance(small, RecallResult)
        assert not waited
        assert toy.threads == here
        monkeypatch.setattr(recall, "INLINE_CELLS", 3)
        large, waited = await run_as_dispatched(over.reads.recall(CALL, params))
        assert waited
        assert large == small
        assert toy.threads > here


async def test_an_embedder_that_takes_long_never_runs_on_the_event_loop(tmp_path: Path) -> None:
    toy = ToyEmbedder(inline=False)
    async with bench(tmp_path, toy) as over:
        await over.warm()
        await fill(over, "tea at four")
        assert await recalled(over, "tea") == ["tea at four"]
        assert "MainThread" not in toy.threads
        assert toy.threads


async def test_an_id_names_one_memory_or_the_matches_are_listed(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, *(f"note {number}" for number in range(7)))
        await over.warm()
        whole = over.ids.new()[:-12]
        with pytest.raises(MnemonError, match=r"7 ids: .* and 2 more") as caught:
            await over.reads.get(CALL, GetParams(id="aaaaaaaa"))
        assert (caught.value.kind, caught.value.outcome) == (AMBIGUOUS, "rejected")
        assert caught.value.message.count(whole) == 5
        found = await over.reads.get(CALL, GetParams(id=f"{whole.upper()}000000000001"))
        assert isinstance(found, GetResult)
        assert found.insight.content == "note 0"


async def test_reads_go_on_and_say_so_while_the_store_is_not_well(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        warm = await over.warm()

        def reopen() -> Opened:
            raise apsw.CantOpenError("no such disk")

        warm.store._engine._reopen = reopen
        await warm.store.read(lambda _: warm.store._engine.poison("a defect"))
        recall = await over.reads.recall(CALL, RecallParams(query="tea"))
        get = await over.reads.get(CALL, GetParams(id="aaaaaaaa"))
        listed = await over.reads.list(CALL, ListParams())
        assert isinstance(recall, RecallResult)
        assert isinstance(get, GetResult)
        assert isinstance(listed, ListResult)
        assert [hit.insight.content for hit in recall.results] == ["tea at four"]
        assert get.insight.content == listed.insights[0].content == "tea at four"
        for answer in (recall, get, listed):
            assert answer.degraded is True
            assert "no such disk" in str(answer.degraded_reason)


async def stored(over: Bench, content: str, **scope: str) -> str:
    result = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True, **scope))  # type: ignore[arg-type]
    assert isinstance(result, RememberResult)
    assert result.id is not None
    return result.id


async def got(over: Bench, name: str, **scope: str) -> GetResult:
    result = await over.reads.get(CALL, GetParams(id=name, **scope))  # type: ignore[arg-type]
    assert isinstance(result, GetResult)
    return result


async def test_get_minds_the_scope_that_is_given(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        name = await stored(over, "tea at four", session_id="one", user_id="ana")
        for scope in ({}, {"session_id": "one"}, {"user_id": "ana"}, {"agent_id": "any"}):
            assert (await got(over, name, **scope)).insight.content == "tea at four"
        for scope in ({"session_id": "two"}, {"user_id": "bob"}, {"session_id": "one", "user_id": "bob"}):
            with pytest.raises(MnemonError, match="is meant for this user, session or agent") as refused:
                await got(over, name, **scope)
            assert refused.value.kind is NOT_FOUND


async def test_get_tells_no_links_with_other_sessions(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        common = await stored(over, "The kettle is for everybody", source="a")
        mine = await stored(over, "My tea is green", session_id="one", source="b")
        theirs = await stored(over, "Their tea is black", session_id="two", source="c")
        for one, other in ((common, mine), (common, theirs), (mine, theirs)):
            await over.changes.link(CALL, LinkParams(source_id=one, target_id=other, type="causal"))

        async def linked(name: str, **scope: str) -> set[str]:
            found = await got(over, name, **scope)
            assert found.edges_by_type["causal"] == len({link.id for link in found.links if link.edge_type == "causal"})
            return {link.id for link in found.links}

        assert await linked(common, session_id="one") == {mine}
        assert await linked(common, session_id="two") == {theirs}
        assert await linked(mine) == await linked(mine, session_id="one") == {common}
        assert "causal" not in (await got(over, common)).edges_by_type


@each_row(
    ("asked", "aside"),
    [
        ({"query": "tea"}, False),
        ({"query": "tea " * 150}, False),
        ({"query": "tea " * 151}, True),
        ({"query": "茶" * 150}, False),
        ({"query": "茶" * 151}, True),
        ({"query": "tea", "limit": 100}, False),
        ({"query": "tea", "limit": 101}, True),
        ({"query": "tea", "mode": "beam"}, True),
        ({"query": "tea", "profile": "mnemon"}, True),
        ({"query": "tea", "profile": "mnemon", "mode": "none"}, False),
        ({"query": "tea", "profile": "mnemosyne", "mode": "none"}, True),
        ({"query": "tea", "rerank": True}, True),
        ({"query": "tea " * 151, "basic": True}, False),
    ],
)
async def test_what_takes_long_in_a_store_of_any_size_is_done_in_a_thread(
    tmp_path: Path, asked: dict[str, Any], aside: bool
) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        answer, waited = await run_as_dispatched(over.reads.recall(CALL, RecallParams(**asked)))
        assert waited is aside
        assert isinstance(answer, RecallResult)
