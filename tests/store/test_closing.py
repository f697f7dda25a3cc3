"""Closing a store that somebody still looks at: a visitor of this process, or another program."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mnemond.errors import BUSY, STOPPING, MnemonError
from mnemond.store.connection import Connection
from mnemond.store.store import READERS_LEAVE_S, Store
from mnemond.store.verify import Examiner
from tests.store.factories import START_US, stored
from tests.store.test_registry import registry_at, write


async def until_closing(store: Store) -> None:
    while True:
        store.refuse_when_closing()
        await trio.lowlevel.checkpoint()


async def test_a_store_is_not_closed_under_those_who_read_its_file(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    store = await registry.open("default")
    await write(registry, "default", 1)
    reading, closed = trio.Event(), trio.Event()

    async def visit() -> None:
        with store.file_in_use(), closing(Connection(store.path, read_only=True)) as connection:
            connection.run("BEGIN")
            connection.rows("SELECT 1 FROM insights")
            reading.set()
            with pytest.raises(MnemonError, match="being closed"):
                await until_closing(store)
            assert await store.read(lambda it: it.rows("SELECT 1")) == [(1,)], "the writer is there as long"
            assert not closed.is_set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(visit)
        await reading.wait()
        async with registry.exclusive("default") as there:
            closed.set()
            assert stored(there.path) == ["memory number 1"]
    with pytest.raises(MnemonError, match="being closed") as late, store.file_in_use():
        pass
    assert late.value.kind is STOPPING
    await registry.close()


async def test_an_examination_is_given_up_when_the_store_is_closed(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    await write(registry, "default", 1)
    store = await registry.open("default")

    async def look() -> None:
        with pytest.raises(MnemonError, match="being closed"):
            await Examiner().examine(store, "full", START_US, trio.CapacityLimiter(1))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        await store.close()
    assert stored(store.path) == ["memory number 1"]


async def test_another_program_that_reads_is_told_of_and_the_log_stays(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    await write(registry, "default", 1)
    path = registry.path("default")
    with closing(Connection(path, read_only=True)) as other:
        other.run("BEGIN")
        other.rows("SELECT 1 FROM insights")
        with pytest.raises(MnemonError, match="is still being read") as caught:
            async with registry.exclusive("default"):
                pass
        assert caught.value.kind is BUSY
    assert stored(path) == ["memory number 1"]
    async with registry.exclusive("default") as kept:
        assert stored(kept.path) == ["memory number 1"]


async def test_who_does_not_leave_is_waited_for_no_longer_than_a_moment(tmp_path: Path, mock_clock: MockClock) -> None:
    store = await registry_at(tmp_path).open("default")
    closed = trio.Event()

    async def close() -> None:
        await store.close()
        closed.set()

    with store.file_in_use(), store.file_in_use():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(close)
            await trio.testing.wait_all_tasks_blocked()
            assert not closed.is_set()
            mock_clock.jump(READERS_LEAVE_S)
    assert closed.is_set()


async def test_all_who_close_a_store_hear_that_the_last_visitor_left(tmp_path: Path, mock_clock: MockClock) -> None:
    store = await registry_at(tmp_path).open("default")
    async with trio.open_nursery() as nursery:
        with store.file_in_use():
            nursery.start_soon(store.close)
            nursery.start_soon(store.close)
            await trio.testing.wait_all_tasks_blocked()


async def test_a_close_that_is_cancelled_ends_the_writer_all_the_same(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    await write(registry, "default", 1)
    store = await registry.open("default")
    with store.file_in_use(), trio.CancelScope() as scope:
        scope.cancel()
        await store.close()
    assert scope.cancelled_caught
    await trio.to_thread.run_sync(store._writer.join)
    assert stored(store.path) == ["memory number 1"]
