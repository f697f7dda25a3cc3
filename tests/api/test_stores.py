"""The methods about named stores and their backups: what they say, what they refuse, what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from mnemond.api import types_stores
from mnemond.api.types_memories import ForgetParams, RecallParams, RememberParams
from mnemond.embed.embedder import Embedder
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, STOPPING, STORAGE, MnemonError
from mnemond.model.answers import Backup
from mnemond.store.embedder_switch import SwitchRecord
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store
from mnemond.wire.params import StoreParams
from tests.api.embedders import Words, kept, until
from tests.api.factories import CALL, KEPT, Bench, ToyEmbedder, bench


async def remember(over: Bench, store: str | None, content: str) -> str:
    done = await over.remembering.remember(CALL, RememberParams(content=content, store=store))
    return str(getattr(done, "id", ""))


async def recalled(over: Bench, store: str | None, query: str) -> list[str]:
    found = await over.reads.recall(CALL, RecallParams(query=query, store=store))
    return [hit.insight.content for hit in getattr(found, "results", [])]


async def create(over: Bench, *names: str) -> None:
    for name in names:
        await over.named.create(CALL, types_stores.StoreCreateParams(name=name))


async def back_up(over: Bench, store: str) -> Backup:
    return (await over.backups.create(CALL, types_stores.BackupCreateParams(store=store))).backup


def damage(path: str) -> None:
    file = Path(path)
    file.write_bytes(b"x" * file.stat().st_size)


async def test_the_path_of_a_store_does_not_make_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        there = await over.named.path(CALL, StoreParams())
        expected = str(tmp_path / "data" / "default" / "mnemon.db")
        assert (there.name, there.path, there.exists) == ("default", expected, False)
        with pytest.raises(MnemonError) as missing:
            await over.named.path(CALL, StoreParams(store="shop"))
        assert missing.value.kind is NOT_FOUND
        assert os.listdir(tmp_path) == []


async def test_nothing_of_one_store_is_seen_in_another(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        await create(over, "shop", "home")
        mine = await remember(over, "shop", "the till is under the counter")
        await remember(over, "home", "the keys are under the mat")
        assert await recalled(over, "home", "under the counter") == ["the keys are under the mat"]
        assert await recalled(over, "shop", "under the mat") == ["the till is under the counter"]
        assert await recalled(over, None, "under") == []
        with pytest.raises(MnemonError) as missing:
            await over.changes.forget(CALL, ForgetParams(id=mine, store="home"))
        assert missing.value.kind is NOT_FOUND


async def test_removing_asks_first_and_says_what_would_go(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await create(over, "shop")
        await remember(over, "shop", "tea at four")
        with pytest.raises(MnemonError, match=r'removes the store "shop" with its 1 memory; it needs yes') as unsure:
            await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop"))
        assert (unsure.value.kind, unsure.value.outcome) == (INVALID_PARAMS, "rejected")
        assert over.stores.names() == ["shop"]
        done = await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True))
        assert done.backup is not None
        with pytest.raises(MnemonError):
            await recalled(over, "shop", "tea")
        back = await over.backups.restore(CALL, types_stores.BackupRestoreParams(backup=done.backup))
        assert (back.store, back.memories, back.before) == ("shop", 1, None)
        assert await recalled(over, "shop", "tea") == ["tea at four"]


async def test_a_damaged_store_is_not_removed_without_a_trace_by_mistake(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        path = over.stores.path("shop")
        path.parent.mkdir(parents=True)
        path.write_bytes(b"not a database" * 1000)
        with pytest.raises(MnemonError, match="which cannot be opened; it needs yes"):
            await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop"))
        content = path.read_bytes()
        gone = await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True))
        assert (gone.backup, gone.purged, path.exists()) == (None, False, False)
        assert gone.kept is not None
        assert (Path(gone.kept) / "mnemon.db").read_bytes() == content
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        gone = await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True, purge=True))
        assert (gone.backup, gone.purged, path.exists(), gone.kept) == (None, True, False, None)
        assert list((path.parent.parent.parent / "damaged").glob("shop/*")) == []


async def test_a_store_that_is_being_embedded_stays(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await create(over, "shop")
        await remember(over, "shop", "tea at four")
        made = await back_up(over, "shop")
        state = over.worker.state("shop")
        state.switch = SwitchRecord("ollama", EmbedderRecord("other", 4, "x"), "2026-02-18T09:30:00Z")
        for attempt in (
            lambda: over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True)),
            lambda: over.backups.restore(CALL, types_stores.BackupRestoreParams(backup=made.name, yes=True)),
        ):
            with pytest.raises(MnemonError, match="being embedded") as busy:
                await attempt()
            assert busy.value.kind is BUSY
        state.switch = None
        await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True))
        assert not over.worker.has_active_run("shop")


async def test_a_restored_store_is_a_new_one_for_whoever_asks(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        await create(over, "shop")
        await remember(over, "shop", "tea at four")
        before = await over.warm("shop")
        made = await back_up(over, "shop")
        await remember(over, "shop", "milk at five")
        with pytest.raises(MnemonError, match=r'replaces the store "shop" by what it was at .*; it needs yes'):
            await over.backups.restore(CALL, types_stores.BackupRestoreParams(backup=made.name))
        done = await over.backups.restore(CALL, types_stores.BackupRestoreParams(backup=made.name, yes=True))
        assert await recalled(over, "shop", "at") == ["tea at four"]
        after = await over.warm("shop")
        assert after.store is not before.store
        assert over.worker.state("shop").store is after.store
        assert before.store.snapshot.live == 2, "who had it goes on reading what it was"
        again = await over.backups.restore(CALL, types_stores.BackupRestoreParams(backup=str(done.before), into="both"))
        assert (again.store, again.memories) == ("both", 2)


async def test_a_store_that_is_closed_while_it_is_made_ready_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as over:
        await create(over, "shop")
        settle_store, times = over.open_stores._settle, 0

        async def close() -> None:
            async with over.stores.exclusive("shop"):
                pass

        def interrupted(store: Store) -> tuple[Embedder | None, str | None]:
            nonlocal times
            times += 1
            if times == 1:
                trio.from_thread.run(close)
            return settle_store(store)

        monkeypatch.setattr(over.open_stores, "_settle", interrupted)
        warm = await over.warm("shop")
        assert (times, over.stores.warm("shop") is warm.store) == (2, True)
        assert over.worker.state("shop").store is warm.store


async def test_what_embeds_in_the_background_lets_go_of_a_store_that_is_closed(tmp_path: Path) -> None:
    async with kept(tmp_path, words := Words()) as over:
        await create(over, "shop")
        await remember(over, "shop", "tea at four")
        words.away = True
        await remember(over, "shop", "milk at five")
        state = over.worker.state("shop")
        await until(lambda: state.waiting)
        await over.named.remove(CALL, types_stores.StoreRemoveParams(name="shop", yes=True))
        await until(lambda: not state.has_task)
        with pytest.raises(MnemonError, match="is being closed") as gone:
            over.worker.state("shop")
        assert gone.value.kind is STOPPING
        over.worker.request_backfill("shop")  # a memory stored just before: nobody is there to be told


async def test_backups_are_listed_checked_and_rotated(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await create(over, "shop", "home")
        made = []
        for _ in range(KEPT + 1):
            over.clock.us += 1_000_000
            made.append(await over.backups.create(CALL, types_stores.BackupCreateParams(store="shop")))
        other = await back_up(over, "home")
        assert [each.dropped for each in made] == [[]] * KEPT + [[made[0].backup.name]]
        listed = (await over.backups.list(CALL, types_stores.BackupListParams())).backups
        assert [each.store for each in listed].count("shop") == KEPT
        only = (await over.backups.list(CALL, types_stores.BackupListParams(store="home"))).backups
        assert only == [other]
        checked = await over.backups.verify(CALL, types_stores.BackupVerifyParams(backup=other.name, store="home"))
        assert checked.backup == other
        note = Path(other.path).with_suffix(".json")
        whole = note.read_text()
        for text, why in (
            ("{", "is not readable"),
            (whole.replace('"memories": 0', '"memories": 7'), "says something else than what it holds"),
        ):
            note.write_text(text)
            with pytest.raises(MnemonError, match=f"its note {note.name} {why}") as refused:
                await over.backups.verify(CALL, types_stores.BackupVerifyParams(backup=other.name, store="home"))
            assert (refused.value.kind, "--into" in str(refused.value.hint)) == (STORAGE, True)
        note.write_text(whole)
        damage(other.path)
        with pytest.raises(MnemonError, match="is damaged"):
            await over.backups.verify(CALL, types_stores.BackupVerifyParams(backup=other.name, store="home"))
        with pytest.raises(MnemonError):
            await over.backups.list(CALL, types_stores.BackupListParams(store="../x"))
