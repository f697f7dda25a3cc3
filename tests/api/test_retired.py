"""list --retired: what left recall, since when and why, page by page, to those it is meant for."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mnemond.api.types_memories import ForgetParams, ListParams, RememberParams
from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, Kind, MnemonError
from mnemond.model.answers import ListResult, RetiredResult
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row


async def remember(over: Bench, content: str, **more: Any) -> str:
    over.clock.us += 1_000_000
    result: Any = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True, **more))
    return str(result.id)


async def forget(over: Bench, insight_id: str, **more: Any) -> None:
    over.clock.us += 1_000_000
    await over.changes.forget(CALL, ForgetParams(id=insight_id, **more))


async def retired(over: Bench, **more: Any) -> RetiredResult:
    result = await over.reads.list(CALL, ListParams(retired=True, **more))
    assert isinstance(result, RetiredResult)
    return result


async def ids(over: Bench, **more: Any) -> list[str]:
    return [each.id for each in (await retired(over, **more)).retired]


async def test_page_by_page(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = [await remember(over, f"note {number}") for number in range(5)]
        for each in made:
            await forget(over, each)
        over.clock.us -= 1_000_000
        made.append(await remember(over, "note 5"))
        await over.changes.forget(CALL, ForgetParams(id=made[-1]))  # in the moment the one before left
        found: list[str] = []
        before: str | None = None
        for _ in range(3):
            page = await retired(over, limit=2, before=before)
            found += [each.id for each in page.retired]
            before = page.next
        assert before is None
        assert found == [made[5], made[4], made[3], made[2], made[1], made[0]]
        assert await ids(over, before=made[4].upper()) == made[3::-1]


@each_row(
    ("before", "kind", "told"),
    [
        ("aaaaaaaa", AMBIGUOUS, "aaaaaaaa is the beginning of several ids"),
        ("aaaaaaaa-0000-4000-8000-000000000001", NOT_FOUND, "is not out of recall"),
        ("bbbbbb", NOT_FOUND, "no memory with id 'bbbbbb'"),
        ("aaaaa", INVALID_PARAMS, "before has 5 characters; it needs 6"),
    ],
)
@each_row("of_retired", [True, False])
async def test_a_page_goes_on_after_one_memory(
    tmp_path: Path, before: str, kind: Kind, told: str, of_retired: bool
) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "note 0")
        await remember(over, "note 1")
        if told == "is not out of recall" and not of_retired:
            assert await over.reads.list(CALL, ListParams(before=before)) == ListResult(insights=[], next=None)
            return
        with pytest.raises(MnemonError, match=told) as caught:
            await over.reads.list(CALL, ListParams(retired=of_retired, before=before))
        assert caught.value.kind is kind


async def test_a_page_goes_on_after_one_that_left_recall_by_the_beginning_of_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check(over: Bench) -> None:
        for before in (made[2], made[2][:8], made[2][:6].upper()):
            for as_of in (None, "2100-01-01T00:00:00Z"):
                page: Any = await over.reads.list(CALL, ListParams(before=before, as_of=as_of))
                assert [each.id for each in page.insights] == [made[1], made[0]]

    async with bench(tmp_path) as over:
        numbers = count(0xABCDEF)
        monkeypatch.setattr(over.ids, "new", lambda: f"{next(numbers):x}00-0000-4000-8000-000000000001")
        made = [await remember(over, f"note {number}") for number in range(4)]
        await forget(over, made[2])
        await check(over)
    async with bench(tmp_path) as again:  # its index never had the one that left
        again.clock.us = over.clock.us
        await check(again)


async def test_only_what_is_meant_for_the_reader(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        common = await remember(over, "for everyone", category="fact", source="git")
        ana = await remember(over, "for Ana", user_id="ana", agent_id="builder")
        session = await remember(over, "for a session", session_id="s1")
        for each in (common, ana, session):
            await forget(over, each)
        assert await ids(over) == [ana, common]
        assert await ids(over, all_sessions=True) == [session, ana, common]
        assert await ids(over, session_id="s1") == [session, ana, common]
        assert await ids(over, session_id="s2", all_sessions=True) == [ana, common]
        assert await ids(over, user_id="bob") == [common]
        assert await ids(over, user_id="ana", agent_id="builder") == [ana, common]
        assert await ids(over, agent_id="tester") == [common]
        assert await ids(over, category="fact") == await ids(over, source="git") == [common]
        assert await ids(over, category="insight") == []
        with pytest.raises(MnemonError) as caught:
            await over.reads.list(CALL, ListParams(retired=True, category="facts"))
        assert caught.value.kind is INVALID_PARAMS
