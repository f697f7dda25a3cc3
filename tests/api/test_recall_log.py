"""The log shows recalls, in a ring of their own, and what its lines are about; nothing of that is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from mnemond.api.types_changes import LogParams, UndoParams
from mnemond.api.types_memories import ContextParams, ForgetParams, RecallParams, RememberParams
from mnemond.config.reading import RetrievalSettings
from mnemond.config.settings import Config
from mnemond.errors import STORAGE, MnemonError
from mnemond.memory.history import MAX_WORDS, first_words
from mnemond.model.answers import LogLine
from mnemond.model.changes import RecallLine
from mnemond.model.outcomes import UndoResult
from mnemond.store import operations
from mnemond.store.connection import Connection
from tests.api.factories import CALL, Bench, bench
from tests.api.test_remembering import files_with
from tests.api.test_uses import counted, fill, used
from tests.tables import each_row


async def log(over: Bench, **more: Any) -> list[LogLine]:
    return await over.history.log(CALL, LogParams(**more))


async def test_recalls_stand_between_the_writes(tmp_path: Path, mock_clock: MockClock) -> None:
    async with used(tmp_path) as over:
        (tea,) = await fill(over, "tea at four")
        for query in ("tea", "what is there at midnight in the Antarctic"):
            over.clock.us += 1_000_000
            await over.reads.recall(CALL, RecallParams(query=query, intent="why"))
        over.clock.us += 1_000_000
        await fill(over, "coffee at five")
        assert [line.operation for line in await log(over)] == ["remember", "remember"]  # no answer waited for it
        await counted(over, mock_clock)
        lines = await log(over)
        assert [line.operation for line in lines] == ["remember", "recall", "recall", "remember"]
        assert lines[2].insight_id == tea
        assert lines[2].detail.startswith("why results=1 confidence=")
        assert (lines[2].op_id, lines[2].words, lines[2].purged) == (None, "tea at four", False)
        assert [line.operation for line in await log(over, recalls=False)] == ["remember", "remember"]
        assert len(await log(over, limit=3)) == 3
        receipt = await over.history.receipt(CALL, LogParams())
        assert [event.event_name for event in receipt.events][1] == "memory.recall"
        assert "tea" not in str(receipt)


@each_row(
    ("params", "detail"),
    [
        (RecallParams(query="tea", basic=True), "basic results=1"),
        (RecallParams(query="cocoa", basic=True), "basic results=0"),
        (RecallParams(query="tea", compact=True), "general results=1 confidence=high"),
        (ContextParams(query="tea"), "general results=1 confidence=high"),
        (RecallParams(query="tea", as_of="2030-01-01T00:00:00Z"), "general results=1 confidence=high"),
        (RecallParams(query="tea", touch=False), None),
        (ContextParams(query="tea", touch=False), None),
    ],
)
async def test_a_line_for_each_recall_that_may_write(tmp_path: Path, params: Any, detail: str | None) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        answer = over.reads.context if isinstance(params, ContextParams) else over.reads.recall
        await answer(CALL, params)
        assert [line.detail for line in over.recalls] == ([] if detail is None else [detail])


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


async def test_the_ring_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MAX_RECALLS", 3)

    def written(connection: Connection) -> list[str]:
        for number in range(5):
            lines = [RecallLine(f"2026-01-01T00:00:0{number}Z", None, f"{number}{part}") for part in "ab"]
            operations.log_recalls(connection, lines)
        return [line.detail for line in operations.newest_recalls(connection, 10)]

    async with bench(tmp_path) as over:
        assert await (await over.warm()).store.read(written) == ["4b", "4a", "3b"]


async def test_what_a_line_is_about_is_looked_up_when_it_is_shown(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        tea, gone = await fill(over, "tea at four", "coffee  at\nfive")
        over.clock.us += 1
        await over.changes.forget(CALL, ForgetParams(id=gone))
        lines = await log(over)
        assert [line.words for line in lines] == ["coffee at five", "coffee at five", "tea at four"]
        over.clock.us += 1
        await over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        lines = await log(over)
        assert {(line.words, line.purged) for line in lines if line.insight_id == gone} == {(None, True)}
        assert [line.words for line in lines if line.insight_id == tea] == ["tea at four"]

        def lose(connection: Connection) -> None:
            connection.run("UPDATE oplog SET insight_id = 'nothing' WHERE insight_id = ?", (tea,))

        await (await over.warm()).store.read(lose)
        assert [(line.words, line.purged) for line in await log(over) if line.insight_id == "nothing"] == [
            (None, False)
        ]


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


@each_row(
    ("text", "words"),
    [
        ("", ""),
        ("  one\n\ttwo ", "one two"),
        ("x" * MAX_WORDS, "x" * MAX_WORDS),
        ("x" * (MAX_WORDS + 1), "x" * (MAX_WORDS - 1) + "…"),
        ("short " + "y" * 200, "short " + "y" * (MAX_WORDS - 7) + "…"),
        ("word " * 30, ("word " * 12).strip() + "…"),
        ("选" * 100, "选" * (MAX_WORDS - 1) + "…"),
        ("a" * 58 + " bcdef", "a" * 58 + "…"),
        ("a" * 59 + " bcdef", "a" * 59 + "…"),
    ],
)
def test_first_words(text: str, words: str) -> None:
    assert first_words(text) == words
    assert len(words) <= MAX_WORDS
