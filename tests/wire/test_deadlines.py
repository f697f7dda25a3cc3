"""Deadlines, with a clock that only the test moves."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire.limits import Limits
from tests.wire.factories import Served, request, serving

LIMITS = Limits()


async def pass_time(clock: MockClock, seconds: float) -> None:
    """Move the clock in steps shorter than any deadline, so that every task sees each of them."""
    for _ in range(round(seconds / 0.25)):
        clock.jump(0.25)
        await wait_all_tasks_blocked()


async def refusal(served: Served, sent: bytes, clock: MockClock, seconds: float) -> object:
    client = await served.connect()
    await client.send_raw(sent)
    await wait_all_tasks_blocked()
    await pass_time(clock, seconds - 0.5)
    assert served.server.counters.connections == 1
    await pass_time(clock, 1)
    assert served.server.counters.connections == 0
    (reply,) = await client.rest()
    assert isinstance(reply, dict)
    assert reply["id"] is None
    assert reply["error"]["code"] == 1015
    return reply["error"]["message"]


async def test_a_silent_client_is_let_go(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        words = await refusal(served, b"", mock_clock, LIMITS.first_byte_timeout_s)
        assert words == "no message began within 10 s of connecting"
        assert served.server.counters.cut == 1


async def test_blank_lines_are_no_beginning(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await refusal(served, b"\n\r\n  ", mock_clock, LIMITS.first_byte_timeout_s)


async def test_half_a_message_is_not_waited_for(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        words = await refusal(served, b'{"jsonrpc"', mock_clock, LIMITS.message_timeout_s)
        assert words == "a message was not complete 5 s after its first byte"


async def test_dripping_does_not_buy_time_and_hurts_nobody(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        good = await served.connect()
        drippers = [await served.connect() for _ in range(50)]
        for step in range(16):
            for dripper in drippers:
                await dripper.send_raw(b"x")
            await pass_time(mock_clock, 0.25)
            assert (await good.ask(request("ping", step)))["id"] == step
        await pass_time(mock_clock, 1.5)
        assert served.server.counters.connections == 1
        assert served.server.counters.cut == 50
        assert (await good.ask(request("ping", "after")))["id"] == "after"


async def test_the_deadline_of_each_message_is_its_own(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        whole = request("ping") + b"\n"
        for _ in range(4):
            await client.send_raw(whole[:10])
            await pass_time(mock_clock, 4)
            await client.send_raw(whole[10:] + whole[:5])
            await pass_time(mock_clock, 4)
            await client.send_raw(whole[5:])
            assert len(await client.replies(2)) == 2


async def test_a_client_that_has_spoken_may_stay_silent(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        await pass_time(mock_clock, 60)
        assert (await client.ask(request("ping", 2)))["id"] == 2


async def test_time_in_which_we_do_not_read_does_not_count(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_in_flight=1)) as served:
        client = await served.connect()
        whole = request("ping", 3)
        await client.send_raw(request("later", 1) + b"\n" + request("later", 2) + b"\n" + whole[:10])
        await wait_all_tasks_blocked()
        await pass_time(mock_clock, 20)
        served.toys.settle()
        await wait_all_tasks_blocked()
        served.toys.settle()
        await pass_time(mock_clock, 4)
        await client.send_raw(whole[10:] + b"\n")
        assert [reply["id"] for reply in await client.replies(3)] == [1, 2, 3]


async def test_a_reader_without_progress_is_dropped(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(*(request("echo", at, value="x" * 100_000) for at in range(8)))
        await wait_all_tasks_blocked()
        await pass_time(mock_clock, LIMITS.write_timeout_s - 1)
        assert served.server.counters.connections == 1
        await pass_time(mock_clock, 2)
        assert (served.server.counters.connections, served.server.counters.cut) == (0, 1)


async def test_what_was_asked_before_the_deadline_is_still_answered(mock_clock: MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send_raw(request("later", 1) + b"\nhalf")
        await wait_all_tasks_blocked()
        await pass_time(mock_clock, 6)
        assert (await client.reply())["id"] is None
        served.toys.settle()
        assert (await client.reply())["id"] == 1
        assert await client.ended()
