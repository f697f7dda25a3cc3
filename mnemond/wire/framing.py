"""Split a stream of bytes into messages: one a line; the last one may end with the stream instead of a newline."""

from __future__ import annotations

from typing import Final

from mnemond.wire.hook_payload import BEGINNING, begins_like_a_hook

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
