"""Messages that answer nothing, over a real socket."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import wait_all_tasks_blocked

from mnemond.wire.connection import EVENT_BACKLOG_BYTES
from tests.wire.factories import request, serving


async def test_a_client_is_told_something_between_two_answers(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        assert served.server.send_event(1, b'{"method":"event"}')
        assert await client.reply() == {"method": "event"}
        assert (await client.ask(request("ping")))["id"] == 1


async def test_whoever_has_gone_is_told_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        gone: list[int] = []
        served.server.on_closed = gone.append
        client = await served.connect()
        await client.ask(request("ping"))
        client.socket.close()
        (connection,) = served.server._connections.values()
        await wait_all_tasks_blocked()
        served.server.remove(connection)  # it may hear of it twice
        assert gone == [1]
        assert not served.server.send_event(1, b"{}")
        assert not served.server.send_event(2, b"{}")


async def test_a_client_that_lags_is_told_nothing_until_it_has_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        drained: list[int] = []
        served.server.on_takes_events = drained.append
        client = await served.connect()
        await client.ask(request("ping"))
        line = b'"' + b"x" * (EVENT_BACKLOG_BYTES // 2) + b'"'
        told = 0
        while served.server.send_event(1, line):
            told += 1
            await wait_all_tasks_blocked()
        assert drained == []
        with trio.fail_after(30):
            await client.replies(told)
            await wait_all_tasks_blocked()
        assert drained == [1]
        assert served.server.send_event(1, b'"again"')
