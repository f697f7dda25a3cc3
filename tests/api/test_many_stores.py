"""More stores than may be open: the ones that nobody uses are closed, and open again when they are asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mnemond.api.types_memories import RememberParams
from mnemond.api.uses import Uses
from mnemond.errors import BUSY, MnemonError
from mnemond.store import registry as registry_module
from mnemond.store import store as store_module
from mnemond.store.connection import Connection
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.store.test_registry import LISTS_DESCRIPTORS, registry_at


def open_names(over: Bench) -> set[str]:
    return {each.name for each in over.stores.open_stores()}


async def at_rest(over: Bench, *names: str) -> None:
    """Nothing works on these stores by itself any more."""
    with trio.fail_after(30):
        for name in names:
            while over.worker.is_busy(name) or not over.stores._stores[name].may_rest:  # noqa: ASYNC110
                await trio.sleep(0.001)


async def close_one(over: Bench) -> None:
    """Close the unused store that was used least recently, once its writer has let go of what it wrote last."""
    with trio.fail_after(30):
        while not await over.stores._close_unused():  # noqa: ASYNC110
            await trio.sleep(0.001)


@asynccontextmanager
async def few(path: Path, most: int, *names: str) -> AsyncIterator[Bench]:
    """A bench of which so many stores may be open, and that has these."""
    async with bench(path, ToyEmbedder()) as over:
        over.stores._most = lambda: most
        for name in names:
            await over.stores.create(name)
        async with trio.open_nursery() as nursery:
            await nursery.start(over.stores.run)
            yield over
            nursery.cancel_scope.cancel()


async def until_open(over: Bench, *names: str) -> None:
    """These stores are open, and no others."""
    with trio.fail_after(30):
        while open_names(over) != set(names) or over.stores._moving:
            over.stores._opened.set()  # a use that ended is not told to anybody
            await trio.sleep(0.001)


async def test_the_one_least_recently_used_is_closed(tmp_path: Path) -> None:
    async with few(tmp_path, 2, "a", "b", "c") as over:
        for name in "ab":
            await over.open_stores.use(name)
        await over.open_stores.use("a")
        await at_rest(over, "a", "b")
        await over.open_stores.use("c")
        await until_open(over, "a", "c")


async def test_a_store_that_was_only_created_is_closed_first(tmp_path: Path) -> None:
    async with few(tmp_path, 2, "a", "b", "c") as over:
        await over.open_stores.use("a")
        await over.open_stores.use("b")
        await until_open(over, "a", "b")


async def test_a_store_that_a_request_works_on_stays_open(tmp_path: Path) -> None:
    async with few(tmp_path, 1, "a", "b", "c") as over:
        warm = await over.open_stores.use("a")
        await over.open_stores.use("b")
        await until_open(over, "a")
        over.open_stores.apply_settings()  # the open store is another value now; the request still has the old one
        await over.open_stores.use("c")
        await until_open(over, "a")
        del warm
        await over.open_stores.use("b")
        await until_open(over, "b")


async def test_a_store_that_is_read_through_the_file_or_written_stays_open(tmp_path: Path) -> None:
    async with few(tmp_path, 1, "a", "b") as over:
        store = await over.stores.open("a")
        with store.file_in_use():
            assert not store.may_rest
        released = threading.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.read, lambda _: released.wait(60))
            await wait_all_tasks_blocked()
            await over.open_stores.use("b")
            await until_open(over, "a")
            released.set()


async def test_a_store_whose_file_is_gone_stays_open(tmp_path: Path) -> None:
    """Its memories are in this process alone."""
    async with few(tmp_path, 1, "a", "b") as over:
        params = RememberParams(content="the keys are under the mat", store="a")
        await over.remembering.remember(CALL, params)
        await at_rest(over, "a")
        os.rename(over.stores.path("a"), tmp_path / "away")
        await over.open_stores.use("b")
        await until_open(over, "a")
        os.rename(tmp_path / "away", over.stores.path("a"))


async def test_more_than_may_be_open_are_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "ROOM_S", 0.2)
    async with few(tmp_path, 1, "a", "b", "c") as over:
        held = [await over.open_stores.use("a"), await over.open_stores.use("b")]
        with pytest.raises(MnemonError, match="2 stores are in use at once") as caught:
            await over.open_stores.use("c")
        assert caught.value.kind is BUSY
        monkeypatch.setattr(registry_module, "ROOM_S", 60.0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(over.open_stores.use, "c")
            await wait_all_tasks_blocked()
            assert "c" not in open_names(over)
            held.clear()
        assert "c" in open_names(over)


async def test_what_was_counted_of_a_store_is_written_when_it_closes(tmp_path: Path) -> None:
    async with few(tmp_path, 9, "a") as over:
        made = await over.remembering.remember(CALL, RememberParams(content="the keys are under the mat", store="a"))
        warm = await over.open_stores.use("a")
        uses = Uses(over.identities, over._guard)
        over.stores.on_closed.append(uses.flush)
        async with trio.open_nursery() as nursery:
            await nursery.start(uses.run)
            uses.note(warm, [str(made.id)])
            del warm
            await at_rest(over, "a")
            await close_one(over)
            assert not uses._waiting
            nursery.cancel_scope.cancel()
        snapshot = (await over.open_stores.use("a")).store.snapshot
        assert snapshot.insight(0).access_count == 1


async def test_a_closed_store_opens_with_its_index_unless_its_file_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with few(tmp_path, 9, "a") as over:
        await over.remembering.remember(CALL, RememberParams(content="the keys are under the mat", store="a"))
        index = over.stores._stores["a"]._engine.index
        await at_rest(over, "a")
        await close_one(over)
        store = await over.stores.open("a")
        assert store._engine.index is index
        await close_one(over)
        db = Connection(over.stores.path("a"))
        db.run("UPDATE insights SET source = 'another program'")
        db.close()
        store = await over.stores.open("a")
        assert store._engine.index is not index
        assert store.snapshot.insight(0).source == "another program"


async def test_indexes_of_closed_stores_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "KEPT_MEMORIES", 2)
    async with few(tmp_path, 9, "a", "b", "c") as over:
        for name in "abc":
            await over.remembering.remember(CALL, RememberParams(content=f"the keys are in {name}", store=name))
            await at_rest(over, name)
        for _ in range(3):
            await close_one(over)
        assert set(over.stores._kept) == {"b", "c"}
        async with over.stores.exclusive("b"):
            pass
        assert set(over.stores._kept) == {"c"}


@pytest.mark.skipif(not LISTS_DESCRIPTORS, reason="the open files of a process cannot be listed here")
async def test_a_store_that_could_not_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = registry_at(tmp_path)
    await registry.create("one")
    before, files = threading.active_count(), len(os.listdir("/proc/self/fd"))

    def refused(*_: object, **__: object) -> Any:
        raise OSError(24, "Too many open files")

    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    failures: list[tuple[object, str, object, type[Exception]]] = [
        (registry, "_open", refused, MnemonError),
        (store_module.Writer, "start", lambda self, _: no_thread(self._thread), RuntimeError),
    ]
    for target, attribute, fault, error in failures:
        with monkeypatch.context() as broken:
            broken.setattr(target, attribute, fault)
            with pytest.raises(error):
                await registry.create("two")
        assert os.listdir(tmp_path / "data") == ["one"]
        assert (set(registry._opening), registry.names(), registry._moving) == ({"one"}, ["one"], 0)
        assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == (before, files)
    (tmp_path / "data" / "two").mkdir()
    (tmp_path / "data" / "two" / "config.toml").write_text("")
    with monkeypatch.context() as broken:
        broken.setattr(store_module.Writer, "start", lambda self, _: no_thread(self._thread))
        with pytest.raises(RuntimeError):
            await registry.create("two")
    assert os.listdir(tmp_path / "data" / "two") == ["config.toml"]
    await registry.close()
