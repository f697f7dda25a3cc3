"""Stores of an earlier version of the schema, to be migrated."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.store import schema as migrating
from mnemond.store.connection import Connection
from tests.store.factories import engine_at, remember


def before(version: int, many: int, tmp_path: Path, patch: pytest.MonkeyPatch) -> tuple[Path, Connection]:
    """A store as it was before a migration, with so many memories: its path and a connection to it."""
    path = tmp_path / "old.db"
    engine = engine_at(tmp_path / "new.db")
    engine.commit([remember(number) for number in range(1, many + 1)])
    engine.close()
    with patch.context() as patched:
        known = [(number, entry) for number, entry in migrating._migrations() if number < version]
        patched.setattr(migrating, "_migrations", lambda: known)
        db = Connection(path)
        migrating.migrate(db, path)
    db.run("ATTACH DATABASE ? AS new", (str(tmp_path / "new.db"),))
    columns = ", ".join(row[1] for row in db.rows("PRAGMA main.table_info(insights)"))
    db.run(f"INSERT INTO insights({columns}) SELECT {columns} FROM new.insights")
    return path, db
