"""The log shows recalls, in a ring of their own, and what its lines are about; nothing of that is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from mnemond.api.types_changes import LogParams, UndoParams
from mnemond.api.types_memories import ForgetParams, RecallParams, RememberParams
from mnemond.config.reading import RetrievalSettings
from mnemond.config.settings import Config
from mnemond.errors import STORAGE, MnemonError
from mnemond.model.answers import LogLine
from mnemond.model.outcomes import UndoResult
from tests.api.factories import CALL, Bench, bench
from tests.api.test_remembering import files_with
from tests.api.test_uses import counted, fill, used


async def log(over: Bench, **more: Any) -> list[LogLine]:
    return await over.history.log(CALL, LogParams(**more))


async def test_lines_since_a_day(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        over.clock.us += 86_400_000_000
        await fill(over, "coffee at five")
        assert [line.words for line in await log(over, since="today")] == ["coffee at five"]
        assert len(await log(over, since="yesterday")) == 2
        assert (await over.history.receipt(CALL, LogParams(since="today"))).count == 1
        with pytest.raises(MnemonError, match=r'since: .*nor a day such as 2026-02-18, yesterday or "last week"'):
            await log(over, since="once")


async def test_a_setting_turns_it_off(tmp_path: Path) -> None:
    quiet = Config(retrieval=RetrievalSettings(log_recalls=False))
    async with bench(tmp_path, config=quiet) as over:
        await fill(over, "tea at four")
        await over.reads.recall(CALL, RecallParams(query="tea"))
        assert over.recalls == []
        assert len(over.used) == 1


async def test_no_word_of_a_question_is_in_a_file(tmp_path: Path, mock_clock: MockClock) -> None:
    async with used(tmp_path) as over:
        await fill(over, "tea at four")
        await over.reads.recall(CALL, RecallParams(query="Xyzzyplugh and tea"))
        await counted(over, mock_clock)
        assert [line.operation for line in await log(over)] == ["remember", "recall"]
    assert files_with(tmp_path, "Xyzzyplugh") == []


async def test_undo_says_what_it_is_about_and_stores_no_word(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        (tea,) = await fill(over, "tea at four")
        over.clock.us += 1
        await over.changes.forget(CALL, ForgetParams(id=tea))
        over.clock.us += 1
        params = UndoParams(op_id="mine")
        undone = await over.history.undo(CALL, params)
        assert [(each.became, each.words) for each in undone.memories] == [("restored", "tea at four")]
        outcome = await (await over.warm()).store.read(
            lambda it: it.value("SELECT outcome FROM operations WHERE op_id = 'mine'")
        )
        assert "tea" not in str(outcome)
        over.clock.us += 1
        await over.changes.forget(CALL, ForgetParams(id=tea, purge=True))
        again = await over.history.undo(CALL, params)
        assert [(each.words, each.purged) for each in again.memories] == [(None, True)]


async def test_an_undo_that_is_done_does_not_fail_for_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as over:
        await over.remembering.remember(CALL, RememberParams(content="tea at four"))
        over.clock.us += 1

        def broken(*_: object, **__: object) -> None:
            raise MnemonError(STORAGE, "the disk is gone")

        monkeypatch.setattr("mnemond.api.history.subjects", broken)
        undone = await over.history.undo(CALL, UndoParams())
        assert isinstance(undone, UndoResult)
        assert [each.words for each in undone.memories] == [None]
        assert (await over.warm()).store.snapshot.live == 0
