"""Cancel requests at every step of their tasks, with their store open and with it closed. Recall sees what the rows
say, no transaction stays open, and the next write goes through."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from structlog.testing import CapturingLogger

from mnemond.api.registry import METHODS
from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.errors import STOPPING, MnemonError
from mnemond.store.connection import Connection
from mnemond.store.database import load_index
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import Call
from mnemond.wire.jsonrpc import Request
from tests.store.factories import EMBEDDER, engine_at, remember
from tests.store.mirror import Portrait, portrait
from tests.store.test_writer import store_over
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)
MOST_STEPS = 60

Params = dict[str, object]


class _StepCanceller(trio.abc.Instrument):
    """Cancels a scope before step number `at` of the tasks of a nursery, and of theirs."""

    def __init__(self, nursery: trio.Nursery, at: int) -> None:
        self._nursery, self._at, self.steps = nursery, at, 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        nursery = task.parent_nursery
        while nursery is not None and nursery is not self._nursery:
            nursery = nursery.parent_task.parent_nursery
        if nursery is not None:
            self.steps += 1
            if self.steps == self._at:
                self._nursery.cancel_scope.cancel()


class World:
    """A daemon without a socket, and two memories that every request may speak of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = CapturingLogger()
        self.daemon = Daemon(path, Config(), self.log, Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0))
        self._texts = 0
        self.one = self.other = ""
        self._opening = 0
        self._opened: list[Store] = []
        self._open = self.daemon.stores._open
        self.daemon.stores._open = self._noting  # type: ignore[assignment]  # called like the original

    def _noting(self, *arguments: Any, **options: Any) -> Store:
        self._opening += 1
        try:
            store = self._open(*arguments, **options)
            self._opened.append(store)
            return store
        finally:
            self._opening -= 1

    async def let_go(self) -> None:
        """Close what was opened for a request that did not wait for it: a daemon, which cancels requests only when it
        stops, leaves that to the end of its process."""
        while self._opening:  # noqa: ASYNC110 - by a thread that nobody knows any more
            await trio.sleep(0.001)
        for store in self._opened:
            if store not in self.daemon.stores.open_stores() and store._writer._thread.is_alive():
                await store.close()

    async def call(self, method: str, params: Params) -> Any:
        return await self.daemon._dispatcher.invoke(METHODS[method], params, CALL)

    async def remember(self) -> str:
        self._texts += 1
        made = await self.call("remember", {"content": f"Text {self._texts} of {self._texts % 5}", "no_diff": True})
        return str(made.id)

    async def prepare(self) -> None:
        self.one, self.other = await self.remember(), await self.remember()

    async def cancelled_at(self, step: int, method: str, params: Params) -> bool:
        """Carry out a request, cancelled before this step of its tasks; whether it took so many."""
        raw = msgspec.Raw(json.dumps(params).encode())
        request = Request("2.0", method, msgspec.Raw(b"1"), raw)
        ended_tasks: list[bool] = []
        async with trio.open_nursery() as nursery:
            canceller = _StepCanceller(nursery, step)
            trio.lowlevel.add_instrument(canceller)

            def spawn(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
                if ended_tasks:  # as the server once it has stopped: a commit may come after that
                    raise MnemonError(STOPPING, "the daemon stopped before the request was answered")
                nursery.start_soon(run)

            answer = self.daemon._dispatcher.answer(request, CALL, spawn)
            if isinstance(answer, Deferred):
                ended = trio.Event()
                answer.subscribe(ended.set)
                await ended.wait()
        ended_tasks.append(True)
        trio.lowlevel.remove_instrument(canceller)
        struck = canceller.steps >= step
        if not struck:
            reply = answer.result() if isinstance(answer, Deferred) else answer
            assert "result" in json.loads(reply or b"{}"), reply
        return struck

    async def check(self) -> None:
        """The index of every open store is what its rows say, and it can be written to."""
        await self.remember()
        for store in self.daemon.stores.open_stores():
            assert portrait(store.snapshot) == await store.read(partial(_rows, embedder=store.embedder))
            assert store.degraded_reason is None
        assert [call for call in self.log.calls if call.kwargs.get("where")] == [], "a defect"


def _rows(connection: Connection, embedder: EmbedderRecord | None) -> Portrait:
    assert not connection.in_transaction
    return portrait(load_index(connection, embedder).snapshot)


REQUESTS: dict[str, Callable[[World], Params]] = {
    "remember": lambda _: {"content": "The backup runs at night"},
    "recall": lambda _: {"query": "text", "include_invalid": True},
    "get": lambda world: {"id": world.one},
    "list": lambda _: {"retired": True},
    "forget": lambda world: {"id": world.one, "purge": True},
    "update": lambda world: {"id": world.one, "content": "Another text"},
    "supersede": lambda world: {"old_id": world.one, "new_id": world.other},
    "link": lambda world: {"source_id": world.one, "target_id": world.other, "type": "causal"},
    "history": lambda world: {"id": world.one},
    "undo": lambda _: {},
    "gc": lambda _: {"purge_deleted": 0},
    "status": lambda _: {},
    "store.create": lambda world: {"name": f"store{world._texts}"},
    "store.list": lambda _: {},
    "backup.create": lambda _: {},
    "backup.list": lambda _: {},
    "embed.status": lambda _: {},
}


async def sweep(path: Path, method: str, *, cold: bool) -> int:
    """How often it was cancelled."""
    world = World(path)
    for step in range(1, MOST_STEPS):
        await world.prepare()
        if cold:
            async with world.daemon.stores.exclusive("default"):
                pass  # closed for this, and opened by whoever comes next
        struck = await world.cancelled_at(step, method, REQUESTS[method](world))
        await world.let_go()
        await world.check()
        if not struck:
            break
    else:
        raise AssertionError(f"{method} has more than {MOST_STEPS} steps")
    await world.daemon.close()
    return step - 1


@each_row("method", ["remember", "list", "undo", "backup.create"])
async def test_a_request_to_a_closed_store(method: str, tmp_path: Path) -> None:
    assert await sweep(tmp_path, method, cold=True) > 5


OPEN = ["forget", "recall", "list", "history", "undo", "status", "store.create", "backup.create", "backup.list"]
"""Those that have a task of their own even then."""


@each_row("method", OPEN)
async def test_a_request_to_an_open_store(method: str, tmp_path: Path) -> None:
    assert await sweep(tmp_path, method, cold=False) > 1


async def sweep_writes(path: Path) -> int:
    """Cancel whoever waits for a write of a store; how often."""
    store = store_over(engine_at(path), path)
    for step in range(1, MOST_STEPS):
        async with trio.open_nursery() as nursery:
            canceller = _StepCanceller(nursery, step)
            trio.lowlevel.add_instrument(canceller)
            nursery.start_soon(store.write, remember(step))
        trio.lowlevel.remove_instrument(canceller)
        await store.write(remember(1_000 + step))
        seen, stored = portrait(store.snapshot), await store.read(lambda connection: _rows(connection, EMBEDDER))
        assert seen == stored
        assert len(stored) == 2 * step, "a write that nobody waited for is not there"
        if canceller.steps < step:
            await store.close()
            return step - 1
    raise AssertionError(f"a write has more than {MOST_STEPS} steps")


async def test_a_write_that_nobody_waits_for_is_carried_out(tmp_path: Path) -> None:
    assert await sweep_writes(tmp_path / "a.db") > 1


@pytest.mark.deep
@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("method", REQUESTS)
async def test_every_request(method: str, cold: bool, tmp_path: Path) -> None:
    assert await sweep(tmp_path, method, cold=cold) >= 0
