"""The replies to the requests of one batch, gathered until the last is there."""

from __future__ import annotations

from mnemond.protocol.envelope import encode_batch
from mnemond.server.dispatch import Reply


class Batch:
    """Replies come in the order they are finished; a request's id says whose they are (JSON-RPC 2.0, section 6)."""

    __slots__ = ("_replies", "_waiting")

    def __init__(self, requests: int) -> None:
        self._waiting = requests
        self._replies: list[bytes] = []

    def add(self, reply: Reply) -> Reply:
        """The reply to the whole batch once its last request is answered; None before that, and for a batch of
        nothing but notifications."""
        self._waiting -= 1
        if reply is not None:
            self._replies.append(reply)
        if self._waiting or not self._replies:
            return None
        return encode_batch(self._replies)
