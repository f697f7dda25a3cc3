"""Names are shared by the memories that use them, and go with the last of these when it is purged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.model.memory import Entity
from mnemond.store import edges
from mnemond.store.connection import Connection
from tests.store.factories import engine_at, insight_id, open_at, remember

ONE, TWO = insight_id(1), insight_id(2)
NOW, LATER = "2026-02-18T09:00:00.000000Z", "2026-02-19T09:00:00.000000Z"
REDIS, KAFKA = Entity("Redis", "redis", "tool"), Entity("Kafka", "kafka", "tool")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    engine.close()
    connection = open_at(tmp_path / "a.db").connection
    yield connection
    connection.close()


def known(db: Connection) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in db.rows("SELECT name, created_at FROM entities ORDER BY name")]


def mentioned(db: Connection) -> list[tuple[str, str]]:
    found = db.rows(
        "SELECT memory_id, mention_text FROM memory_entities JOIN entities ON id = entity_id ORDER BY 1, canonical_name"
    )
    return [(row[0], row[1]) for row in found]


def test_an_entity_is_stored_once_under_its_first_spelling(db: Connection) -> None:
    edges.mention(db, ONE, [REDIS, KAFKA, REDIS], NOW)
    edges.mention(db, TWO, [Entity("REDIS", "redis", "tool")], LATER)
    edges.mention(db, TWO, [], LATER)
    assert known(db) == [("Kafka", NOW), ("Redis", NOW)]
    assert mentioned(db) == [(ONE, "Kafka"), (ONE, "Redis"), (TWO, "REDIS")]


def types(db: Connection) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in db.rows("SELECT canonical_name, entity_type FROM entities ORDER BY 1")]


@pytest.mark.parametrize("forgets", [False, True])
def test_a_type_that_says_something_takes_the_place_of_a_concept(db: Connection, *, forgets: bool) -> None:
    for kind in ("concept", "other", "organization", "person", "concept"):
        edges.mention(db, ONE, [Entity("Siemens", "siemens", kind)], NOW)
        if forgets:
            db.entities.clear()
    assert types(db) == [("siemens", "organization")]


def test_a_purge_takes_along_what_nothing_else_speaks_of(db: Connection) -> None:
    edges.mention(db, ONE, [REDIS, KAFKA], NOW)
    edges.mention(db, TWO, [KAFKA], NOW)
    edges.replace_mentions(db, ONE, [], NOW)
    edges.purge_entities(db)
    assert known(db) == [("Kafka", NOW)]
    assert mentioned(db) == [(TWO, "Kafka")]
    edges.replace_mentions(db, TWO, [], NOW)
    edges.purge_entities(db)
    assert known(db) == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO entity_aliases(alias, entity_id) VALUES('r', ?1)",
        "INSERT INTO relationships(id, first_id, source_id, value, type, strength, created_at) VALUES(1, 1, ?1, 2, 3, 1, 4)",  # noqa: E501
        "UPDATE entities SET entity_type = 'user' WHERE id = ?1",
    ],
)
def test_a_purge_leaves_what_else_is_known_of_a_name(db: Connection, sql: str) -> None:
    edges.mention(db, ONE, [REDIS], NOW)
    db.run(sql, (edges.entity_id(REDIS),))
    edges.replace_mentions(db, ONE, [], NOW)
    edges.purge_entities(db)
    assert known(db) == [("Redis", NOW)]


def test_what_was_taken_back_is_not_taken_for_known(db: Connection) -> None:
    db.run("BEGIN IMMEDIATE")
    db.run("SAVEPOINT operation")
    edges.mention(db, ONE, [REDIS], NOW)
    assert db.entities == {"redis": True}
    db.roll_back_to("operation")
    edges.mention(db, TWO, [REDIS], LATER)
    db.run("ROLLBACK")
    assert db.entities == {}
    edges.mention(db, TWO, [REDIS], LATER)
    assert (known(db), mentioned(db)) == ([("Redis", LATER)], [(TWO, "Redis")])


def test_a_purged_name_is_stored_anew(db: Connection) -> None:
    edges.mention(db, ONE, [REDIS], NOW)
    db.run("DELETE FROM memory_entities")
    edges.purge_entities(db)
    edges.mention(db, TWO, [REDIS], LATER)
    assert known(db) == [("Redis", LATER)]


def test_only_so_many_names_are_remembered(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "MAX_KNOWN", 0)
    for name in (REDIS, KAFKA, REDIS):
        edges.mention(db, ONE, [name], NOW)
        assert len(db.entities) <= 1
    assert known(db) == [("Kafka", NOW), ("Redis", NOW)]
