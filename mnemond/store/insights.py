"""The `insights` table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from mnemond.model.changes import AddInsight, RetireInsight, Vector
from mnemond.model.insight import Insight, Scope
from mnemond.store.connection import Connection
from mnemond.store.damage import damaged
from mnemond.store.meta import EmbedderRecord

_COLUMNS = (
    "id, content, created_at, updated_at, category, importance, tags, entities, source, channel, conversation_id,"
    " user_id, session_id, agent_id, access_count, last_accessed_at, effective_importance, valid_from, invalid_at,"
    " status"
)
_INSERT = (
    f"INSERT INTO insights({_COLUMNS}, content_hash, embedding, embedding_model, embedding_dim)"
    f" VALUES({', '.join('?' * 24)})"
)
_LOAD_BATCH = 1000
_names = msgspec.json.Decoder(tuple[str, ...])
_json = msgspec.json.Encoder()


def content_hash(content: str) -> str:
    """BLAKE2b-128 of the UTF-8 content, in hex: tells a damaged or changed text."""
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def insert(connection: Connection, change: AddInsight, embedder: EmbedderRecord | None) -> None:
    """Insert one active insight with its vector. Raises ConstraintError when the id exists."""
    it, scope = change.insight, change.insight.scope
    vector: Vector | None = change.vector
    blob = None if vector is None else np.ascontiguousarray(vector, "<f4").tobytes()
    model = None if vector is None or embedder is None else embedder.name
    connection.run(
        _INSERT,
        (
            it.id, it.content, it.created_at, it.updated_at, it.category, it.importance,
            _json.encode(it.tags).decode(), _json.encode(it.entities).decode(), it.source, it.channel,
            it.conversation_id, scope.user_id, scope.session_id, scope.agent_id, it.access_count,
            it.last_accessed_at, it.effective_importance, it.valid_from, it.invalid_at, it.status,
            content_hash(it.content), blob, model, None if vector is None else len(vector),
        ),
    )  # fmt: skip


def retire(connection: Connection, change: RetireInsight, now: str) -> bool:
    """Take an active insight out of recall; False when it was not active."""
    changed = connection.run(
        "UPDATE insights SET status = ?, deleted_at = ?, updated_at = ? WHERE id = ? AND status = 'active'",
        (change.status, now, now, change.id),
    )
    return changed == 1


def _from_row(row: tuple[Any, ...]) -> Insight:
    return Insight(
        id=row[0], content=row[1], created_at=row[2], updated_at=row[3], category=row[4], importance=row[5],
        tags=_names.decode(row[6]), entities=_names.decode(row[7]), source=row[8], channel=row[9] or "manual",
        conversation_id=row[10], scope=Scope(row[11], row[12], row[13]), access_count=row[14],
        last_accessed_at=row[15], effective_importance=row[16], valid_from=row[17], invalid_at=row[18],
        status=row[19],
    )  # fmt: skip


def read(connection: Connection, insight_id: str) -> Insight | None:
    """One insight in any state."""
    row = connection.row(f"SELECT {_COLUMNS} FROM insights WHERE id = ?", (insight_id,))  # noqa: S608 - names only
    return None if row is None else _from_row(row)


def _vector(blob: bytes | None, dimension: int) -> Vector | None:
    if blob is None or len(blob) != 4 * dimension or dimension == 0:
        return None
    return np.frombuffer(blob, "<f4")


def load_active(connection: Connection, dimension: int) -> Iterator[tuple[Insight, Vector | None]]:
    """Every active insight with its vector, oldest insertion first.

    A vector of another dimension than `dimension` counts as none (spec 7.3: such a row has no cosine).
    """
    last = 0
    while True:
        rows = connection.rows(
            f"SELECT {_COLUMNS}, embedding, rowid FROM insights"  # noqa: S608 - names only
            " WHERE rowid > ? AND deleted_at IS NULL ORDER BY rowid LIMIT ?",
            (last, _LOAD_BATCH),
        )
        if not rows:
            return
        for row in rows:
            try:
                yield _from_row(row), _vector(row[20], dimension)
            except (msgspec.MsgspecError, TypeError, AttributeError) as error:
                raise damaged(f"the row of memory {row[0]!a}", error) from error
        last = rows[-1][21]


def count_by_status(connection: Connection) -> dict[str, int]:
    """How many insights are in each state."""
    return dict(connection.rows("SELECT status, count(*) FROM insights GROUP BY status ORDER BY status"))
