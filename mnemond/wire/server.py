"""Accepts connections, enforces their deadlines, and stops without leaving a received request unanswered."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import select
import socket
import struct
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.connection import Connection
from mnemond.wire.dispatch import Call, Dispatcher
from mnemond.wire.hooks import HookHandler, Hooks
from mnemond.wire.jsonrpc import NO_ID, encode_error
from mnemond.wire.limits import Counters, Limits, SpareDescriptors
from mnemond.wire.listener import Listener

_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_OUT_OF_MEMORY = (errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1
"""Pause of accepting when the system has no room for another connection; it would spin otherwise."""

PENDING_INTERVAL_S = 0.005
"""Seconds between two runs of `Server.between_requests` within one pass of the event loop."""


class Server:
    """Serves one listening socket. Build it, `serve` once, `request_stop` from anywhere on the event loop."""

    def __init__(self, dispatcher: Dispatcher, limits: Limits, hook_handler: HookHandler | None = None) -> None:
        self.dispatcher = dispatcher
        self.hooks = Hooks(hook_handler, dispatcher)
        self.limits = limits
        self.counters = Counters()
        self._allowed = limits.allowed_connections()
        self._uid = os.geteuid()
        self._connections: dict[int, Connection] = {}
        self.on_takes_events: Callable[[int], None] = lambda _: None
        """Called with the number of a connection that refused an event and takes events again."""
        self.on_closed: Callable[[int], None] = lambda _: None
        """Called with the number of a connection that is closed."""
        self.between_requests: Callable[[], object] = lambda: None
        """Runs what other threads have handed over."""
        self._pending_run_at = -math.inf
        self._dirty: dict[Connection, None] = {}
        self._flush = trio.Event()
        self._stop = trio.Event()
        self.stop_requested_at = math.inf
        """On trio's clock; infinite before a stop is requested."""
        self._emptied = trio.Event()
        self._spare = SpareDescriptors()
        self._leaving = 0
        self._nursery: trio.Nursery | None = None
        self._ended = False

    def request_stop(self) -> None:
        """Answer everything received, then let `serve` return. Idempotent."""
        if not self._stop.is_set():
            self.stop_requested_at = trio.current_time()
            self._stop.set()

    async def stop_requested(self) -> None:
        """Return once a stop was requested."""
        await self._stop.wait()

    async def emptied(self) -> None:
        """Return once no client is connected any more."""
        await self._emptied.wait()

    def apply_settings(self, limits: Limits) -> None:
        """Use these limits from now on; a connection keeps those it began with."""
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

    def send_event(self, number: int, line: bytes) -> bool:
        """Send a message that is not a reply to the connection of this number. False if it is closed, and if it has too
        much unsent (`on_takes_events` is called when that is sent)."""
        connection = self._connections.get(number)
        return connection is not None and connection.send_event(line)

    # ---------------------------------------------------------------- called by connections

    def spawn(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run an async function in a task that ends with `serve` at the latest. Raises MnemonError(STOPPING) after
        that: a handler may continue once its write is committed, when its reply can no longer be sent."""
        if self._nursery is None:
            raise RuntimeError("the server is not serving")
        if self._ended:
            raise MnemonError(errors.STOPPING, "the daemon stopped before the request was answered")
        self._nursery.start_soon(run)

    def flush_soon(self, connection: Connection) -> None:
        """Send the connection's replies after the request that is being answered, in the next pass of the event loop
        at the latest, once for all that are added until then."""
        self._dirty[connection] = None
        self._flush.set()

    def run_pending(self) -> None:
        """Between two requests of any client: run what other threads have handed over, and send what results."""
        now = trio.current_time()
        if now - self._pending_run_at < PENDING_INTERVAL_S:
            return
        self._pending_run_at = now
        self.between_requests()
        if self._dirty:
            self._flush_all()

    def takes_events(self, connection: Connection) -> None:
        """A connection that refused an event has sent everything."""
        self.on_takes_events(connection.number)

    def remove(self, connection: Connection) -> None:
        """The connection is closed."""
        if self._connections.pop(connection.number, None) is not None:
            self.on_closed(connection.number)
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
                trio.lowlevel.notify_closing(listener.socket)  # so that the accepting task recovers it
            now = trio.current_time()
            for connection in list(self._connections.values()):
                self.counters.cut += connection.enforce(now)

    # ---------------------------------------------------------------- accepting

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
        """Be reachable again, or stop in favour of a daemon that is."""
        with self.dispatcher.boundary() as boundary:
            listener.regain()
        if boundary.reply is not None:
            self.request_stop()

    async def _accept_some(self, listener: Listener) -> bool:
        """Accept and serve for one turn; True, after the turn of the other tasks, if more may be waiting."""
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
        if error.errno in _OUT_OF_DESCRIPTORS and self._spare.release():
            return self._refuse_with_spare_descriptor(listener)
        if error.errno in _OUT_OF_DESCRIPTORS + _OUT_OF_MEMORY:
            await trio.sleep(_PAUSE_S)
            return False
        return error.errno != errno.EINVAL  # of a socket that refuses newcomers: the backlog is empty

    def _refuse_with_spare_descriptor(self, listener: Listener) -> bool:
        """Accept a client with the released descriptor to refuse it; False if there was none. Without a descriptor
        accepting fails even when no client waits, so only this can end the loop."""
        try:
            sock, _ = listener.socket.accept()
        except OSError:
            return False
        else:
            self._refuse(sock, "the daemon has no file descriptor left")
            sock.close()
            return True
        finally:
            self._spare.top_up()

    def _welcome(self, sock: socket.socket) -> None:
        """Serve a new connection. A client that sends one request and is done is answered and gone when this returns;
        only one that stays gets a task."""
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
        if self._make_room():
            self._admit(sock, pid, uid)
        elif self._leaving < MAX_LEAVING:
            self._leaving += 1
            self.spawn(lambda: self._look_and_refuse(sock, pid, uid))
        else:
            self._refuse(sock, self._too_many())
            sock.close()

    def _too_many(self) -> str:
        return f"{len(self._connections)} connections are open; the limit is {self._allowed}"

    def _admit(self, sock: socket.socket, pid: int, uid: int, *, once: bool = False) -> None:
        """Serve a client; with `once` only what it has sent already."""
        self.counters.accepted += 1
        number = self.counters.accepted
        call = Call(number, pid, uid, gone=partial(is_gone, sock), notify=partial(self.send_event, number))
        connection = Connection(sock, call, self)
        self._connections[connection.number] = connection
        self.counters.connections = len(self._connections)
        with self.dispatcher.boundary() as boundary:
            if connection.serve_once() and connection.unfinished and not once:
                connection.serve_once()
            if once:
                connection.stop_reading()
        if boundary.reply is not None:
            connection.close()
        if connection.unfinished:
            self.spawn(lambda: self._serve(connection))

    async def _serve(self, connection: Connection) -> None:
        with self.dispatcher.boundary() as boundary:
            await connection.serve()
        if boundary.reply is not None:
            connection.close()

    def _make_room(self) -> bool:
        """Return True if there is room for one more connection, after closing the longest-idle one if need be."""
        if len(self._connections) < self._allowed:
            return True
        now = trio.current_time()
        idle = [one for one in self._connections.values() if one.idle_s(now) >= self.limits.idle_s]
        for connection in sorted(idle, key=lambda one: one.idle_s(now), reverse=True):
            if connection.evict():
                self.counters.evicted += 1
                return True
        return False

    def _refuse(self, sock: socket.socket, sentence: str) -> bool:
        """Tell a client why it is not served; return True if it may still be sending."""
        self.counters.refused += 1
        sock.setblocking(False)
        send_final_error(sock, MnemonError(errors.TOO_MANY_CONNECTIONS, sentence, hint="try again", outcome="rejected"))
        return discard(sock)

    async def _look_and_refuse(self, sock: socket.socket, pid: int, uid: int) -> None:
        """Refuse a client at the limit, unless it asks for something that has to work there."""
        try:
            with trio.move_on_after(LINGER_S):
                await trio.lowlevel.wait_readable(sock)
            is_free = len(self._connections) < self._allowed + RESERVED
            if is_free and begins_with_reserved(sock):
                self._admit(sock, pid, uid, once=True)
            elif self._refuse(sock, self._too_many()):
                await drain_and_close(sock)
            else:
                sock.close()
        finally:
            self._leaving -= 1

    # ---------------------------------------------------------------- stopping

    async def _drain(self, listener: Listener) -> None:
        listener.refuse_newcomers()
        while await self._accept_some(listener):
            pass
        for connection in list(self._connections.values()):
            connection.stop_reading()
        while self._connections:
            self._emptied = trio.Event()
            await self._emptied.wait()

    def _abandon(self) -> None:
        for connection in list(self._connections.values()):
            self.counters.abandoned += connection.unanswered
            connection.close()
        self._spare.close()


# ---------------------------------------------------------------- the process at the other end of a Unix socket

_LINUX = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))
_DARWIN = struct.Struct("2I")  # beginning of struct xucred: version, uid (sys/ucred.h)
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002  # sys/un.h of macOS


def credentials(sock: socket.socket) -> tuple[int, int]:
    """Return (pid, uid) of the process that connected, from the kernel; pid 0 if unknown. Raises OSError if the socket
    is no longer connected."""
    if sys.platform == "darwin":  # pragma: no cover - the tests run where SO_PEERCRED is
        _, uid = _DARWIN.unpack(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)[: _DARWIN.size])
        (pid,) = struct.unpack("i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
        return pid, uid
    pid, uid, _ = _LINUX.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX.size))
    return pid, uid


def is_gone(sock: socket.socket) -> bool:
    """Return True if no process can read what is sent: the other end is closed, or this one. A client that only stopped
    sending still reads. Where the system does not distinguish the two, only closing this end counts."""
    descriptor = sock.fileno()
    if descriptor < 0:
        return True
    if sys.platform != "linux":  # pragma: no cover - macOS reports a hang-up for a half-closed socket as well
        return False
    poller = select.poll()
    poller.register(descriptor, 0)  # a hang-up is reported in any case
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))


# ---------------------------------------------------------------- refusing a client so that it learns the reason

LINGER_S = 1.0
"""For a refused client to read the reason. Most write their request first, and a write to a closed socket fails before
anything is read."""

MAX_LEAVING = 16
"""Refused clients that may linger at once: a quarter of the descriptors kept beside the connections."""

RESERVED: Final = 4
"""Connections beyond the limit, for one message each: looking at the daemon and stopping it have to work then."""

_RESERVED_FOR: Final = re.compile(
    rb'"method": ?"(?:hello|status|store\.list|jobs\.list|sync\.status|verify|daemon\.stop)"|"argv": ?\["status"'
)
"""What `mnemonctl status`, `doctor`, `daemon status` and `daemon stop` send."""

_BEGINNING_BYTES: Final = 512


def begins_with_reserved(sock: socket.socket) -> bool:
    """Return True if a client that has not been read yet asks for something that works at the limit of connections."""
    try:
        return _RESERVED_FOR.search(sock.recv(_BEGINNING_BYTES, socket.MSG_PEEK)) is not None
    except OSError:
        return False


_READ_BYTES = 65536
_READS = 16
"""Reads at once, and times that a client which goes on sending is waited for: 1 MiB, 16 times."""


def send_final_error(sock: socket.socket, error: MnemonError) -> None:
    """Send a client that gets no connection the reason, as far as its socket takes it without waiting, and the end of
    the stream."""
    with contextlib.suppress(OSError):
        sock.send(encode_error(NO_ID, error) + b"\n")
        sock.shutdown(socket.SHUT_WR)


def discard(sock: socket.socket) -> bool:
    """Read what a refused client has sent, without waiting; return True if more may come. Closing a Unix socket with
    something unread would make the client's next read fail instead of returning the reason."""
    for _ in range(_READS):
        try:
            if not sock.recv(_READ_BYTES):
                return False
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


async def drain_and_close(sock: socket.socket) -> None:
    """Close the socket once the client has left or sent too much, or after LINGER_S."""
    with sock, trio.move_on_after(LINGER_S):
        for _ in range(_READS):
            await trio.lowlevel.wait_readable(sock)
            if not discard(sock):
                return
