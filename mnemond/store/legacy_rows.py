"""The rows of a store of mnemon's as rows of ours. What cannot be right is left out; the file that is kept has it.

Its times are RFC 3339 or SQLite's own form; its vectors are float32, or float64 where `user_version` is 0; the model
that made them is not noted anywhere, so no cosine is taken of them: they are made anew (spec 15).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from mnemond.model.edge import EDGE_TYPES, MAX_METADATA, NO_METADATA
from mnemond.model.insight import CATEGORIES
from mnemond.model.timestamp import format_us, parse_rfc3339
from mnemond.store import oplog
from mnemond.store.connection import Connection
from mnemond.store.insertion import Value
from mnemond.store.insights import content_hash

FLOAT32_VERSION: Final = 1
"""From this `user_version` of mnemon's on, vectors are float32."""

LARGEST: Final = 1e6
"""The largest component of a plausible vector: bytes of another kind read as float64 are beyond it (spec 15)."""

_COLUMNS: Final = (
    "id", "content", "category", "importance", "tags", "entities", "source", "embedding", "access_count",
    "last_accessed_at", "effective_importance", "created_at", "updated_at", "deleted_at",
)  # fmt: skip
_INSERT = (
    f"INSERT OR IGNORE INTO insights({', '.join(_COLUMNS)}, status, content_hash, embedding_dim, channel)"
    f" VALUES({', '.join('?' * (len(_COLUMNS) + 4))})"
)
_EDGE = (
    "INSERT OR IGNORE INTO edge_rows(source, target, kind, weight, metadata, created_at)"
    " SELECT s.number, t.number, ?, ?, ?, ? FROM insights s, insights t"
    " WHERE s.id = ? AND t.id = ? AND s.id <> t.id AND s.deleted_at IS NULL AND t.deleted_at IS NULL"
)
_names = msgspec.json.Decoder(list[Any])
_object = msgspec.json.Decoder(dict[str, Any])


def copy_rows(source: Connection, target: Connection, now_us: int) -> tuple[int, int]:
    """Copy everything, inside the caller's transaction; memories in recall and out of it. Raises SqliteError."""
    version = int(source.pragma("user_version") or 0)
    columns = {row[1] for row in source.rows("PRAGMA table_info(insights)")}
    chosen = ", ".join(name if name in columns else f"NULL AS {name}" for name in _COLUMNS)
    kept = {True: 0, False: 0}
    for row in source.rows(f"SELECT {chosen} FROM insights ORDER BY created_at, rowid"):  # noqa: S608 - names only
        values = _insight(dict(zip(_COLUMNS, row, strict=True)), version, now_us)
        if values is not None:
            kept[values[_COLUMNS.index("deleted_at")] is None] += target.run(_INSERT, values)
    target.run_many(_EDGE, list(_edges(source, now_us)))
    target.run_many(
        "INSERT INTO oplog(operation, insight_id, created_at) VALUES(?, ?, ?)", list(_oplog(source, now_us))
    )
    return kept[True], kept[False]


def _insight(row: dict[str, Any], version: int, now_us: int) -> tuple[Value, ...] | None:
    """A row of ours; None for one without an id or a text."""
    identifier, content = row["id"], row["content"]
    if not (isinstance(identifier, str) and identifier and isinstance(content, str)):
        return None
    vector = _vector(row["embedding"], version)
    created = _time(row["created_at"]) or format_us(now_us)
    deleted = None if row["deleted_at"] is None else _time(row["deleted_at"]) or format_us(now_us)
    category = str(row["category"] or "").lower()
    return (
        identifier, content, category if category in CATEGORIES else "general", _whole(row["importance"], 3, 1, 5),
        _list(row["tags"]), _list(row["entities"]), str(row["source"] or "user"),
        None if vector is None else vector.tobytes(), _whole(row["access_count"], 0, 0, 1 << 40),
        _time(row["last_accessed_at"]), _weight(row["effective_importance"], 0.5, math.inf), created,
        _time(row["updated_at"]) or created, deleted, "active" if deleted is None else "forgotten",
        content_hash(content), None if vector is None else len(vector), "manual",
    )  # fmt: skip


def _edges(source: Connection, now_us: int) -> Iterator[tuple[Value, ...]]:
    for start, end, kind, weight, metadata, created in source.rows(
        "SELECT source_id, target_id, edge_type, weight, metadata, created_at FROM edges"
    ):
        if kind in EDGE_TYPES:
            made = _time(created) or format_us(now_us)
            yield EDGE_TYPES.index(kind), _weight(weight, 1.0, 1.0), _metadata(metadata), made, start, end


def _oplog(source: Connection, now_us: int) -> Iterator[tuple[Value, ...]]:
    """The newest lines, oldest first, without their details: those may hold text of memories."""
    rows = source.rows(
        "SELECT operation, insight_id, created_at FROM oplog ORDER BY id DESC LIMIT ?", (oplog.MAX_LINES,)
    )
    for operation, insight_id, created in reversed(rows):
        subject = insight_id if isinstance(insight_id, str) else None
        yield str(operation)[: oplog.MAX_DETAIL], subject, _time(created) or format_us(now_us)


def _vector(blob: object, version: int) -> np.ndarray[Any, np.dtype[np.float32]] | None:
    """A unit vector; None for bytes that are none."""
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
    return values if np.isfinite(values).all() and (np.abs(values) <= LARGEST).all() else None


def _time(text: object) -> str | None:
    """A time in our form; None for what is none. One without an offset is UTC, as SQLite's `datetime('now')` is."""
    if not isinstance(text, str):
        return None
    for form in (text, f"{text.strip().replace(' ', 'T', 1)}Z"):
        try:
            return format_us(parse_rfc3339(form))
        except ValueError:
            continue
    return None


def _list(text: object) -> str:
    """A JSON list of the texts in one, each once; an empty one for what is none."""
    try:
        found = _names.decode(text) if isinstance(text, str) else []
    except msgspec.MsgspecError:
        found = []
    return msgspec.json.encode(list(dict.fromkeys(each for each in found if isinstance(each, str)))).decode()


def _metadata(text: object) -> str:
    try:
        found = msgspec.json.encode(_object.decode(text)) if isinstance(text, str) else b""
    except msgspec.MsgspecError:
        return NO_METADATA
    return found.decode() if 0 < len(found) <= MAX_METADATA else NO_METADATA


def _whole(value: object, default: int, least: int, most: int) -> int:
    return min(max(value, least), most) if isinstance(value, int) else default


def _weight(value: object, default: float, most: float) -> float:
    """A finite number from 0 on."""
    number = float(value) if isinstance(value, int | float) else default
    return min(max(number, 0.0), most) if math.isfinite(number) else default
