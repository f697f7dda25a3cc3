"""Change sets and stores for tests, with ids and times given by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mnemond.model.changes import AddInsight, ChangeSet, RetireInsight, Vector
from mnemond.model.memory import EDGE_TYPES, Edge, Insight, format_us
from mnemond.store.connection import Connection
from mnemond.store.database import Opened, open_database
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from tests.outcomes import forgotten, remembered

DIMENSION = 8
EMBEDDER = EmbedderRecord("toy", DIMENSION, "toy-1")
START_US = 1_770_000_000_000_000


def vector_of(number: int) -> Vector:
    """A unit vector that depends on the number alone."""
    raw = np.random.default_rng(number).standard_normal(DIMENSION).astype(np.float32)
    return raw / np.float32(np.linalg.norm(raw))


def insight_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def remember(number: int, content: str | None = None, op_id: str | None = None, digest: str = "d") -> ChangeSet:
    now = format_us(START_US + number)
    insight = Insight(
        id=insight_id(number), content=content or f"memory number {number}", created_at=now, updated_at=now
    )
    return ChangeSet(
        op_id=op_id or f"made-{number}",
        client_op_id=op_id is not None,
        method="remember",
        now=now,
        changes=(AddInsight(insight, vector_of(number)),),
        outcome=remembered(insight.id, op_id or f"made-{number}", embedded=True, effective_importance=0.5),
        request_digest=digest,
    )


def forget(number: int, op_id: str | None = None) -> ChangeSet:
    return ChangeSet(
        op_id=op_id or f"forget-{number}",
        client_op_id=op_id is not None,
        method="forget",
        now=format_us(START_US + 1_000_000 + number),
        changes=(RetireInsight(insight_id(number), "forgotten"),),
        outcome=forgotten(insight_id(number), op_id or f"forget-{number}"),
        request_digest="d",
    )


def stored_edges(connection: Connection) -> Iterator[Edge]:
    """Every edge, without its metadata, by the numbers of its ends."""
    ids = dict(connection.rows("SELECT number, id FROM insights"))
    for source, target, kind, weight in connection.rows("SELECT source, target, kind, weight FROM edge_rows"):
        yield Edge(ids[source], ids[target], EDGE_TYPES[kind], weight)


def open_at(path: Path, vfs: str | None = None) -> Opened:
    return open_database(path, lambda: EMBEDDER, START_US, vfs)


def engine_at(path: Path, vfs: str | None = None, defects: list[BaseException] | None = None) -> Engine:
    """An engine that notes its defects in `defects`."""
    seen = [] if defects is None else defects
    return Engine(open_at(path, vfs), lambda: open_at(path, vfs), lambda _, error: seen.append(error))


def contents(engine: Engine) -> set[str]:
    """What recall can see."""
    snapshot = engine.index.snapshot
    return {
        snapshot.insight(row).content
        for row in range(snapshot.rows)
        if snapshot.row_of(snapshot.insight(row).id) == row
    }


def stored(path: Path) -> list[str]:
    """What the file holds, read through a connection of its own."""
    opened = open_at(path)
    rows = opened.connection.rows("SELECT content FROM insights WHERE status = 'active' ORDER BY content")
    opened.connection.close()
    return [str(row[0]) for row in rows]


def bytes_of(directory: Path) -> bytes:
    """Everything in every file of a store. Reading beside SQLite's own locks is harmless: nothing here writes."""
    return b"".join(file.read_bytes() for file in sorted(directory.iterdir()) if file.is_file())


def by_status(connection: Connection) -> dict[str, int]:
    """Count the memories in each state, by reading all of them."""
    return dict(connection.rows("SELECT status, count(*) FROM insights GROUP BY status ORDER BY status"))
