"""A number that is remembered is the number in the file, whatever is taken back or removed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.model.changes import AddEdge, ChangeSet, PurgeInsight, RetireInsight
from mnemond.model.memory import Edge
from mnemond.model.outcomes import RememberResult
from mnemond.store import edges, insights
from mnemond.store.connection import Connection, ConstraintError, Insertion
from mnemond.store.engine import Engine
from mnemond.store.insights import number_of, numbers_of
from tests.outcomes import collected
from tests.store.factories import engine_at, insight_id, open_at, remember
from tests.tables import each_row

NOW = "2026-02-18T09:00:00.000000Z"


def connection_of(engine: Engine) -> Connection:
    found = engine.read(lambda connection: connection)
    assert isinstance(found, Connection)
    return found


def assert_true(engine: Engine) -> None:
    """What is remembered is what the file says."""
    connection = connection_of(engine)
    stored = dict(connection.rows("SELECT id, number FROM insights"))
    assert connection.numbers.items() <= stored.items()


def refused(number: int) -> ChangeSet:
    """A memory that is written, and then refused."""
    made = remember(number)
    return msgspec.structs.replace(made, changes=(*made.changes, RetireInsight(insight_id(99), "forgotten")))


def purged(number: int) -> ChangeSet:
    told = collected("gc", insight_id(number))
    return ChangeSet(f"gc-{number}", False, "gc", NOW, (PurgeInsight(insight_id(number)),), told)


def linked(number: int, *others: int) -> ChangeSet:
    made = remember(number)
    links = (AddEdge(Edge(insight_id(number), insight_id(other), "entity", 0.5)) for other in others)
    return msgspec.structs.replace(made, changes=(*made.changes, *links))


def test_what_was_refused_has_no_number_and_gives_it_to_the_next(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    first, lost, last = engine.commit([remember(1), refused(2), linked(3, 1)])
    assert isinstance(lost, MnemonError)
    assert isinstance(first, RememberResult)
    assert isinstance(last, RememberResult)
    connection = connection_of(engine)
    assert (number_of(connection, insight_id(2)), number_of(connection, insight_id(3))) == (None, 2)
    assert connection.rows("SELECT source_id, target_id FROM edges") == [(insight_id(3), insight_id(1))]
    assert_true(engine)
    engine.close()


def test_the_number_of_a_purged_memory_may_be_given_again(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    engine.commit([purged(2), linked(3, 1)])
    connection = connection_of(engine)
    assert connection.numbers == {insight_id(1): 1, insight_id(3): 2}
    assert edges.touching(connection, insight_id(2)) == []
    with pytest.raises(ConstraintError):
        edges.insert_all(connection, [Edge(insight_id(1), insight_id(2), "entity", 1.0)], NOW)
    assert_true(engine)
    engine.close()


INSIGHTS = Insertion(0, "insights", ("number", "id", "content", "created_at", "updated_at"))


@each_row("statement", ["ROLLBACK", "INSERT OR ROLLBACK INTO meta(key) VALUES(NULL)"])
def test_a_transaction_that_was_taken_back_leaves_no_number(tmp_path: Path, statement: str) -> None:
    connection = open_at(tmp_path / "a.db").connection
    connection.run("BEGIN IMMEDIATE")
    number = connection.add_numbered(INSIGHTS, "SELECT max(number) FROM insights", ("a", "b", "c", "d"))
    assert number_of(connection, "a") == number
    if statement == "ROLLBACK":
        connection.run(statement)
    else:
        with pytest.raises(ConstraintError):
            connection.run(statement)
    assert connection.numbers == {}
    assert number_of(connection, "a") is None
    connection.close()


def test_only_so_many_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insights, "MAX_NUMBERS", 3)
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number) for number in (1, 2, 3, 4)])
    engine.poison("a defect")
    connection = connection_of(engine)
    wanted = {insight_id(1), insight_id(2)}
    assert dict(numbers_of(connection, wanted)) == {insight_id(1): 1, insight_id(2): 2}
    wanted = {insight_id(2), insight_id(3), insight_id(4)}
    assert dict(numbers_of(connection, wanted)) == {insight_id(2): 2, insight_id(3): 3, insight_id(4): 4}
    assert numbers_of(connection, {"nobody"}).get("nobody") is None
    engine.close()
