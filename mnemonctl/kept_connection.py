"""A connection to the daemon that is kept between calls, for programs that make many."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemond.errors import TOO_LARGE, MnemonError
from mnemond.protocol.types import Params

_RECEIVE_BYTES = 1 << 16
_LEAST_S = 1e-6
"""A timeout of 0 would mean not to wait at all, and be another error."""

_DROPPED = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


_ABSENT: Final = msgspec.Raw(b"")


class _Reply(msgspec.Struct):
    id: int | str | None
    result: msgspec.Raw = _ABSENT
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
            connection.settimeout(max(ends - time.monotonic(), _LEAST_S))
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
        if reply.result is _ABSENT:
            raise rpc.not_understood(b"")
        return reply.result

    def _answer(self, connection: socket.socket, number: int, ends: float) -> _Reply:
        received = bytearray()
        while (left := ends - time.monotonic()) > 0:
            connection.settimeout(left)
            part = connection.recv(_RECEIVE_BYTES)
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
        connection.settimeout(max(timeout_s, _LEAST_S))
        connection.connect(str(path))
        undo.pop_all()
    return connection
