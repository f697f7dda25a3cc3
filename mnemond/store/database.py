"""Opening a store's file: version check, connection, durability, schema, index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from mnemond.config.reading import VectorSettings
from mnemond.errors import STORAGE, rejected
from mnemond.index.passages import PassageIndex
from mnemond.index.writer import MemoryIndex
from mnemond.store import edges, files, insights, operations, passages
from mnemond.store.checksums import is_damage
from mnemond.store.connection import FULL, Connection, SqliteError
from mnemond.store.files import StoreFiles
from mnemond.store.gc_tuning import freeze_built_index, gc_paused
from mnemond.store.insights import Unreadable
from mnemond.store.meta import EmbedderRecord, made_by, read_embedder, write_embedder
from mnemond.store.schema import create, refuse_other_file

LOADED_AT_ONCE: Final = 200
"""Passages, the newest ones, that are loaded before a store answers: .1 s. A session begins with the last one."""

ChooseEmbedder = Callable[[], EmbedderRecord | None]
"""Chooses the embedder of a store that has none; may take seconds."""


class Opened(msgspec.Struct):
    """An open store: its connection, its index, the embedder of its vectors, and its files. `read_only`: why it cannot
    be written, if so. `wrong`: damage that was found. `unreadable`: rows that are not in the index. `in_slices`: most
    passages are loaded later."""

    connection: Connection
    index: MemoryIndex
    embedder: EmbedderRecord | None
    files: StoreFiles
    read_only: str | None = None
    wrong: str | None = None
    unreadable: tuple[Unreadable, ...] = ()
    in_slices: bool = False


def open_database(
    path: Path,
    choose_embedder: ChooseEmbedder,
    now_us: int,
    vfs: str | None = None,
    search: VectorSettings | None = None,
    *,
    in_slices: bool = False,
    kept: MemoryIndex | None = None,
    read_only: bool = False,
) -> Opened:
    """Open or create the store at `path` and load its index; `in_slices`: leave most passages to `load_passages` of the
    engine. `kept`: the index of the file as it is, which need not be loaded then. `read_only`: write nothing.

    A store without memories and without an embedder gets the one of `choose_embedder`; every other keeps its own.
    Raises MnemonError: UNSUPPORTED for a file of another version or program, STORAGE when the file system has no
    durable write-ahead logging; SqliteError for everything the database refuses.
    """
    reason = wrong = None
    for suffix in ("", "-wal", "-shm"):
        if (part := path.with_name(path.name + suffix)).exists() and not part.is_file():
            raise rejected(STORAGE, f"{part} is not a regular file", "move it away")
    if read_only or (path.exists() and not files.is_writable(path)):
        connection, reason = files.connect_read_only(path)
    else:
        if path.exists():
            refuse_other_file(path)
        connection = Connection(path, vfs=vfs)
    try:
        if reason is not None:
            embedder = read_embedder(connection)
        else:
            _verify_durability(connection, path)
            create(connection)
            embedder = _embedder_of(connection, choose_embedder)
            wrong = _expire_outcomes(connection, now_us)
        unreadable: list[Unreadable] = []
        index = kept or load_index(connection, embedder, search, unreadable, in_slices=in_slices)
        return Opened(connection, index, embedder, StoreFiles(path), reason, wrong, tuple(unreadable), in_slices)
    except BaseException:
        connection.close()
        raise


def load_index(
    connection: Connection,
    embedder: EmbedderRecord | None,
    search: VectorSettings | None = None,
    unreadable: list[Unreadable] | None = None,
    *,
    in_slices: bool = False,
) -> MemoryIndex:
    """Build the in-memory index from the rows, which are canonical. Rows that cannot be decoded are left out, and
    appended to `unreadable`. `in_slices`: all but the newest passages wait. Raises SqliteError."""
    dimension, model = (0, None) if embedder is None else (embedder.dimension, embedder.name)
    left_out: list[Unreadable] = [] if unreadable is None else unreadable
    with gc_paused():
        rows = list(insights.load_active(connection, dimension, model, left_out))
        arrays = edges.load_arrays(connection, {each.number for each in left_out})
        numbers = passages.in_recall(connection)
        waiting = numbers[:-LOADED_AT_ONCE] if in_slices else []
        first = passages.load(connection, embedder, numbers[len(waiting) :])
        said = PassageIndex.build(first, dimension, made_by(embedder), waiting)
        index = MemoryIndex.build(rows, arrays, dimension, made_by=made_by(embedder), search=search, passages=said)
    freeze_built_index(index.snapshot.rows)
    return index


def _verify_durability(connection: Connection, path: Path) -> None:
    """An acknowledged memory must survive power loss, which needs WAL and flushes."""
    journal, synchronous = connection.pragma("journal_mode"), connection.pragma("synchronous")
    if journal != "wal" or synchronous != FULL:
        raise rejected(
            STORAGE,
            f"{path} cannot be opened durably: journal_mode is {journal}, synchronous is {synchronous}",
            "put the data directory on a local file system; network file systems do not support this",
        )


def _embedder_of(connection: Connection, choose_embedder: ChooseEmbedder) -> EmbedderRecord | None:
    recorded = read_embedder(connection)
    if recorded is not None or connection.row("SELECT 1 FROM insights LIMIT 1") is not None:
        return recorded
    chosen = choose_embedder()
    if chosen is not None:
        write_embedder(connection, chosen)
    return chosen


def _expire_outcomes(connection: Connection, now_us: int) -> str | None:
    """Delete expired outcomes. Returns the damage if that meets a damaged page: memories can be recalled nevertheless.
    Raises SqliteError for other failures."""
    try:
        connection.run("BEGIN IMMEDIATE")
        operations.expire(connection, now_us)
        connection.run("COMMIT")
    except SqliteError as error:
        if connection.in_transaction:
            connection.run("ROLLBACK")
        if not is_damage(error):
            raise
        return files.damage_reason(error)
    return None
