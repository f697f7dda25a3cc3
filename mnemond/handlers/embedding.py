"""A text on its way into a write: embedded where it holds nobody up."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import trio

from mnemond.handlers.door import OpenStore, settle
from mnemond.handlers.remembering import LONG_TEXT, embedded
from mnemond.model.changes import Vector


class Embedding(NamedTuple):
    """The vector of a text, or why it has none."""

    text: str | None
    vector: Vector | None = None
    error: str | None = None


def with_embedding(warm: OpenStore, text: str | None, use: Callable[[Embedding], object]) -> object:
    """`use(embedding)` now when it is quick, else a coroutine that embeds in a thread first. None has no vector."""
    if text is None:
        return use(Embedding(None))
    if len(text) <= LONG_TEXT and (warm.embedder is None or warm.embedder.inline):
        return use(_embedded(warm, text))
    return _later(warm, text, use)


async def _later(warm: OpenStore, text: str, use: Callable[[Embedding], object]) -> object:
    embedding = await trio.to_thread.run_sync(_embedded, warm, text, abandon_on_cancel=True, limiter=warm.threads)
    return await settle(use(embedding))


def _embedded(warm: OpenStore, text: str) -> Embedding:
    return Embedding(text, *embedded(warm.embedder, text, warm.embed_error))
