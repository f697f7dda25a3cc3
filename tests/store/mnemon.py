"""Databases as mnemon wrote them: three tables, in write-ahead-log mode, vectors of float64 at first."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np

SCHEMA = """
CREATE TABLE insights (
  id TEXT PRIMARY KEY, content TEXT NOT NULL, category TEXT DEFAULT 'general', importance INTEGER DEFAULT 3,
  tags TEXT DEFAULT '[]', entities TEXT DEFAULT '[]', source TEXT DEFAULT 'user', access_count INTEGER DEFAULT 0,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT);
CREATE TABLE edges (
  source_id TEXT NOT NULL, target_id TEXT NOT NULL, edge_type TEXT NOT NULL, weight REAL DEFAULT 1.0,
  metadata TEXT DEFAULT '{}', created_at TEXT NOT NULL, PRIMARY KEY (source_id, target_id, edge_type));
CREATE TABLE oplog (
  id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, insight_id TEXT, detail TEXT DEFAULT '',
  created_at TEXT NOT NULL);
"""
LATER_COLUMNS = ("last_accessed_at TEXT", "embedding BLOB", "effective_importance REAL DEFAULT 0.5")

TIME = "2025-03-01T10:20:30Z"
DIMENSION = 6
SECRET = "what an oplog of mnemon's may quote"


def uuid(number: int) -> str:
    return f"{number:08x}-1111-4000-8000-000000000000"


def vector(number: int) -> np.ndarray:
    raw = np.random.default_rng(number).standard_normal(DIMENSION)
    return 3 * raw


def legacy_at(path: Path, *, memories: int = 5, version: int = 0, columns: tuple[str, ...] = LATER_COLUMNS) -> None:
    """A store of so many memories, the last one deleted, with its log not copied into the database yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.wal_autocheckpoint(0)
    db.execute(SCHEMA)
    for column in columns:
        db.execute(f"ALTER TABLE insights ADD COLUMN {column}")
    db.pragma("user_version", version)
    kind = "<f8" if version == 0 else "<f4"
    for number in range(memories):
        gone = "2025-04-01 08:00:00" if number == memories - 1 else None
        db.execute(
            "INSERT INTO insights(id, content, category, importance, tags, created_at, updated_at, deleted_at)"
            ' VALUES(?, ?, \'fact\', ?, \'["a", "b", "a"]\', ?, ?, ?)',
            (uuid(number), f"memory {number} of mnemon", 1 + number % 5, TIME, TIME, gone),
        )
        if "embedding BLOB" in columns:
            blob = vector(number).astype(kind).tobytes()
            db.execute("UPDATE insights SET embedding = ? WHERE id = ?", (blob, uuid(number)))
        db.execute("INSERT INTO oplog(operation, insight_id, detail, created_at) VALUES('remember', ?, ?, ?)",
                   (uuid(number), SECRET, TIME))  # fmt: skip
    for source, target in ((0, 1), (1, 0), (1, 2), (2, memories - 1), (0, 99), (1, 1)):
        db.execute(
            "INSERT INTO edges(source_id, target_id, edge_type, weight, created_at) VALUES(?, ?, 'semantic', 0.7, ?)",
            (uuid(source), uuid(target), TIME),
        )
    leave_open(db, path)


def leave_open(db: apsw.Connection, path: Path) -> None:
    """Close as a process that was killed does: the log stays beside the database."""
    saved = {part: Path(f"{path}{part}").read_bytes() for part in ("", "-wal", "-shm")}
    db.close()
    for part, content in saved.items():
        Path(f"{path}{part}").write_bytes(content)
