"""One connection: bytes in, requests handled where they are read, replies out.

Nothing here starts a task or opens a cancel scope for a request: on a round trip of some 20 µs each of them would cost
6 to 40 µs more. Reads and writes go straight to the non-blocking socket; waiting happens only when it has nothing.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import Batch, Call, Dispatcher, Gathering, Reply
from mnemond.wire.framing import Framer
from mnemond.wire.hooks import Hooks
from mnemond.wire.jsonrpc import NO_ID, Foreign, Refused, Request, encode_error, parse, perhaps_foreign
from mnemond.wire.limits import Counters, Limits

# What a connection needs of the server that accepted it.


C_contra = TypeVar("C_contra", contravariant=True)


class Host(Protocol[C_contra]):
    """What a connection needs of its server."""

    dispatcher: Dispatcher
    hooks: Hooks
    limits: Limits
    counters: Counters

    def spawn(self, run: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Run something in a task that ends with the server at the latest."""

    def flush_soon(self, connection: C_contra, /) -> None:
        """Send the connection's replies in the next pass of the event loop."""

    def take_up(self) -> None:
        """A request was answered: hear what other threads have finished meanwhile, and send what came of it."""

    def drained(self, connection: C_contra, /) -> None:
        """Everything is sent of a connection that could not be told something before."""

    def forget(self, connection: C_contra, /) -> None:
        """The connection is closed."""


RECEIVE_BYTES = 65536
"""One read. Much larger buffers cost more than they save: 1 MiB takes ten times as long as 64 KiB."""

SEND_BYTES = 1 << 20
"""One write at most. The kernel takes about 200 kB from a reader that lags, everything from one that keeps up."""

UNASKED_BYTES = 1 << 16
"""What a client has not taken yet must be less, or it is told nothing unasked: events are kept once for all, what is on
its way for each. Some 300 events."""

OPTIMISTIC_CONNECTIONS = 4
"""Up to so many open connections, reading is tried again before waiting: one client gains a third of its round trip,
64 lose as much (each try that finds nothing costs a system call and an exception)."""


class Connection:
    """Reads until it `ended`, answers everything it has read, then closes itself."""

    __slots__ = (
        "_arrived", "_begun", "_blocked", "_call", "_framer", "_gate", "_gathering", "_host", "_in_flight", "_inbox",
        "_lagging", "_last_call", "_last_turn", "_limits", "_out", "_quiet_since", "_rest", "_socket", "_spoke",
        "_stalled", "_turn_ends", "_unsent", "closed", "ended", "number",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, call: Call, host: Host[Connection]) -> None:
        self._socket = sock
        self._call = call
        self.number = call.connection
        self._host = host
        self._limits = host.limits
        self._framer = Framer(host.limits.message_bytes)
        self._inbox: deque[tuple[bytes | Request | Refused, Batch | None]] = deque()
        self._in_flight = 0
        self._gathering = Gathering(host.limits.batch_bytes)
        self._out: deque[bytes] = deque()
        self._rest: bytes | memoryview = b""
        self._unsent = 0
        self._blocked = False
        self._lagging = False
        self._gate: trio.Event | None = None
        self._last_call = False
        self._spoke = False
        self._arrived = trio.current_time()
        self._begun: float | None = None
        self._stalled: float | None = None
        self._turn_ends = self._last_turn = self._arrived + host.limits.inline_ms / 1000
        self._quiet_since = self._arrived
        self.ended = False
        self.closed = False

    # ---------------------------------------------------------------- reading

    @property
    def unfinished(self) -> bool:
        """Whether a task is still needed to read from it or to work on what was read."""
        return not self.closed and (not self.ended or bool(self._inbox))

    def serve_once(self) -> bool:
        """Read once and answer at once, without waiting. False when there was nothing to read."""
        if not self._receive():
            return False
        self._work()
        self.flush()
        return True

    async def converse(self) -> None:
        """Read and answer until the end."""
        while self.unfinished:
            if not self._inbox:
                await self._read()
            elif not self._open:
                await self._opened()
            self._work()
            self.flush()
            self._host.take_up()
            if trio.current_time() >= self._turn_ends:
                await trio.lowlevel.checkpoint()
                self._new_turn()

    def last_call(self) -> None:
        """Read what has arrived already, and no more."""
        self._last_call = True
        trio.lowlevel.notify_closing(self._socket)

    async def _read(self) -> None:
        """Wait until something is read, or until there is nothing more to read."""
        attempts = self._hopes()
        while not self.ended:
            for _ in range(attempts):
                if self._receive():
                    return
                if self._last_call:
                    self.ended = True
                    return
            with contextlib.suppress(trio.ClosedResourceError):  # somebody wants this task to look again
                await trio.lowlevel.wait_readable(self._socket)
            self._new_turn()
            attempts = max(1, self._hopes())

    def _hopes(self) -> int:
        """How often to try before waiting. A lone client that has its answer sends again within microseconds; one
        that still waits for an answer does not, and among many clients trying costs more than it gains."""
        if self._last_call:
            return 1
        if self._in_flight:
            return 0
        return self._limits.optimistic_reads if self._host.counters.connections <= OPTIMISTIC_CONNECTIONS else 1

    def _receive(self) -> bool:
        """One read; False when nothing is there. At the end of the stream the last message needs no newline."""
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            self.close()
            return True
        framer = self._framer
        messages = framer.feed(data) if data else framer.finish()
        for message in messages:
            self._inbox.append((message, None))
            self._spoke = True
        self.ended = not data
        if framer.overlong:
            sentence = f"the message is longer than the limit of {self._limits.message_bytes} bytes; nothing was done"
            self._end_with(MnemonError(errors.TOO_LARGE, sentence, outcome="rejected"))
        if not framer.pending:
            self._begun = None
        elif messages or self._begun is None:
            self._begun = trio.current_time()
        return True

    def _end_with(self, error: MnemonError) -> None:
        """Read no more, and say why when everything before is answered."""
        self.ended = True
        self._inbox.append((perhaps_foreign(self._framer.beginning, Refused(error), whole=False), None))

    # ---------------------------------------------------------------- working

    def _work(self) -> None:
        while self._inbox and self._open:
            item, batch = self._inbox.popleft()
            if isinstance(item, bytes):
                self._unpack(item)
            else:
                self._handle(item, batch)
            if self._inbox and trio.current_time() >= self._turn_ends:
                return

    def _unpack(self, message: bytes) -> None:
        self._host.counters.messages += 1
        parsed = parse(message)
        if isinstance(parsed, list):
            batch = Batch(len(parsed), self._gathering)
            self._inbox.extendleft((request, batch) for request in reversed(parsed))
        else:
            self._handle(parsed, None)

    def _handle(self, request: Request | Refused, batch: Batch | None) -> None:
        dispatcher = self._host.dispatcher
        answer: Reply | Deferred[Reply]
        if isinstance(request, Refused):
            answer = self._told(request)
        elif batch is not None and batch.full:
            answer = dispatcher.refused(request, batch.refusal())
        else:
            answer = dispatcher.answer(request, self._call, self._host.spawn)
        if isinstance(answer, Deferred):
            self._in_flight += 1
            answer.subscribe(self._settled(answer, request, batch))
        else:
            self._deliver(answer, batch)

    def _told(self, refused: Refused) -> Reply | Deferred[Reply]:
        """What is answered to something that is no request."""
        if isinstance(refused, Foreign):
            return self._host.hooks.answer(refused, self._call, self._host.spawn, self._limits.hook_s)
        return encode_error(refused.id, refused.error)

    def _settled(self, answer: Deferred[Reply], request: Request | Refused, batch: Batch | None) -> Callable[[], None]:
        def settle() -> None:
            self._in_flight -= 1
            if not self.closed:
                reply = answer.result()
                if batch is not None and isinstance(request, Request) and not batch.has_room(reply):
                    reply = self._host.dispatcher.dropped(request, batch.refusal().message)
                self._deliver(reply, batch)
                self._host.flush_soon(self)
                self._open_gate()

        return settle

    def _deliver(self, reply: Reply, batch: Batch | None) -> None:
        if batch is not None:
            pieces = batch.add(reply)
            if pieces:
                self._out += (*pieces, b"\n")
                self._unsent += sum(map(len, pieces)) + 1
        elif reply is not None:
            self._out += (reply, b"\n")
            self._unsent += len(reply) + 1

    def tell(self, line: bytes) -> bool:
        """Send a message that answers nothing, without its line break. False, and nothing sent, where the client has
        not taken what it was sent before: its host hears once it has."""
        if self._unsent >= UNASKED_BYTES:
            self._lagging = True
            return False
        self._deliver(line, None)
        self._host.flush_soon(self)
        return True

    # ---------------------------------------------------------------- bounds

    @property
    def _open(self) -> bool:
        """Whether this client may have more done for it before it has taken what is ready."""
        return self._in_flight < self._limits.in_flight and self._unsent < self._limits.unsent_bytes

    async def _opened(self) -> None:
        self._gate = trio.Event()
        await self._gate.wait()
        self._gate = None
        self._new_turn()
        if self._begun is not None:
            self._begun = trio.current_time()  # we were not reading: the wait was ours

    def _open_gate(self) -> None:
        if self._gate is not None and (self._open or self.closed):
            self._gate.set()

    def _new_turn(self) -> None:
        self._turn_ends = trio.current_time() + self._limits.inline_ms / 1000

    def enforce(self, now: float) -> bool:
        """Cut the connection off if it missed a deadline at `now`; whether it did."""
        if self._turn_ends != self._last_turn or self.unanswered:
            self._last_turn = self._turn_ends  # noticed here and not on the way of each request, which must be short
            self._quiet_since = now
        if self._stalled is not None and now - self._stalled >= self._limits.write_stall_s:
            self.close()
            return True
        late = None if self.ended or self._inbox else self._late(now)
        if late is None:
            return False
        self._end_with(MnemonError(errors.TIMED_OUT, late, outcome="rejected"))
        trio.lowlevel.notify_closing(self._socket)
        return True

    def _late(self, now: float) -> str | None:
        if self._begun is not None and now - self._begun >= self._limits.whole_message_s:
            return f"a message was not complete {self._limits.whole_message_s:g} s after its first byte"
        if self._begun is None and not self._spoke and now - self._arrived >= self._limits.first_byte_s:
            return f"no message began within {self._limits.first_byte_s:g} s of connecting"
        return None

    def idle_s(self, now: float) -> float:
        """How long it neither said anything nor waited for anything, to within two sweeps; 0 while it does, and for
        one whose deadlines run."""
        quiet = self._spoke and self._begun is None and not self.ended and not self.unanswered
        return now - self._quiet_since if quiet else 0.0

    def make_way(self) -> bool:
        """Close an idle connection, unless it has just said something that is not read yet; whether it is closed."""
        with contextlib.suppress(OSError):
            if not self.closed and self._socket.recv(1, socket.MSG_PEEK):
                return False
        sentence = "all connections are taken; this one was idle for longest and makes way for another"
        self._end_with(MnemonError(errors.TIMED_OUT, sentence, hint="connect again", outcome="rejected"))
        self._work()
        self.flush()
        self.close()
        return True

    # ---------------------------------------------------------------- writing

    def flush(self) -> None:
        """Send all replies at once; what the socket does not take is left to a task. Closes when all is done."""
        if not self._blocked and not self._send():
            self._blocked = True
            self._host.spawn(self._write_out)
        self._close_if_done()

    async def _write_out(self) -> None:
        while not self.closed and not self._send():
            try:
                await trio.lowlevel.wait_writable(self._socket)
            except trio.ClosedResourceError:
                continue  # meant for the reader, or closed
        self._blocked = False
        self._close_if_done()

    def _send(self) -> bool:
        """One write of at most SEND_BYTES; whether nothing is left. What is left waits until the others have had their
        turn, and is never copied."""
        unsent = self._unsent
        if not unsent:
            return True
        data = self._rest or self._next_piece()
        try:
            sent = self._socket.send(data if unsent <= SEND_BYTES else data[:SEND_BYTES])
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return True
        self._unsent = unsent - sent
        if sent == unsent:
            self._rest = b""
            self._stalled = None
            if self._lagging:
                self._lagging = False
                self._host.drained(self)
        else:
            self._rest = memoryview(data)[sent:]
            if sent or self._stalled is None:
                self._stalled = trio.current_time()
        if self._gate is not None:
            self._open_gate()
        return sent == unsent

    def _next_piece(self) -> bytes:
        """As many replies as make one write; a longer one is alone."""
        out = self._out
        size = self._unsent
        if size <= SEND_BYTES:
            data = b"".join(out)
            out.clear()
            return data
        pieces = [out.popleft()]
        size = len(pieces[0])
        while out and (size := size + len(out[0])) <= SEND_BYTES:
            pieces.append(out.popleft())
        return b"".join(pieces)

    def _close_if_done(self) -> None:
        if self.ended and not self._inbox and not self._in_flight and not self._unsent:
            self.close()

    @property
    def unanswered(self) -> bool:
        """Whether anything read has not been answered to the end."""
        return bool(self._inbox or self._in_flight or self._unsent)

    def close(self) -> None:
        """Let go of the client, at once."""
        if self.closed:
            return
        self.closed = self.ended = True
        self._inbox.clear()
        self._out.clear()
        self._rest = b""
        self._unsent = 0
        trio.lowlevel.notify_closing(self._socket)
        self._socket.close()
        self._open_gate()
        self._host.forget(self)


# Which process is at the other end of a Unix socket; the kernel says so.


_LINUX = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))
_DARWIN = struct.Struct("2I")  # beginning of struct xucred: version, uid (sys/ucred.h)
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002  # sys/un.h of macOS


def credentials(sock: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process that connected; pid 0 where unknown. Raises OSError when the socket is no longer
    connected."""
    if sys.platform == "darwin":  # pragma: no cover - the tests run where SO_PEERCRED is
        _, uid = _DARWIN.unpack(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)[: _DARWIN.size])
        (pid,) = struct.unpack("i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
        return pid, uid
    pid, uid, _ = _LINUX.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX.size))
    return pid, uid


def is_gone(sock: socket.socket) -> bool:
    """Whether nobody can read what is sent: the other end is closed, or this one. Who only stopped sending still
    reads. Where the system does not tell the two apart, nobody is gone before this end is closed."""
    descriptor = sock.fileno()
    if descriptor < 0:
        return True
    if sys.platform != "linux":  # pragma: no cover - macOS reports a hang-up for a half-closed socket as well
        return False
    poller = select.poll()
    poller.register(descriptor, 0)  # a hang-up is told unasked
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))


# Turning a client away so that it learns why.


LINGER_S = 1.0
"""For a refused client to read why. Most write their request first, and a write to a closed socket fails before
anything is read."""

MAX_LEAVING = 16
"""Refused clients that may linger at once: a quarter of the descriptors kept beside the connections."""

_READ_BYTES = 65536
_READS = 16
"""At once, and as often as a client that goes on sending is waited for: 1 MiB, 16 times."""


def send_final_error(sock: socket.socket, error: MnemonError) -> None:
    """Tell a client that gets no connection why, as far as its socket takes it without waiting, and that nothing
    else follows."""
    with contextlib.suppress(OSError):
        sock.send(encode_error(NO_ID, error) + b"\n")
        sock.shutdown(socket.SHUT_WR)


def discard(sock: socket.socket) -> bool:
    """Read what a refused client has sent, without waiting: closing a Unix socket with something unread would make
    the client's next read fail instead of telling it why. Whether more is worth waiting for."""
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
    """Close the socket once the client has left or said too much, or after LINGER_S."""
    with sock, trio.move_on_after(LINGER_S):
        for _ in range(_READS):
            await trio.lowlevel.wait_readable(sock)
            if not discard(sock):
                return
