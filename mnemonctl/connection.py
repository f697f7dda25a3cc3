"""A connection to the daemon that is kept between calls, for programs that make many."""

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
from mnemond.api.types_admin import Dropped, Event, SubscribeParams, SubscribeResult
from mnemond.errors import TOO_LARGE, MnemonError
from mnemond.wire.params import Params

_KEPT_CONNECTION_RECEIVE_BYTES = 1 << 16
_MIN_S = 1e-6
"""A timeout of 0 would mean not to wait at all, and be another error."""

_DROPPED = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


_KEPT_CONNECTION_ABSENT: Final = msgspec.Raw(b"")


class _Reply(msgspec.Struct):
    id: int | str | None
    result: msgspec.Raw = _KEPT_CONNECTION_ABSENT
    error: dict[str, object] | None = None


class _Dropped(Exception):  # noqa: N818 - an outcome, named as one
    """The daemon closed the connection before it answered: it was restarted, say."""


_encode = msgspec.json.Encoder().encode
_reply = msgspec.json.Decoder(_Reply)


class KeptConnection:
    """One call at a time over one socket; threads may share it and wait for each other.

    `timeout_s` is for one call, from its first byte to the last of its answer. With `start`, a daemon that does not run
    is started, as by the command line. A forked child connects anew.
    """

    def __init__(self, directory: Path, timeout_s: float, *, start: bool) -> None:
        self._directory = directory
        self._timeout_s = timeout_s
        self._start = start
        self._turn = threading.Lock()
        self._numbers = itertools.count(1)
        self._socket: socket.socket | None = None
        self._owner = 0

    def call(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """The result, still JSON. What is `repeatable` is sent once more where the daemon went away in between.

        Raises MnemonError: what the daemon refuses, UNREACHABLE (its `outcome` is "unknown" where a write may have been
        stored), TOO_LARGE before anything is sent.
        """
        number = next(self._numbers)
        message = _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": given(params)}) + b"\n"
        if len(message) > fast.MAX_MESSAGE:
            sentence = f"the call has {len(message):,} bytes; the daemon reads {fast.MAX_MESSAGE:,}"
            raise MnemonError(TOO_LARGE, sentence, outcome="rejected")
        with self._turn:
            try:
                return self._answered(message, number, repeatable=repeatable)
            except fast.NoAnswer as error:
                op_id: str | None = getattr(params, "op_id", None)
                raise rpc.silent(self._directory, error, method, op_id) from None

    def close(self) -> None:
        """Give the connection back; the next call makes another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _answered(self, message: bytes, number: int, *, repeatable: bool) -> msgspec.Raw:
        ends = time.monotonic() + self._timeout_s
        fresh = self._socket is None or self._owner != os.getpid()
        try:
            return self._once(message, number, ends)
        except _Dropped:
            if fresh or not repeatable:
                raise fast.NoAnswer("mnemond closed the connection without an answer") from None
        try:
            return self._once(message, number, ends)
        except _Dropped:
            raise fast.NoAnswer("mnemond closed the connection twice without an answer") from None

    def _once(self, message: bytes, number: int, ends: float) -> msgspec.Raw:
        connection = self._connected(ends)
        whole = False
        try:
            connection.settimeout(max(ends - time.monotonic(), _MIN_S))
            connection.sendall(message)
            reply = self._answer(connection, number, ends)
            whole = True
        except TimeoutError:
            raise fast.NoAnswer(f"mnemond did not answer within {self._timeout_s:g} s") from None
        except _DROPPED:
            raise _Dropped from None
        except OSError as error:
            raise fast.NoAnswer(f"the connection to mnemond broke ({error.strerror})") from None
        finally:
            if not whole:  # an answer that comes later must not be taken for that of the next call
                self.close()
        if reply.error is not None:
            raise rpc.error_in(reply.error)
        if reply.result is _KEPT_CONNECTION_ABSENT:
            raise rpc.not_understood(b"")
        return reply.result

    def _answer(self, connection: socket.socket, number: int, ends: float) -> _Reply:
        received = bytearray()
        while (left := ends - time.monotonic()) > 0:
            connection.settimeout(left)
            part = connection.recv(_KEPT_CONNECTION_RECEIVE_BYTES)
            if not part:
                raise _Dropped
            received += part
            if received.endswith(b"\n"):
                return self._read(bytes(received), number)
            if len(received) > fast.LONGEST_REPLY:
                raise rpc.not_understood(bytes(received))
        raise TimeoutError

    def _read(self, line: bytes, number: int) -> _Reply:
        try:
            reply = _reply.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise rpc.not_understood(line) from None
        if reply.id != number and reply.error is None:  # an error without an id is about the connection
            raise rpc.not_understood(line)
        return reply

    def _connected(self, ends: float) -> socket.socket:
        if self._socket is not None and self._owner == os.getpid():
            return self._socket
        self._socket, self._owner = None, os.getpid()
        path = rpc.socket_path(files.usable(self._directory))
        try:
            self._socket = connected_to(path, ends - time.monotonic())
        except OSError as error:
            if not self._start or error.errno not in rpc.NOT_RUNNING:
                raise rpc.unreachable(self._directory, error) from None
            daemon.start(self._directory, daemon.start_wait(os.environ))
            try:
                self._socket = connected_to(path, self._timeout_s)
            except OSError as again:
                raise rpc.unreachable(self._directory, again) from None
        return self._socket


def given(params: Params) -> dict[str, object]:
    """The fields that are not what they are anyway: a daemon that does not know the newest of them yet serves too."""
    return {
        field.encode_name: value
        for field in msgspec.structs.fields(params)
        if (value := getattr(params, field.name)) != field.default
    }


def connected_to(path: Path, timeout_s: float) -> socket.socket:
    """A connection to this socket. Raises OSError."""
    with contextlib.ExitStack() as undo:
        connection = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        connection.settimeout(max(timeout_s, _MIN_S))
        connection.connect(str(path))
        undo.pop_all()
    return connection


# Events of the daemon, one after the other, for as long as somebody asks for the next.


_LIVE_EVENTS_RECEIVE_BYTES = 1 << 16
_LIVE_EVENTS_ABSENT: Final = msgspec.Raw(b"")


class _Message(msgspec.Struct):
    method: str | None = None
    params: msgspec.Raw = _LIVE_EVENTS_ABSENT
    result: msgspec.Raw = _LIVE_EVENTS_ABSENT
    error: dict[str, object] | None = None


_message = msgspec.json.Decoder(_Message)
_event = msgspec.json.Decoder(Event)
_dropped = msgspec.json.Decoder(Dropped)
_subscribed = msgspec.json.Decoder(SubscribeResult)


class LiveEvents:
    """A subscription over a connection of its own: iterate over it, or close it. `seq` is the number of the newest
    event that was seen; a new subscription with it as `since_seq` goes on from there."""

    def __init__(self, directory: Path, params: SubscribeParams, timeout_s: float) -> None:
        """Subscribes. `timeout_s` is for that alone; an event may be long in coming. Raises MnemonError."""
        self._directory = directory
        self._received = bytearray()
        try:
            self._socket = connected_to(rpc.socket_path(files.usable(directory)), timeout_s)
        except OSError as error:
            raise rpc.unreachable(directory, error) from None
        try:
            self.seq = self._subscribe(params, timeout_s)
        except BaseException:
            self._socket.close()
            raise

    def _subscribe(self, params: SubscribeParams, timeout_s: float) -> int:
        call = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": given(params)}
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(msgspec.json.encode(call) + b"\n")
            first = self._next_message()
            self._socket.settimeout(None)
        except TimeoutError:
            raise self._silent(f"mnemond did not answer within {timeout_s:g} s") from None
        except OSError as error:
            raise self._silent(f"the connection broke ({error.strerror})") from None
        if first is None:
            raise self._silent("mnemond closed the connection without an answer")
        if first.error is not None:
            raise rpc.error_in(first.error)
        try:
            newest = _subscribed.decode(first.result).seq
        except msgspec.DecodeError:
            raise rpc.not_understood(bytes(first.result)) from None
        return newest if params.since_seq is None else params.since_seq

    def __iter__(self) -> Iterator[Event | Dropped]:
        """Each event, as it comes, until the daemon leaves or `close` is called elsewhere.

        Raises MnemonError for what is no event: the daemon turns the connection away, say.
        """
        while (message := self._until_closed()) is not None:
            if message.error is not None:
                raise rpc.error_in(message.error)
            found = self._read(message)
            self.seq = found.seq if isinstance(found, Event) else found.to
            yield found

    def close(self) -> None:
        """Be told no longer; whoever waits for the next event finds the end."""
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

    def _until_closed(self) -> _Message | None:
        try:
            return self._next_message()
        except OSError:
            return None

    def _silent(self, reason: str) -> MnemonError:
        return rpc.silent(self._directory, fast.NoAnswer(reason), "subscribe")

    def _next_message(self) -> _Message | None:
        """The next line, or None at the end. Raises OSError, and MnemonError for a line that is none of ours."""
        while (end := self._received.find(b"\n")) < 0:
            part = self._socket.recv(_LIVE_EVENTS_RECEIVE_BYTES)
            if not part:
                return None
            self._received += part
            if len(self._received) > fast.LONGEST_REPLY:
                raise rpc.not_understood(bytes(self._received))
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        try:
            return _message.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise rpc.not_understood(line) from None

    @staticmethod
    def _read(message: _Message) -> Event | Dropped:
        try:
            if message.method == "event":
                return _event.decode(message.params)
            if message.method == "event.dropped":
                return _dropped.decode(message.params)
        except msgspec.DecodeError:
            pass
        raise rpc.not_understood(bytes(message.params))
