"""Every handler over stores in a directory of the test's own, with time and ids given by hand."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import trio

from mnemond.config import Config
from mnemond.embed.embedder import Embedder
from mnemond.handlers.daemon import DaemonHandlers, Life
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.reads import ReadHandlers
from mnemond.handlers.writes import WriteHandlers
from mnemond.model.changes import Vector
from mnemond.server.call import Call
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import StoreRegistry

CALL = Call(connection=1, peer_pid=2, peer_uid=3)
NOW_US = 1_770_000_000_000_000
CLOSE_S = 30.0


class ToyEmbedder:
    """Two dimensions, one direction; a lone ellipsis has none. Notes the threads it was used on."""

    name = "toy"
    dimension = 2

    def __init__(self, fingerprint: str = "toy-1", *, inline: bool = True) -> None:
        self.fingerprint = fingerprint
        self.inline = inline
        self.threads: set[str] = set()

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        self.threads.add(threading.current_thread().name)
        return [None if text == "…" else np.array([1, 0], np.float32) for text in texts]


class HandClock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.us = NOW_US

    def now_us(self) -> int:
        return self.us


class CountingIds:
    """Ids of one shape, counted up; the first eight digits are the same for all."""

    def __init__(self) -> None:
        self.made = 0

    def new(self) -> str:
        self.made += 1
        return f"aaaaaaaa-0000-4000-8000-{self.made:012x}"


class Bench:
    """Every handler over one data directory."""

    def __init__(self, path: Path, embedder: Embedder | None, config: Config | None = None) -> None:
        record = None if embedder is None else EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
        self.clock, self.ids = HandClock(), CountingIds()
        self.stopped = 0
        self.defects: list[tuple[str, BaseException]] = []
        self.stores = StoreRegistry(
            path,
            wanted=record,
            now_us=self.clock.now_us,
            loop=trio.lowlevel.current_trio_token(),
            on_defect=lambda where, error: self.defects.append((where, error)),
            warn=lambda sentence: None,
        )
        self.door = StoreDoor(self.stores, embedder)
        self.writes = WriteHandlers(self.door, self.clock, self.ids)
        self.reads = ReadHandlers(self.door, lambda: 0.0)
        life = Life(uptime_s=lambda: 12.3456, connections=lambda: 7, request_stop=self._stop)
        self.daemon = DaemonHandlers(path, config or Config(), self.stores, self.door, life)

    def _stop(self) -> None:
        self.stopped += 1

    async def warm(self, name: str = "default") -> OpenStore:
        """The store, open."""
        return await self.door.open(name)


@asynccontextmanager
async def bench(path: Path, embedder: Embedder | None = None, config: Config | None = None) -> AsyncIterator[Bench]:
    """Handlers whose stores are closed afterwards, whatever became of them."""
    built = Bench(path, embedder, config)
    try:
        yield built
    finally:
        with trio.move_on_after(CLOSE_S, shield=True):
            await built.stores.close()
