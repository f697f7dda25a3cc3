"""A store of schema version 4, whose edges were keyed by ids, becomes one whose edges are keyed by numbers and whose
operations lie in the order of writing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.memory import EDGE_TYPES
from mnemond.store import edges, insights
from mnemond.store import schema as migrating
from mnemond.store.connection import Connection
from tests.store.factories import EMBEDDER, insight_id, open_at, stored_edges, vector_of

OLD = 4
WHEN = "2026-02-18T09:00:00.000000Z"
MEMORIES, GONE = 9, (3, 6)
"""Memories that were written, and those of them that were purged: rows without a gap prove nothing."""

Rows = list[tuple[Any, ...]]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store as the last release without numbers left it, every table with a reference to a memory filled."""
    path = tmp_path / "a.db"
    migrations = dict(migrating._migrations())
    with apsw.Connection(str(path)) as db:
        for number in range(1, OLD + 1):
            db.execute(migrations[number].read_text("utf-8"))
        db.pragma("application_id", migrating.APPLICATION_ID)
        db.pragma("user_version", OLD)
        fill(db)
    db.close()
    return path


def fill(db: apsw.Connection) -> None:
    for n in range(1, MEMORIES + 1):
        active = n % 4 != 0
        db.execute(
            "INSERT INTO insights(id, content, importance, tags, embedding, embedding_model, embedding_dim, created_at,"
            " updated_at, deleted_at, status, content_hash, superseded_by, paired_with, pinned, metadata)"
            " VALUES(?, ?, ?, '[\"x\"]', ?, ?, 8, ?, ?, ?, ?, ?, ?, ?, ?, '{\"a\":1}')",
            (insight_id(99 - n), f"memory {n}", 1 + n % 5, vector_of(n).tobytes(), EMBEDDER.name, WHEN, WHEN,
             None if active else WHEN, "active" if active else "superseded", f"hash {n}",
             None if active else insight_id(98), insight_id(97) if n == 1 else None, n % 2),
        )  # fmt: skip
    for n in GONE:
        db.execute("DELETE FROM insights WHERE id = ?", (insight_id(99 - n),))
    ids = [row[0] for row in db.execute("SELECT id FROM insights ORDER BY id")]
    for at, source in enumerate(ids):
        for further, kind in enumerate(EDGE_TYPES, 1):
            db.execute(
                "INSERT INTO edges VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (source, ids[(at + further) % len(ids)], kind, at / 10, f'{{"at":{at}}}', f"{WHEN}{at}", at / 2,
                 WHEN if at % 2 else None, ("auto", "host", "user", "import", "worker")[at % 5]),
            )  # fmt: skip
    db.execute(
        "INSERT INTO entities(id, name, canonical_name, entity_type, created_at) VALUES('e', 'E', 'e', 'x', 't')"
    )
    for at in ids[:3]:
        db.execute("INSERT INTO memory_entities VALUES(?, 'e', 'E')", (at,))
        db.execute("INSERT INTO hypothetical_queries(insight_id, ord, query) VALUES(?, 0, 'who?')", (at,))
        db.execute("INSERT INTO relationships VALUES(?, 'e', 'e', 'is', 1, ?, 't', NULL, NULL)", (at[:9], at))
        db.execute("INSERT INTO node_metrics VALUES(?, .5, 3, 1, 't')", (at,))
        db.execute("INSERT INTO staged_vectors VALUES(?, 'h', x'00')", (at,))
        db.execute(
            "INSERT INTO memory_operations(operation_type, memory_id, op_id, created_at) VALUES('CREATE', ?, 'o', 't')",
            (at,),
        )


NEWER = ("number", "sense", "project", "useful", "misled")
"""Columns that later versions added."""


def everything(path: Path) -> dict[str, Rows]:
    """Every row of every table by the columns version 4 knew, memories with their place among the others."""
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as db:
        names = [
            name
            for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
            if name not in ("edge_rows", "sqlite_sequence")
        ]
        found = {}
        for name in names:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})") if row[1] not in NEWER]
            columns += ["rowid"] if name == "insights" else []
            found[name] = sorted(db.execute(f"SELECT {', '.join(columns)} FROM {name}"), key=repr)
    db.close()
    return found


def schema_of(path: Path) -> set[Any]:
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as db:
        found = set(db.execute("SELECT type, name, sql FROM sqlite_schema"))
        found.add(("version", db.pragma("user_version"), None))
    db.close()
    return found


def test_every_row_is_kept(old: Path) -> None:
    before, schema = everything(old), schema_of(old)
    assert len(before["insights"]) == MEMORIES - len(GONE)
    assert len(before["edges"]) == 4 * len(before["insights"])
    opened = open_at(old)
    db = opened.connection
    kept = everything(old)
    evidence = db.rows("SELECT memory_id, source_id, target_id, type FROM relationship_evidence")
    assert sorted(evidence) == sorted((row[5], *row[1:4]) for row in before["relationships"])
    del kept["relationship_evidence"]
    assert kept == {
        **before,
        "relationships": [],
        "entity_links": [],
        "knowledge_operations": [],
        "exchanges": [],
        "passages": [],
        "recalls": [],
        "showings": [],
        "cues": [],
        "triggers": [],
        "trigger_counts": [],
        "imports": [],
        "imported": [],
        "sync_rows": [],
        "sync_files": [],
        "sync_targets": [],
    }
    assert db.rows("PRAGMA foreign_key_check") == []
    assert db.rows("PRAGMA integrity_check") == [("ok",)]
    assert db.pragma("foreign_keys") == 1
    assert [(opened.index.snapshot.live,)] == db.rows("SELECT count(*) FROM insights WHERE status = 'active'")
    backup = old.with_name(f"a.db.bak-{OLD}")
    assert (everything(backup), schema_of(backup)) == (before, schema)
    db.close()


def test_edges_are_read_as_the_view_says(old: Path) -> None:
    db = open_at(old).connection
    fields = "source_id, target_id, edge_type, weight, metadata, created_by, boost_days"
    for (it,) in db.rows("SELECT id FROM insights"):
        touching = {(*edges.key(e), e.weight, e.metadata, e.created_by, e.boost_days) for e in edges.touching(db, it)}
        seen = set(db.rows(f"SELECT {fields} FROM edges WHERE source_id = ?1 OR target_id = ?1", (it,)))
        assert {row for row in seen if row[0] == it or row[2] == "causal"} == touching
    assert {edges.key(e) for e in stored_edges(db)} == set(db.rows("SELECT source_id, target_id, edge_type FROM edges"))
    db.close()


def test_a_number_stays_when_the_file_is_written_anew(old: Path) -> None:
    db = open_at(old).connection
    numbers = db.rows("SELECT id, number FROM insights ORDER BY number")
    assert [number for _, number in numbers] != list(range(1, len(numbers) + 1))
    db.run("VACUUM")
    assert db.rows("SELECT id, number FROM insights ORDER BY number") == numbers
    assert insights.read(db, numbers[-1][0]) is not None
    db.close()


def statements() -> list[str]:
    """The migration, statement by statement."""
    found, text = [], ""
    for line in dict(migrating._migrations())[OLD + 1].read_text("utf-8").splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    assert not text.strip()
    return found


@pytest.mark.parametrize("done", range(len(statements()) + 1))
def test_whatever_statement_fails_the_file_stays_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    before, schema = everything(old), schema_of(old)
    broken = old.with_name("broken.sql")
    broken.write_text("".join(statements()[:done]) + "INSERT INTO meta(key) VALUES(NULL);", "utf-8")
    known = [(number, entry) for number, entry in migrating._migrations() if number <= OLD]
    monkeypatch.setattr(migrating, "_migrations", lambda: [*known, (OLD + 1, broken)])
    connection = Connection(old)
    with pytest.raises(apsw.ConstraintError):
        migrating.migrate(connection, old)
    assert connection.pragma("foreign_keys") == 1
    connection.close()
    assert (everything(old), schema_of(old)) == (before, schema)


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO memory_entities VALUES('nobody', 'e', 'E')",
        "UPDATE edges SET target_id = 'nobody' WHERE edge_type = 'causal'",
    ],
)
def test_a_reference_that_leads_nowhere_is_not_lost_in_silence(old: Path, damage: str) -> None:
    with apsw.Connection(str(old)) as db:
        db.execute(damage)
    db.close()
    before, schema = everything(old), schema_of(old)
    with pytest.raises(MnemonError, match="refer to rows that do not exist") as caught:
        open_at(old)
    assert caught.value.kind is STORAGE
    assert (everything(old), schema_of(old)) == (before, schema)
