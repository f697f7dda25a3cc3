"""Following the logs of shared stores: waits for what other daemons write, and applies it.

News only wake: after every connect, and every CHECK_S, the log itself is read (docs/decisions/0072).
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final

import trio

from mnemond.errors import MnemonError
from mnemond.store.shared_log import Listener, LostConnectionError, SharedLog
from mnemond.store.store import Store

CHECK_S: Final = 5.0
"""Seconds after which the log is read without news: a lost one is made up for."""

PAUSES_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before connecting again, the last one again and again."""

Guard = Callable[[], AbstractContextManager[object]]
"""Context that logs unexpected exceptions, so that they end one task only."""


class Followers:
    """A task for each open shared store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._nursery: trio.Nursery | None = None
        self._scopes: dict[str, tuple[Store, trio.CancelScope]] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Follow until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            for store, scope in self._scopes.values():
                nursery.start_soon(self._follow, store, scope)
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None  # a writer that ends a load while the daemon stops starts nothing

    def attach(self, store: Store) -> None:
        """Follow an opened store, if it is shared."""
        if store.shared is None:
            return
        scope = trio.CancelScope()
        self._scopes[store.name] = (store, scope)
        if self._nursery is not None:
            self._nursery.start_soon(self._follow, store, scope)

    def detach(self, name: str) -> None:
        """Stop following a store that is being closed."""
        if (followed := self._scopes.pop(name, None)) is not None:
            followed[1].cancel()

    def start_soon(self, work: Callable[[str], Awaitable[None]], name: str) -> None:
        """Run what follows from news, in a task; without effect once the daemon stops."""
        if self._nursery is not None:
            self._nursery.start_soon(self._guarded, work, name)

    async def _guarded(self, work: Callable[[str], Awaitable[None]], name: str) -> None:
        with self._guard():
            await work(name)

    async def _follow(self, store: Store, scope: trio.CancelScope) -> None:
        shared = store.shared
        assert shared is not None, "it is followed"  # noqa: S101
        with self._guard(), scope:
            failures = 0
            while True:
                try:
                    listener = await _connected(shared)
                    try:
                        failures = await _listen(store, shared, listener)
                    finally:
                        listener.close()
                except (LostConnectionError, MnemonError) as error:
                    shared.note_failure(error)
                await trio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
                failures += 1


async def _connected(shared: SharedLog) -> Listener:
    """Connect a listener in a thread. If this is cancelled, it is closed, by the thread if it comes later."""
    lock, made, given_up = threading.Lock(), list[Listener](), threading.Event()

    def connect() -> Listener:
        listener = shared.listener()
        with lock:
            made.append(listener)
            if given_up.is_set():
                listener.close()
        return listener

    try:
        return await trio.to_thread.run_sync(connect, abandon_on_cancel=True)
    except trio.Cancelled:
        with lock:
            given_up.set()
            for each in made:
                each.close()
        raise


async def _listen(store: Store, shared: SharedLog, listener: Listener) -> int:
    """Apply what others write until the connection is lost; return 0. Raises MnemonError."""
    await store.catch_up()
    while True:
        with trio.move_on_after(CHECK_S):
            await trio.lowlevel.wait_readable(listener.fileno)
        try:
            newest = listener.take()
        except LostConnectionError as error:
            shared.note_failure(error)
            return 0
        if newest == 0 or shared.note_news(newest):
            await store.catch_up()
