"""Few places for many: connections in turn, nobody who has left, and none lost whoever is cancelled."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from mnemond.api import recall
from mnemond.api.registry import METHODS
from mnemond.api.store_access import FairLimiter
from mnemond.api.types_memories import RecallParams
from mnemond.wire.dispatch import Call, Dispatcher
from mnemond.wire.limits import Limits
from mnemond.wire.params import Method
from mnemond.wire.server import Server
from tests.api.factories import Bench, ToyEmbedder, bench
from tests.api.test_reads import fill
from tests.wire.factories import Client, Served, Toys, listening, request


def call_of(connection: int, gone: Callable[[], bool] = lambda: False) -> Call:
    return Call(connection, 0, 0, gone=gone)


# ------------------------------------------------------------ turns by themselves


async def served_in_order(places: int, asked: Sequence[int]) -> list[int]:
    """In which order requests of these connections have their turn; they come while every place is taken."""
    turns, order = FairLimiter(places), list[int]()
    done = trio.Event()

    async def hold() -> None:
        with await turns.slot(call_of(0)):
            await done.wait()

    async def ask(connection: int) -> None:
        with await turns.slot(call_of(connection)):
            order.append(connection)
            await trio.testing.wait_all_tasks_blocked()

    async with trio.open_nursery() as nursery:
        for _ in range(places):
            nursery.start_soon(hold)
        await trio.testing.wait_all_tasks_blocked()
        for connection in asked:
            nursery.start_soon(ask, connection)
            await trio.testing.wait_all_tasks_blocked()
        assert turns.waiting == len(asked)
        done.set()
    assert turns.waiting == 0
    return order


@pytest.mark.parametrize(
    ("asked", "order"),
    [
        ([1, 1, 1, 1, 2], [1, 2, 1, 1, 1]),
        ([1, 1, 2, 2, 3], [1, 2, 3, 1, 2]),
        ([3, 2, 1], [3, 2, 1]),
    ],
)
async def test_connections_take_turns(asked: list[int], order: list[int]) -> None:
    assert await served_in_order(1, asked) == order


async def test_a_place_is_taken_at_once_where_there_is_one() -> None:
    turns = FairLimiter(2)
    with await turns.slot(call_of(1)), await turns.slot(call_of(1)):
        assert turns.waiting == 0


async def test_no_place_is_lost_to_who_is_cancelled() -> None:
    turns = FairLimiter(1)
    held, scopes = trio.Event(), [trio.CancelScope() for _ in range(3)]

    async def hold() -> None:
        with await turns.slot(call_of(0)):
            await held.wait()

    async def ask(scope: trio.CancelScope) -> None:
        with scope, await turns.slot(call_of(1)):
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold)
        await trio.testing.wait_all_tasks_blocked()
        for scope in scopes:
            nursery.start_soon(ask, scope)
        await trio.testing.wait_all_tasks_blocked()
        scopes[1].cancel()  # while it waits
        await trio.testing.wait_all_tasks_blocked()
        assert turns.waiting == 2
        held.set()
        await trio.testing.wait_all_tasks_blocked()
        for scope in scopes:  # while it has the place, and the other is given it in the same moment
            scope.cancel()
    assert turns.waiting == 0
    with trio.fail_after(30):
        with await turns.slot(call_of(2)):
            assert turns.waiting == 0


# ------------------------------------------------------------ recalls of a real server


class Gated(ToyEmbedder):
    """Reads a text when it is let; notes which."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.begun = threading.Semaphore(0)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, purpose: Any = "document") -> Any:
        if purpose == "query":
            self.asked += texts
            self.begun.release()
            assert self.open.wait(30)
        return super().embed(texts, purpose=purpose)


RECALL = Method("recall", RecallParams, METHODS["recall"].result, METHODS["recall"].access, "Finds.", ("query",))


@asynccontextmanager
async def serving(path: Path, over: Bench) -> AsyncIterator[Served]:
    """A server on a real socket that answers recalls."""
    dispatcher = Dispatcher({"recall": RECALL}, on_defect=lambda *_: None).serve({"recall": over.reads.recall})
    server = Server(dispatcher, Limits())
    with listening(path) as (_, listener):
        async with trio.open_nursery() as nursery:
            await nursery.start(server.serve, listener)
            served = Served(path, server, Toys())
            yield served
            served.close_clients()
            nursery.cancel_scope.cancel()


async def begun(embedder: Gated, count: int) -> None:
    for _ in range(count):
        assert await trio.to_thread.run_sync(embedder.begun.acquire, True, 30)


async def ask(client: Client, *questions: str) -> None:
    await client.send(*(request("recall", text, query=text, touch=False) for text in questions))


async def waiting(over: Bench, count: int) -> None:
    """Until so many recalls wait for a place."""
    with trio.fail_after(30):
        while over.reads.waiting < count:
            await trio.lowlevel.checkpoint()


async def test_what_nobody_waits_for_any_more_is_not_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "INLINE_CELLS", 0)
    embedder = Gated()
    (tmp_path / "stores").mkdir()
    (tmp_path / "socket").mkdir(mode=0o700)
    async with bench(tmp_path / "stores", embedder) as over:
        await fill(over, "tea at four", "green tea")
        async with serving(tmp_path / "socket", over) as served:
            first, leaving, half, other = [await served.connect() for _ in range(4)]
            await ask(first, "busy tea", "busier tea")
            await begun(embedder, recall.THREADS)
            await ask(leaving, "tea for nobody", "more tea for nobody")
            await ask(half, "tea for who only stopped sending")
            half.half_close()
            await ask(other, "tea for another")
            await waiting(over, 4)
            leaving.socket.close()
            embedder.open.set()
            answers = [*await first.replies(2), await half.reply(), await other.reply()]
            assert all("result" in answer for answer in answers)
            assert sorted(embedder.asked[:2]) == ["busier tea", "busy tea"]
            assert sorted(embedder.asked[2:]) == ["tea for another", "tea for who only stopped sending"]


async def test_a_hundred_questions_of_one_do_not_hold_up_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "INLINE_CELLS", 0)
    monkeypatch.setattr(recall, "THREADS", 1)  # so that they are read one after another
    embedder = Gated()
    (tmp_path / "stores").mkdir()
    (tmp_path / "socket").mkdir(mode=0o700)
    async with bench(tmp_path / "stores", embedder) as over:
        await fill(over, "tea at four", "green tea")
        async with serving(tmp_path / "socket", over) as served:
            greedy, modest = await served.connect(), await served.connect()
            await ask(greedy, *(f"tea {number}" for number in range(50)))
            await begun(embedder, recall.THREADS)
            await ask(modest, "one tea")
            await waiting(over, 51 - recall.THREADS)
            embedder.open.set()
            answer = await modest.reply()
            assert answer["id"] == "one tea"
            await greedy.replies(50)
            assert embedder.asked.index("one tea") == 2  # behind the one at work, and the next of who came first
