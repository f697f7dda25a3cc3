"""Bytes become messages: one message a line, the last one may end with the stream instead of a newline."""

from __future__ import annotations

MAX_MESSAGE_BYTES = 1 << 20
"""Longest message, without its newline (spec 13: caps)."""

_BLANK = b" \t\r"
_BLANK_OR_END = _BLANK + b"\n"


class Framer:
    """Splits a stream into messages in time linear in its length, whatever the size of its pieces.

    No more than `limit` bytes of an unfinished message are ever held. Once `overlong` is true, the message that
    broke the limit and everything after it are lost: nothing more comes out and the stream should be closed.
    """

    __slots__ = ("_limit", "_partial", "overlong")

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._partial = bytearray()
        self.overlong = False

    @property
    def pending(self) -> bool:
        """Whether the beginning of a message has arrived and its end has not."""
        return bool(self._partial)

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that `data` completes, in order, without line ends; blank lines are no messages."""
        if self.overlong:
            return []
        if not self._partial and data.find(b"\n") == len(data) - 1 <= self._limit:
            whole = data.strip(_BLANK_OR_END)  # by far the most common piece: one whole message
            return [whole] if whole else []
        *lines, rest = data.split(b"\n")
        messages: list[bytes] = []
        for line in lines:
            message = self._ended(line)
            if message is None:
                return messages
            if message:
                messages.append(message)
        self._hold(rest if self._partial else rest.lstrip(_BLANK))
        return messages

    def finish(self) -> list[bytes]:
        """The message that the end of the stream completes, if any."""
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
        self.overlong = True
        self._partial.clear()
        return False
