"""Every handler over stores in a directory of the test's own, with time and ids given by hand."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import trio

from mnemond.api.admin import DaemonHandlers, ProcessState
from mnemond.api.changes import ChangeHandlers
from mnemond.api.cues import CuesHandlers
from mnemond.api.embed import EmbedHandlers
from mnemond.api.embed_worker import EmbeddingWorker
from mnemond.api.history import HistoryHandlers
from mnemond.api.imports import ImportHandlers
from mnemond.api.interchange import ExportHandlers
from mnemond.api.maintenance import GcHandlers
from mnemond.api.projects import Projects
from mnemond.api.recall import ReadHandlers, SearchHandlers
from mnemond.api.remember import RememberHandlers
from mnemond.api.requests import Identities
from mnemond.api.settings import ConfigHandlers, StoreSettings
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.stores import BackupHandlers, StoreHandlers
from mnemond.config.loading import FILE, loaded_from
from mnemond.config.settings import Config
from mnemond.embed.embedder import Embedder, Purpose, Supply
from mnemond.embed.reranking import Rerankers
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.memory.embedding import wanted_by
from mnemond.model.changes import RecallLine, Vector
from mnemond.store.backups import BackupDirectory, BackupService
from mnemond.store.registry import StoreRegistry
from mnemond.wire.deferred import Deferred, run_now
from mnemond.wire.dispatch import Call
from mnemond.wire.params import SPOOL

T = TypeVar("T")

CALL = Call(connection=1, peer_pid=2, peer_uid=3)
NOW_US = 1_770_000_000_000_000
CLOSE_S = 30.0
BATCH = 4


async def run_as_dispatched(coroutine: Coroutine[Any, Any, T]) -> tuple[T, bool]:
    """The result of a handler's coroutine run as the dispatcher does, and True if it had to wait for something."""
    async with trio.open_nursery() as nursery:
        result = run_now(coroutine, nursery.start_soon)
        return (await result, True) if isinstance(result, Deferred) else (result, False)


def spooled(data_dir: Path, content: bytes | str = b"") -> str:
    """The name of a file that a client made in the spool."""
    directory = data_dir / SPOOL
    directory.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="", dir=directory)
    with open(descriptor, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return Path(name).name


class ToyEmbedder:
    """Two dimensions, one direction; a lone ellipsis has none. Notes the threads it was used on."""

    name = "toy"
    dimension = 2

    def __init__(self, fingerprint: str = "toy-1", *, inline: bool = True) -> None:
        self.fingerprint = fingerprint
        self.inline = inline
        self.threads: set[str] = set()

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.threads.add(threading.current_thread().name)
        return [None if text == "…" else np.array([1, 0], np.float32) for text in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""


class ToySupply:
    """Has the embedders it is given, the first for new stores; takes them away while `away` says why."""

    def __init__(self, *embedders: Embedder | None) -> None:
        self.embedders = [each for each in embedders if each is not None]
        self.away: str | None = None
        self.wants = bool(self.embedders)
        self.lacking: str | None = None

    def preferred(self) -> Embedder | None:
        self.lacking = self.away
        return self._there(self.embedders[0]) if self.embedders else None

    def named(self, provider: str, model: str | None) -> Embedder:
        return self._only(lambda each: each.name == model)

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        return self._only(lambda each: each.fingerprint == fingerprint)

    def clear_cache(self) -> None:
        for each in self.embedders:
            each.clear_cache()

    def _only(self, fits: Callable[[Embedder], bool]) -> Embedder:
        found = [each for each in self.embedders if fits(each)]
        if not found:
            raise MnemonError(UNAVAILABLE, "there is no such toy", hint="look elsewhere")
        return self._there(found[0])

    def _there(self, embedder: Embedder) -> Embedder:
        if self.away is not None:
            raise MnemonError(UNAVAILABLE, self.away)
        return embedder


KEPT = 2
"""Backups of a store, of each kind."""


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

    def __init__(
        self, path: Path, *embedders: Embedder | None, config: Config | None = None, supply: Supply | None = None
    ) -> None:
        """The first embedder is the one of new stores; `supply` takes the place of all."""
        self.path = path
        self.toys = ToySupply(*embedders)
        self.supply = supply or self.toys
        self.clock, self.ids = HandClock(), CountingIds()
        self.stopped = 0
        self.defects: list[tuple[str, BaseException]] = []
        self.stores = StoreRegistry(
            path,
            choose_embedder=wanted_by(self.supply),
            now_us=self.clock.now_us,
            loop=trio.lowlevel.current_trio_token(),
            on_defect=lambda where, error: self.defects.append((where, error)),
            warn=lambda sentence: None,
        )
        self.identities = Identities(self.clock, self.ids)
        self.worker = EmbeddingWorker(self.supply, self.identities, BATCH, self._guard)
        self.settings = StoreSettings(self.stores, loaded_from(config or Config(), path / FILE))
        self.open_stores = OpenStores(self.stores, self.supply, self.settings, self.worker)
        self.safekeeping = BackupService(
            self.stores, BackupDirectory(path, KEPT, (config or Config()).backup.encrypt_to or ()), self.clock.now_us
        )
        self.named = StoreHandlers(self.stores, self.open_stores, self.worker, self.safekeeping)
        self.backups = BackupHandlers(self.stores, self.open_stores, self.worker, self.safekeeping, path)
        self.configuration = ConfigHandlers(self.stores, self.settings)
        self.embedding = EmbedHandlers(self.open_stores, self.supply, self.worker, self.identities)
        self.projects = Projects()
        self.remembering = RememberHandlers(self.open_stores, self.identities, self.projects)
        self.changes = ChangeHandlers(self.open_stores, self.identities, self.clock)
        self.cues = CuesHandlers(self.open_stores, self.identities, self.clock)
        self.used: list[str] = []
        self.recalls: list[RecallLine] = []
        self.reads = ReadHandlers(
            self.open_stores, lambda: 0.0, self.clock, self.identities.nonce, self._note_use, self.projects,
            Rerankers({}, lambda: 0.0),
        )  # fmt: skip
        self.search = SearchHandlers(self.open_stores, lambda: 0.0, self.clock, self.projects)
        self.history = HistoryHandlers(self.open_stores, self.identities, self.clock)
        self.collecting = GcHandlers(self.open_stores, self.identities, self.clock)
        self.exports = ExportHandlers(path, self.open_stores, self.identities, self.projects)
        self.imports = ImportHandlers(
            path, self.open_stores, self.identities, self.settings, self.projects, self._read_nothing
        )
        life = ProcessState(
            now_us=self.clock.now_us, uptime_s=lambda: 12.3456, connections=lambda: 7, request_stop=self._stop
        )
        self.daemon = DaemonHandlers(path, config or Config(), self.stores, self.open_stores, life)

    async def _read_nothing(self, store: str) -> None:
        """No job runs here."""

    def _stop(self) -> None:
        self.stopped += 1

    def _note_use(self, warm: OpenStore, insight_ids: Sequence[str], line: RecallLine | None) -> None:
        self.used += insight_ids
        self.recalls += [] if line is None else [line]

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.defects.append(("worker", error))

    async def warm(self, name: str = "default") -> OpenStore:
        """The store, open."""
        return await self.open_stores.open(name)


@asynccontextmanager
async def bench(
    path: Path, *embedders: Embedder | None, config: Config | None = None, supply: Supply | None = None
) -> AsyncIterator[Bench]:
    """Handlers whose stores are closed afterwards, whatever became of them."""
    built = Bench(path, *embedders, config=config, supply=supply)
    try:
        yield built
    finally:
        with trio.move_on_after(CLOSE_S, shield=True):
            await built.stores.close()
