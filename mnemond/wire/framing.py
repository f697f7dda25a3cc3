"""Bytes become messages: one message a line, the last one may end with the stream instead of a newline."""

from __future__ import annotations

from typing import Final

from mnemond.wire.hook_payload import BEGINNING, begins_like_a_hook

MAX_MESSAGE_BYTES = 1 << 20
"""Longest message, without its newline (spec 13: caps)."""

MAX_PASSED_OVER: Final = 64 << 20
"""Bytes of one hook's payload beyond the limit that are read for nothing."""

_BLANK = b" \t\r"
_BLANK_OR_END = _BLANK + b"\n"


class Framer:
    """Splits a stream into messages in time linear in its length, whatever the size of its pieces.

    No more than `limit` bytes of an unfinished message are ever held. Once `overlong` is true, the message that
    broke the limit and everything after it are lost: nothing more comes out and the stream should be closed.

    What a tool returned makes the payload of a hook as long as it likes. Such a message is read to its end before
    `overlong` is true: a host that cannot get rid of it would tell its user of an error.
    """

    __slots__ = ("_beginning", "_limit", "_partial", "_passed_over", "overlong")

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._passed_over: int | None = None
        self._beginning = b""
        self.overlong = False

    @property
    def pending(self) -> bool:
        """Whether the beginning of a message has arrived and its end has not."""
        return bool(self._partial) or (self._passed_over is not None and not self.overlong)

    @property
    def beginning(self) -> bytes:
        """How the message began that is not complete yet or too long."""
        return self._beginning or bytes(self._partial[:BEGINNING])

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, in order, without line ends; blank lines are no messages."""
        if self.overlong or self._passes_over(data):
            return []
        if not self._partial and data.find(b"\n") == len(data) - 1 <= self._limit:
            whole = data.strip(_BLANK_OR_END)  # by far the most common piece: one whole message
            return [whole] if whole else []
        *lines, rest = data.split(b"\n")
        messages: list[bytes] = []
        for line in lines:
            message = self._ended(line)
            if message is None:
                self.overlong = True  # the line has ended, whoever's it is
                return messages
            if message:
                messages.append(message)
        self._hold(rest if self._partial else rest.lstrip(_BLANK))
        return messages

    def finish(self) -> list[bytes]:
        """The message that the end of the stream completes, if any."""
        self.overlong = self.overlong or self._passed_over is not None
        whole = b"" if self.overlong else self._ended(b"")
        return [whole] if whole else []

    def _ended(self, line: bytes) -> bytes | None:
        """The message that ends with `line`, or None when it is too long."""
        if not self._partial and len(line) <= self._limit:
            return line.strip(_BLANK)
        if not self._hold(line):
            return None
        message = bytes(self._partial)
        self._partial.clear()
        return message.strip(_BLANK)

    def _hold(self, piece: bytes) -> bool:
        if len(self._partial) + len(piece) <= self._limit:
            self._partial += piece
            return True
        self._beginning = bytes((self._partial + piece[:BEGINNING])[:BEGINNING])
        self._partial.clear()
        if begins_like_a_hook(self._beginning) is None:
            self.overlong = True
        else:
            self._passed_over = 0
        return False

    def _passes_over(self, data: bytes) -> bool:
        """Whether `data` belongs to a message that nobody will read."""
        if self._passed_over is None:
            return False
        self._passed_over += len(data)
        self.overlong = b"\n" in data or self._passed_over > MAX_PASSED_OVER
        return True
