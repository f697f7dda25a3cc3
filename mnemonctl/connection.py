"""Connections to the daemon for programs: one that is kept between calls, and one for its events."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemond.api.types_jobs import Dropped, Event, SubscribeParams, SubscribeResult
from mnemond.errors import TOO_LARGE, MnemonError
from mnemond.wire.params import Params

_RECEIVE_BYTES: Final = 1 << 16
_MIN_S: Final = 1e-6
"""Least timeout of a socket: 0 would make it non-blocking."""

_ABSENT: Final = msgspec.Raw(b"")
_DROPPED = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def given(params: Params) -> dict[str, object]:
    """Return the fields that differ from their defaults: a daemon that does not know a newer one can still answer."""
    return {
        field.encode_name: value
        for field in msgspec.structs.fields(params)
        if (value := getattr(params, field.name)) != field.default
    }


def _request(number: int, method: str, params: Params) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": given(params)}) + b"\n"


def _connect(directory: Path, timeout_s: float) -> socket.socket:
    """Raises OSError, and MnemonError for a path that cannot be a data directory."""
    path = rpc.socket_path(files.usable(directory))
    with contextlib.ExitStack() as undo:
        connection = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.settimeout(max(timeout_s, _MIN_S))
        connection.connect(str(path))
        undo.pop_all()
    return connection


class _Lines:
    """Messages received from the daemon, one a line."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._received = bytearray()

    def read(self, ends: float | None = None) -> bytes | None:
        """Return the next line, None at the end. Raises OSError, TimeoutError, and MnemonError for an endless line."""
        end = self._received.find(b"\n")
        while end < 0:
            if ends is not None:
                if (left := ends - time.monotonic()) <= 0:
                    raise TimeoutError
                self._socket.settimeout(left)
            part = self._socket.recv(_RECEIVE_BYTES)
            if not part:
                return None
            start = len(self._received)
            self._received += part
            end = self._received.find(b"\n", start)
            if len(self._received) > fast.MAX_REPLY:
                raise rpc.not_understood(bytes(self._received))
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line


# ------------------------------------------------------------------ calls


class _Reply(msgspec.Struct):
    id: int | str | None
    result: msgspec.Raw = _ABSENT
    error: dict[str, object] | None = None


class _DroppedError(Exception):
    """The daemon closed the connection before it replied: it may have been restarted."""


_reply = msgspec.json.Decoder(_Reply)


class KeptConnection:
    """One call at a time over one socket. Threads may share it: their calls wait for each other.

    `timeout_s` is for one call, from its first byte to the last of its reply. With `start`, a daemon that does not run
    is started. A forked child connects anew.
    """

    def __init__(self, directory: Path, timeout_s: float, *, start: bool) -> None:
        self._directory = directory
        self._timeout_s = timeout_s
        self._start = start
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._socket: socket.socket | None = None
        self._owner = 0
        """Process that has made the socket."""

    def call(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """Return the result as JSON. A `repeatable` call is sent again if a kept connection was closed meanwhile.

        Raises MnemonError: the error of the daemon; UNREACHABLE, whose `outcome` is "unknown" if a write may have been
        stored; TOO_LARGE before anything is sent.
        """
        number = next(self._numbers)
        message = _request(number, method, params)
        if len(message) > fast.MAX_MESSAGE:
            sentence = f"the call has {len(message):,} bytes; the daemon reads {fast.MAX_MESSAGE:,}"
            raise MnemonError(TOO_LARGE, sentence, outcome="rejected")
        with self._lock:
            try:
                return self._send(message, number, repeatable=repeatable)
            except fast.NoAnswer as error:
                op_id: str | None = getattr(params, "op_id", None)
                raise rpc.no_reply(self._directory, error, method, op_id) from None

    def close(self) -> None:
        """Close the connection; the next call makes another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: bytes, number: int, *, repeatable: bool) -> msgspec.Raw:
        ends = time.monotonic() + self._timeout_s
        kept = self._socket is not None and self._owner == os.getpid()
        try:
            return self._send_once(message, number, ends)
        except _DroppedError:
            if not (kept and repeatable):
                raise fast.NoAnswer("mnemond closed the connection without an answer") from None
        try:
            return self._send_once(message, number, ends)
        except _DroppedError:
            raise fast.NoAnswer("mnemond closed the connection twice without an answer") from None

    def _send_once(self, message: bytes, number: int, ends: float) -> msgspec.Raw:
        connection = self._connected(ends)
        complete = False
        try:
            connection.settimeout(max(ends - time.monotonic(), _MIN_S))
            connection.sendall(message)
            reply = self._receive(connection, number, ends)
            complete = True
        except TimeoutError:
            raise fast.NoAnswer(f"mnemond did not answer within {self._timeout_s:g} s") from None
        except _DROPPED:
            raise _DroppedError from None
        except OSError as error:
            raise fast.NoAnswer(f"the connection to mnemond broke ({error.strerror})") from None
        finally:
            if not complete:  # a reply that comes later must not be taken for that of the next call
                self.close()
        if reply.error is not None:
            raise rpc.error_in(reply.error)
        if reply.result is _ABSENT:
            raise rpc.not_understood(b"")
        return reply.result

    @staticmethod
    def _receive(connection: socket.socket, number: int, ends: float) -> _Reply:
        lines = _Lines(connection)
        while (line := lines.read(ends)) is not None and line.startswith(rpc.PROGRESS):
            pass
        if line is None:
            raise _DroppedError
        try:
            reply = _reply.decode(line)
        except _NOT_JSON:
            raise rpc.not_understood(line) from None
        if reply.id != number and reply.error is None:  # an error without an id is about the connection
            raise rpc.not_understood(line)
        return reply

    def _connected(self, ends: float) -> socket.socket:
        if self._socket is not None and self._owner == os.getpid():
            return self._socket
        self._socket, self._owner = None, os.getpid()
        try:
            self._socket = _connect(self._directory, ends - time.monotonic())
        except OSError as error:
            if not self._start or error.errno not in rpc.NOT_RUNNING:
                raise rpc.unreachable(self._directory, error) from None
            daemon.start(self._directory, daemon.start_wait(os.environ))
            try:
                self._socket = _connect(self._directory, self._timeout_s)
            except OSError as again:
                raise rpc.unreachable(self._directory, again) from None
        return self._socket


# ------------------------------------------------------------------ events


class _Message(msgspec.Struct):
    method: str | None = None
    params: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    error: dict[str, object] | None = None


_message = msgspec.json.Decoder(_Message)
_event = msgspec.json.Decoder(Event)
_dropped = msgspec.json.Decoder(Dropped)
_subscribed = msgspec.json.Decoder(SubscribeResult)


class LiveEvents:
    """A subscription over a connection of its own: iterate over it, or close it.

    `seq` is the number of the newest event that was seen; a new subscription with it as `since_seq` continues there.
    """

    def __init__(self, directory: Path, params: SubscribeParams, timeout_s: float) -> None:
        """Subscribe. `timeout_s` is for that alone, not for an event. Raises MnemonError."""
        try:
            self._socket = _connect(directory, timeout_s)
        except OSError as error:
            raise rpc.unreachable(directory, error) from None
        self._lines = _Lines(self._socket)
        try:
            self.seq = self._subscribe(params, timeout_s)
        except fast.NoAnswer as error:
            self._socket.close()
            raise rpc.no_reply(directory, error, "subscribe") from None
        except BaseException:
            self._socket.close()
            raise

    def _subscribe(self, params: SubscribeParams, timeout_s: float) -> int:
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(_request(1, "subscribe", params))
            first = self._next_message()
            self._socket.settimeout(None)
        except TimeoutError:
            raise fast.NoAnswer(f"mnemond did not answer within {timeout_s:g} s") from None
        except OSError as error:
            raise fast.NoAnswer(f"the connection broke ({error.strerror})") from None
        if first is None:
            raise fast.NoAnswer("mnemond closed the connection without an answer")
        if first.error is not None:
            raise rpc.error_in(first.error)
        try:
            newest = _subscribed.decode(first.result).seq
        except msgspec.DecodeError:
            raise rpc.not_understood(bytes(first.result)) from None
        return newest if params.since_seq is None else params.since_seq

    def __iter__(self) -> Iterator[Event | Dropped]:
        """Yield each event as it comes, until the daemon closes the connection or `close` is called elsewhere.

        Raises MnemonError for a message that is no event, for example if the daemon rejects the connection.
        """
        while True:
            try:
                message = self._next_message()
            except OSError:
                return
            if message is None:
                return
            if message.error is not None:
                raise rpc.error_in(message.error)
            event = self._event_in(message)
            self.seq = event.seq if isinstance(event, Event) else event.to
            yield event

    def close(self) -> None:
        """End the subscription. An iteration in another thread ends."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the daemon closed it before
        finally:
            self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _next_message(self) -> _Message | None:
        """Return the next message, None at the end. Raises OSError, and MnemonError for a line of another form."""
        line = self._lines.read()
        try:
            return None if line is None else _message.decode(line)
        except _NOT_JSON:
            raise rpc.not_understood(line or b"") from None

    @staticmethod
    def _event_in(message: _Message) -> Event | Dropped:
        try:
            if message.method == "event":
                return _event.decode(message.params)
            if message.method == "event.dropped":
                return _dropped.decode(message.params)
        except msgspec.DecodeError:
            pass
        raise rpc.not_understood(bytes(message.params))
