"""Following shared stores: what one daemon writes, the other one shows, also after its connection was cut."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import trio

from benchmarks.pg_server import PgServer
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.jobs import catch_up
from mnemond.jobs.catch_up import Followers
from mnemond.store.operation_log import Operation
from mnemond.store.registry import StoreRegistry
from mnemond.store.shared_log import Cursor, Listener, LostConnectionError, SharedLog
from mnemond.store.store import Store
from tests.store.factories import EMBEDDER, START_US, remember
from tests.store.pg_proxy import CuttingProxy
from tests.store.pg_server import running
from tests.tables import each_row

WITHIN_S = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    with running("-c", "fsync=off") as server:
        yield server


def defect(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


def registry_at(home: Path, dsn: str | None) -> StoreRegistry:
    home.mkdir(mode=0o700, exist_ok=True)
    return StoreRegistry(
        home, choose_embedder=lambda: EMBEDDER, now_us=lambda: START_US, loop=trio.lowlevel.current_trio_token(),
        on_defect=defect, warn=lambda _: None, environment=None if dsn is None else {"DSN": dsn},
    )  # fmt: skip


class Daemon:
    """A registry whose shared stores are followed."""

    def __init__(self, home: Path, dsn: str) -> None:
        self.stores = registry_at(home, dsn)
        self.followers = Followers(nullcontext)
        self.stores.on_closed.append(self.followers.detach)
        self.replayed: list[Operation] = []
        self._news = trio.Event()

    async def share(self, name: str) -> Store:
        assert await self.stores.create(name, Cursor("postgresql", "DSN", name))
        store = self.stores.open_stores()[0]
        store.on_replayed = self._note
        self.followers.attach(store)
        return store

    def _note(self, operations: Any) -> None:
        self.replayed += operations
        self._news.set()

    async def until(self, seq: int) -> None:
        (store,) = self.stores.open_stores()
        assert store.shared is not None
        with trio.fail_after(WITHIN_S):
            while store.shared.cursor.seq < seq:
                self._news = trio.Event()
                await self._news.wait()


async def until(it_is_so: Callable[[], bool]) -> None:
    """Wait for what has no event."""
    with trio.fail_after(WITHIN_S):
        while not it_is_so():  # noqa: ASYNC110
            await trio.sleep(0.01)


@asynccontextmanager
async def daemon(home: Path, dsn: str) -> AsyncIterator[Daemon]:
    async with trio.open_nursery() as nursery:
        made = Daemon(home, dsn)
        await nursery.start(made.followers.run)
        try:
            yield made
        finally:
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await made.stores.close()


async def test_after_a_cut_it_connects_again_and_reads_what_it_missed(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "PAUSES_S", (0.01,))
    proxy = CuttingProxy(server.home)
    async with daemon(tmp_path / "a", server.dsn) as a, daemon(tmp_path / "b", proxy.dsn) as b:
        here, there = await a.share("cut"), await b.share("cut")
        await here.write(remember(1))
        await b.until(1)
        proxy.refuses = True
        proxy.cut_all()
        await here.write(remember(2))
        await until(lambda: there.degraded_reason is not None)
        assert there.snapshot.live == 1
        with pytest.raises(MnemonError, match="cannot be reached") as caught:
            await there.write(remember(3))
        assert caught.value.kind is UNAVAILABLE
        proxy.refuses = False
        await b.until(2)
        assert there.snapshot.live == 2
        await until(lambda: there.degraded_reason is None)
    proxy.close()


async def test_lost_news_are_made_up_for(server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "CHECK_S", 0.05)
    async with daemon(tmp_path / "a", server.dsn) as a, daemon(tmp_path / "b", server.dsn) as b:
        here, _ = await a.share("lost"), await b.share("lost")
        await here.write(remember(1))
        await b.until(1)
        assert here.shared is not None
        here.shared._log._channel = "elsewhere"  # type: ignore[attr-defined]
        await here.write(remember(2))
        await b.until(2)


async def test_a_store_that_is_closed_is_not_followed_and_a_local_one_never(server: PgServer, tmp_path: Path) -> None:
    async with daemon(tmp_path / "a", server.dsn) as a:
        await a.share("closed")
        async with a.stores.exclusive("closed"):
            assert a.followers._scopes == {}
        await a.stores.create("local")
        (store,) = a.stores.open_stores()
        a.followers.attach(store)
        assert a.followers._scopes == {}
        again = await a.stores.open("closed")
        a.followers.attach(again)
        assert [*a.followers._scopes] == ["closed"]


async def test_stores_that_are_open_before_it_runs_are_followed(server: PgServer, tmp_path: Path) -> None:
    early = Daemon(tmp_path / "a", server.dsn)
    store = await early.share("early")
    early.followers.start_soon(_never, "early")  # nothing runs yet
    ran = trio.Event()

    async def note(name: str) -> None:
        assert name == "early"
        ran.set()

    async with AsyncExitStack() as held:
        nursery = await held.enter_async_context(trio.open_nursery())
        await nursery.start(early.followers.run)
        early.followers.start_soon(note, "early")
        await ran.wait()
        async with daemon(tmp_path / "b", server.dsn) as b:
            await (await b.share("early")).write(remember(1))
            await early.until(1)
        nursery.cancel_scope.cancel()
    early.followers.start_soon(_never, "early")  # a writer ended a load as the daemon stopped
    assert store.snapshot.live == 1
    await early.stores.close()


async def _never(_name: str) -> None:
    raise AssertionError


@each_row("late", [True, False])
async def test_a_listener_that_nothing_waits_for_any_more_is_closed(late: bool) -> None:
    """`late`: it connects after the end; else it is about to be handed over."""
    begun, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    token = trio.lowlevel.current_trio_token()

    class Late:
        fileno = -1

        def take(self) -> int:
            raise LostConnectionError

        def close(self) -> None:
            closed.set()

    class Slow:
        def listener(self) -> Listener:
            if not late:  # cancelled before the event loop has the result, as both wait for this pass to end
                trio.from_thread.run_sync(nursery.cancel_scope.cancel, trio_token=token)
                return Late()
            begun.set()
            assert go_on.wait(WITHIN_S)
            return Late()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(catch_up._connected, Slow())  # type: ignore[arg-type]
        if late:
            await trio.to_thread.run_sync(begun.wait)
            nursery.cancel_scope.cancel()
    go_on.set()
    assert await trio.to_thread.run_sync(closed.wait, WITHIN_S)


# Making and joining.


async def test_a_shared_store_is_joined_once(server: PgServer, tmp_path: Path) -> None:
    async with daemon(tmp_path / "a", server.dsn) as a:
        store = await a.share("joined")
        await store.write(remember(1))
        assert not await a.stores.create("joined", Cursor("postgresql", "DSN", "joined"))
        with pytest.raises(MnemonError, match="not of that log") as caught:
            await a.stores.create("joined", Cursor("postgresql", "DSN", "another"))
        assert caught.value.kind is INVALID_PARAMS
        async with a.stores.exclusive("joined"):
            pass
        assert not await a.stores.create("joined", Cursor("postgresql", "DSN", "joined"))
        (again,) = a.stores.open_stores()
        assert isinstance(again.shared, SharedLog)
        assert again.shared.cursor.seq == 1


async def test_a_local_store_with_memories_is_not_shared(server: PgServer, tmp_path: Path) -> None:
    async with daemon(tmp_path / "a", server.dsn) as a:
        await a.stores.create("mine")
        await a.stores.open_stores()[0].write(remember(1))
        async with a.stores.exclusive("mine"):
            pass
        with pytest.raises(MnemonError, match="local store of this name"):
            await a.stores.create("mine", Cursor("postgresql", "DSN", "mine"))
        store = await a.stores.open("mine")
        assert store.shared is None
        assert store.snapshot.live == 1


async def test_a_server_that_is_not_there_leaves_no_file(tmp_path: Path) -> None:
    nowhere = registry_at(tmp_path, f"host={tmp_path} user=x")
    with pytest.raises(MnemonError, match="does not answer") as caught:
        await nowhere.create("team", Cursor("postgresql", "DSN", "team"))
    assert caught.value.kind is UNAVAILABLE
    assert nowhere.names() == []


async def test_without_the_variable_the_cache_is_read(server: PgServer, tmp_path: Path) -> None:
    async with daemon(tmp_path / "a", server.dsn) as a:
        await (await a.share("cached")).write(remember(1))
    offline = registry_at(tmp_path / "a", None)
    store = await offline.open("cached")
    assert store.snapshot.live == 1
    with pytest.raises(MnemonError, match="DSN, which names the server, is not set"):
        await store.write(remember(2))
    with pytest.raises(MnemonError, match="DSN, which names the server, is not set"):
        await store.catch_up()
    assert "is not set" in str(store.degraded_reason)
    followers = Followers(nullcontext)
    store.shared.note_failure(LostConnectionError("before"))  # type: ignore[union-attr]
    async with trio.open_nursery() as nursery:
        await nursery.start(followers.run)
        followers.attach(store)
        await until(lambda: "is not set" in str(store.degraded_reason))
        nursery.cancel_scope.cancel()
    await offline.close()
