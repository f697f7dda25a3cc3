"""The baseline of writing really writes the same rows."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from benchmarks import replay

SCHEMA = (
    "CREATE TABLE insights(n INTEGER PRIMARY KEY, id TEXT UNIQUE, content TEXT, length INTEGER AS (length(content)))",
    "CREATE TABLE oplog(id TEXT, what TEXT)",
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE INDEX oplog_id ON oplog(id)",
)


def written(path: Path, memories: int) -> Path:
    with apsw.Connection(str(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES ('version', '1')")
        for number in range(memories):
            connection.execute("INSERT INTO insights(id, content) VALUES (?, ?)", (f"i{number}", "x" * number))
            connection.executemany("INSERT INTO oplog VALUES (?, ?)", [(f"i{number}", "a"), (f"i{number}", "b")])
    return path


def test_each_memory_is_written_with_all_its_rows(tmp_path: Path) -> None:
    source = written(tmp_path / "source.db", 10)
    figures = replay.measure(source, tmp_path / "target.db", 4)
    assert (figures["writes"], figures["rows_a_write"]) == (4, 3)
    assert figures["per_s"] > 0
    connection = apsw.Connection(str(tmp_path / "target.db"))
    counts = [connection.execute(f"SELECT count(*) FROM {name}").get for name in ("insights", "oplog", "meta")]
    assert counts == [4, 8, 0]
    assert connection.execute("SELECT sum(length) FROM insights").get == 0 + 1 + 2 + 3
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'oplog_id'").get == 1
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    connection.close()


def test_an_empty_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no rows in insights"):
        replay.measure(written(tmp_path / "source.db", 0), tmp_path / "target.db", 4)
