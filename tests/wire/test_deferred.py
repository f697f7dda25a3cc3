"""Results that come later, and coroutines that await them without a task."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire import deferred as module
from mnemond.wire.deferred import Deferred, Spawn, in_task, in_thread, run_now
from mnemond.wire.dispatch import Call, handlers_of, handles

CALL = Call(1, 2, 3)

T = TypeVar("T")


def no_task(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    raise AssertionError("nothing here needs a task")


def suspended(coroutine: Coroutine[Any, Any, T], spawn: Spawn = no_task) -> Deferred[T]:
    """The result of a coroutine that has to wait."""
    result = run_now(coroutine, spawn)
    assert isinstance(result, Deferred)
    assert not module._running
    return result


def test_settles_once_and_calls_subscribers_in_order() -> None:
    deferred: Deferred[int] = Deferred()
    told: list[object] = []
    deferred.subscribe(lambda: told.append(("first", deferred.result())))
    deferred.subscribe(lambda: told.append("second"))
    assert not deferred.settled
    deferred.resolve(7)
    deferred.subscribe(lambda: told.append("late"))
    assert told == [("first", 7), "second", "late"]
    with pytest.raises(RuntimeError, match="only once"):
        deferred.resolve(8)
    with pytest.raises(RuntimeError, match="only once"):
        deferred.fail(ValueError())


def test_a_result_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(RuntimeError, match="not settled"):
        Deferred[int]().result()


async def doubled(source: Deferred[int]) -> int:
    return 2 * await source


def test_what_is_settled_is_awaited_at_once() -> None:
    source: Deferred[int] = Deferred()
    source.resolve(7)
    assert run_now(doubled(source), no_task) == 14
    assert not module._running


def test_what_is_raised_before_waiting_reaches_the_caller() -> None:
    source: Deferred[int] = Deferred()
    source.fail(MnemonError(errors.BUSY, "later"))
    with pytest.raises(MnemonError, match="later"):
        run_now(doubled(source), no_task)
    assert not module._running


def test_a_coroutine_goes_on_when_its_deferred_is_settled() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()

    async def both() -> tuple[int, int]:
        return await doubled(first), await doubled(second)

    result = suspended(both())
    first.resolve(1)
    assert not result.settled
    second.resolve(2)
    assert result.result() == (2, 4)


def test_a_failure_reaches_the_coroutine_that_awaits_it() -> None:
    refused: Deferred[int] = Deferred()
    caught: list[str] = []

    async def tries() -> int:
        try:
            return await refused
        except MnemonError as error:
            caught.append(error.message)
            raise

    result = suspended(tries())
    refused.fail(MnemonError(errors.BUSY, "later"))
    assert caught == ["later"]
    with pytest.raises(MnemonError, match="later"):
        result.result()


def test_a_defect_after_waiting_reaches_the_result_and_not_the_settler() -> None:
    source: Deferred[int] = Deferred()

    async def broken() -> int:
        return 1 // await source

    result = suspended(broken())
    source.resolve(0)
    with pytest.raises(ZeroDivisionError):
        result.result()


def test_several_may_await_the_same() -> None:
    source: Deferred[int] = Deferred()
    results = [suspended(doubled(source)) for _ in range(3)]
    source.resolve(2)
    assert [result.result() for result in results] == [4, 4, 4]


def test_a_long_chain_needs_no_deep_stack() -> None:
    """Each link settles the next, as requests do that wait for each other's place."""
    links: list[Deferred[int]] = [Deferred() for _ in range(10_001)]

    async def link(at: int) -> int:
        value = await links[at]
        links[at + 1].resolve(value + 1)
        return value

    results = [suspended(link(at)) for at in range(10_000)]
    links[0].resolve(0)
    assert [result.result() for result in results] == list(range(10_000))
    assert links[-1].result() == 10_000


def test_a_coroutine_is_not_interrupted_by_the_one_it_wakes() -> None:
    source: Deferred[int] = Deferred()
    told: list[str] = []

    async def waits() -> None:
        await source
        told.append("woken")

    async def wakes() -> str:
        source.resolve(1)
        told.append("goes on")
        return "ended"

    waiting = suspended(waits())
    assert run_now(wakes(), no_task) == "ended"
    assert told == ["goes on", "woken"]
    assert waiting.settled


def test_two_that_wake_each_other_need_no_deep_stack() -> None:
    turns: list[list[Deferred[None]]] = [[Deferred() for _ in range(5_000)] for _ in range(2)]

    async def play(own: int) -> None:
        for at in range(5_000):
            await turns[own][at]
            if own == 0 or at + 1 < 5_000:
                turns[1 - own][at + own].resolve(None)

    players = [suspended(play(own)) for own in range(2)]
    turns[0][0].resolve(None)
    assert all(player.settled for player in players)


class Large:
    """A result whose end can be seen."""


def test_nothing_of_a_finished_coroutine_waits_for_the_garbage_collector() -> None:
    async def passed_on(source: Deferred[Large]) -> Large:
        return await source

    source: Deferred[Large] = Deferred()
    result = suspended(passed_on(source))
    gc.disable()
    try:
        source.resolve(Large())
        large = weakref.ref(result.result())
        del result, source
        assert large() is None
    finally:
        gc.enable()


async def test_awaiting_trio_outside_of_a_task_is_a_defect_of_the_handler() -> None:
    source: Deferred[None] = Deferred()
    cleaned: list[str] = []

    async def careless() -> None:
        try:
            await source
            await trio.lowlevel.checkpoint()
        finally:
            cleaned.append("finally")

    result = suspended(careless())
    source.resolve(None)
    with pytest.raises(RuntimeError, match="use in_task"):
        result.result()
    with pytest.raises(RuntimeError, match="use in_task"):
        run_now(careless(), no_task)
    assert cleaned == ["finally", "finally"]


async def test_such_a_handler_may_go_on_with_a_deferred() -> None:
    source: Deferred[int] = Deferred()

    async def stubborn() -> int:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="use in_task"):
                await trio.lowlevel.checkpoint()
        return await source

    result = suspended(stubborn())
    source.resolve(7)
    assert result.result() == 7


async def test_a_task_may_await_it_as_well() -> None:
    source: Deferred[int] = Deferred()
    trio.lowlevel.current_trio_token().run_sync_soon(source.resolve, 3)
    assert await doubled(source) == 6
    assert await in_thread(lambda: 5) == 5


async def slow(gate: trio.Event, value: int) -> int:
    await gate.wait()
    return value


async def test_what_needs_trio_runs_in_a_task_of_its_own() -> None:
    gate = trio.Event()

    async def uses_trio() -> int:
        return await in_task(slow, gate, 7) + await in_thread(lambda: 1)

    async with trio.open_nursery() as nursery:
        result = suspended(uses_trio(), nursery.start_soon)
        await wait_all_tasks_blocked()
        assert not result.settled
        gate.set()
    assert result.result() == 8


async def fails() -> int:
    await trio.lowlevel.checkpoint()
    raise ZeroDivisionError


async def test_an_error_in_its_task_is_raised_where_it_is_awaited() -> None:
    async def tries() -> str:
        try:
            await in_task(fails)
        except ZeroDivisionError:
            return "caught"
        return "nothing"

    async with trio.open_nursery() as nursery:
        result = suspended(tries(), nursery.start_soon)
    assert result.result() == "caught"
    assert await tries() == "caught"


def refuse_task(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    raise MnemonError(errors.STOPPING, "no task any more")


async def test_where_no_task_can_be_started_the_handler_is_refused() -> None:
    source: Deferred[None] = Deferred()

    async def at_once() -> int:
        return await in_task(fails)

    async def after_waiting() -> int:
        await source
        return await in_task(fails)

    now, later = suspended(at_once(), refuse_task), suspended(after_waiting(), refuse_task)
    source.resolve(None)
    for result in (now, later):
        with pytest.raises(MnemonError, match="no task any more"):
            result.result()


async def test_when_its_task_is_cancelled_the_coroutine_is_closed_and_never_answered() -> None:
    gate, cleaned = trio.Event(), list[str]()

    async def waits() -> None:
        try:
            await in_task(slow, gate, 7)
        except Exception:
            cleaned.append("an exception")
        finally:
            cleaned.append("finally")

    async with trio.open_nursery() as nursery:
        result = suspended(waits(), nursery.start_soon)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert cleaned == ["finally"]
    assert not result.settled


async def test_a_coroutine_that_is_closed_may_wake_others() -> None:
    """As one does that gives its place to the next."""
    gate, place = trio.Event(), Deferred[int]()

    async def holds() -> None:
        try:
            await in_task(slow, gate, 7)
        finally:
            place.resolve(1)

    async with trio.open_nursery() as nursery:
        suspended(holds(), nursery.start_soon)
        waiting = suspended(doubled(place))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert waiting.result() == 2


async def test_cancelling_a_task_that_awaits_cancels_what_it_awaits() -> None:
    gate, ended = trio.Event(), list[str]()

    async def inner() -> None:
        try:
            await gate.wait()
        finally:
            ended.append("inner")

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:

            async def waits() -> None:
                await in_task(inner)

            nursery.start_soon(waits)
            await wait_all_tasks_blocked()
            scope.cancel()
    assert scope.cancelled_caught
    assert ended == ["inner"]


class One:
    @handles("one")
    async def first(self, call: Call, params: int) -> int:
        return params

    @handles("two", in_task=True)
    async def second(self, call: Call, params: int) -> int:
        await trio.lowlevel.checkpoint()
        return 2 * params

    async def other(self) -> None:
        raise AssertionError


async def test_handlers_are_collected_by_their_methods() -> None:
    found = handlers_of(One())
    assert sorted(found) == ["one", "two"]
    assert await found["one"](CALL, 7) == 7
    assert await found["two"](CALL, 7) == 14
    async with trio.open_nursery() as nursery:
        result = suspended(found["two"](CALL, 7), nursery.start_soon)
    assert result.result() == 14


def test_two_handlers_of_one_method_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two handlers serve one"):
        handlers_of(One(), One())
