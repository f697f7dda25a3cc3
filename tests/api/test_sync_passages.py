"""What was said in sessions, between two stores through the files of a directory: only where it is switched on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from mnemond.api.requests import submit
from mnemond.api.types_changes import UndoParams
from mnemond.api.types_memories import ForgetParams, RecallParams, RememberParams
from mnemond.config.settings import Config, SessionSettings, SyncSettings
from mnemond.config.writing import ExtractionSettings
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.sync.guard import LEAST_PURGES
from mnemond.model.changes import QueuedExchange
from mnemond.model.memory import DAY_US
from mnemond.store import sync_state
from tests.api.factories import CALL, ToyEmbedder, bench
from tests.api.test_sync import SECRET, Machine, files_of
from tests.api.test_sync_held import as_person

ON = Config(sync=SyncSettings(passages=True), extraction=ExtractionSettings(enabled=False))
OFF = msgspec.structs.replace(ON, sync=SyncSettings())
KEY = "AKIA" + "PIX6EA6QOM66ZJOJ"


@asynccontextmanager
async def machine(path: Path, number: int, config: Config) -> AsyncIterator[Machine]:
    (path / str(number)).mkdir(exist_ok=True)
    (path / "shared").mkdir(exist_ok=True)
    async with bench(path / str(number), ToyEmbedder(), config=config) as over:
        found = Machine(over, number)
        found.syncs._is_partial = lambda session: session == "paused"
        if await (await over.warm()).store.read(sync_state.device) is None:
            await found.has_secret(SECRET)
        yield found


async def says(at: Machine, prompt: str, answer: str = "Noted.", session: str = "s") -> None:
    warm, identity = await at.over.warm(), at.over.identities.own("default", "host:codex")
    said = QueuedExchange(
        host="codex", at_us=at.over.clock.now_us(), conversation_id=session, prompt=prompt, reply=answer, key=prompt
    )
    await submit(warm, propose_queueing(said, identity, warm.config.extraction))


async def prompts(at: Machine) -> list[str]:
    sql = "SELECT prompt FROM passages WHERE gone_op IS NULL ORDER BY prompt"
    found: list[str] = await (await at.over.warm()).store.read(lambda it: it.column(sql))
    return found


async def forget(at: Machine, prompt: str, *, purge: bool = False) -> str:
    """Forget an exchange; return the operation."""
    warm = await at.over.warm()
    name = await warm.store.read(lambda it: it.value("SELECT id FROM passages WHERE prompt = ?", (prompt,)))
    return (await at.over.changes.forget(CALL, ForgetParams(id=name, purge=purge))).op_id


async def test_exchanges_travel_both_ways_and_so_does_what_becomes_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(machine(tmp_path, number, ON)) for number in (1, 2)]
        await says(one, "Why is the build slow?", "The cause is the missing cache of wheels.")
        await says(one, "This stays here", session="paused")
        await says(one, f"My key is {KEY}")
        await says(other, "Where is the log?", "In /var/log/shop.")
        for each in (one, other, one):
            await each.sync(shared, monkeypatch)
        assert set(await prompts(one)) - set(await prompts(other)) == {"This stays here"}
        assert len(await prompts(other)) == 3
        text = "".join(each.read_text() for each in files_of(shared))
        assert not any(words in text for words in (KEY, "This stays here"))
        found = await other.over.reads.recall(CALL, RecallParams(query="missing cache of wheels"))
        assert "missing cache" in str(found)

        operation = await forget(other, "Why is the build slow?")
        for each in (other, one):
            await each.sync(shared, monkeypatch)
        assert "Why is the build slow?" not in await prompts(one)
        await other.over.history.undo(CALL, UndoParams(operation=operation))
        for each in (other, one):
            await each.sync(shared, monkeypatch)
        assert "Why is the build slow?" in await prompts(one)

        await forget(one, "Why is the build slow?", purge=True)
        report = [await each.sync(shared, monkeypatch) for each in (one, other)][-1]
        assert report.passages == 1
        assert "Why is the build slow?" not in await prompts(other)
        text = "".join(each.read_text() for each in files_of(shared))
        assert "missing cache" not in text
        assert [(await each.sync(shared, monkeypatch)).lines for each in (one, other, one, other)][-2:] == [0, 0]
        assert b"missing cache" not in b"".join(each.read_bytes() for each in (tmp_path / "2").rglob("*.db"))


async def test_a_device_where_it_is_off_neither_writes_nor_takes_any_until_it_is_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    async with machine(tmp_path, 1, ON) as one:
        await says(one, "Why is the build slow?")
        async with machine(tmp_path, 2, OFF) as off:
            await says(off, "Where is the log?")
            for each in (one, off, one, off):
                result = await each.sync(shared, monkeypatch)
                assert (result.refused, result.passages) == ([], 0)
            assert (await prompts(one), await prompts(off)) == (["Why is the build slow?"], ["Where is the log?"])
            assert (await off.sync(shared, monkeypatch)).publish is None
        async with machine(tmp_path, 2, ON) as on:
            for each in (on, one):
                assert (await each.sync(shared, monkeypatch)).passages == 1, "what was passed over is read again"
            assert await prompts(one) == await prompts(on) == ["Where is the log?", "Why is the build slow?"]
        async with machine(tmp_path, 2, OFF) as off:
            await forget(one, "Why is the build slow?", purge=True)
            for each in (one, off):
                await each.sync(shared, monkeypatch)
            assert await prompts(off) == ["Where is the log?"], "a purge holds"
            own = [each for each in files_of(shared) if "Where is the log?" in each.read_text()]
            assert own == [], "what it wrote is gone from its files"


async def test_many_purges_of_exchanges_wait_for_a_person_and_a_few_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_person(monkeypatch)
    shared = tmp_path / "shared"
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(machine(tmp_path, number, ON)) for number in (1, 2)]
        said = [f"Question number {number}?" for number in range(3 * LEAST_PURGES)]
        for prompt in said:
            await says(one, prompt)
        for each in (one, other):
            await each.sync(shared, monkeypatch)
        for start, carried_out in ((0, 3), (3, 0)):  # a second file within a day counts with the first
            for prompt in said[start : start + 3]:
                await forget(one, prompt, purge=True)
            await one.sync(shared, monkeypatch)
            met = await other.sync(shared, monkeypatch)
            assert (met.passages, met.held_passages, met.held_purges_found) == (carried_out, 3 - carried_out, 0)
        assert (await other.sync(shared, monkeypatch)).held_passages == 3, "their file is read again"
        assert set(said[3:]) <= set(await prompts(other))
        await says(one, "What else?")
        await one.sync(shared, monkeypatch)
        assert (await other.sync(shared, monkeypatch)).passages == 1, "everything else is taken in"
        met = await other.sync(shared, monkeypatch, tty=True, allow_purges=True)
        assert (met.passages, met.held_passages) == (3, 0)
        assert await prompts(other) == await prompts(one)
        assert (await other.sync(shared, monkeypatch)).passages == 0


async def test_a_purge_that_was_carried_out_here_by_a_purge_of_a_memory_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(machine(tmp_path, number, ON)) for number in (1, 2)]
        fact = "The staging ledger lives in Frankfurt"
        result = await one.over.remembering.remember(CALL, RememberParams(content=fact, no_diff=True))
        for number in range(3 * LEAST_PURGES):
            await says(one, f"Question number {number}?", f"{fact}. See page {number}.")
        for each in (one, other):
            await each.sync(shared, monkeypatch)
        await one.over.changes.forget(CALL, ForgetParams(id=str(result.id), purge=True))
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch)
        assert (met.purged, met.held_passages) == (1, 0)
        assert len(await prompts(other)) == 3 * LEAST_PURGES, "the rest of each stays"
        assert fact not in str(
            await (await other.over.warm()).store.read(lambda it: it.column("SELECT answer FROM passages"))
        )


async def test_a_sync_says_which_exchanges_stay_here_and_which_are_too_old_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    short = msgspec.structs.replace(ON, sessions=SessionSettings(keep_days=7))
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(machine(tmp_path, 1, ON))
        other = await stack.enter_async_context(machine(tmp_path, 2, short))
        await says(one, "Why is the build slow?")
        await says(one, "This stays here", session="paused")
        other.over.clock.us += int(8 * DAY_US)
        one.over.clock.us = other.over.clock.us
        await says(one, "Where is the log?")
        assert (await one.sync(shared, monkeypatch)).withheld == 1
        met = await other.sync(shared, monkeypatch)
        assert (met.passages, met.too_old, met.withheld) == (1, 1, 0)
        assert (await other.sync(shared, monkeypatch)).too_old == 0, "it is said once"
        assert await prompts(other) == ["Where is the log?"]
