"""Signs of life are given for as long as there is life in the writers, and only then."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import trio
import trio.lowlevel
from structlog.testing import CapturingLogger
from trio.testing import MockClock

from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.service import supervisor
from tests.tables import each_row

ME = str(os.getpid())


@each_row(
    ("environ", "expected"),
    [
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": ME}, 15.0),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0", "WATCHDOG_PID": ME}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "٣"}, None),
        ({"WATCHDOG_PID": ME}, None),
        ({}, None),
    ],
)
def test_half_of_what_the_manager_waits_for(environ: dict[str, str], expected: float | None) -> None:
    assert supervisor.watchdog_interval_s(environ) == expected
    assert environ == {}


class Signs:
    """What happened, and when, on trio's clock."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float]] = []

    def fed(self) -> None:
        self.seen.append(("fed", trio.current_time()))

    def late(self) -> None:
        self.seen.append(("late", trio.current_time()))


async def test_a_sign_each_interval_while_there_are_answers(autojump_clock: MockClock) -> None:
    signs = Signs()
    begin = trio.current_time()

    async def ask() -> None:
        await trio.sleep(1)

    with trio.move_on_after(35):
        await supervisor.keep_pinging(10, ask, signs.fed, signs.late)
    assert [(what, at - begin) for what, at in signs.seen] == [("fed", 1), ("fed", 12), ("fed", 23), ("fed", 34)]


async def test_no_sign_without_an_answer_and_one_as_soon_as_it_comes(autojump_clock: MockClock) -> None:
    signs = Signs()
    begin = trio.current_time()

    async def ask() -> None:
        await trio.sleep(25)

    with trio.move_on_after(40):
        await supervisor.keep_pinging(10, ask, signs.fed, signs.late)
    assert [(what, at - begin) for what, at in signs.seen] == [("late", 10), ("fed", 25)]


async def test_a_writer_that_hangs_withholds_the_sign(tmp_path: Path, mock_clock: MockClock) -> None:
    daemon = Daemon(
        tmp_path, Config(), CapturingLogger(), Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0)
    )
    store = await daemon.stores.open("default")
    signs = Signs()
    gate, entered = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        entered.set()
        gate.wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.read, hang)
        await trio.to_thread.run_sync(entered.wait)
        nursery.start_soon(supervisor.keep_pinging, 10, daemon.writers_answer, signs.fed, signs.late)
        for _ in range(3):
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(10)
        await trio.testing.wait_all_tasks_blocked()
        assert [what for what, _ in signs.seen] == ["late"]
        gate.set()
        while [what for what, _ in signs.seen] != ["late", "fed"]:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    await daemon.close()


async def test_a_writer_that_has_left_is_no_reason_to_be_restarted(tmp_path: Path) -> None:
    daemon = Daemon(
        tmp_path, Config(), CapturingLogger(), Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0)
    )
    await daemon.writers_answer()
    store = await daemon.stores.open("default")
    await daemon.writers_answer()
    await store.close()
    await daemon.writers_answer()
