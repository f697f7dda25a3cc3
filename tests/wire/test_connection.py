"""One connection: order, bounds, ends."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire.connection import MAX_MESSAGE_BYTES
from mnemond.wire.limits import Limits
from tests.wire.factories import Answer, Client, Nothing, Served, request, serving


def ids(replies: list[dict[str, object]]) -> list[object]:
    return [reply["id"] for reply in replies]


async def settle_all(served: Served) -> int:
    """Answer everything that waits, round by round, until nothing new is read."""
    total = 0
    while True:
        await wait_all_tasks_blocked(0.01)
        settled = served.toys.settle()
        if not settled:
            return total
        total += settled


async def test_pipelined_requests_are_answered_in_order_and_joined(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(*(request("echo", at, value=at) for at in range(50)))
        await wait_all_tasks_blocked()
        data = await client.socket.recv(65536)
        assert data.count(b"\n") == 50
        assert [b'"id":%d,' % at in line for at, line in enumerate(data.splitlines())] == [True] * 50


async def test_a_response_of_a_client_is_not_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        result, error = (
            b'{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}',
            b'{"jsonrpc":"2.0","id":"s","error":{"code":-32601,"message":"no"}}',
        )
        await client.send(result, error, b"[" + result + b"," + request("ping", 1) + b"]", b"[" + error + b"]")
        await client.send(b'{"jsonrpc":"2.0","id":8}', b'{"jsonrpc":"2.0","id":9,"result":1,"error":{}}')
        await client.send(request("ping", 2))
        batched: object = await client.reply()
        assert isinstance(batched, list)
        assert ids(batched) == [1]
        refused = await client.replies(2)
        assert ids(refused) == [8, 9]
        assert all("error" in reply for reply in refused)
        assert ids(await client.replies(1)) == [2]


async def test_deferred_replies_of_one_pass_leave_in_one_send(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(*(request("later", at, value=at) for at in range(40)), request("ping", "now"))
        assert (await client.reply())["id"] == "now"
        served.toys.settle()
        await wait_all_tasks_blocked()
        assert (await client.socket.recv(65536)).count(b"\n") == 40


async def test_requests_are_answered_as_they_finish(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(request("later", 1), request("nap", 2), request("ping", 3))
        assert ids(await client.replies(2)) == [3, 2]
        served.toys.settle()
        assert ids(await client.replies(1)) == [1]


async def test_a_batch_waits_for_its_last_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        parts = [
            request("later", 1, value="a"),
            request("ping", 2),
            b'{"jsonrpc":"2.0","method":"later"}',
            request("nap", 3),
        ]
        await client.send(b"[" + b",".join(parts) + b"]", request("ping", "next"))
        assert (await client.reply())["id"] == "next"
        await wait_all_tasks_blocked()
        assert served.toys.settle(1) == 1
        await wait_all_tasks_blocked()
        with pytest.raises(trio.WouldBlock):
            raise_if_readable(client)
        assert served.toys.settle() == 1
        data = await client.socket.recv(65536)
        assert data.startswith(b"[")
        assert data.count(b'"jsonrpc"') == 3


async def send_until_nothing_moves(client: Client, message: bytes) -> None:
    """Send without reading until neither side can go on."""
    own = socket.socket(fileno=client.socket.fileno())
    stuck = False
    while True:
        try:
            own.send(message, socket.MSG_DONTWAIT)
            stuck = False
        except BlockingIOError:
            if stuck:
                own.detach()
                return
            stuck = True
            await wait_all_tasks_blocked()


def raise_if_readable(client: Client) -> None:
    """trio.WouldBlock while nothing has arrived."""
    own = socket.socket(fileno=client.socket.fileno())
    try:
        own.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        raise trio.WouldBlock from None
    finally:
        own.detach()


@pytest.mark.parametrize("ending", [b"", b"\n"])
async def test_a_half_close_ends_a_message(ending: bytes, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        assert await served.talk(request("ping") + ending) == [{"jsonrpc": "2.0", "id": 1, "result": {"value": True}}]
        assert served.server.counters.connections == 0


async def test_a_client_that_asks_once_needs_no_task(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        tasks = trio.lowlevel.current_statistics().tasks_living
        client = await served.connect()
        await client.send(request("later"))
        client.half_close()
        await wait_all_tasks_blocked()
        assert trio.lowlevel.current_statistics().tasks_living == tasks
        served.toys.settle()
        assert [reply["id"] for reply in await client.rest() if isinstance(reply, dict)] == [1]


async def test_a_message_may_come_in_pieces_of_any_size(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        for byte in request("echo", 1, value="x" * 20) + b"\n":
            await client.send_raw(bytes([byte]))
            await trio.lowlevel.checkpoint()
        assert (await client.reply())["result"] == {"value": "x" * 20}


async def test_the_longest_message_passes_and_a_longer_one_ends_the_connection(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        envelope = len(request("echo", 1, value=""))
        await client.send(request("echo", 1, value="x" * (MAX_MESSAGE_BYTES - envelope)))
        assert (await client.reply())["id"] == 1
        too_long = request("ping", 2) + b"\n" + b"y" * (2 * MAX_MESSAGE_BYTES)
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            await client.send_raw(too_long)
        good, refused = await client.rest()
        assert isinstance(good, dict)
        assert isinstance(refused, dict)
        assert good["id"] == 2
        assert (refused["id"], refused["error"]["code"]) == (None, 1013)
        assert str(MAX_MESSAGE_BYTES) in refused["error"]["message"]
        assert served.server.counters.connections == 0


async def test_in_flight_requests_are_bounded_and_nothing_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_in_flight=64)) as served:
        client = await served.connect()
        await client.send(*(request("later", at, value=at) for at in range(500)))
        client.half_close()
        await wait_all_tasks_blocked()
        assert len(served.toys.waiting) == 64
        served.toys.settle(10)
        await wait_all_tasks_blocked()
        assert len(served.toys.waiting) == 64
        assert await settle_all(served) == 490
        assert ids(await client.replies(500)) == list(range(500))
        assert await client.ended()


async def test_a_batch_counts_request_by_request(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_in_flight=8)) as served:
        client = await served.connect()
        await client.send(b"[" + b",".join(request("later", at) for at in range(20)) + b"]")
        await wait_all_tasks_blocked()
        assert len(served.toys.waiting) == 8
        assert await settle_all(served) == 20
        assert (await client.socket.recv(65536)).count(b'"jsonrpc"') == 20


async def test_a_client_that_does_not_read_is_not_read_from(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(unsent_bytes=100_000)) as served:
        client = await served.connect()
        message = request("echo", 1, value="x" * 10_000) + b"\n"
        await send_until_nothing_moves(client, message)
        answered = len(served.toys.seen)
        assert answered * len(message) < 100_000 + 2 * 65536 + 1_000_000  # buffer, last read, the kernel's buffers
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1
        assert (await client.reply())["id"] == 1


async def test_a_reader_that_comes_back_gets_everything(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(unsent_bytes=50_000)) as served:
        client = await served.connect()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: client.send(*(request("echo", at, value="x" * 5000) for at in range(400))))
            await wait_all_tasks_blocked()
            assert ids(await client.replies(400)) == list(range(400))


async def test_a_client_that_leaves_is_forgotten_with_its_answers(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(request("later"), request("nap"))
        await wait_all_tasks_blocked()
        client.socket.close()
        await wait_all_tasks_blocked()
        assert served.toys.settle() == 1
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 0
        assert served.toys.defects == []


async def test_an_answer_to_nobody_is_dropped(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(request("later"))
        await wait_all_tasks_blocked()
        client.socket.close()
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 1
        served.toys.settle()
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 0


async def test_a_pipelining_client_does_not_starve_others(mock_clock: MockClock, tmp_path: Path) -> None:
    """Each request takes 2 ms here, so every one of them is followed by a turn of the others."""
    async with serving(tmp_path) as served:
        order: list[object] = []

        async def slow(_: object, params: object) -> Answer:
            order.append(params)
            mock_clock.jump(0.002)
            return Answer(1)

        served.server.dispatcher._handlers = {**served.toys.handlers(), "echo": slow, "ping": slow}
        quick = await served.connect()
        busy = await served.connect()
        await wait_all_tasks_blocked()
        await busy.send(*(request("echo", at) for at in range(100)))
        await quick.send(request("ping"))
        await quick.reply()
        assert order.index(Nothing()) < 10
        assert ids(await busy.replies(100)) == list(range(100))


async def test_a_reset_in_the_middle_of_a_read_ends_only_that_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        (connection,) = served.server._connections.values()

        class Broken:
            def recv(self, _: int) -> bytes:
                raise OSError(errno.ECONNRESET, "reset")

            def __getattr__(self, name: str) -> object:
                return getattr(real, name)

        real = connection._socket
        monkeypatch.setattr(connection, "_socket", Broken())
        await client.send(request("ping"))
        assert await client.ended()
        assert served.server.counters.connections == 0
