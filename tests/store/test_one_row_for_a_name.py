"""Migration 7: rows of one name become one, and everything that referred to them refers to the one that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.store.connection import ConstraintError
from tests.store.earlier import before
from tests.store.factories import insight_id, open_at

VERSION = 7
ONE, TWO, THREE = insight_id(1), insight_id(2), insight_id(3)

ENTITIES = [
    # id, name, canonical name, type, attributes, written at, summary
    ("s1", "siemens", "siemens", "concept", '{"a":1}', "2026-01-01", "makes trains"),
    ("s2", "Siemens", "siemens", "organization", None, "2026-01-02", None),
    ("s3", "SIEMENS", "siemens", "person", '{"b":2}', "2026-01-03", None),
    ("p1", "Paris", "paris", "other", None, "2026-01-04", None),
    ("p2", "paris", "paris", "concept", None, "2026-01-05", None),
    ("me", "I", "i", "user", None, "2026-01-07", None),
    ("i", "i", "i", "tool", None, "2026-01-06", None),
    ("r", "Redis", "redis", "tool", None, "2026-01-08", None),
]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the version before, with three memories."""
    path, db = before(VERSION, 3, tmp_path, monkeypatch)
    for key, name, canonical, kind, attributes, written, summary in ENTITIES:
        db.run(
            "INSERT INTO entities(id, name, canonical_name, entity_type, attributes, created_at, core_summary,"
            " core_summary_updated) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (key, name, canonical, kind, attributes, written, summary, written if summary else None),
        )
    for memory, key in ((ONE, "s1"), (ONE, "s2"), (TWO, "s3"), (TWO, "p2"), (THREE, "p1"), (THREE, "r")):
        db.run("INSERT INTO memory_entities VALUES(?, ?, ?)", (memory, key, f"as {key}"))
    db.run("INSERT INTO entity_aliases VALUES('sag', 's1'), ('p', 'p2'), ('rd', 'r')")
    for key, source, target in (("1", "s1", "p2"), ("2", "s3", "r"), ("3", "r", "s1")):
        db.run("INSERT INTO relationships VALUES(?, ?, ?, 'in', 1, NULL, 't', NULL, NULL)", (key, source, target))
    for key, version in (("s1", 1), ("s1", 2), ("s2", 1), ("s3", 1), ("r", 7)):
        db.run(
            "INSERT INTO core_summaries(entity_id, version, text, generator, created_at) VALUES(?, ?, ?, 'g', 't')",
            (key, version, f"{key} {version}"),
        )
    db.close()
    return path


def test_rows_of_one_name_become_one(old: Path) -> None:
    db = open_at(old).connection
    assert db.rows(
        "SELECT id, entity_type, attributes, created_at, core_summary, core_summary_updated FROM entities ORDER BY id"
    ) == [
        ("me", "user", None, "2026-01-06", None, None),
        ("p1", "other", None, "2026-01-04", None, None),
        ("r", "tool", None, "2026-01-08", None, None),
        ("s2", "organization", '{"a":1}', "2026-01-01", "makes trains", "2026-01-01"),
    ]
    assert db.rows("SELECT * FROM memory_entities ORDER BY 1, 2") == [
        (ONE, "s2", "as s2"),
        (TWO, "p1", "as p2"),
        (TWO, "s2", "as s3"),
        (THREE, "p1", "as p1"),
        (THREE, "r", "as r"),
    ]
    assert db.rows("SELECT alias, entity_id FROM entity_aliases ORDER BY 1") == [
        ("p", "p1"),
        ("rd", "r"),
        ("sag", "s2"),
    ]
    assert db.rows("SELECT source_id, target_id FROM relationship_evidence ORDER BY id") == [
        ("s2", "p1"),
        ("s2", "r"),
        ("r", "s2"),
    ]  # migration 14 keeps relations as statements
    assert db.rows("SELECT entity_id, version, text FROM core_summaries ORDER BY id") == [
        ("s2", 1, "s1 1"),
        ("s2", 2, "s1 2"),
        ("s2", 3, "s2 1"),
        ("s2", 4, "s3 1"),
        ("r", 7, "r 7"),
    ]
    assert db.rows("PRAGMA foreign_key_check") == []
    assert db.rows("PRAGMA integrity_check") == [("ok",)]
    db.close()


def test_a_name_is_there_once_unless_it_was_split(old: Path) -> None:
    db = open_at(old).connection
    columns = "INSERT INTO entities(id, name, canonical_name, sense, entity_type, created_at)"
    with pytest.raises(ConstraintError):
        db.run(f"{columns} VALUES('x', 'Paris', 'paris', '', 'person', 't')")
    db.run(f"{columns} VALUES('x', 'Paris', 'paris', 'the friend', 'person', 't')")
    db.close()
