"""A stop answers everything that was received."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import Call
from mnemond.wire.limits import Limits
from mnemond.wire.server import Server
from tests.wire.factories import Answer, Client, Served, Toys, Value, listening, request, serving
from tests.wire.test_connection import settle_all


async def settle_until_stopped(served: Served) -> None:
    while served.server.counters.connections:
        await wait_all_tasks_blocked()
        served.toys.settle()


async def test_two_hundred_deferred_requests_are_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        clients = [await served.connect() for _ in range(4)]
        for client in clients:
            await client.send(*(request("later", at) for at in range(50)))
        served.server.request_stop()
        served.server.request_stop()
        await served.server.stop_requested()
        assert served.server.stop_requested_at < float("inf")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle_until_stopped, served)
            for client in clients:
                assert [reply["id"] for reply in await client.replies(50)] == list(range(50))
                assert await client.ended()
        assert served.server.counters.abandoned == 0


async def test_more_than_may_be_in_flight_is_answered_too(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_in_flight=16)) as served:
        client = await served.connect()
        await client.send(*(request("later", at) for at in range(200)))
        await wait_all_tasks_blocked()
        served.server.request_stop()
        assert await settle_all(served) == 200
        assert len(await client.rest()) == 200


async def test_what_arrived_unread_is_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        silent, speaking = await served.connect(), await served.connect()
        await speaking.ask(request("ping"))
        await speaking.send(*(request("echo", at, value="x" * 1000) for at in range(150)))  # more than one read
        served.server.request_stop()
        assert len(await speaking.rest()) == 150
        assert await silent.ended()


async def test_the_backlog_is_served_and_newcomers_are_refused(tmp_path: Path) -> None:
    toys = Toys()
    server = Server(toys.dispatcher(), Limits())
    with listening(tmp_path) as (_, listener):
        served = Served(tmp_path, server, toys)
        early = [await served.connect() for _ in range(20)]
        for client in early:
            await client.send(request("ping"))
        server.request_stop()
        await server.serve(listener)
        for client in early:
            assert len(await client.rest()) == 1
        with pytest.raises(OSError, match=r"No such file|refused"):
            await served.connect()
        assert not (tmp_path / "sock").exists()
        served.close_clients()


async def test_a_request_may_ask_for_the_stop_and_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(request("stop", 1), request("ping", 2), request("nap", 3))
        assert {reply["id"] for reply in await client.replies(3)} == {1, 2, 3}
        assert await client.ended()


async def test_a_request_that_never_ends_does_not_hold_up_the_stop(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(drain_s=2.5)) as served:
        client = await served.connect()
        await client.send(request("sleep", 1), request("ping", 2))
        assert (await client.reply())["id"] == 2
        served.server.request_stop()
        await wait_all_tasks_blocked()
        mock_clock.jump(2.4)
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 1
        mock_clock.jump(0.2)
        assert await client.ended()
        assert served.server.counters.abandoned == 1


async def test_a_request_whose_result_comes_after_the_end_breaks_nothing(
    mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    committed: Deferred[None] = Deferred()
    ended: list[str] = []

    async def write(_: Call, __: Value) -> Answer:
        try:
            await committed
            await in_task(trio.sleep_forever)
        except MnemonError as error:
            ended.append(error.kind.name)
            raise
        raise AssertionError

    async with serving(tmp_path, Limits(drain_s=1)) as served:
        monkeypatch.setitem(served.server.dispatcher._handlers, "later", write)
        client = await served.connect()
        await client.send(request("later", 1))
        await wait_all_tasks_blocked()
        served.server.request_stop()
        await wait_all_tasks_blocked()
        mock_clock.jump(1.1)
        assert await client.ended()
    committed.resolve(None)
    assert ended == ["stopping"]
    assert served.toys.defects == []


async def test_with_nobody_there_it_stops_at_once(tmp_path: Path) -> None:
    server = Server(Toys().dispatcher(), Limits())
    with listening(tmp_path) as (_, listener):
        server.request_stop()
        await server.serve(listener)
    assert server.counters.accepted == 0


async def test_half_a_message_is_not_waited_for(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client: Client = await served.connect()
        await client.send_raw(request("ping") + b"\n" + b'{"half')
        served.server.request_stop()
        assert len(await client.rest()) == 1


async def test_a_slow_reader_gets_its_answers_while_draining(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(*(request("echo", at, value="x" * 100_000) for at in range(10)))
        await wait_all_tasks_blocked()
        served.server.request_stop()
        await wait_all_tasks_blocked()
        assert len(await client.rest()) == 10


def test_nothing_can_be_started_before_serving() -> None:
    async def nothing() -> None:
        """Never run."""

    with pytest.raises(RuntimeError, match="not serving"):
        Server(Toys().dispatcher(), Limits()).spawn(nothing)
