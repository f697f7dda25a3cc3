"""What other threads hand over is taken up between two requests, and in a pass of the event loop at the latest."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mnemond.wire import server as module
from mnemond.wire.deferred import Completions
from mnemond.wire.dispatch import Call
from tests.wire.factories import Answer, Value, request, serving


class Passes:
    """An event loop whose passes the test makes."""

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        self.asked.append((sync_fn, args))

    def come(self) -> None:
        asked, self.asked = self.asked, []
        for call, arguments in asked:
            call(*arguments)


def test_calls_are_made_once_and_in_order_whoever_comes_first() -> None:
    passes, made = Passes(), list[int]()
    completions = Completions(passes)
    completions.run_sync_soon(made.append, 1)
    completions.run_sync_soon(made.append, 2)
    assert (made, len(passes.asked)) == ([], 1)
    completions.run_pending()
    assert made == [1, 2]
    completions.run_sync_soon(made.append, 3)
    passes.come()
    assert (made, passes.asked) == ([1, 2, 3], [])
    completions.run_sync_soon(made.append, 4)
    passes.come()
    assert made == [1, 2, 3, 4]


def test_what_a_call_asks_for_waits_for_the_next_time() -> None:
    passes, made = Passes(), list[int]()
    completions = Completions(passes)

    def again() -> None:
        made.append(len(made))
        completions.run_sync_soon(again)

    completions.run_sync_soon(again)
    for count in (1, 2, 3):
        completions.run_pending()
        assert len(made) == count
    passes.come()
    assert len(made) == 4
    assert len(passes.asked) == 1


def test_one_that_raises_ends_the_loop_and_not_the_request_before_it() -> None:
    passes, made = Passes(), list[int]()
    completions = Completions(passes)

    def broken() -> None:
        raise RuntimeError("a defect")

    completions.run_sync_soon(broken)
    completions.run_sync_soon(made.append, 1)
    completions.run_pending()
    assert made == [1]
    with pytest.raises(RuntimeError, match="a defect"):
        passes.come()


def test_what_a_thread_adds_while_a_pass_begins_is_never_left() -> None:
    passes, made = Passes(), list[int]()
    completions = Completions(passes)

    def add() -> None:
        for each in range(20_000):
            completions.run_sync_soon(made.append, each)

    thread = threading.Thread(target=add)
    thread.start()
    while thread.is_alive():
        passes.come()
    passes.come()
    assert made == list(range(20_000))


@pytest.mark.parametrize(("every_s", "sent"), [(0.0, [True, True, True]), (60.0, [False, False, False])])
async def test_a_reply_that_became_ready_goes_out_within_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_s: float, sent: list[bool]
) -> None:
    """Clients that ask in the same pass: before the second of them is answered, the writer's has its reply."""
    monkeypatch.setattr(module, "PENDING_INTERVAL_S", every_s)
    async with serving(tmp_path) as served:
        writing, *others = [await served.connect() for _ in range(5)]
        for other in others:
            await other.ask(request("ping"))
        await writing.send(request("later", value=1))
        await wait_all_tasks_blocked()
        seen: list[bool] = []

        async def look(_: Call, params: Value) -> Answer:
            seen.append(bool(select.select([writing.socket.fileno()], [], [], 0)[0]))
            return Answer(params.value)

        monkeypatch.setitem(served.server.dispatcher._handlers, "echo", look)
        served.server.between_requests = served.toys.settle
        for number, other in enumerate(others):
            os.write(other.socket.fileno(), request("echo", value=number) + b"\n")  # the server has no turn meanwhile
        with trio.fail_after(10):
            for other in others:
                await other.reply()
            assert seen == [False, *sent]
            if not all(sent):
                served.toys.settle()
            assert (await writing.reply())["result"] == {"value": 1}
