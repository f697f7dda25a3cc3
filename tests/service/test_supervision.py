"""A daemon's life as its service manager hears of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import trio
from structlog.testing import CapturingLogger
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.service.supervisor import MAX_STATUS, STATUS_S, Notifier, StoreHealth, Supervision, status_line
from tests.service.listening import Manager, listening
from tests.tables import each_row

WELL = StoreHealth("default", 1_234, None)


@each_row(
    ("stores", "note", "expected"),
    [
        ([], None, "no store open"),
        ([WELL], None, "1 store open, 1,234 memories"),
        ([StoreHealth("a", 1, None)], None, "1 store open, 1 memory"),
        (
            [WELL, StoreHealth("work", 6, "the disk is full")],
            None,
            "2 stores open, 1,240 memories; degraded: work (the disk is full)",
        ),
        ([WELL], "a restart is needed", "1 store open, 1,234 memories; a restart is needed"),
    ],
)
def test_one_line_says_how_it_is(stores: Sequence[StoreHealth], note: str | None, expected: str) -> None:
    assert status_line(stores, note) == expected


def test_the_line_stays_one_that_people_read() -> None:
    shown = status_line([StoreHealth("work", 6, "x" * 1000)])
    assert len(shown) == MAX_STATUS
    assert shown.endswith("x…")


class Life:
    """A daemon that takes `warms_s` seconds to be warm."""

    def __init__(self, warms_s: float = 0) -> None:
        self.warms_s = warms_s
        self.stores: list[StoreHealth] = []
        self.asked_to_stop = trio.Event()

    async def warm_up(self) -> None:
        await trio.sleep(self.warms_s)
        self.stores.append(WELL)

    def store_health(self) -> Sequence[StoreHealth]:
        return self.stores

    async def writers_answer(self) -> None:
        await trio.lowlevel.checkpoint()

    async def stop_requested(self) -> None:
        await self.asked_to_stop.wait()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with listening(tmp_path / "notify") as found:
        yield found


@pytest.fixture
def notifier(tmp_path: Path, manager: Manager) -> Iterator[Notifier]:
    found = Notifier.of({"NOTIFY_SOCKET": str(tmp_path / "notify")})
    yield found
    found.close()


def supervision(notifier: Notifier, life: Life, ping_every_s: float | None = None) -> Supervision:
    return Supervision(notifier, ping_every_s, life, CapturingLogger())


async def test_ready_then_how_it_is_then_stopping(
    notifier: Notifier, manager: Manager, autojump_clock: MockClock
) -> None:
    life = Life(warms_s=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supervision(notifier, life).run)
        await wait_all_tasks_blocked()
        assert manager.told() == [{"EXTEND_TIMEOUT_USEC": "30000000", "STATUS": "opening the store"}]
        await trio.sleep(2)
        assert manager.told() == [{"READY": "1", "STATUS": "1 store open, 1,234 memories"}]
        await trio.sleep(3 * STATUS_S)
        assert manager.told() == []  # nothing has changed
        life.stores = [StoreHealth("default", 1_235, "the disk is full")]
        await trio.sleep(STATUS_S)
        assert manager.told() == [{"STATUS": "1 store open, 1,235 memories; degraded: default (the disk is full)"}]
        life.asked_to_stop.set()
        await wait_all_tasks_blocked()
        assert manager.told() == [{"STOPPING": "1", "STATUS": "answering what was received"}]
        life.stores = []
        await trio.sleep(3 * STATUS_S)
        assert manager.told() == []


async def test_a_large_store_is_given_time(notifier: Notifier, manager: Manager, autojump_clock: MockClock) -> None:
    with trio.move_on_after(41):
        await supervision(notifier, Life(warms_s=40)).run()
    told = manager.told()
    assert [message.get("EXTEND_TIMEOUT_USEC") for message in told] == ["30000000"] * 3 + [None]  # at 0, 15 and 30 s
    assert told[-1]["READY"] == "1"


async def test_the_watchdog_is_fed_even_while_it_warms_up(
    notifier: Notifier, manager: Manager, autojump_clock: MockClock
) -> None:
    with trio.move_on_after(35):
        await supervision(notifier, Life(warms_s=60), ping_every_s=10).run()
    assert [message for message in manager.told() if "WATCHDOG" in message] == [{"WATCHDOG": "1"}] * 4


async def test_a_reload_is_told_with_the_moment_it_began(notifier: Notifier, manager: Manager) -> None:
    told = supervision(notifier, Life())
    told.reloading()
    told.reloaded("the old configuration stays: no")
    began, ended = manager.told()
    assert began["RELOADING"] == "1"
    assert int(began["MONOTONIC_USEC"]) > 0
    assert ended == {"READY": "1", "STATUS": "no store open; the old configuration stays: no"}


async def test_without_a_manager_the_daemon_is_warmed_up_and_left_alone(autojump_clock: MockClock) -> None:
    life = Life(warms_s=1)
    with trio.move_on_after(60) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Supervision(Notifier(None), 10, life, CapturingLogger()).run)
            await trio.sleep(2)
            assert life.stores == [WELL]
            life.asked_to_stop.set()
    assert not scope.cancelled_caught


async def test_a_writer_that_is_late_is_logged(notifier: Notifier, manager: Manager, autojump_clock: MockClock) -> None:
    log = CapturingLogger()
    life = Life()
    life.writers_answer = trio.sleep_forever  # type: ignore[method-assign]
    with trio.move_on_after(35):
        await Supervision(notifier, 10, life, log).run()
    assert [(call.method_name, call.args) for call in log.calls] == [("error", ("a store's writer does not answer",))]
    assert [message for message in manager.told() if "WATCHDOG" in message] == []
