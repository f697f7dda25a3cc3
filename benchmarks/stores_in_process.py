"""The stores of a benchmark file inside this process, written as the daemon writes them: with all their links."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.bench_files import BenchFile, remember_params
from benchmarks.wire import Json
from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.embed.embedder import Embedder
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory.cues import embed_memories
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.memory import parse_rfc3339
from mnemond.model.outcomes import RememberResult
from mnemond.store.connection import Connection
from mnemond.store.database import load_index, open_database
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Write

WRITTEN_US = parse_rfc3339("2029-12-01T00:00:00Z")
"""When the first memory is written; a microsecond later the next one."""

ASKED_US = parse_rfc3339("2030-01-01T00:00:00Z")
"""Time of questions without one of their own: after every memory."""

STORE = "default"

NO_CAP = Config(lifecycle=LifecycleSettings(max_insights=0))

BATCH = 64
"""Memories in one transaction."""


class Stores:
    """Files of benchmark stores; `embedder` reads every memory."""

    def __init__(self, directory: Path, embedder: Embedder) -> None:
        self._directory = directory
        self._embedder = embedder
        self._record = EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
        self._limits = write_rules(self._record, NO_CAP)

    def fill(self, bench: BenchFile) -> None:
        """One new file for each store that has queries. A memory without a word is left out."""
        for store in bench.queries:
            memories = [each for each in bench.memories[store] if each["content"].strip() or each.get("caption")]
            self._fill(self._path(bench, store), memories)

    def _fill(self, path: Path, memories: Sequence[Json]) -> None:
        opened = open_database(path, lambda: self._record, WRITTEN_US)
        engine = Engine(opened, lambda: opened, _unforeseen)
        for begin in range(0, len(memories), BATCH):
            batch = enumerate(memories[begin : begin + BATCH], begin)
            for result in engine.commit([self._write(engine, number, memory) for number, memory in batch]):
                if isinstance(result, MnemonError):
                    raise SystemExit(f"{path.name}: {result}")
        opened.connection.close()

    def snapshots(self, bench: BenchFile) -> dict[str, Snapshot]:
        """Read the filled stores anew: the index as the current code builds it."""
        found = {}
        for store in bench.queries:
            connection = Connection(self._path(bench, store))
            found[store] = load_index(connection, self._record).snapshot
            connection.close()
        return found

    def _path(self, bench: BenchFile, store: str) -> Path:
        return self._directory / f"{bench.name}-{list(bench.queries).index(store)}.db"

    def _write(self, engine: Engine, number: int, memory: Json) -> Write:
        params = remember_params(memory, STORE)
        draft = Draft(
            content=params["content"], source=params["source"], entities=params["entities"], no_diff=True,
            created_at=params.get("created_at"), conversation_id=params.get("conversation_id"),
        )  # fmt: skip
        now_us = WRITTEN_US + number
        prepared = prepare(draft, now_us, engine.index.snapshot.entity_spelling, NO_CAP)
        vector = self._embedder.embed([prepared.draft.content])[0]
        identity = WriteContext(
            id=memory["id"], op_id=f"op{number}", client_op_id=False, now_us=now_us, store=STORE, request_digest=""
        )
        return propose(msgspec.structs.replace(prepared, vector=vector), identity, self._limits)


@contextmanager
def temporary_stores(embedder: Embedder) -> Iterator[Stores]:
    """In an empty directory that is removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="mnemond-bench-"))
    try:
        yield Stores(directory, embedder)
    finally:
        shutil.rmtree(directory)


class ScratchStore:
    """An empty store on disk; without an embedder memories are compared by words alone."""

    def __init__(self, path: Path, embedder: Embedder | None) -> None:
        self._embedder = embedder
        record = None
        if embedder is not None:
            record = EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
        self._rules = write_rules(record, NO_CAP)
        self._opened = open_database(path, lambda: record, WRITTEN_US)
        self._engine = Engine(self._opened, lambda: self._opened, _unforeseen)

    def remember(self, number: int, text: str, now_us: int) -> RememberResult:
        """Write a memory as the daemon does: read, embedded, compared in the writer. `number` is in its id."""
        return self.write(number, Draft(content=text), now_us)

    def write(self, number: int, draft: Draft, now_us: int | None = None) -> RememberResult:
        """Write any memory; without a time, a microsecond after that of the number before."""
        now_us = WRITTEN_US + number if now_us is None else now_us
        prepared = prepare(draft, now_us, self._engine.index.snapshot.entity_spelling, NO_CAP)
        if self._embedder is not None:
            prepared = msgspec.structs.replace(prepared, vector=embed_memories(self._embedder, [prepared.text])[0])
        identity = WriteContext(
            id=f"{number:08x}-0000-4000-8000-000000000000", op_id=f"op{number}", client_op_id=False, now_us=now_us,
            store=STORE, request_digest="",
        )  # fmt: skip
        [result] = self._engine.commit([propose(prepared, identity, self._rules)])
        if not isinstance(result, RememberResult):
            raise SystemExit(f"{draft.content!r}: {result}")
        return result

    @property
    def snapshot(self) -> Snapshot:
        """The index as it is now; it stays readable after the store was closed."""
        return self._engine.index.snapshot

    @property
    def connection(self) -> Connection:
        """Of the file."""
        return self._opened.connection

    def close(self) -> None:
        """Close the file."""
        self._opened.connection.close()


@contextmanager
def scratch_store(embedder: Embedder | None) -> Iterator[ScratchStore]:
    """In an empty directory that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mnemond-bench-") as directory:
        store = ScratchStore(Path(directory) / "store.db", embedder)
        try:
            yield store
        finally:
            store.close()


def _unforeseen(where: str, error: BaseException) -> None:
    raise SystemExit(f"{where}: {error!r}")
