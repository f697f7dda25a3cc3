"""Migration 8: the tag by which a memory belonged to a project becomes its project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemond.model.memory import Scope
from mnemond.store import schema as migrating
from mnemond.store.connection import Connection
from tests.store.earlier import before
from tests.store.factories import insight_id, open_at

VERSION = 8

ROWS = [
    # channel, metadata, tags before, tags after, project
    ("extract", '{"host":"codex"}', ["acme"], [], "acme"),
    ("extract", '{"host":"codex"}', ["acme", "later"], ["later"], "acme"),
    ("extract", "{}", ["spoken"], ["spoken"], None),
    ("extract", '{"host":"codex"}', [], [], None),
    ("mcp", "{}", ["http", "acme"], ["http"], "acme"),
    ("mcp", "{}", ["http"], ["http"], None),
    ("manual", "{}", ["acme"], ["acme"], None),
]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of the version before, with a memory for each of ROWS."""
    path, db = before(VERSION, len(ROWS), tmp_path, monkeypatch)
    for number, (channel, metadata, tags, _, _) in enumerate(ROWS, 1):
        db.run(
            "UPDATE insights SET channel = ?, metadata = ?, tags = ? WHERE id = ?",
            (channel, metadata, json.dumps(tags), insight_id(number)),
        )
    db.close()
    return path


def test_tags_of_projects_become_projects(old: Path) -> None:
    opened = open_at(old)
    for number, (_, _, _, tags, project) in enumerate(ROWS, 1):
        row = opened.index.snapshot.row_of(insight_id(number))
        assert row is not None
        it = opened.index.snapshot.insight(row)
        assert (it.tags, it.scope) == (tuple(tags), Scope(project=project))
    opened.connection.close()


def test_a_damaged_row_does_not_stop_it(old: Path) -> None:
    db = Connection(old)
    for number, tags in enumerate(('{"a":1', '"acme"', "7", "[null]", "[7]", '[["acme"]]'), 1):
        db.run(
            "UPDATE insights SET tags = ?, metadata = ?, channel = 'extract' WHERE id = ?",
            (tags, '{"host":' if number == 2 else '{"host":1}', insight_id(number)),
        )
    migrating.migrate(db, old)
    assert db.column("SELECT tags FROM insights WHERE project IS NULL ORDER BY number LIMIT 1") == ['{"a":1']
    db.close()
