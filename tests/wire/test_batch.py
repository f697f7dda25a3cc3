"""Batches with large answers, and large answers to slow readers: what they may take from everybody else."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire.connection import SEND_BYTES
from mnemond.wire.limits import Limits
from tests.wire.factories import Answer, Client, Nothing, Served, request, serving

SMALL = Limits(batch_bytes=50_000)
BIG = "x" * 10_000


def batch(*requests: bytes) -> bytes:
    return b"[" + b",".join(requests) + b"]"


async def line(client: Client) -> list[dict[str, dict[str, dict[str, object]]]]:
    """The next reply, of a batch."""
    data = b""
    while not data.endswith(b"\n"):
        data += await client.socket.recv(1 << 20)
    decoded: list[dict[str, dict[str, dict[str, object]]]] = msgspec.json.decode(data)
    return decoded


def outcomes(replies: list[dict[str, dict[str, dict[str, object]]]]) -> list[object]:
    return [
        (reply["error"]["code"], reply["error"]["data"]["outcome"]) if "error" in reply else "result"
        for reply in replies
    ]


async def test_what_exceeds_a_batch_is_refused_unasked(tmp_path: Path) -> None:
    async with serving(tmp_path, SMALL) as served:
        client = await served.connect()
        parts = [request("echo", at, value=BIG) for at in range(20)] + [b"7", request("nonsense", 21)]
        await client.send(batch(*parts, b'{"jsonrpc":"2.0","method":"echo"}'))
        replies = await line(client)
        assert outcomes(replies)[:20] == ["result"] * 5 + [(1013, "rejected")] * 15
        assert [reply["id"] for reply in replies] == [*range(20), None, 21]
        assert (outcomes(replies)[20], len(served.toys.seen)) == ((-32600, None), 5)
        assert "50000 bytes" in str(replies[5]["error"]["message"])
        assert (await client.ask(request("echo", "after", value=BIG)))["id"] == "after"


async def test_what_comes_too_late_for_a_batch_is_dropped(tmp_path: Path) -> None:
    """Small answers always fit: they are what tells of a write."""
    async with serving(tmp_path, SMALL) as served:
        client = await served.connect()
        await client.send(batch(*(request("later", at, value=BIG) for at in range(7)), request("later", 7)))
        await wait_all_tasks_blocked()
        served.toys.settle()
        assert outcomes(await line(client)) == ["result"] * 5 + [(1013, "unknown")] * 2 + ["result"]
        await client.send(batch(*(request("nap", at, value=BIG) for at in range(6))))
        replies = await line(client)
        assert sorted(map(str, outcomes(replies))) == ["(1013, None)"] + ["result"] * 5


async def test_unfinished_batches_share_the_bound(tmp_path: Path) -> None:
    async with serving(tmp_path, SMALL) as served:
        client = await served.connect()
        for _ in range(6):
            await client.send(batch(request("later", "slow"), *(request("echo", at, value=BIG) for at in range(2))))
        await wait_all_tasks_blocked()
        assert len(served.toys.seen) == 3 + 2 * 2 + 1  # nothing but three batches has begun to be answered in full
        served.toys.settle()
        await wait_all_tasks_blocked()
        replies = []
        for answered in (await client.socket.recv(1 << 20)).splitlines():
            replies += outcomes(msgspec.json.decode(answered))
        assert (replies.count("result"), len(replies)) == (3 + 5, 18)
        await client.send(batch(request("echo", 1, value=BIG)))
        assert outcomes(await line(client)) == ["result"]


async def test_a_batch_does_not_starve_others(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        order: list[object] = []

        async def slow(_: object, params: object) -> Answer:
            order.append(params)
            mock_clock.jump(0.002)
            return Answer(1)

        served.server.dispatcher._handlers = {**served.toys.handlers(), "echo": slow, "ping": slow}
        quick, busy = await served.connect(), await served.connect()
        await wait_all_tasks_blocked()
        await busy.send(batch(*(request("echo", at) for at in range(100))))
        await quick.send(request("ping"))
        await quick.reply()
        assert order.index(Nothing()) < 10
        assert len(await line(busy)) == 100


class Recording:
    """A socket that remembers how much it was offered, and what else was answered until then."""

    def __init__(self, real: socket.socket, served: Served) -> None:
        self.real = real
        self.served = served
        self.offered: list[int] = []
        self.sent: list[int] = []
        self.passes: list[int] = []

    def send(self, data: bytes) -> int:
        """Send, and remember."""
        self.offered.append(len(data))
        self.passes.append(self.served.server.counters.messages)
        self.sent.append(self.real.send(data))
        return self.sent[-1]

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


async def test_large_answers_leave_in_pieces_without_copies_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, Limits(max_message_bytes=8 << 20, unsent_bytes=64 << 20)) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        (connection,) = served.server._connections.values()
        recording = Recording(connection._socket, served)
        monkeypatch.setattr(connection, "_socket", recording)
        sizes = [5_000_000, 10, 600_000, 600_000, 300_000, 3_000_000]
        for at, size in enumerate(sizes):
            await client.send(request("echo", at, value="x" * size))
        await wait_all_tasks_blocked()
        held = connection._rest
        assert isinstance(held, memoryview)
        assert len(memoryview(held.obj)) > 5_000_000
        for at, size in enumerate(sizes):
            assert await client.reply() == {"jsonrpc": "2.0", "id": at, "result": {"value": "x" * size}}
        assert max(recording.offered) <= SEND_BYTES
        assert sum(recording.sent) > sum(sizes)


async def test_a_reader_that_keeps_up_does_not_starve_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that takes everything: between two pieces the other client has its turn all the same."""
    async with serving(tmp_path, Limits(max_message_bytes=8 << 20)) as served:
        greedy, other = await served.connect(), await served.connect()
        await greedy.ask(request("ping"))
        (connection,) = [one for one in served.server._connections.values() if one._received_message]
        await other.ask(request("ping"))
        recording = Recording(connection._socket, served)
        monkeypatch.setattr(recording, "real", Bottomless(connection._socket))
        monkeypatch.setattr(connection, "_socket", recording)
        await greedy.send(request("echo", 1, value="x" * 6_000_000))
        while not recording.sent:
            await trio.lowlevel.checkpoint()
        for at in range(50):
            await other.ask(request("ping", at))
        assert len(recording.sent) == 7  # the newline is alone
        assert recording.passes[-1] > recording.passes[0]


class Bottomless:
    """A socket that takes whatever it is given."""

    def __init__(self, real: socket.socket) -> None:
        self.real = real

    def send(self, data: bytes) -> int:
        """All of it."""
        return len(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)
