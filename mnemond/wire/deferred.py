"""Results that are settled later, and coroutines that wait for them without a task.

A handler is an async function that awaits nothing but Deferreds. `run_now` runs its coroutine in the caller up to the
first Deferred that is not settled; a callback of that Deferred continues it. So a request that waits for nothing costs
no task, no channel and no cancel scope, and one that waits for a commit costs a callback. What needs trio (a lock, a
thread, a timer) runs in a task: `in_task`, `in_thread`. See docs/decisions/0027-one-colour-of-handler.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import trio

T = TypeVar("T")

Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Runs an async function in a task that outlives the caller. May raise when no task can be started any more."""

_running = False
"""True while coroutines run here, as opposed to in a trio task. A global of the module, not an attribute of Deferred:
each assignment to a class attribute would discard the interpreter's caches of that class."""

_ready: deque[Callable[[], None]] = deque()
"""Coroutines whose Deferred was settled by a coroutine that runs here: they continue once that one waits or ends, and
not within it, so that a long chain of them needs no deep stack."""


class Deferred(Generic[T]):
    """A result that is settled exactly once, on the event loop. Awaitable, in handlers and in trio tasks alike.

    Subscribers are called when it is settled, in their order, or at once; they must not raise, because they run inside
    the call that settles.
    """

    __slots__ = ("_error", "_settled", "_subscribers", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: Exception | None = None
        self._subscribers: list[Callable[[], None]] = []

    @property
    def settled(self) -> bool:
        """Return True once `result` can be called."""
        return self._settled

    def resolve(self, value: T) -> None:
        """Settle with a value. Raises RuntimeError if it is settled already."""
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        """Settle with an error: a MnemonError for the caller, anything else is a defect. Raises RuntimeError if it is
        settled already."""
        self._settle(None, error)

    def result(self) -> T:
        """Return the value or raise the error. Raises RuntimeError before it is settled."""
        if not self._settled:
            raise RuntimeError("this result is not settled yet")
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the result is there."""
        if self._settled:
            callback()
        else:
            self._subscribers.append(callback)

    def start(self, spawn: Spawn, cancel: Callable[[], None]) -> None:
        """A coroutine that runs here waits for it. `spawn` and `cancel` are for `_InTask`."""

    def __await__(self) -> Generator[Any, Any, T]:
        if not self._settled:
            if _running:
                yield self
            else:
                yield from self._wait().__await__()
        return self.result()

    async def _wait(self) -> None:
        settled = trio.Event()
        self.subscribe(settled.set)
        await settled.wait()

    def _settle(self, value: T | None, error: Exception | None) -> None:
        if self._settled:
            raise RuntimeError("a result is settled only once")
        self._settled, self._value, self._error = True, value, error
        subscribers, self._subscribers = self._subscribers, []
        for callback in subscribers:
            callback()


class _InTask(Deferred[T]):
    """The result of an async function: awaited by a handler, it runs in a task of its own; by a task, in that task."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        super().__init__()
        self._function = function

    def start(self, spawn: Spawn, cancel: Callable[[], None]) -> None:
        """Run the function. If its task is cancelled, `cancel` the coroutine that waits."""

        async def run() -> None:
            try:
                await self._wait()
            except BaseException:
                cancel()
                raise

        try:
            spawn(run)
        except Exception as error:
            self.fail(error)

    async def _wait(self) -> None:
        try:
            value = await self._function()
        except Exception as error:
            self.fail(error)
        else:
            self.resolve(value)


def in_task(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Deferred[T]:  # noqa: ANN401 - as `partial`
    """The result of `function(*args)`, which may use all of trio. It starts when it is awaited, once."""
    return _InTask(partial(function, *args))


def in_thread(
    function: Callable[..., T],
    *args: Any,  # noqa: ANN401 - as `partial`
    limiter: trio.CapacityLimiter | None = None,
    abandon_on_cancel: bool = False,
) -> Deferred[T]:
    """The result of `function(*args)`, which blocks, from a worker thread; parameters as `trio.to_thread.run_sync`."""
    return _InTask(
        partial(trio.to_thread.run_sync, function, *args, limiter=limiter, abandon_on_cancel=abandon_on_cancel)
    )


def run_now(coroutine: Coroutine[Any, Any, T], spawn: Spawn) -> T | Deferred[T]:
    """Run a coroutine that awaits nothing but Deferreds: its result if it did not have to wait, else a Deferred of it.

    If a task is cancelled that it waits for, it is closed: its `finally` clauses run, which must not await anything,
    and its Deferred is never settled. Raises what the coroutine raises before it waits.
    """
    global _running  # noqa: PLW0603 - see there
    before, _running = _running, True
    try:
        awaited = coroutine.send(None)
        return _Suspended(coroutine, awaited if isinstance(awaited, Deferred) else _refuse_trio(coroutine), spawn)
    except StopIteration as finished:
        result: T = finished.value
        return result
    finally:
        _running = before
        if _ready and not before:
            _continue_ready()


class _Suspended(Deferred[T]):
    """The result of a coroutine that waits for `awaited`, and that continues by itself."""

    __slots__ = ("_coroutine", "_spawn")

    def __init__(self, coroutine: Coroutine[Any, Any, T], awaited: Deferred[Any], spawn: Spawn) -> None:
        super().__init__()
        self._coroutine = coroutine
        self._spawn = spawn
        self._wait_for(awaited)

    def _wait_for(self, awaited: Deferred[Any]) -> None:
        awaited.start(self._spawn, self._coroutine.close)
        awaited.subscribe(self._wake)

    def _wake(self) -> None:
        _ready.append(self._continue)
        if not _running:
            _continue_ready()

    def _continue(self) -> None:
        try:
            awaited = self._coroutine.send(None)
            if not isinstance(awaited, Deferred):
                awaited = _refuse_trio(self._coroutine)
        except StopIteration as finished:
            self.resolve(finished.value)
        except Exception as error:
            self.fail(error)
        else:
            self._wait_for(awaited)


def _refuse_trio(coroutine: Coroutine[Any, Any, object]) -> Deferred[Any]:
    """Raise an error in a coroutine that awaited something else than a Deferred; the next Deferred that it awaits."""
    while True:
        awaited = coroutine.throw(RuntimeError("a handler awaited trio outside of a task; use in_task"))
        if isinstance(awaited, Deferred):
            return awaited


def _continue_ready() -> None:
    global _running  # noqa: PLW0603 - see there
    _running = True
    try:
        while _ready:
            _ready.popleft()()
    finally:
        _running = False


# What other threads hand to the event loop is run between two requests as well as between two passes of the loop. A
# pass reads from every client that sent something: with 32 of them that recall, it takes 30 ms, and a write would wait
# for three (until its batch begins, until its commit is known, and until the reply is sent).


class Token(Protocol):
    """The part of trio's token that is needed."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` in the next pass of the event loop; callable from any thread."""
        ...


class Completions:
    """A queue of calls. `run_sync_soon` is for any thread, all else for that of the event loop."""

    def __init__(self, token: Token) -> None:
        self._token = token
        self._pending: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self._pass_requested = False
        """True while a pass of the event loop is to come. A thread adds its call before it reads this, so that such a
        pass still finds the call."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` after the request that is being answered, in the next pass of the event loop at the latest."""
        self._pending.append((sync_fn, args))
        if not self._pass_requested:
            self._pass_requested = True
            self._token.run_sync_soon(self._pass)

    def _pass(self) -> None:
        self._pass_requested = False
        self.run_pending()

    def run_pending(self) -> None:
        """Make the calls of the queue; those that they add are for the next time. One that raises ends the event loop,
        as it would in a pass of its own, and not the request before it."""
        for _ in range(len(self._pending)):
            call, arguments = self._pending.popleft()
            try:
                call(*arguments)
            except Exception as error:
                self._token.run_sync_soon(_raise, error)


def _raise(error: Exception) -> None:
    raise error
