"""Opening a store's file: gate, connect, verify the pragmas, migrate, load the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from mnemond.config.settings import VectorSettings
from mnemond.errors import STORAGE, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.store import edges, files, insights, legacy, operations
from mnemond.store.checksums import is_damage
from mnemond.store.connection import FULL, Connection, SqliteError
from mnemond.store.files import StoreFiles, damaged_file
from mnemond.store.gc_tuning import freeze_built_index, gc_paused
from mnemond.store.meta import EmbedderRecord, made_by, read_embedder, write_embedder
from mnemond.store.schema import migrate, refuse_newer

Wanted = Callable[[], EmbedderRecord | None]
"""Which embedder a store that has none shall have; it may take seconds to tell."""


class Opened(msgspec.Struct):
    """An open store: its connection, its index, the embedder its vectors belong to, and its files; `read_only` says why
    it cannot be written, if so, and `wrong` what was found to be damaged in it."""

    connection: Connection
    index: MemoryIndex
    embedder: EmbedderRecord | None
    files: StoreFiles
    read_only: str | None = None
    wrong: str | None = None


def open_database(
    path: Path, wanted: Wanted, now_us: int, vfs: str | None = None, search: VectorSettings | None = None
) -> Opened:
    """Open or create the store at `path` and load its index.

    A store without memories and without an embedder asks `wanted` for one and records it; every other keeps the
    embedder it was made with (spec 5).
    Raises MnemonError(UNSUPPORTED) for a file of a newer mnemond, MnemonError(STORAGE) when the file system does not
    give durable write-ahead logging, SqliteError for everything the database refuses.
    """
    if path.exists():
        if not path.is_file():
            raise MnemonError(STORAGE, f"{path} is not a regular file", hint="move it away", outcome="rejected")
        if not files.is_writable(path):
            return _for_reading(path, search)
        if legacy.is_legacy(path):
            legacy.adopt(path, now_us)
        refuse_newer(path)
    connection = Connection(path, vfs=vfs)
    try:
        _verify_durability(connection, path)
        migrate(connection, path)
        embedder = _embedder_of(connection, wanted)
        wrong = _expired(connection, now_us)
        return Opened(connection, load_index(connection, embedder, search), embedder, StoreFiles(path), wrong=wrong)
    except BaseException:
        connection.close()
        raise


def _for_reading(path: Path, search: VectorSettings | None) -> Opened:
    connection, reason = files.connect(path)
    try:
        embedder = read_embedder(connection)
        return Opened(connection, load_index(connection, embedder, search), embedder, StoreFiles(path), reason)
    except BaseException:
        connection.close()
        raise


def load_index(
    connection: Connection, embedder: EmbedderRecord | None, search: VectorSettings | None = None
) -> MemoryIndex:
    """Build the in-memory index from the rows, which are the truth. Raises SqliteError."""
    dimension, model = (0, None) if embedder is None else (embedder.dimension, embedder.name)
    with gc_paused():
        rows = insights.load_active(connection, dimension, model)
        index = MemoryIndex.build(
            rows, edges.load_arrays(connection), dimension, made_by=made_by(embedder), search=search
        )
    freeze_built_index(index.snapshot.rows)
    return index


def _expired(connection: Connection, now_us: int) -> str | None:
    """Let go of outcomes that nobody repeats any more. What is wrong where that meets a damaged page: memories can be
    recalled without them. Raises SqliteError for other failures."""
    try:
        connection.run("BEGIN IMMEDIATE")
        operations.expire(connection, now_us)
        connection.run("COMMIT")
    except SqliteError as error:
        if connection.in_transaction:
            connection.run("ROLLBACK")
        if not is_damage(error):
            raise
        return damaged_file(error)
    return None


def _embedder_of(connection: Connection, wanted: Wanted) -> EmbedderRecord | None:
    recorded = read_embedder(connection)
    if recorded is not None or connection.row("SELECT 1 FROM insights LIMIT 1") is not None:
        return recorded
    found = wanted()
    if found is not None:
        write_embedder(connection, found)
    return found


def _verify_durability(connection: Connection, path: Path) -> None:
    """An acknowledged memory must survive power loss; a file system without WAL or flushes cannot promise that."""
    journal, synchronous = connection.pragma("journal_mode"), connection.pragma("synchronous")
    if journal != "wal" or synchronous != FULL:
        raise MnemonError(
            STORAGE,
            f"{path} cannot be opened durably: journal_mode is {journal}, synchronous is {synchronous}",
            hint="put the data directory on a local file system; network file systems do not support this",
            outcome="rejected",
        )
