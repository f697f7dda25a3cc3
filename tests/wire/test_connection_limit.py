"""At the limit of connections: who is refused learns it, and who is idle makes way."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire.limits import Limits
from mnemond.wire.server import LINGER_S, MAX_LEAVING, RESERVED, discard
from tests.wire.factories import Client, Served, request, serving
from tests.wire.test_deadlines import pass_time

ONE = Limits(max_connections=1)


def early(path: Path, sent: bytes) -> socket.socket:
    """A client that has sent before it is accepted."""
    client = socket.socket(socket.AF_UNIX)
    client.setblocking(False)
    client.connect(str(path / "sock"))
    client.send(sent)
    return client


async def test_a_refused_client_that_has_spoken_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path, ONE) as served:
        await (await served.connect()).ask(request("ping"))
        with early(tmp_path, request("ping") + b"\n") as client:
            await wait_all_tasks_blocked()
            assert b'"code":1014' in client.recv(4096)
            assert client.recv(4096) == b""


async def test_a_refused_client_that_speaks_later_is_told(tmp_path: Path) -> None:
    async with serving(tmp_path, ONE) as served:
        await (await served.connect()).ask(request("ping"))
        client = await served.connect()
        await wait_all_tasks_blocked()
        await client.send(request("ping"))
        assert "the limit is 1" in str(await client.reply())
        assert await client.ended()
        assert served.server._leaving == 1
        client.socket.close()
        await wait_all_tasks_blocked()
        assert served.server._leaving == 0


async def refused(served: Served) -> list[object]:
    """What a client is told that asks at the limit."""
    client = await served.connect()
    await client.send(request("ping"))
    return await client.rest()


async def still_open(client: Client) -> bool:
    """Whether the server's end is."""
    try:
        await client.send_raw(b"x")
    except BrokenPipeError:
        return False
    return True


async def test_looking_at_the_daemon_and_stopping_it_work_at_the_limit(tmp_path: Path) -> None:
    """A place is for one message: a client that stays does not take it from the next."""
    async with serving(tmp_path, ONE) as served:
        first = await served.connect()
        await first.ask(request("ping"))
        for _ in range(3 * RESERVED):
            looking = await served.connect()
            assert "there is no method" in str(await looking.ask(request("status")))  # of the toys: it was read
            assert await looking.ended()
        assert (await first.ask(request("ping", 2)))["id"] == 2
        assert "the limit is 1" in str(await refused(served))


async def test_a_refused_client_may_not_stay(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, ONE) as served:
        await (await served.connect()).ask(request("ping"))
        clients = [await served.connect() for _ in range(MAX_LEAVING + 2)]
        await wait_all_tasks_blocked()
        assert [await still_open(client) for client in clients] == [True] * MAX_LEAVING + [False] * 2
        mock_clock.jump(LINGER_S + 0.1)
        await wait_all_tasks_blocked()
        assert not any([await still_open(client) for client in clients])
        again = await served.connect()
        await wait_all_tasks_blocked()
        assert await still_open(again)


async def test_a_refused_client_that_floods_is_let_go(tmp_path: Path) -> None:
    async with serving(tmp_path, ONE) as served:
        await (await served.connect()).ask(request("ping"))
        client = await served.connect()
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            await client.send_raw(b"x" * (100 << 20))


async def test_a_refused_client_that_has_gone_is_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, ONE) as served:
        await (await served.connect()).ask(request("ping"))
        early(tmp_path, b"x").close()
        await wait_all_tasks_blocked()
        assert served.server.counters.refused == 1


async def test_the_longest_idle_makes_way(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_connections=3)) as served:
        first, second, third = [await served.connect() for _ in range(3)]
        for client in (second, first, third):
            await client.ask(request("ping"))
            await pass_time(mock_clock, 2)
        await second.ask(request("ping"))
        await pass_time(mock_clock, 7)
        newcomer = await served.connect()
        assert (await newcomer.ask(request("ping")))["id"] == 1
        (word,) = await first.rest()
        assert isinstance(word, dict)
        assert (word["id"], word["error"]["code"]) == (None, 1015)
        assert (await second.ask(request("ping", 2)))["id"] == 2
        assert (await third.ask(request("ping", 3)))["id"] == 3
        assert len(await refused(served)) == 1
        counters = served.server.counters
        assert (counters.evicted, counters.refused, counters.connections) == (1, 1, 3)


async def test_who_waits_or_speaks_is_not_idle(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_connections=2, message_timeout_s=100.0)) as served:
        waiting, speaking = await served.connect(), await served.connect()
        await speaking.send_raw(request("ping") + b"\nhalf")
        await waiting.send(request("later"))
        await wait_all_tasks_blocked()
        await pass_time(mock_clock, 20)
        assert len(await refused(served)) == 1
        served.toys.settle()
        assert (await waiting.reply())["id"] == 1
        await pass_time(mock_clock, 9)
        assert len(await refused(served)) == 1
        await pass_time(mock_clock, 2)
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1


async def test_a_request_that_is_already_there_is_not_lost(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_connections=1)) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        await pass_time(mock_clock, 20)
        (connection,) = served.server._connections.values()
        own = socket.socket(fileno=client.socket.fileno())
        own.send(request("ping", 2) + b"\n")
        own.detach()
        assert not served.server._make_room()
        assert not connection.closed
        assert (await client.reply())["id"] == 2


async def test_an_idle_client_that_has_gone_makes_way(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_connections=1)) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        await pass_time(mock_clock, 20)
        (connection,) = served.server._connections.values()
        client.socket.close()
        assert connection.evict()
        assert connection.closed
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 0
        assert trio.current_time() > 0


class Endless:
    """A socket that always has something to read."""

    def recv(self, size: int) -> bytes:
        """As much as is wanted."""
        return bytes(size)


def test_what_is_thrown_away_is_bounded() -> None:
    assert not discard(cast("socket.socket", Endless()))


def test_a_client_that_reset_its_connection_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.send(b"unread")
        theirs.close()
        assert not discard(ours)
