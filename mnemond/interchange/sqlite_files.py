"""SQLite files of other programs: mnemon and memman (`insights`), mcp-memory-service (`memories`).

`items_of_database` reads one for an import; it is never written, nor are files made beside it. `move_stores` takes
stores of mnemon over when the daemon starts: `mnemon.db` in the data directory, and later ones in the places of
mnemond's own. A new file is made next to the old one and renamed into its place, so that an interrupted process leaves
the old one or the new one, whole. The old file becomes `mnemon.db.bak-VERSION`. Blocking.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.interchange.items import Item, NotReadableError, category_of, labels, moment, pieces, plain
from mnemond.model.memory import CATEGORIES, EDGE_TYPES, MAX_METADATA, NO_METADATA, format_us
from mnemond.store import edges, operations, verified_copy
from mnemond.store.checksums import reason
from mnemond.store.connection import DATABASE_FILE, BusyError, Connection, SqliteError, Value
from mnemond.store.files import flush_directory, is_writable, make_directory
from mnemond.store.insights import content_hash
from mnemond.store.schema import create

MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of such a file."""

MNEMON: Final = "mnemon"
MEMMAN: Final = "memman"
SERVICE: Final = "mcp-memory-service"

_KINDS: Final = f"{MNEMON}, {MEMMAN} and {SERVICE}"
_any = msgspec.json.Decoder()


def items_of_database(path: Path, kind: str | None) -> tuple[str, list[Item]]:
    """Return the kind of a database and its memories, without those that were deleted there.

    Raises NotReadableError for one that is something else, or that a program has open.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise NotReadableError("a program has it open, or ended without closing it (there is a log beside it)")
    try:
        connection = Connection(path, read_only=True, frozen=True)
        try:
            found = _kind_of(connection)
            if found is None or kind not in (None, found):
                raise NotReadableError(f"it is a database, but none of {kind or _KINDS}")
            read = _of_service if found == SERVICE else _of_insights
            return found, list(read(connection, found))
        finally:
            connection.close()
    except (SqliteError, UnicodeDecodeError) as error:
        raise NotReadableError(f"it is damaged: {error}") from error


def _columns(connection: Connection, table: str) -> set[str]:
    return set(connection.column("SELECT name FROM pragma_table_info(?)", (table,)))


def _kind_of(connection: Connection) -> str | None:
    insights = _columns(connection, "insights")
    if {"id", "content", "created_at"} <= insights:
        return MEMMAN if {"replaced_by", "author"} <= insights else MNEMON
    return SERVICE if {"content", "content_hash", "memory_type"} <= _columns(connection, "memories") else None


def _rows(connection: Connection, table: str, wanted: tuple[str, ...], rest: str) -> Iterator[dict[str, Any]]:
    """Yield rows with the wanted columns, None for those that the table has not. Raises SqliteError."""
    columns = _columns(connection, table)
    names = ", ".join(name if name in columns else f"NULL AS {name}" for name in wanted)
    for row in connection.rows(f"SELECT {names} FROM {table} {rest}"):  # noqa: S608 - names of columns
        yield dict(zip(wanted, row, strict=True))


def _of_insights(connection: Connection, kind: str) -> Iterator[Item]:
    wanted = ("id", "content", "category", "importance", "tags", "created_at", "replaced_by", "meta", "deleted_at")
    for row in _rows(connection, "insights", wanted, "ORDER BY created_at, rowid"):
        if row["deleted_at"] is not None or row["replaced_by"] is not None or not isinstance(row["content"], str):
            continue
        importance = row["importance"]
        for piece in pieces(row["content"]):
            yield Item(
                source=str(row["id"]), content=piece, origin=kind, category=category_of(row["category"], {}),
                importance=importance if isinstance(importance, int) and 1 <= importance <= 5 else 3,
                tags=labels(_decoded(row["tags"])), created_at=moment(row["created_at"]),
                metadata=plain(_decoded(row["meta"])),
            )  # fmt: skip


def _of_service(connection: Connection, kind: str) -> Iterator[Item]:
    wanted = ("content", "content_hash", "tags", "memory_type", "metadata", "created_at", "deleted_at")
    for row in _rows(connection, "memories", wanted, "ORDER BY rowid"):
        is_kept = row["deleted_at"] is None and isinstance(row["content"], str)
        for piece in pieces(row["content"] if is_kept else ""):
            yield Item(
                source=str(row["content_hash"]), content=piece, origin=kind,
                category=category_of(row["memory_type"], {}), tags=labels(row["tags"]),
                created_at=moment(row["created_at"]), metadata=plain(_decoded(row["metadata"])),
            )  # fmt: skip


def _decoded(value: object) -> object:
    try:
        return _any.decode(value) if isinstance(value, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return None


# Stores of mnemon, taken over with their history: their rows, whether deleted or not, vectors and operation log.

MOVING: Final = "data.moving"
"""Becomes the directory `data` once it is complete."""

FLOAT32_VERSION: Final = 1
"""From this `user_version` of mnemon on, vectors are float32; before they are float64."""

MAX_COMPONENT: Final = 1e6
"""The largest component of a plausible vector: other bytes read as float64 exceed it."""

_COLUMNS: Final = (
    "id", "content", "category", "importance", "tags", "entities", "source", "embedding", "access_count",
    "last_accessed_at", "effective_importance", "created_at", "updated_at", "deleted_at",
)  # fmt: skip
_INSERT = (
    f"INSERT OR IGNORE INTO insights({', '.join(_COLUMNS)}, status, content_hash, embedding_model, embedding_dim,"
    " channel)"
    f" VALUES({', '.join('?' * (len(_COLUMNS) + 5))})"
)
_EDGE = (
    "INSERT OR IGNORE INTO edge_rows(source, target, kind, weight, metadata, created_at)"
    " SELECT s.number, t.number, ?, ?, ?, ? FROM insights s, insights t"
    " WHERE s.id = ? AND t.id = ? AND s.id <> t.id AND s.deleted_at IS NULL AND t.deleted_at IS NULL"
)


def copy_rows(source: Connection, target: Connection, now_us: int) -> tuple[int, int]:
    """Copy all rows, inside the caller's transaction, leaving out invalid values; return the memories in recall and out
    of it. Raises SqliteError.

    The vectors are said to be of the model "mnemon", as nothing says which one it was: no cosine is computed of them,
    and the memories are embedded again.
    """
    version = int(source.pragma("user_version") or 0)
    kept = {True: 0, False: 0}
    for row in _rows(source, "insights", _COLUMNS, "ORDER BY created_at, rowid"):
        values = _insight(row, version, now_us)
        if values is not None:
            kept[values[_COLUMNS.index("deleted_at")] is None] += target.run(_INSERT, values)
    target.run_many(_EDGE, list(_edges(source, now_us)))
    edges.add_reverses(target)
    target.run_many(
        "INSERT INTO oplog(operation, insight_id, created_at) VALUES(?, ?, ?)", list(_oplog(source, now_us))
    )
    return kept[True], kept[False]


def _insight(row: dict[str, Any], version: int, now_us: int) -> tuple[Value, ...] | None:
    """Return the new row; None for one without an id or a text."""
    identifier, content = row["id"], row["content"]
    if not (isinstance(identifier, str) and identifier and isinstance(content, str)):
        return None
    vector = _vector(row["embedding"], version)
    created = moment(row["created_at"]) or format_us(now_us)
    deleted = None if row["deleted_at"] is None else moment(row["deleted_at"]) or format_us(now_us)
    category = str(row["category"] or "").lower()
    return (
        identifier, content, category if category in CATEGORIES else "general", _whole(row["importance"], 3, 1, 5),
        _list(row["tags"]), _list(row["entities"]), str(row["source"] or "user"),
        None if vector is None else vector.tobytes(), _whole(row["access_count"], 0, 0, 1 << 40),
        moment(row["last_accessed_at"]), _weight(row["effective_importance"], 0.5, math.inf), created,
        moment(row["updated_at"]) or created, deleted, "active" if deleted is None else "forgotten",
        content_hash(content), None if vector is None else MNEMON,
        None if vector is None else len(vector), "manual",
    )  # fmt: skip


def _edges(source: Connection, now_us: int) -> Iterator[tuple[Value, ...]]:
    for start, end, kind, weight, metadata, created in source.rows(
        "SELECT source_id, target_id, edge_type, weight, metadata, created_at FROM edges"
    ):
        if kind in EDGE_TYPES:
            made = moment(created) or format_us(now_us)
            yield EDGE_TYPES.index(kind), _weight(weight, 1.0, 1.0), _metadata(metadata), made, start, end


def _oplog(source: Connection, now_us: int) -> Iterator[tuple[Value, ...]]:
    """The newest lines, oldest first, without their details, which may contain text of memories."""
    rows = source.rows(
        "SELECT operation, insight_id, created_at FROM oplog ORDER BY id DESC LIMIT ?", (operations.MAX_LINES,)
    )
    for operation, insight_id, created in reversed(rows):
        subject = insight_id if isinstance(insight_id, str) else None
        yield str(operation)[: operations.MAX_DETAIL], subject, moment(created) or format_us(now_us)


def _vector(blob: object, version: int) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    if not isinstance(blob, bytes) or not blob:
        return None
    values = _plausible(blob, "<f8") if version < FLOAT32_VERSION else None
    if values is None:
        values = _plausible(blob, "<f4")
    norm = 0.0 if values is None else float(np.linalg.norm(values))
    return None if values is None or norm == 0 else (values / norm).astype("<f4")


def _plausible(blob: bytes, kind: str) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    if len(blob) % np.dtype(kind).itemsize:
        return None
    values = np.frombuffer(blob, kind).astype(np.float64)
    return values if np.isfinite(values).all() and (np.abs(values) <= MAX_COMPONENT).all() else None


def _list(text: object) -> str:
    """Return a JSON list of the strings in a JSON list, each once; an empty one for other values."""
    found = _decoded(text)
    names = [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
    return msgspec.json.encode(list(dict.fromkeys(names))).decode()


def _metadata(text: object) -> str:
    found = _decoded(text)
    encoded = msgspec.json.encode(found) if isinstance(found, dict) else b""
    return encoded.decode() if 0 < len(encoded) <= MAX_METADATA else NO_METADATA


def _whole(value: object, default: int, least: int, most: int) -> int:
    return min(max(value, least), most) if isinstance(value, int) else default


def _weight(value: object, default: float, most: float) -> float:
    number = float(value) if isinstance(value, int | float) else default
    return min(max(number, 0.0), most) if math.isfinite(number) else default


def is_mnemons(path: Path) -> bool:
    """Return True if a database is mnemon's and not converted yet. Raises SqliteError for other files."""
    connection = Connection(path, read_only=True)
    try:
        if connection.pragma("application_id"):
            return False
        tables = set(connection.column("SELECT name FROM sqlite_schema WHERE type = 'table'"))
        return tables >= {"insights", "edges", "oplog"} and _kind_of(connection) == MNEMON
    finally:
        connection.close()


def move_stores(data_dir: Path, now_us: int, warn: Callable[[str], None]) -> bool:
    """Convert the stores of mnemon: the single one, which moves to data/default if there are no stores yet, or those
    that lie among mnemond's. Return True if the single one was moved.

    Raises MnemonError: BUSY while mnemon has one open, STORAGE for one that is damaged. The daemon must not start then:
    it would make a new store, and the old one could not be moved any more.
    """
    old, data, moving = data_dir / DATABASE_FILE, data_dir / "data", data_dir / MOVING
    shutil.rmtree(moving, ignore_errors=True)  # of an interrupted process; the old store is whole
    for path in sorted(data.glob(f"*/{DATABASE_FILE}")):
        _convert_in_place(path, now_us, warn)
    if not old.is_file() or old.is_symlink():
        return False
    if data.exists():
        if _is_kept(old, data / "default"):
            _remove(old)  # the last step of an interrupted move
        else:
            warn(f"{old} is a store of mnemon that is not used: there are stores in {data} already")
        return False
    with _told(old, f"cannot be moved to {data / 'default'}"):
        if not is_mnemons(old):
            warn(f"{old} is not a store of mnemon; it is left alone")
            return False
        _move(old, moving, data, now_us)
    return True


def _convert_in_place(path: Path, now_us: int, warn: Callable[[str], None]) -> None:
    """Convert a store of mnemon that lies where mnemond has its own; `warn` of one that stays as it is, which no
    request can open then. Any other is left alone."""
    try:
        if path.is_symlink() or not path.is_file() or not is_writable(path) or not is_mnemons(path):
            return
    except (SqliteError, OSError):
        return  # damaged, or in use: whoever opens it says so
    try:
        with _told(path, "cannot be converted"), _held(path) as (source, version):
            draft = path.with_name(f".{path.name}.part")
            _convert(source, draft, now_us)
            _keep(source, path, path.with_name(f"{path.name}.bak-{version}"))
            os.replace(draft, path)
            flush_directory(path.parent)
    except MnemonError as error:
        warn(error.message)


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Raise MnemonError instead of what SQLite and the file system raise."""
    try:
        yield
    except BusyError as error:
        raise MnemonError(
            BUSY, f"{path} is in use by another program: {error}", hint="close that program, then start again"
        ) from error
    except (SqliteError, OSError) as error:
        raise MnemonError(
            STORAGE, f"{path} {what}: {reason(error)}",
            hint="it is unchanged; move it away to begin with an empty store",
        ) from error  # fmt: skip


def _move(old: Path, moving: Path, data: Path, now_us: int) -> None:
    make_directory(moving)
    make_directory(moving / "default")
    with _held(old) as (source, version):
        _convert(source, moving / "default" / DATABASE_FILE, now_us)
        _keep(source, old, moving / "default" / f"{DATABASE_FILE}.bak-{version}")
        flush_directory(moving / "default")
        flush_directory(moving)
        os.rename(moving, data)
        flush_directory(data.parent)
        _remove(old)
        flush_directory(data.parent)


@contextmanager
def _held(path: Path) -> Iterator[tuple[Connection, int]]:
    """An exclusive connection whose log is in the database, and the version of its schema.

    Raises BusyError when another connection has the database open.
    """
    connection = Connection(path)
    try:
        connection.run("PRAGMA locking_mode = EXCLUSIVE")
        connection.checkpoint(truncate=True)
        connection.run("PRAGMA journal_mode = DELETE")  # takes the exclusive lock, and keeps it
        yield connection, int(connection.pragma("user_version") or 0)
    finally:
        connection.close()


def _convert(source: Connection, target: Path, now_us: int) -> None:
    """Write the converted store; it is on the disk and verified when this returns."""
    _remove(target)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = Connection(target)
    try:
        create(connection)
        connection.run("BEGIN IMMEDIATE")
        copied = copy_rows(source, connection, now_us)
        connection.run("COMMIT")
        connection.checkpoint(truncate=True)
        connection.run("PRAGMA journal_mode = DELETE")  # one file, until it is opened as a store
    finally:
        connection.close()
    facts = verified_copy.verify(target)
    if (facts.memories, facts.retired) != copied:
        raise MnemonError(STORAGE, f"{target} does not hold what was put into it", hint="the old store is unchanged")


def _remove(path: Path) -> None:
    for part in ("-journal", "-shm", "-wal", ""):
        path.with_name(path.name + part).unlink(missing_ok=True)


def _keep(source: Connection, old: Path, kept: Path) -> None:
    """Give the old file a second name; copy it if the file system has no hard links."""
    kept.unlink(missing_ok=True)
    try:
        os.link(old, kept)
    except OSError:
        source.backup_to(kept)
    kept.chmod(0o600)


def _is_kept(old: Path, store: Path) -> bool:
    """Return True if the old file is the one kept next to the new one: only its first name is left to be removed."""
    return any(os.path.samefile(old, kept) for kept in store.glob(f"{DATABASE_FILE}.bak-*"))
