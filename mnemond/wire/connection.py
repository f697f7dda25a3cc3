"""One connection: bytes in, requests handled where they are read, replies out.

Nothing here starts a task or opens a cancel scope for a request: on a round trip of some 20 µs each of them would cost
6 to 40 µs more. Reads and writes go straight to the non-blocking socket; only when it has nothing does the task wait.
"""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import Call, Dispatcher, Reply
from mnemond.wire.hook_payload import BEGINNING, begins_like_a_hook
from mnemond.wire.hooks import Hooks
from mnemond.wire.jsonrpc import Foreign, Refused, Request, batch_pieces, encode_error, parse, perhaps_foreign
from mnemond.wire.limits import Counters, Limits

RECEIVE_BYTES = 65536
"""One read. Much larger buffers cost more than they save: 1 MiB takes ten times as long as 64 KiB."""

SEND_BYTES = 1 << 20
"""One write at most. The kernel takes about 200 kB from a reader that lags, everything from one that keeps up."""

EVENT_BACKLOG_BYTES = 1 << 16
"""Unsent bytes from which on a client is sent no events. Events are kept once for all clients, unsent bytes for each.
Some 300 events."""

OPTIMISTIC_CONNECTIONS = 4
"""Open connections up to which reading is tried again before waiting: one client gains a third of its round trip, 64
lose as much (each try that finds nothing costs a system call and an exception)."""

LONG_REPLY_BYTES = 4096
"""A shorter reply is always added to its batch: it may be the only report of a write."""


class Owner(Protocol):
    """The part of the server that a connection needs."""

    dispatcher: Dispatcher
    hooks: Hooks
    limits: Limits
    counters: Counters

    def spawn(self, run: Callable[[], Coroutine[Any, Any, None]], /) -> None:
        """Run an async function in a task that ends with the server at the latest."""

    def flush_soon(self, connection: Connection, /) -> None:
        """Send the connection's replies in the next pass of the event loop."""

    def run_pending(self) -> None:
        """Run what other threads have handed over meanwhile, and send the replies that result."""

    def takes_events(self, connection: Connection, /) -> None:
        """A connection that refused an event has sent everything."""

    def remove(self, connection: Connection, /) -> None:
        """The connection is closed."""


class Connection:
    """Reads until it `ended`, answers everything it has read, then closes itself."""

    __slots__ = (
        "_blocked", "_budget", "_call", "_capacity", "_connected_at", "_event_refused", "_framer", "_in_flight",
        "_inbox", "_last_turn", "_limits", "_message_began_at", "_out", "_owner", "_quiet_since", "_reads_rest_only",
        "_received_message", "_rest", "_socket", "_stalled_since", "_turn_ends", "_unsent", "closed", "ended", "number",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, call: Call, owner: Owner) -> None:
        self._socket = sock
        self._call = call
        self.number = call.connection
        self._owner = owner
        self._limits = owner.limits
        self._framer = Framer(owner.limits.max_message_bytes)
        self._inbox: deque[tuple[bytes | Request | Refused, Batch | None]] = deque()
        self._in_flight = 0
        self._budget = BatchBudget(owner.limits.batch_bytes)
        self._out: deque[bytes] = deque()
        self._rest: bytes | memoryview = b""
        self._unsent = 0
        self._blocked = False
        self._event_refused = False
        self._capacity: trio.Event | None = None
        self._reads_rest_only = False
        self._received_message = False
        self._connected_at = trio.current_time()
        self._message_began_at: float | None = None
        self._stalled_since: float | None = None
        self._turn_ends = self._last_turn = self._connected_at + owner.limits.inline_ms / 1000
        self._quiet_since = self._connected_at
        self.ended = False
        self.closed = False

    # ---------------------------------------------------------------- reading

    @property
    def unfinished(self) -> bool:
        """Return True while a task is needed to read from it or to work on what was read."""
        return not self.closed and (not self.ended or bool(self._inbox))

    def serve_once(self) -> bool:
        """Read once and answer at once, without waiting. False if there was nothing to read."""
        if not self._receive():
            return False
        self._work()
        self.flush()
        return True

    async def serve(self) -> None:
        """Read and answer until the end."""
        while self.unfinished:
            if not self._inbox:
                await self._read()
            elif not self._has_capacity:
                await self._wait_for_capacity()
            self._work()
            self.flush()
            self._owner.run_pending()
            if trio.current_time() >= self._turn_ends:
                await trio.lowlevel.checkpoint()
                self._begin_turn()

    def stop_reading(self) -> None:
        """Read what has arrived already, and no more."""
        self._reads_rest_only = True
        trio.lowlevel.notify_closing(self._socket)

    async def _read(self) -> None:
        """Wait until something is read, or until there is nothing more to read."""
        attempts = self._read_attempts()
        while not self.ended:
            for _ in range(attempts):
                if self._receive():
                    return
                if self._reads_rest_only:
                    self.ended = True
                    return
            with contextlib.suppress(trio.ClosedResourceError):  # another task wants this one to look again
                await trio.lowlevel.wait_readable(self._socket)
            self._begin_turn()
            attempts = max(1, self._read_attempts())

    def _read_attempts(self) -> int:
        """Reads to try before waiting. A lone client that has its answer sends again within microseconds; one that
        still waits for an answer does not, and among many clients trying costs more than it gains."""
        if self._reads_rest_only:
            return 1
        if self._in_flight:
            return 0
        return self._limits.optimistic_reads if self._owner.counters.connections <= OPTIMISTIC_CONNECTIONS else 1

    def _receive(self) -> bool:
        """One read; False if nothing is there. At the end of the stream the last message needs no newline."""
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
            self._received_message = True
        self.ended = not data
        if framer.overlong:
            limit = self._limits.max_message_bytes
            sentence = f"the message is longer than the limit of {limit} bytes; nothing was done"
            self._end_with(MnemonError(errors.TOO_LARGE, sentence, outcome="rejected"))
        if not framer.pending:
            self._message_began_at = None
        elif messages or self._message_began_at is None:
            self._message_began_at = trio.current_time()
        return True

    def _end_with(self, error: MnemonError) -> None:
        """Read no more, and send the error once everything before is answered."""
        self.ended = True
        self._inbox.append((perhaps_foreign(self._framer.beginning, Refused(error), whole=False), None))

    # ---------------------------------------------------------------- working

    def _work(self) -> None:
        while self._inbox and self._has_capacity:
            item, batch = self._inbox.popleft()
            if isinstance(item, bytes):
                self._unpack(item)
            else:
                self._handle(item, batch)
            if self._inbox and trio.current_time() >= self._turn_ends:
                return

    def _unpack(self, message: bytes) -> None:
        self._owner.counters.messages += 1
        parsed = parse(message)
        if isinstance(parsed, list):
            batch = Batch(len(parsed), self._budget)
            self._inbox.extendleft((request, batch) for request in reversed(parsed))
        else:
            self._handle(parsed, None)

    def _handle(self, request: Request | Refused, batch: Batch | None) -> None:
        dispatcher = self._owner.dispatcher
        answer: Reply | Deferred[Reply]
        if isinstance(request, Refused):
            answer = self._reply_to_invalid(request)
        elif batch is not None and self._budget.exhausted:
            answer = dispatcher.refused(request, self._budget.error())
        else:
            answer = dispatcher.answer(request, self._call, self._owner.spawn)
        if isinstance(answer, Deferred):
            self._in_flight += 1
            answer.subscribe(self._on_settled(answer, request, batch))
        else:
            self._deliver(answer, batch)

    def _reply_to_invalid(self, refused: Refused) -> Reply | Deferred[Reply]:
        if isinstance(refused, Foreign):
            return self._owner.hooks.answer(refused, self._call, self._owner.spawn, self._limits.hook_s)
        return None if refused.is_response else encode_error(refused.id, refused.error)

    def _on_settled(
        self, answer: Deferred[Reply], request: Request | Refused, batch: Batch | None
    ) -> Callable[[], None]:
        def deliver() -> None:
            self._in_flight -= 1
            if not self.closed:
                reply = answer.result()
                if batch is not None and isinstance(request, Request) and not batch.has_room(reply):
                    reply = self._owner.dispatcher.dropped(request, self._budget.error().message)
                self._deliver(reply, batch)
                self._owner.flush_soon(self)
                self._notify_capacity()

        return deliver

    def _deliver(self, reply: Reply, batch: Batch | None) -> None:
        if batch is not None:
            pieces = batch.add(reply)
            if pieces:
                self._out += (*pieces, b"\n")
                self._unsent += sum(map(len, pieces)) + 1
        elif reply is not None:
            self._out += (reply, b"\n")
            self._unsent += len(reply) + 1

    def send_event(self, line: bytes) -> bool:
        """Send a message that is not a reply, given without its newline. False, and nothing sent, if the client has too
        much unsent; its owner learns when that is sent (`takes_events`)."""
        if self._unsent >= EVENT_BACKLOG_BYTES:
            self._event_refused = True
            return False
        self._deliver(line, None)
        self._owner.flush_soon(self)
        return True

    # ---------------------------------------------------------------- bounds

    @property
    def _has_capacity(self) -> bool:
        """Return False if this client has to take what is ready before more is done for it."""
        return self._in_flight < self._limits.max_in_flight and self._unsent < self._limits.unsent_bytes

    async def _wait_for_capacity(self) -> None:
        self._capacity = trio.Event()
        await self._capacity.wait()
        self._capacity = None
        self._begin_turn()
        if self._message_began_at is not None:
            self._message_began_at = trio.current_time()  # we were not reading, so the time does not count

    def _notify_capacity(self) -> None:
        if self._capacity is not None and (self._has_capacity or self.closed):
            self._capacity.set()

    def _begin_turn(self) -> None:
        self._turn_ends = trio.current_time() + self._limits.inline_ms / 1000

    def enforce(self, now: float) -> bool:
        """Cut the connection off if it missed a deadline at `now`; return True if it did."""
        if self._turn_ends != self._last_turn or self.unanswered:
            self._last_turn = self._turn_ends  # noted here and not on the path of each request, which must be short
            self._quiet_since = now
        if self._stalled_since is not None and now - self._stalled_since >= self._limits.write_timeout_s:
            self.close()
            return True
        missed = None if self.ended or self._inbox else self._missed_deadline(now)
        if missed is None:
            return False
        self._end_with(MnemonError(errors.TIMED_OUT, missed, outcome="rejected"))
        trio.lowlevel.notify_closing(self._socket)
        return True

    def _missed_deadline(self, now: float) -> str | None:
        whole_s, first_s = self._limits.message_timeout_s, self._limits.first_byte_timeout_s
        if self._message_began_at is not None:
            late = now - self._message_began_at >= whole_s
            return f"a message was not complete {whole_s:g} s after its first byte" if late else None
        if not self._received_message and now - self._connected_at >= first_s:
            return f"no message began within {first_s:g} s of connecting"
        return None

    def idle_s(self, now: float) -> float:
        """Return the seconds since it last sent or waited for anything, to within two sweeps; 0 while it does, and
        while a deadline runs."""
        quiet = self._received_message and self._message_began_at is None and not self.ended and not self.unanswered
        return now - self._quiet_since if quiet else 0.0

    def evict(self) -> bool:
        """Close an idle connection, unless it has just sent something that is not read yet; return True if closed."""
        with contextlib.suppress(OSError):
            if not self.closed and self._socket.recv(1, socket.MSG_PEEK):
                return False
        sentence = "connection limit reached; the longest-idle connection was closed"
        self._end_with(MnemonError(errors.TIMED_OUT, sentence, hint="connect again", outcome="rejected"))
        self._work()
        self.flush()
        self.close()
        return True

    # ---------------------------------------------------------------- writing

    def flush(self) -> None:
        """Send all replies at once; a task sends what the socket does not take. Closes when all is done."""
        if not self._blocked and not self._send():
            self._blocked = True
            self._owner.spawn(self._write_out)
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
        """One write of at most SEND_BYTES; True if nothing is left. The rest waits until the other connections had
        their turn, and is never copied."""
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
            self._stalled_since = None
            if self._event_refused:
                self._event_refused = False
                self._owner.takes_events(self)
        else:
            self._rest = memoryview(data)[sent:]
            if sent or self._stalled_since is None:
                self._stalled_since = trio.current_time()
        if self._capacity is not None:
            self._notify_capacity()
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
        """Return True if anything read has not been answered completely."""
        return bool(self._inbox or self._in_flight or self._unsent)

    def close(self) -> None:
        """Disconnect at once."""
        if self.closed:
            return
        self.closed = self.ended = True
        self._inbox.clear()
        self._out.clear()
        self._rest = b""
        self._unsent = 0
        trio.lowlevel.notify_closing(self._socket)
        self._socket.close()
        self._notify_capacity()
        self._owner.remove(self)


# ---------------------------------------------------------------- batches


class BatchBudget:
    """Bytes that all unfinished batches of one connection hold together. No batch can be sent before its last reply, so
    these bytes do not wait for the reader and need a bound of their own."""

    __slots__ = ("_limit", "held")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    @property
    def exhausted(self) -> bool:
        """Return True if no further long reply may be added; the one that crossed the bound is kept."""
        return self.held >= self._limit

    def error(self) -> MnemonError:
        """Return the error of a request that is refused for this reason."""
        sentence = f"the replies to this batch have reached the limit of {self._limit} bytes"
        hint = "send the remaining requests again in smaller batches or one by one"
        return MnemonError(errors.TOO_LARGE, sentence, hint=hint, outcome="rejected")


class Batch:
    """The replies to one batch, in the order in which they are ready: a request's id tells which is which (JSON-RPC
    2.0, section 6)."""

    __slots__ = ("_budget", "_bytes", "_replies", "_unanswered")

    def __init__(self, requests: int, budget: BatchBudget) -> None:
        self._unanswered = requests
        self._budget = budget
        self._replies: list[bytes] = []
        self._bytes = 0

    def has_room(self, reply: Reply) -> bool:
        """Return True if a reply can be added as it is."""
        return reply is None or len(reply) <= LONG_REPLY_BYTES or not self._budget.exhausted

    def add(self, reply: Reply) -> list[bytes]:
        """Return the pieces of the reply to the whole batch if this was the last one; nothing before that, and for a
        batch of nothing but notifications."""
        self._unanswered -= 1
        if reply is not None:
            self._replies.append(reply)
            self._bytes += len(reply)
            self._budget.held += len(reply)
        if self._unanswered or not self._replies:
            return []
        self._budget.held -= self._bytes
        return batch_pieces(self._replies)


# ---------------------------------------------------------------- messages in a stream of bytes
#
# Split a stream of bytes into messages: one a line; the last one may end with the stream instead of a newline.


MAX_MESSAGE_BYTES = 1 << 20
"""Longest message, without its newline."""

MAX_SKIPPED: Final = 64 << 20
"""Bytes of one hook's payload beyond the limit that are read and thrown away."""

_BLANK = b" \t\r"

_BLANK_OR_END = _BLANK + b"\n"


class Framer:
    """Splits a stream into messages in time linear in its length, for pieces of any size.

    Holds at most `limit` bytes of an unfinished message. Once `overlong` is true, the message that exceeded the limit
    and everything after it are lost: nothing more comes out and the stream should be closed.

    The payload of a hook contains what a tool returned and so may have any length. One that is too long is read to its
    end before `overlong` is true: a host whose write fails would show its user an error.
    """

    __slots__ = ("_beginning", "_limit", "_partial", "_skipped", "overlong")

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._skipped: int | None = None
        self._beginning = b""
        self.overlong = False

    @property
    def pending(self) -> bool:
        """Return True if the beginning of a message has arrived and its end has not."""
        return bool(self._partial) or (self._skipped is not None and not self.overlong)

    @property
    def beginning(self) -> bytes:
        """The beginning of the message that is incomplete or too long."""
        return self._beginning or bytes(self._partial[:BEGINNING])

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes, in order, without line ends; blank lines are not messages."""
        if self.overlong or self._skips(data):
            return []
        if not self._partial and data.find(b"\n") == len(data) - 1 <= self._limit:
            whole = data.strip(_BLANK_OR_END)  # by far the most common piece: one whole message
            return [whole] if whole else []
        *lines, rest = data.split(b"\n")
        messages: list[bytes] = []
        for line in lines:
            message = self._completed(line)
            if message is None:
                self.overlong = True  # the line has ended, so there is nothing left to skip
                return messages
            if message:
                messages.append(message)
        self._hold(rest if self._partial else rest.lstrip(_BLANK))
        return messages

    def finish(self) -> list[bytes]:
        """Return the message that the end of the stream completes, if any."""
        self.overlong = self.overlong or self._skipped is not None
        whole = b"" if self.overlong else self._completed(b"")
        return [whole] if whole else []

    def _completed(self, line: bytes) -> bytes | None:
        """The message that ends with `line`, or None if it is too long."""
        if not self._partial and len(line) <= self._limit:
            return line.strip(_BLANK)
        if not self._hold(line):
            return None
        message = bytes(self._partial)
        self._partial.clear()
        return message.strip(_BLANK)

    def _hold(self, piece: bytes) -> bool:
        """Append to the unfinished message; False if that exceeds the limit."""
        if len(self._partial) + len(piece) <= self._limit:
            self._partial += piece
            return True
        self._beginning = bytes((self._partial + piece[:BEGINNING])[:BEGINNING])
        self._partial.clear()
        if begins_like_a_hook(self._beginning) is None:
            self.overlong = True
        else:
            self._skipped = 0
        return False

    def _skips(self, data: bytes) -> bool:
        """Return True if `data` belongs to a message that is thrown away."""
        if self._skipped is None:
            return False
        self._skipped += len(data)
        self.overlong = b"\n" in data or self._skipped > MAX_SKIPPED
        return True
