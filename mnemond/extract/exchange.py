"""Which messages of a conversation are its latest exchange, and which say what that is about (spec 9, phase 1a)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemond.extract.fact import Message

USER = "user"


class Exchange(NamedTuple):
    """`latest` is to be read for facts; `earlier` was, when its time had come."""

    earlier: tuple[Message, ...]
    latest: tuple[Message, ...]


def latest_exchange(messages: Sequence[Message], window: int) -> Exchange:
    """What a person said last and everything after it; before that at most `window` messages.

    Several messages of theirs in a row, without an answer between them, belong together. Where no person speaks, all
    messages are the latest exchange.
    """
    start = len(messages)
    while start and messages[start - 1].role != USER:
        start -= 1
    while start and messages[start - 1].role == USER:
        start -= 1
    if not any(each.role == USER for each in messages):
        start = 0
    return Exchange(tuple(messages[max(0, start - window) : start]), tuple(messages[start:]))
