"""Reading that fails, or is ended: tried again, set aside, and every fact written once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mnemond.errors import BUSY, INTERNAL, MnemonError
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.jobs.extract import DEFECT
from mnemond.memory.exchanges import decoded
from mnemond.model.changes import MAX_TRIES
from mnemond.store import exchanges
from mnemond.store.exchanges import NEVER_ENDED, Backlog
from mnemond.store.store import Store
from tests.hooks.prompt_replies import ANA, ANAS, session

# ------------------------------------------------------------ failures


LATER_S = 1_600.0
"""Longer than any pause, and than the interval of the job."""


class Broken:
    """An engine that ends in a defect as often as it is told to, or where a message says so."""

    def __init__(self, times: int = 0, word: str = "\0") -> None:
        self.times, self.word = times, word

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        self.times -= 1
        if self.times >= 0 or any(self.word in each.content for each in messages):
            raise ValueError("a defect")
        return RuleEngine().extract(messages, context)


async def test_a_defect_is_tried_again_with_pauses_and_then_set_aside(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        it.read_by(Broken(word="pickle"))
        await it.say("I prefer pickle over json.")
        await it.say("I prefer tabs over spaces.")
        await it.run()
        assert await it.contents() == ["[User] I prefer tabs over spaces."]
        assert await it.backlog() == Backlog(1, 0)
        for _ in range(MAX_TRIES):
            await it.pass_time(LATER_S)
        assert await it.backlog() == Backlog(0, 1)
        assert await it.rows("SELECT tries, error, prompt FROM exchanges WHERE state = 'failed'") == [
            (MAX_TRIES, DEFECT, "I prefer pickle over json.")
        ]
        defects = len(it.at.over.defects)
        assert defects == MAX_TRIES
        await it.pass_time(LATER_S)
        assert len(it.at.over.defects) == defects  # no loop
        it.read_by(RuleEngine())
        assert (await it.run()).outcome == "nothing"
        assert (await it.run(yes=True)).changed == 1
        it.at.over.defects.clear()


async def test_one_that_ends_the_process_every_time_is_set_aside(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store = (await it.warm()).store
        (row,) = await it.waiting()
        for _ in range(MAX_TRIES):
            assert await store.rewrite(lambda on: exchanges.begin(on, row.number))
        await it.run()
        assert await it.rows("SELECT state, error FROM exchanges") == [("failed", NEVER_ENDED)]


async def test_one_fact_that_is_refused_takes_no_other_with_it(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store, refused = (await it.warm()).store, list[str]()
        written = Store.write

        async def refusing(self: Store, write: Any) -> Any:
            if write.op_id.endswith("/2") and not refused:
                refused.append(write.op_id)
                raise MnemonError(INTERNAL, "no", outcome="rejected")
            return await written(self, write)

        monkeypatch.setattr(Store, "write", refusing)
        await it.run()
        assert len(await it.memories()) == 2
        (row,) = await it.waiting()
        assert (row.written, [each.content for each in decoded(row.facts or "")]) == (2, ["[Ana] I work at Acme."])
        await it.run()
        assert await it.contents() == ANAS
        assert store.snapshot.live == 3


async def test_a_store_that_takes_nothing_is_no_matter_of_an_exchange(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)

        async def busy(self: Store, write: Any) -> Any:
            raise MnemonError(BUSY, "later", outcome="rejected")

        with monkeypatch.context() as patched:
            patched.setattr(Store, "write", busy)
            with pytest.raises(MnemonError, match="later"):
                await it.run()
        assert await it.backlog() == Backlog(1, 0)
        await it.run()
        assert await it.contents() == ANAS


@pytest.mark.parametrize("stop", range(3))
async def test_ended_between_two_facts_it_goes_on_behind_the_last(
    stop: int, tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far it came, every fact is written once."""
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        written, begun = Store.write, list[str]()

        async def ending(self: Store, write: Any) -> Any:
            begun.append(write.op_id)
            if len(begun) > stop:
                raise trio.BrokenResourceError
            return await written(self, write)

        with monkeypatch.context() as patched:
            patched.setattr(Store, "write", ending)
            with pytest.raises(MnemonError):
                await it.run()
        it.at.over.defects.clear()
        assert len(await it.memories()) == stop
        await it.run()
        assert await it.contents() == ANAS
        assert len(await it.rows("SELECT 1 FROM memory_operations WHERE operation_type = 'CREATE'")) == 3


async def test_killed_after_any_transaction_every_fact_is_written_once(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kill leaves is the files as they are after a commit; the job goes on from each of them."""
    home, left = tmp_path / "home", list[Path]()
    home.mkdir()
    async with session(home, mock_clock) as it:
        await it.say(ANA)
        await it.say("", "We spoke about billing.", kind="summary")
        warm = await it.warm()

        def keep_files() -> None:
            left.append(tmp_path / f"left-{len(left)}")
            shutil.copytree(home, left[-1], ignore=shutil.ignore_patterns("sock", "*.lock"))

        for name in ("write", "rewrite"):
            monkeypatch.setattr(Store, name, _after(getattr(Store, name), keep_files))
        keep_files()
        await it.run()
        assert warm.store.snapshot.live == 4
        monkeypatch.undo()
    assert len(left) == 1 + 2 + 3 + 2 + 1  # before; begun, planned and written, once with three facts and once with one
    for each in left:
        async with session(each, mock_clock) as it:
            it.at.over.ids.made = 1_000  # a later process draws other ids
            await it.run()
            assert await it.contents() == sorted([*ANAS, "We spoke about billing."])
            assert len(await it.rows("SELECT 1 FROM memory_operations WHERE operation_type = 'CREATE'")) == 4
            assert len(await it.rows("SELECT DISTINCT op_id FROM memory_operations")) == 4
            assert await it.backlog() == Backlog(0, 0)


def _after(asked: Any, then: Callable[[], None]) -> Any:
    async def both(self: Store, work: Any) -> Any:
        value = await asked(self, work)
        then()
        return value

    return both


async def test_a_plan_that_cannot_be_read_is_set_aside_as_well(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        (row,) = await it.waiting()
        store = (await it.warm()).store
        assert await store.rewrite(lambda on: exchanges.plan(on, row, '[{"content":7}]'))
        for _ in range(MAX_TRIES):
            await it.run()
        assert await it.backlog() == Backlog(0, 1)
        assert len(it.at.over.defects) == MAX_TRIES - 1  # to have read it counts as one
        it.at.over.defects.clear()


async def test_what_is_purged_while_it_is_read_stays_away(tmp_path: Path, mock_clock: MockClock) -> None:
    """The engine is given the text; then it goes. What the engine found is not kept, and the rest is read again."""

    async with session(tmp_path, mock_clock) as it:
        store = (await it.warm()).store
        purged = False

        class Slow:
            def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
                nonlocal purged
                if not purged:
                    purged = True
                    gone = "I work at Acme"
                    trio.from_thread.run(store.rewrite, lambda on: exchanges.purge(on, [gone]))
                return RuleEngine().extract(messages, context)

        it.read_by(Slow())
        await it.say("My name is Ana. I work at Acme. I prefer tabs over spaces.")
        await it.run()
        assert await it.memories() == []
        await it.run()
        assert await it.contents() == [ANAS[0], ANAS[2]]


async def test_a_plan_of_which_nothing_is_left_is_done(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer tabs over spaces.")
        (row,) = await it.waiting()
        store = (await it.warm()).store
        await store.rewrite(lambda on: exchanges.plan(on, row, "[]"))
        await it.run()
        assert (await it.memories(), await it.backlog()) == ([], Backlog(0, 0))
