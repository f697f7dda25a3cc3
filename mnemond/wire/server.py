"""Accepts connections, watches their deadlines, and stops without leaving a received request unanswered."""

from __future__ import annotations

import errno
import math
import os
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.connection import (
    MAX_LEAVING,
    Connection,
    credentials,
    discard,
    drain_and_close,
    is_gone,
    send_final_error,
)
from mnemond.wire.dispatch import Call, Dispatcher
from mnemond.wire.hooks import HookHandler, Hooks
from mnemond.wire.limits import Counters, Limits, SpareDescriptors
from mnemond.wire.listener import Listener

_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_OUT_OF_MEMORY = (errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1
"""How long accepting rests when the system has no room for another connection; it would spin otherwise."""

TAKE_UP_S = 0.005
"""Between two looks at what other threads have finished, in a pass of the event loop that is longer."""


class Server:
    """Serves one listening socket. Build it, `serve` once, `request_stop` from anywhere on the event loop."""

    def __init__(self, dispatcher: Dispatcher, limits: Limits, hearer: HookHandler | None = None) -> None:
        """`hearer` is told what the hooks of coding agents say."""
        self.dispatcher = dispatcher
        self.hooks = Hooks(hearer, dispatcher)
        self.limits = limits
        self.counters = Counters()
        self._allowed = limits.allowed_connections()
        self._uid = os.geteuid()
        self._connections: set[Connection] = set()
        self._numbered: dict[int, Connection] = {}
        self.on_drained: Callable[[int], None] = _nobody
        """Hears the number of a connection that can be told something again."""
        self.on_gone: Callable[[int], None] = _nobody
        """Hears the number of a connection that is closed."""
        self.between: Callable[[], object] = _nothing
        """Called between two requests: does what other threads have asked for."""
        self._taken_up_at = -math.inf
        self._dirty: dict[Connection, None] = {}
        self._flush = trio.Event()
        self._stop = trio.Event()
        self.stop_requested_at = math.inf
        """On trio's clock; infinite before a stop was asked for."""
        self._emptied = trio.Event()
        self._spare = SpareDescriptors()
        self._leaving = 0
        self._nursery: trio.Nursery | None = None
        self._ended = False

    def request_stop(self) -> None:
        """Answer everything received, then let `serve` return. Asking twice changes nothing."""
        if not self._stop.is_set():
            self.stop_requested_at = trio.current_time()
            self._stop.set()

    async def stop_requested(self) -> None:
        """Returns when a stop was asked for."""
        await self._stop.wait()

    def apply_settings(self, limits: Limits) -> None:
        """Other limits from now on; a connection keeps those it began with."""
        self.limits = limits
        self._allowed = limits.allowed_connections()

    async def serve(self, listener: Listener, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Accept and answer until `request_stop`, then drain for at most `limits.drain_s`. The listener stays open
        for its owner to close."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._spare.top_up()
            try:
                nursery.start_soon(self._flusher)
                nursery.start_soon(self._sweeper, listener)
                task_status.started()
                await self._accept_until_stopped(listener)
                with trio.move_on_after(self.limits.drain_s):
                    await self._drain(listener)
            finally:
                self._ended = True
                self._abandon()
                nursery.cancel_scope.cancel()

    # ---------------------------------------------------------------- what connections ask for

    def spawn(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run an async function in a task that ends with `serve` at the latest. Raises MnemonError(STOPPING) after
        that: a handler may continue once its write is committed, when nobody waits for its reply any more."""
        if self._nursery is None:
            raise RuntimeError("the server is not serving")
        if self._ended:
            raise MnemonError(errors.STOPPING, "the daemon stopped before the request was answered")
        self._nursery.start_soon(run)

    def flush_soon(self, connection: Connection) -> None:
        """Send the connection's replies after the request that is being answered, in the next pass of the event loop
        at the latest, once for all that come until then."""
        self._dirty[connection] = None
        self._flush.set()

    def take_up(self) -> None:
        """Between two requests of any client: hear what other threads have finished, and send what came of it."""
        now = trio.current_time()
        if now - self._taken_up_at < TAKE_UP_S:
            return
        self._taken_up_at = now
        self.between()
        if self._dirty:
            self._flush_all()

    def tell(self, connection: int, line: bytes) -> bool:
        """Send a message that answers nothing. False where the client lags (`on_drained` hears when it no longer does)
        and where it has gone."""
        found = self._numbered.get(connection)
        return found is not None and found.tell(line)

    def drained(self, connection: Connection) -> None:
        """It can be told something again."""
        self.on_drained(connection.number)

    def forget(self, connection: Connection) -> None:
        """The connection is closed."""
        if self._numbered.pop(connection.number, None) is not None:
            self.on_gone(connection.number)
        self._connections.discard(connection)
        self._dirty.pop(connection, None)
        self.counters.connections = len(self._connections)
        if not self._connections:
            self._emptied.set()

    # ---------------------------------------------------------------- tasks

    async def _flusher(self) -> None:
        while True:
            await self._flush.wait()
            self._flush = trio.Event()
            self._flush_all()

    def _flush_all(self) -> None:
        dirty, self._dirty = self._dirty, {}
        for connection in dirty:
            connection.flush()

    async def _sweeper(self, listener: Listener) -> None:
        while True:
            await trio.sleep(self.limits.sweep_s)
            if listener.lost:
                trio.lowlevel.notify_closing(listener.socket)  # so that the task that accepts looks after it
            now = trio.current_time()
            for connection in list(self._connections):
                self.counters.cut += connection.enforce(now)

    async def _accept_until_stopped(self, listener: Listener) -> None:
        async with trio.open_nursery() as accepting:
            accepting.start_soon(self._accept_forever, listener)
            await self._stop.wait()
            accepting.cancel_scope.cancel()

    async def _accept_forever(self, listener: Listener) -> None:
        while True:
            lost = False
            try:
                await trio.lowlevel.wait_readable(listener.socket)
            except trio.ClosedResourceError:
                lost = True
            while await self._accept_some(listener):
                pass
            if lost:
                self._regain(listener)

    def _regain(self, listener: Listener) -> None:
        """Be reachable again, or make room for a daemon that is."""
        with self.dispatcher.boundary() as boundary:
            listener.regain()
        if boundary.reply is not None:
            self.request_stop()

    async def _accept_some(self, listener: Listener) -> bool:
        """Accept and serve for one turn; whether more may be waiting. The others have had theirs when it says so."""
        turn_ends = trio.current_time() + self.limits.inline_ms / 1000
        self._spare.top_up()
        while trio.current_time() < turn_ends:
            try:
                sock, _ = listener.socket.accept()
            except BlockingIOError:
                return False
            except OSError as error:
                return await self._accept_failed(listener, error)
            self._welcome(sock)
        await trio.lowlevel.checkpoint()
        return True

    async def _accept_failed(self, listener: Listener, error: OSError) -> bool:
        await trio.lowlevel.checkpoint()
        if error.errno in _OUT_OF_DESCRIPTORS and self._spare.give_up():
            return self._turn_away(listener)
        if error.errno in _OUT_OF_DESCRIPTORS + _OUT_OF_MEMORY:
            await trio.sleep(_PAUSE_S)
            return False
        return error.errno != errno.EINVAL  # of a socket that refuses newcomers: the backlog is empty

    def _turn_away(self, listener: Listener) -> bool:
        """A descriptor was given up: accept a client with it and tell it so. Whether there was a client: without a
        descriptor accepting fails even when nobody waits, so only this can end the loop."""
        try:
            sock, _ = listener.socket.accept()
        except OSError:
            return False
        else:
            self._refuse(sock, "the daemon has no file descriptor left", may_linger=False)
            return True
        finally:
            self._spare.top_up()

    def _refuse(self, sock: socket.socket, sentence: str, *, may_linger: bool) -> None:
        self.counters.refused += 1
        sock.setblocking(False)
        send_final_error(sock, MnemonError(errors.TOO_MANY_CONNECTIONS, sentence, hint="try again", outcome="rejected"))
        if discard(sock) and may_linger and self._leaving < MAX_LEAVING:
            self._leaving += 1
            self.spawn(lambda: self._see_out(sock))
        else:
            sock.close()

    async def _see_out(self, sock: socket.socket) -> None:
        try:
            await drain_and_close(sock)
        finally:
            self._leaving -= 1

    def _room(self) -> bool:
        """Whether there is room for one more, if need be in the place of the one that is idle for longest."""
        if len(self._connections) < self._allowed:
            return True
        now = trio.current_time()
        idle = [one for one in self._connections if one.idle_s(now) >= self.limits.idle_s]
        for connection in sorted(idle, key=lambda one: one.idle_s(now), reverse=True):
            if connection.make_way():
                self.counters.made_way += 1
                return True
        return False

    def _welcome(self, sock: socket.socket) -> None:
        """Serve a new connection. A client that sends one request and is done is answered and gone when this
        returns; only one that stays gets a task."""
        try:
            pid, uid = credentials(sock)
            sock.setblocking(False)
        except OSError:
            sock.close()
            return
        if uid != self._uid:
            self.counters.refused += 1
            sock.close()
            return
        if not self._room():
            sentence = f"{len(self._connections)} connections are open; the limit is {self._allowed}"
            self._refuse(sock, sentence, may_linger=True)
            return
        self.counters.accepted += 1
        connection = Connection(sock, Call(self.counters.accepted, pid, uid, gone=partial(is_gone, sock)), self)
        self._connections.add(connection)
        self._numbered[connection.number] = connection
        self.counters.connections = len(self._connections)
        with self.dispatcher.boundary() as boundary:
            if connection.serve_once() and connection.unfinished:
                connection.serve_once()
        if boundary.reply is not None:
            connection.close()
        if connection.unfinished:
            self.spawn(lambda: self._converse(connection))

    async def _converse(self, connection: Connection) -> None:
        with self.dispatcher.boundary() as boundary:
            await connection.converse()
        if boundary.reply is not None:
            connection.close()

    # ---------------------------------------------------------------- stopping

    async def _drain(self, listener: Listener) -> None:
        listener.refuse_newcomers()
        while await self._accept_some(listener):
            pass
        for connection in list(self._connections):
            connection.last_call()
        while self._connections:
            self._emptied = trio.Event()
            await self._emptied.wait()

    def _abandon(self) -> None:
        for connection in list(self._connections):
            self.counters.abandoned += connection.unanswered
            connection.close()
        self._spare.close()


def _nobody(_connection: int) -> None:
    """Nobody wants to hear of it."""


def _nothing() -> None:
    """No other thread asks for anything."""
