"""What other devices do here only with a person, and what of it can be taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from mnemond.api.requests import submit
from mnemond.api.sync import has_ended
from mnemond.api.types_changes import LinkParams, UndoParams, UpdateParams
from mnemond.api.types_memories import ForgetParams
from mnemond.api.types_sync import SyncFinishParams, SyncOpenParams
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory.entities import NameDecision, propose_names
from mnemond.memory.relations import RelationToAdd, propose_addition
from mnemond.memory.sync.guard import DAY_US, LEAST_PURGES, MOST_PURGES
from mnemond.store import relations
from tests.api.factories import CALL, bench
from tests.api.test_sync import TARGET, Machine, files_of, two
from tests.interchange.test_export import remember

MANY = MOST_PURGES + 5


def as_person(monkeypatch: pytest.MonkeyPatch, *, person: bool = True) -> None:
    monkeypatch.setattr("mnemond.api.requests.is_person", lambda call: person and call.at_terminal)


async def remember_many(it: Machine, count: int) -> list[str]:
    return [await remember(it.over, f"Guest {number} likes tea number {number}") for number in range(count)]


async def purge(it: Machine, keys: list[str]) -> None:
    for key in keys:
        await it.over.changes.forget(CALL, ForgetParams(id=key, purge=True))


async def test_a_file_that_purges_many_waits_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        keys = await remember_many(one, MANY)
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        await purge(one, keys)
        await remember(one.over, "Tea is out")
        await one.sync(shared, monkeypatch)
        for _ in range(2):
            held = await other.sync(shared, monkeypatch, tty=True)  # a person who did not ask for it
            assert (held.purged, held.held_purges_found, held.held_purges) == (0, MANY, keys[:20])
        assert len(await other.texts()) == MANY + 1, "everything else was taken in"
        with pytest.raises(MnemonError, match="a person at a terminal") as caught:
            await other.sync(shared, monkeypatch, allow_purges=True)
        assert caught.value.kind is INVALID_PARAMS
        assert len(await other.texts()) == MANY + 1
        await other.over.changes.update(CALL, UpdateParams(id=keys[0], content="Guest 0 likes coffee"))
        await other.sync(shared, monkeypatch)
        assert (await one.sync(shared, monkeypatch)).added == 0
        assert await one.texts() == ["Tea is out"], "what was held there does not come back here"
        done = await other.sync(shared, monkeypatch, tty=True, allow_purges=True)
        assert (done.purged, done.held_purges_found, done.op_id) == (MANY, 0, None)
        assert await other.texts() == ["Tea is out"]
        assert (await other.sync(shared, monkeypatch)).purged == 0


async def test_a_few_purges_a_day_need_no_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        keys = await remember_many(one, 20)
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        for start, purged in ((0, 3), (3, 0)):
            await purge(one, keys[start : start + 3])
            await one.sync(shared, monkeypatch)
            assert (await other.sync(shared, monkeypatch)).purged == purged, "files that come one by one are counted"
        assert (await other.sync(shared, monkeypatch, tty=True, allow_purges=True)).purged == 3
        await purge(one, keys[6 : 6 + LEAST_PURGES])
        await one.sync(shared, monkeypatch)
        other.over.clock.us += 1_000
        assert (await other.sync(shared, monkeypatch)).purged == LEAST_PURGES, "what a person allowed does not count"
        await purge(one, keys[12:13])
        await one.sync(shared, monkeypatch)
        assert (await other.sync(shared, monkeypatch)).purged == 0
        other.over.clock.us += DAY_US
        assert (await other.sync(shared, monkeypatch)).purged == 1


async def test_one_undo_takes_a_sync_back_but_for_its_purges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        keys = await remember_many(one, 70)  # more than are united in one operation
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        before = await other.texts()
        for key in keys[2:]:
            await one.over.changes.forget(CALL, ForgetParams(id=key))
        await one.over.changes.update(CALL, UpdateParams(id=keys[1], content="Guest 1 was never here"))
        await purge(one, keys[:1])
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch)
        assert (met.retired, met.changed, met.purged) == (68, 69, 1)
        assert await other.texts() == ["Guest 1 was never here"]
        assert met.op_id is not None
        undone = await other.over.history.undo(CALL, UndoParams(operation=met.op_id))
        assert len(undone.memories) == 69
        assert await other.texts() == [each for each in before if "Guest 0 " not in each]
        await other.sync(shared, monkeypatch)
        await one.sync(shared, monkeypatch)
        assert await one.texts() == await other.texts(), "the undo travels as any change"


async def statements_of(it: Machine) -> list[str]:
    warm = await it.over.warm()
    return [each.type for each in await warm.store.read(relations.all_evidence)]


async def names_of(it: Machine) -> list[str]:
    warm = await it.over.warm()
    return [each.kind for each in await warm.store.read(relations.links)]


async def join(it: Machine) -> None:
    by = msgspec.structs.replace(it.over.identities.own("default", "user"), by_person=True)
    joined = NameDecision(decision="merge", name="Robert Smith", other="Bob Miller")
    await submit(await it.over.warm(), propose_names(joined, by))


async def relate_and_join(it: Machine) -> None:
    added = RelationToAdd(source="Bob Miller", type="works_at", target="Acme")
    await submit(await it.over.warm(), propose_addition(added, it.over.identities.own("default", "user")))
    await join(it)


async def test_another_undo_takes_relations_and_names_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "Robert Smith and Bob Miller prefer tabs")
        await relate_and_join(one)
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch, tty=True)
        assert (met.added, met.relations, met.names) == (1, 1, 1)
        assert None is not met.op_id != met.knowledge_op_id is not None
        assert (await statements_of(other), await names_of(other)) == (["works_at"], ["same"])
        undone = await other.over.history.undo(CALL, UndoParams(operation=met.knowledge_op_id))
        assert (undone.relations, undone.memories) == (2, [])
        assert (await statements_of(other), await names_of(other)) == ([], [])
        assert len(await other.texts()) == 1
        await other.sync(shared, monkeypatch)
        await one.sync(shared, monkeypatch, tty=True)
        assert (await statements_of(one), await names_of(one)) == ([], []), "the undo travels as any change"
        assert len(await one.texts()) == 1
        back = await other.over.history.undo(CALL, UndoParams(operation=met.op_id))
        assert (len(back.memories), await other.texts()) == (1, [])
        again = await other.sync(shared, monkeypatch)
        assert (again.op_id, again.knowledge_op_id) == (None, None), "there is nothing to take back"


async def test_names_are_not_taken_back_for_purges_that_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        keys = [await remember(one.over, "Robert Smith and Bob Miller prefer tabs"), *await remember_many(one, MANY)]
        await join(one)
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch, tty=True)
        await purge(one, keys)
        await one.sync(shared, monkeypatch)
        lines = [line for file in files_of(shared) for line in file.read_bytes().splitlines() if b'"name"' in line]
        assert any(b'"state":"purged"' in line for line in lines)
        held = await other.sync(shared, monkeypatch, tty=True)
        assert (held.purged, held.held_purges_found, held.names) == (0, MANY + 1, 0)
        assert await names_of(other) == ["same"]
        assert (await one.sync(shared, monkeypatch)).names == 0
        done = await other.sync(shared, monkeypatch, tty=True, allow_purges=True)
        assert (done.purged, await names_of(other)) == (MANY + 1, [])


async def test_stamps_of_relations_and_uses_ahead_of_the_clock_are_counted_and_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "Robert Smith and Bob Miller prefer tabs")
        await one.sync(shared, monkeypatch)
        now_us = one.over.clock.us
        one.over.clock.us += 30 * DAY_US
        await relate_and_join(one)
        assert (await one.sync(shared, monkeypatch)).ahead == 0
        one.over.clock.us = now_us
        assert (await one.sync(shared, monkeypatch)).ahead == 2
        refused = await other.sync(shared, monkeypatch, tty=True)
        assert (refused.relations, refused.names, refused.refused_found) == (0, 0, 2)
        renewed = await one.sync(shared, monkeypatch, restamp=True)
        assert (renewed.restamped, renewed.ahead) == (2, 0)
        met = await other.sync(shared, monkeypatch, tty=True)
        assert (met.relations, met.names, met.refused_found) == (1, 1, 0)


async def test_a_purge_of_one_does_not_keep_the_others_from_coming_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        keys = await remember_many(one, 8)
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        before = await other.texts()
        for key in keys:
            await one.over.changes.forget(CALL, ForgetParams(id=key))
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch)
        await purge(one, keys[:1])
        await one.sync(shared, monkeypatch)
        assert (await other.sync(shared, monkeypatch)).purged == 1
        assert await other.texts() == []
        await other.over.history.undo(CALL, UndoParams(operation=met.op_id))
        assert await other.texts() == [each for each in before if "Guest 0 " not in each]


@pytest.fixture
def ended() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended, of which its parent has not read the status."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield process


async def test_a_client_that_died_keeps_no_sync_from_beginning(tmp_path: Path, ended: subprocess.Popen[bytes]) -> None:
    (tmp_path / "1").mkdir()
    async with bench(tmp_path / "1") as over:
        it = Machine(over, 1)
        opening = SyncOpenParams(target=TARGET, label="here")
        left = await it.syncs.open(msgspec.structs.replace(CALL, peer_pid=ended.pid), opening)
        again = await it.syncs.open(msgspec.structs.replace(CALL, peer_pid=os.getpid()), opening)
        with pytest.raises(MnemonError, match="no such sync") as caught:
            await it.syncs.finish(CALL, SyncFinishParams(sync_id=left.sync_id))
        assert caught.value.kind is NOT_FOUND
        with pytest.raises(MnemonError, match="synced already") as caught:
            await it.syncs.open(CALL, opening)
        assert caught.value.kind is BUSY
        await it.syncs.finish(CALL, SyncFinishParams(sync_id=again.sync_id))


def test_a_process_has_ended_whether_its_parent_knows_it_or_not(ended: subprocess.Popen[bytes]) -> None:
    assert has_ended(ended.pid)
    ended.wait()
    assert has_ended(ended.pid)
    for pid in (os.getpid(), 0, 1):
        assert not has_ended(pid)


async def test_a_clock_that_was_a_year_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        one.over.clock.us += 365 * DAY_US
        first = await remember(one.over, "The ledger is kept in SQLite")
        second = await remember(one.over, "The gateway was moved to Frankfurt")
        await one.over.changes.link(CALL, LinkParams(source_id=first, target_id=second, type="causal"))
        await one.sync(shared, monkeypatch)
        one.over.clock.us -= 365 * DAY_US
        assert (await one.sync(shared, monkeypatch)).ahead == 3
        refused = await other.sync(shared, monkeypatch)
        assert (refused.added, refused.refused_found) == (0, 3)
        assert "then run there: mnemonctl sync DIR --restamp" in refused.refused[0]
        done = await one.sync(shared, monkeypatch, restamp=True)
        assert (done.restamped, done.ahead, done.lines, done.remove) == (3, 0, 3, ["00000001.jsonl"])
        taken = await other.sync(shared, monkeypatch)
        assert (taken.added, taken.links, taken.refused_found) == (2, 1, 0)
        assert (await one.sync(shared, monkeypatch, restamp=True)).restamped == 0
