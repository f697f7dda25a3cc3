"""The replies to the requests of one batch, gathered until the last is there."""

from __future__ import annotations

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.protocol.envelope import batch_pieces
from mnemond.server.dispatch import Reply

LONG_REPLY_BYTES = 4096
"""A shorter reply has its place in every batch: it may be all that tells of a write."""


class Gathering:
    """What all unfinished batches of one connection hold together: no batch can be sent before its last reply, so
    these bytes wait for nobody's reading and need a bound of their own."""

    __slots__ = ("_limit", "held")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0

    @property
    def full(self) -> bool:
        """Whether no further long reply has its place; the one that crossed the bound is kept."""
        return self.held >= self._limit

    def overflow(self) -> MnemonError:
        """Why a request of a batch is not carried out."""
        sentence = f"the replies to this batch have reached the limit of {self._limit} bytes"
        hint = "send the remaining requests again in smaller batches or one by one"
        return MnemonError(errors.TOO_LARGE, sentence, hint=hint, outcome="rejected")


class Batch:
    """Replies come in the order they are finished; a request's id says whose they are (JSON-RPC 2.0, section 6)."""

    __slots__ = ("_bytes", "_gathering", "_replies", "_waiting")

    def __init__(self, requests: int, gathering: Gathering) -> None:
        self._waiting = requests
        self._gathering = gathering
        self._replies: list[bytes] = []
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Whether what is left of the batch is refused."""
        return self._gathering.full

    def refusal(self) -> MnemonError:
        """Why it is."""
        return self._gathering.overflow()

    def has_room(self, reply: Reply) -> bool:
        """Whether a reply can be added as it is."""
        return reply is None or len(reply) <= LONG_REPLY_BYTES or not self._gathering.full

    def add(self, reply: Reply) -> list[bytes]:
        """The pieces of the reply to the whole batch once its last request is answered; nothing before that, and for
        a batch of nothing but notifications."""
        self._waiting -= 1
        if reply is not None:
            self._replies.append(reply)
            self._bytes += len(reply)
            self._gathering.held += len(reply)
        if self._waiting or not self._replies:
            return []
        self._gathering.held -= self._bytes
        return batch_pieces(self._replies)
