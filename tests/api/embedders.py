"""Embedders that tests take away, hold up and make refuse texts; and a way to wait for what happens in threads."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import trio

from mnemond.embed.embedder import Embedder, Purpose, Supply
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import NoAnswerError
from mnemond.model.changes import Vector
from tests.api.factories import Bench

PATIENCE_S = 20.0


class Words:
    """Counts words in `dimension` bins; "…" has none. Behaves as told while it runs."""

    def __init__(self, name: str = "words", dimension: int = 8, *, inline: bool = False) -> None:
        self.name = name
        self.dimension = dimension
        self.fingerprint = f"toy-{name}-{dimension}"
        self.inline = inline
        self.away = False
        self.refuses: set[str] = set()
        self.asked: list[list[str]] = []
        self.open = threading.Event()
        self.open.set()

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.asked.append(list(texts))
        assert self.open.wait(PATIENCE_S)
        if self.away:
            raise NoAnswerError(UNAVAILABLE, f"{self.name} is away", hint="wait")
        if self.refuses.intersection(texts):
            raise MnemonError(UNAVAILABLE, f"{self.name} does not like one of {len(texts)} texts")
        return [self.vector(text) for text in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""

    def vector(self, text: str) -> Vector | None:
        if text == "…":
            return None
        counts = np.zeros(self.dimension, np.float32)
        for word in text.lower().split():
            counts[hashlib.sha256(f"{self.name} {word}".encode()).digest()[0] % self.dimension] += 1
        found: Vector = counts / np.linalg.norm(counts)
        return found

    @property
    def texts(self) -> list[str]:
        """Everything it was asked so far."""
        return [text for batch in self.asked for text in batch]


def alike(one: Vector | None, other: Vector | None) -> bool:
    return one is not None and other is not None and bool(np.allclose(one, other))


def _let_threads_work() -> None:
    """Give up the interpreter for a moment: a loop that only asks keeps it from the threads it waits for."""
    time.sleep(0.0005)


async def until(true: Callable[[], object]) -> None:
    """Wait for what other threads do, whatever the clock of the test says."""
    ends = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < ends, "it did not happen"
        _let_threads_work()
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def kept(path: Path, *embedders: Embedder | None, supply: Supply | None = None) -> AsyncIterator[Bench]:
    """Handlers with background work, which ends before the stores are closed."""
    built = Bench(path, *embedders, supply=supply)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(built.worker.run)
            yield built
            built.worker.end()
    finally:
        for each in embedders:
            if isinstance(each, Words):
                each.open.set()
        with trio.move_on_after(PATIENCE_S, shield=True):
            await built.stores.close()
    assert built.defects == []
