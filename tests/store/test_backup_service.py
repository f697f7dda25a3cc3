"""Stores are copied, removed and restored while they are used; what could be kept is kept."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
import trio.testing

from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, STOPPING, STORAGE, MnemonError
from mnemond.model.answers import Backup
from mnemond.model.outcomes import Outcome, RememberResult
from mnemond.store import backups, verified_copy
from mnemond.store import backups as module
from mnemond.store.backups import BackupDirectory, BackupService, Kind, NewBackup, remove_leftovers
from mnemond.store.connection import Connection
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.store.verified_copy import Pause
from tests.store.factories import START_US, bytes_of, contents, insight_id, remember, stored
from tests.store.invariants.seeded import change
from tests.store.test_checksums import root_of
from tests.store.test_registry import registry_at
from tests.tables import each_row

WRITERS = 64


class World:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.stores: StoreRegistry = registry_at(path)
        self.clock_us = START_US
        self.keeping = BackupService(self.stores, BackupDirectory(path, keep=5), self.now_us)

    def now_us(self) -> int:
        self.clock_us += 1_000_000
        return self.clock_us

    async def remember(self, name: str, *numbers: int) -> None:
        for number in numbers:
            assert isinstance(await self.written(name, number), RememberResult)

    async def written(self, name: str, number: int) -> Outcome:
        store = await self.stores.open(name)
        return await store.write(remember(number))

    async def contents(self, name: str) -> list[str]:
        store = await self.stores.open(name)
        return sorted(contents(store._engine))


@asynccontextmanager
async def world_at(path: Path) -> AsyncIterator[World]:
    world = World(path)
    await world.stores.create("default")
    await world.stores.create("work")
    try:
        yield world
    finally:
        with trio.CancelScope(shield=True):
            await world.stores.close()


def texts(*numbers: int) -> list[str]:
    return sorted(f"memory number {number}" for number in numbers)


async def test_a_backup_among_many_writers_has_everything_acknowledged_before_it(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        store = await world.stores.open("work")
        acknowledged: list[str] = []
        stop, enough = False, trio.Event()

        async def writer(first: int) -> None:
            number = first
            while not stop:
                await store.write(remember(number))
                acknowledged.append(f"memory number {number}")
                number += WRITERS
                if len(acknowledged) == 2 * WRITERS:
                    enough.set()

        async with trio.open_nursery() as nursery:
            for first in range(WRITERS):
                nursery.start_soon(writer, first)
            await enough.wait()
            for _ in range(3):
                before = list(acknowledged)
                made = await world.keeping.back_up("work")
                assert set(before) <= set(stored(made.backup.file))
            stop = True


async def test_writes_and_reads_go_on_beside_a_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        copying, written = trio.Event(), threading.Event()
        token = trio.lowlevel.current_trio_token()
        copy_to = Connection.backup_to

        def slowly(connection: Connection, target: Path, pause: Pause) -> None:
            token.run_sync_soon(copying.set)
            assert written.wait(60), "a write waits for the backup"
            copy_to(connection, target, pause)

        monkeypatch.setattr(Connection, "backup_to", slowly)
        made: list[NewBackup] = []

        async def back_up() -> None:
            made.append(await world.keeping.back_up("work"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(back_up)
            await copying.wait()
            await world.remember("work", 2, 3)
            assert await world.contents("work") == texts(1, 2, 3)
            written.set()
        assert stored(made[0].backup.file) == texts(1)


async def test_a_store_becomes_what_its_backup_holds_and_what_it_was_is_kept(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1, 2)
        made = await world.keeping.back_up("work")
        await world.remember("work", 3)
        done = await world.keeping.restore(made.backup, "work")
        assert (done.store, done.memories) == ("work", 2)
        assert await world.contents("work") == texts(1, 2)
        await world.remember("work", 4)
        assert done.before is not None
        again = await world.keeping.restore(done.before, "work")
        assert await world.contents("work") == texts(1, 2, 3)
        assert again.before is not None
        assert again.before.kind == "replaced"


async def test_a_backup_is_not_restored_into_a_store_named_like_a_secret(tmp_path: Path) -> None:
    name = "ghp_" + "a8Kd93jfLs02mNq7Rt5Vx1Zb4Cw6Ye3Gh9Jk"
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        with pytest.raises(MnemonError, match="looks like a secret"):
            await world.keeping.restore(made.backup, name)
    assert name not in os.listdir(tmp_path / "data")


async def test_a_restore_ends_what_was_known_of_the_store(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        await world.remember("work", 2)
        store = world.stores.warm("work")
        assert store is not None
        await store.mark_damaged("a page is damaged")
        await world.keeping.restore(made.backup, "work")
        store = await world.stores.open("work")
        assert store.degraded_reason is None, "not even that it went backwards"
        await world.remember("work", 3)
        assert await world.contents("work") == texts(1, 3)


async def test_a_backup_becomes_a_store_of_another_name(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        done = await world.keeping.restore(made.backup, "copy")
        assert done.before is None
        await world.remember("copy", 2)
        assert (await world.contents("copy"), await world.contents("work")) == (texts(1, 2), texts(1))
        assert os.stat(world.stores.path("copy")).st_mode & 0o777 == 0o600
        with pytest.raises(MnemonError, match="a store's name starts with"):
            await world.keeping.restore(made.backup, "../escape")


async def test_who_asks_while_a_store_is_replaced_waits_for_the_new_one(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        await world.remember("work", 2)
        stored_after: list[int] = []
        refused: list[MnemonError] = []

        async def write(number: int) -> None:
            try:
                await world.written("work", number)
            except MnemonError as error:
                refused.append(error)
            else:
                stored_after.append(number)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.keeping.restore, made.backup, "work")
            for number in range(100, 120):
                await trio.sleep(0.002)
                nursery.start_soon(write, number)
        kept = world.keeping._directory.of("work")[0]
        there = set(await world.contents("work")) | set(stored(kept.file))
        assert {error.kind for error in refused} <= {STOPPING}
        assert all(error.outcome == "rejected" for error in refused)
        assert {f"memory number {number}" for number in stored_after} <= there, "acknowledged before or after, not lost"
        assert set(texts(1)) <= set(await world.contents("work"))


async def test_a_damaged_backup_replaces_nothing(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        await world.remember("work", 2)
        made.backup.file.write_bytes(made.backup.file.read_bytes()[:-4096])
        with pytest.raises(MnemonError, match="damaged") as caught:
            await world.keeping.restore(made.backup, "work")
        assert (caught.value.kind, caught.value.outcome) == (STORAGE, "rejected")
        assert await world.contents("work") == texts(1, 2)


def refusing(error: Exception) -> Callable[..., object]:
    """A function that fails with `error`, whatever it is called with."""

    def refuse(*_: object, **__: object) -> object:
        raise error

    return refuse


STEPS = ["verify", "add", "make", "swap"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_restore_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        await world.remember("work", 2)
        owner = {"verify": verified_copy, "make": verified_copy}.get(step, BackupDirectory)
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, refusing(OSError(28, "No space left on device")))
            with pytest.raises(MnemonError, match="No space left"):
                await world.keeping.restore(made.backup, "work")
        assert await world.contents("work") == texts(1, 2)
        await world.remember("work", 3)


async def test_a_removed_store_can_be_brought_back(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1, 2)
        await world.remember("default", 7)
        last, aside = await world.keeping.remove("work", purge=False)
        assert last is not None
        assert aside is None
        assert (last.kind, world.stores.names()) == ("removed", ["default"])
        assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["default"]
        with pytest.raises(MnemonError) as missing:
            await world.stores.open("work")
        assert missing.value.kind is NOT_FOUND
        await world.keeping.restore(last, "work")
        assert await world.contents("work") == texts(1, 2)
        assert await world.contents("default") == texts(7)


async def test_who_waits_for_a_store_that_is_removed_does_not_make_it_anew(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        answers: list[object] = []

        async def ask() -> None:
            try:
                answers.append(await world.stores.open("work"))
            except MnemonError as error:
                answers.append(error.kind)

        async with trio.open_nursery() as nursery, world.stores.exclusive("work") as closed:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            module._delete(closed.path.parent)
        assert answers == [NOT_FOUND]
        assert world.stores.names() == ["default"]


async def test_a_purged_store_leaves_nothing(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        await world.keeping.back_up("work")
        assert await world.keeping.remove("work", purge=True) == (None, None)
        assert await world.keeping.list(None) == []
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["default"]
    assert insight_id(1).encode() not in bytes_of(tmp_path / "data" / "default")
    assert list((tmp_path / "backups").iterdir()) == []


async def test_the_active_store_and_one_that_is_not_there_are_not_removed(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        for name, kind in (("default", INVALID_PARAMS), ("nowhere", NOT_FOUND)):
            with pytest.raises(MnemonError) as caught:
                await world.keeping.remove(name, purge=False)
            assert caught.value.kind is kind
        world.stores.activate("work")
        await world.keeping.remove("default", purge=False)
        with pytest.raises(MnemonError, match="is the active one"):
            await world.keeping.remove("work", purge=True)


async def test_a_store_that_another_program_has_open_stays(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = await world.keeping.back_up("work")
        other = Connection(world.stores.path("work"), read_only=True)
        other.run("BEGIN")
        other.rows("SELECT * FROM insights")
        await world.remember("work", 2)
        for attempt in (
            lambda: world.keeping.remove("work", purge=False),
            lambda: world.keeping.restore(made.backup, "work"),
        ):
            await world.stores.open("work")
            with pytest.raises(MnemonError) as caught:
                await attempt()
            assert caught.value.kind in (BUSY, STORAGE)
        other.close()
        assert await world.contents("work") == texts(1, 2)


async def test_a_crash_while_a_store_is_deleted_is_tidied_up_later(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        await world.stores.close()
        os.rename(tmp_path / "data" / "work", tmp_path / "data" / ".removed-work")
        again = registry_at(tmp_path)
        assert again.names() == ["default"]
        remove_leftovers(tmp_path)
        assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["default"]


async def test_giving_up_on_a_backup_leaves_nothing_and_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", *range(30))
        begun, ended = trio.Event(), trio.Event()
        token = trio.lowlevel.current_trio_token()
        add = BackupDirectory.add

        def noticed(
            shelf: BackupDirectory, store: str, source: Path, kind: Kind, now_us: int, pause: Pause, **_: object
        ) -> object:
            def waiting() -> None:
                token.run_sync_soon(begun.set)
                while True:
                    pause()

            try:
                return add(shelf, store, source, kind, now_us, waiting)
            finally:
                token.run_sync_soon(ended.set)

        monkeypatch.setattr(BackupDirectory, "add", noticed)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.keeping.back_up, "work")
            await begun.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(20):
            await ended.wait()
        monkeypatch.undo()
        assert os.listdir(tmp_path / "backups" / "work") == []
        assert (await world.keeping.back_up("work")).backup.sha256 is not None


async def test_a_scheduled_copy_is_of_its_own_kind(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        store: Store = await world.stores.open("work")
        name = await world.keeping.scheduled(store, START_US)
        assert name == "20260202T024000.000000Z-scheduled"
        (found,) = await world.keeping.list("work")
        assert await world.keeping.verify(found) == backups._noted(found.file)


# Stores that cannot be read.


def header(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[3] ^= 4
    path.write_bytes(whole)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def no_database(path: Path) -> None:
    path.write_text("no database")


def a_page(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    at = (root_of(path, "insights") - 1) * 4096 + 700
    whole[at] ^= 16
    path.write_bytes(whole)


def a_log_that_is_none(path: Path) -> None:
    a_page(path)
    path.with_name(f"{path.name}-wal").write_bytes(b"?" * 8_000)


BREAKS = [header, half, no_database, a_page, a_log_that_is_none]


async def broken(world: World, damage: Callable[[Path], None], *, warm: bool) -> tuple[Backup, dict[str, bytes]]:
    """A backup of the memories 1 and 2 of the store `work`, which is damaged then, and what its files are."""
    await world.remember("work", 1, 2)
    made = (await world.keeping.back_up("work")).backup
    async with world.stores.exclusive("work") as there:
        damage(there.path)
    (there.path.parent / "config.toml").write_text("[diff]\n")
    if warm:
        with suppress(MnemonError):
            await world.stores.open("work")
    return made, files_of(there.path.parent)


def files_of(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir() if not each.name.endswith("-shm")}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("damage", BREAKS)
async def test_a_damaged_store_is_restored_over_and_kept_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], warm: bool
) -> None:
    async with world_at(tmp_path) as world:
        made, before = await broken(world, damage, warm=warm)
        opened: list[str] = []
        init = Connection.__init__

        def noted(connection: Connection, path: Path, **how: Any) -> None:
            opened.append(str(path))
            init(connection, path, **how)

        monkeypatch.setattr(Connection, "__init__", noted)
        done = await world.keeping.restore(made, "work")
        assert [each for each in opened if each.startswith(str(tmp_path / "damaged"))] == []
        assert str(world.stores.path("work")) not in opened, "the broken one is not opened"
        assert (done.memories, done.before) == (2, None)
        assert done.aside is not None
        assert done.aside.parent == tmp_path / "damaged" / "work"
        assert files_of(done.aside) == before
        assert await world.contents("work") == texts(1, 2)
        await world.remember("work", 3)
        assert (world.stores.path("work").parent / "config.toml").read_text() == "[diff]\n"


@each_row("damage", BREAKS)
async def test_a_damaged_store_is_removed_and_kept_aside(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    async with world_at(tmp_path) as world:
        _, before = await broken(world, damage, warm=False)
        last, aside = await world.keeping.remove("work", purge=False)
        assert last is None
        assert aside is not None
        assert files_of(aside) == before
        assert world.stores.names() == ["default"]
        assert os.stat(aside).st_mode & 0o777 == 0o700


async def test_a_store_without_a_database_says_so_and_is_restored_over_and_removed(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        made, _ = await broken(world, os.unlink, warm=False)
        with pytest.raises(MnemonError, match='the store "work" has no database') as caught:
            await world.stores.open("work")
        assert "backup restore" in str(caught.value.hint)
        assert (await world.keeping.restore(made, "work")).aside is None
        assert await world.contents("work") == texts(1, 2)
        async with world.stores.exclusive("work") as there:
            there.path.unlink()
        assert await world.keeping.remove("work", purge=False) == (None, None)
        assert not there.path.parent.exists()


async def test_a_directory_in_the_place_of_a_database_is_kept(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        made, _ = await broken(world, os.unlink, warm=False)
        world.stores.path("work").mkdir()
        done = await world.keeping.restore(made, "work")
        assert done.aside is not None
        assert (done.aside / "mnemon.db").is_dir()
        assert await world.contents("work") == texts(1, 2)


async def test_a_closed_store_with_a_log_becomes_a_backup_with_what_is_in_its_log(tmp_path: Path) -> None:
    """As a daemon leaves it that was killed."""
    async with world_at(tmp_path) as world:
        await world.remember("work", 1, 2)
        made = (await world.keeping.back_up("work")).backup
        await world.remember("work", 3)
        there = world.stores.path("work").parent
        left = {name: (there / name).read_bytes() for name in ("mnemon.db", "mnemon.db-wal")}
        (there / "mnemon.db.bak-1").write_bytes(b"an older copy")
        async with world.stores.exclusive("work"):
            for name, content in left.items():
                (there / name).write_bytes(content)
        done = await world.keeping.restore(made, "work")
        assert done.aside is None
        assert done.before is not None
        assert stored(done.before.file) == texts(1, 2, 3)
        assert await world.contents("work") == texts(1, 2)
        assert (there / "mnemon.db.bak-1").read_bytes() == b"an older copy"
        assert not (tmp_path / "damaged").exists()


async def test_a_sound_store_whose_page_breaks_before_its_last_backup_is_kept_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = (await world.keeping.back_up("work")).backup
        monkeypatch.setattr(verified_copy, "_count", refusing(apsw.CorruptError("database disk image is malformed")))
        with pytest.raises(MnemonError, match="the file is damaged"):
            await world.keeping.restore(made, "work")
        monkeypatch.undo()
        monkeypatch.setattr(BackupDirectory, "add", refusing(apsw.CorruptError("database disk image is malformed")))
        done = await world.keeping.restore(made, "work")
        assert (done.before, done.aside is None) == (None, False)


async def test_a_full_disk_is_no_damage_and_restores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = (await world.keeping.back_up("work")).backup
        await world.remember("work", 2)
        monkeypatch.setattr(BackupDirectory, "add", refusing(apsw.FullError("database or disk is full")))
        with pytest.raises(MnemonError):
            await world.keeping.restore(made, "work")
        monkeypatch.undo()
        assert await world.contents("work") == texts(1, 2)


async def test_a_store_that_cannot_be_closed_well_is_kept_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = (await world.keeping.back_up("work")).backup
        await world.remember("work", 2)
        with monkeypatch.context() as patch:
            patch.setattr(Connection, "checkpoint", refusing(apsw.IOError("disk I/O error")))
            done = await world.keeping.restore(made, "work")
        assert await world.contents("work") == texts(1)
        assert done.before is not None
        assert stored(done.before.file) == texts(1, 2)


@each_row("ready", [False, True])
async def test_a_crash_in_the_middle_of_a_restore_is_finished_at_the_next_start(tmp_path: Path, ready: bool) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        made = (await world.keeping.back_up("work")).backup
        await world.remember("work", 2)
        stores = tmp_path / "data"
        await world.stores.close()
        (stores / ".restoring-work").mkdir()
        (stores / ".restoring-half").mkdir()
        (stores / ".restoring-work" / "mnemon.db").write_bytes(made.file.read_bytes())
        if ready:
            world.keeping._directory.put_aside("work", START_US)
        remove_leftovers(tmp_path)
        assert sorted(each.name for each in stores.iterdir()) == ["default", "work"]
        assert stored(stores / "work" / "mnemon.db") == (texts(1) if ready else texts(1, 2))


async def test_two_stores_put_aside_at_the_same_moment_have_places_of_their_own(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.stores.close()
        directory = world.keeping._directory
        one = directory.put_aside("work", START_US)
        assert directory.put_aside("work", START_US) is None
        (tmp_path / "data" / "work").mkdir()
        two = directory.put_aside("work", START_US)
        assert one is not None
        assert two is not None
        assert one != two
        directory.drop_aside(one)
        assert two.exists()
        directory.drop_aside(two)
        assert not (tmp_path / "damaged").exists()


async def test_a_backup_with_a_row_that_cannot_be_read_is_made_named_and_restored(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1, 2)
        async with world.stores.exclusive("work") as there:
            change(there.path, f"UPDATE insights SET tags = 'K' WHERE id = '{insight_id(2)}'")
        made = (await world.keeping.back_up("work")).backup
        noted = backups._noted(made.file)
        assert noted is not None
        assert made.memories == 2
        assert (noted.unreadable, noted.unreadable_rows) == (1, (f"memory {insight_id(2)} (tags)",))
        await world.keeping.restore(made, "copy")
        assert await world.contents("copy") == texts(1)


# Stores whose file is removed while they are open.


@each_row("what", ["mnemon.db", "mnemon.db-wal", "directory"])
async def test_a_store_whose_file_is_gone_is_saved_from_memory_and_put_back(tmp_path: Path, what: str) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1, 2)
        there = world.stores.path("work").parent
        if what == "directory":
            shutil.rmtree(there)
        else:
            (there / what).unlink()
        with pytest.raises(MnemonError, match="was removed while the store was open"):
            await world.written("work", 3)
        assert world.stores.names() == ["default", "work"]
        made = (await world.keeping.back_up("work")).backup
        done = await world.keeping.restore(made, "work")
        assert (done.memories, done.aside) == (2, None)
        assert done.before is not None, "and even without a backup nothing would have been lost"
        assert stored(done.before.file) == texts(1, 2)
        assert await world.contents("work") == texts(1, 2)
        await world.remember("work", 3)
        assert await world.contents("work") == texts(1, 2, 3)


async def test_a_store_whose_file_is_gone_is_removed_with_a_last_backup(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        shutil.rmtree(world.stores.path("work").parent)
        last, aside = await world.keeping.remove("work", purge=False)
        assert last is not None
        assert aside is None
        assert stored(last.file) == texts(1)
        await world.stores.create("work")
        shutil.rmtree(world.stores.path("work").parent)
        assert await world.keeping.remove("work", purge=True) == (None, None)
        assert world.stores.names() == ["default"]


async def test_stores_whose_files_are_gone_are_saved_before_the_end(tmp_path: Path) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        await world.remember("default", 2)
        assert await world.keeping.save_lost() == []
        world.stores.path("work").unlink()
        assert await world.keeping.save_lost() == ["work"]
        (kept,) = await world.keeping.list("work")
        assert stored(kept.file) == texts(1)


async def test_a_store_whose_file_is_gone_and_no_room_for_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world_at(tmp_path) as world:
        await world.remember("work", 1)
        world.stores.path("work").unlink()
        with monkeypatch.context() as patch:
            patch.setattr(BackupDirectory, "add", refusing(OSError(28, "No space left on device")))
            for attempt in (world.keeping.back_up("work"), world.keeping.remove("work", purge=False)):
                with pytest.raises(MnemonError, match="No space left"):
                    await attempt
        assert (await world.keeping.back_up("work")).backup.sha256 is not None
