"""Events of the daemon, one after the other, for as long as somebody asks for the next."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from mnemonctl import fast, files, rpc
from mnemonctl.kept_connection import connected_to, given
from mnemond.errors import MnemonError
from mnemond.protocol.subscriptions import Dropped, Event, SubscribeParams, SubscribeResult

_RECEIVE_BYTES = 1 << 16
_ABSENT: Final = msgspec.Raw(b"")


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
            part = self._socket.recv(_RECEIVE_BYTES)
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
