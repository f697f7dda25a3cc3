"""Results that come later, and coroutines that await them without a task."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.dispatch import Call, Deferred, handlers_of, handles, in_task, in_thread, run_later, step

CALL = Call(1, 2, 3)


def no_task(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    raise AssertionError("nothing here needs a task")


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
    with pytest.raises(StopIteration) as ended:
        step(doubled(source))
    assert ended.value.value == 14
    assert not Deferred.stepping


def test_a_coroutine_goes_on_when_its_deferred_is_settled() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()

    async def both() -> tuple[int, int]:
        return await doubled(first), await doubled(second)

    coroutine = both()
    awaited = step(coroutine)
    assert awaited is first
    result = run_later(coroutine, awaited, no_task)
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

    coroutine = tries()
    result = run_later(coroutine, step(coroutine), no_task)
    refused.fail(MnemonError(errors.BUSY, "later"))
    assert caught == ["later"]
    with pytest.raises(MnemonError, match="later"):
        result.result()


def test_a_defect_after_waiting_reaches_the_result_and_not_the_settler() -> None:
    source: Deferred[int] = Deferred()

    async def broken() -> int:
        return 1 // await source

    coroutine = broken()
    result = run_later(coroutine, step(coroutine), no_task)
    source.resolve(0)
    with pytest.raises(ZeroDivisionError):
        result.result()


async def test_a_task_may_await_it_as_well() -> None:
    source: Deferred[int] = Deferred()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: trio.lowlevel.checkpoint())
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
        coroutine = uses_trio()
        result = run_later(coroutine, step(coroutine), lambda run: nursery.start_soon(run))
        await wait_all_tasks_blocked()
        assert not result.settled
        gate.set()
    assert result.result() == 8


async def test_an_error_in_its_task_is_raised_where_it_is_awaited() -> None:
    async def fails() -> int:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError

    async def tries() -> str:
        try:
            await in_task(fails)
        except ZeroDivisionError:
            return "caught"
        return "nothing"

    async with trio.open_nursery() as nursery:
        coroutine = tries()
        result = run_later(coroutine, step(coroutine), lambda run: nursery.start_soon(run))
    assert result.result() == "caught"


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
        coroutine = waits()
        result = run_later(coroutine, step(coroutine), lambda run: nursery.start_soon(run))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert cleaned == ["finally"]
    assert not result.settled


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
    coroutine = found["two"](CALL, 7)
    async with trio.open_nursery() as nursery:
        result = run_later(coroutine, step(coroutine), lambda run: nursery.start_soon(run))
    assert result.result() == 14


def test_two_handlers_of_one_method_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two handlers serve one"):
        handlers_of(One(), One())
