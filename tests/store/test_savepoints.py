"""What an operation does is taken back alone, with a savepoint among several and without one where it is alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import apsw
import msgspec
import pytest

from mnemond.errors import BUSY, NOT_FOUND, MnemonError
from mnemond.model.changes import ChangeSet, RetireInsight, SetImportance, SettleFact
from mnemond.model.outcomes import RememberResult
from mnemond.store import connection as connections
from mnemond.store.connection import SAVEPOINT_BYTES, Connection, Value
from mnemond.store.engine import Engine
from tests.store.factories import contents, engine_at, insight_id, remember, stored
from tests.store.mirror import mirrored

PAGE = 4096


class Noted(Connection):
    """A connection that tells what it was asked, and may find the database busy when it begins again."""

    asked: ClassVar[list[str]]
    begins: ClassVar[int]

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        self.asked.append(sql)
        if sql == "BEGIN IMMEDIATE" and self.asked.count(sql) > self.begins:
            raise apsw.BusyError("database is locked")
        if sql == "COMMIT":
            self.asked.extend(sorted(temporary_files()))
        return super().run(sql, values)


def temporary_files() -> set[str]:
    """Open files without a name."""
    found = set()
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{entry}"))
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
    return {file for file in found if file.endswith("(deleted)")}


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> type[Noted]:
    class Fresh(Noted):
        asked: ClassVar[list[str]] = []
        begins: ClassVar[int] = 1000

    monkeypatch.setattr("mnemond.store.database.Connection", Fresh)
    return Fresh


def half_done(number: int) -> ChangeSet:
    """A memory that is written before its operation is refused."""
    made = remember(number)
    return msgspec.structs.replace(made, changes=(*made.changes, RetireInsight(insight_id(999), "forgotten")))


def tables(engine: Engine) -> list[object]:
    names = ("insights", "memory_operations", "oplog", "operations", "entities")
    found = engine.read(lambda db: [db.rows(f"SELECT * FROM {name}") for name in names])
    assert isinstance(found, list)
    return found


def test_one_that_is_refused_alone_leaves_nothing(tmp_path: Path, noted: type[Noted]) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    before = tables(engine)
    (refused,) = engine.commit([half_done(2)])
    assert isinstance(refused, MnemonError)
    assert (refused.kind, refused.outcome) == (NOT_FOUND, "rejected")
    assert tables(engine) == before
    assert not any("operation" in sql for sql in noted.asked if "SAVEPOINT" in sql)
    assert engine.read(lambda db: db.in_transaction) is False
    assert isinstance(engine.commit([remember(2, "another")])[0], RememberResult)
    mirrored(engine, tmp_path / "a.db")
    engine.close()
    assert stored(tmp_path / "a.db") == ["another", "memory number 1"]


def test_one_that_is_refused_among_several_leaves_nothing(tmp_path: Path, noted: type[Noted]) -> None:
    engine = engine_at(tmp_path / "a.db")
    first, refused, last = engine.commit([remember(1), half_done(2), remember(2, "another")])
    assert (type(first), type(refused), type(last)) == (RememberResult, MnemonError, RememberResult)
    assert noted.asked.count("SAVEPOINT operation") == 1, "nothing is foreseen to refuse the others"
    mirrored(engine, tmp_path / "a.db")
    engine.close()
    assert stored(tmp_path / "a.db") == ["another", "memory number 1"]


def test_one_that_nobody_expected_to_be_refused_among_several_leaves_nothing(
    tmp_path: Path, noted: type[Noted]
) -> None:
    engine = engine_at(tmp_path / "a.db")
    twice = msgspec.structs.replace(remember(1), changes=remember(1).changes * 2)
    results = engine.commit([remember(2), twice, remember(3)])
    assert [type(result) for result in results] == [RememberResult, MnemonError, RememberResult]
    assert noted.asked.count("ROLLBACK") == 1
    assert noted.asked.count("SAVEPOINT operation") == 3, "all of it was written again, each with a savepoint"
    mirrored(engine, tmp_path / "a.db")
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 2", "memory number 3"]


def test_the_first_of_a_batch_may_be_the_one_that_nobody_expected(tmp_path: Path, noted: type[Noted]) -> None:
    engine = engine_at(tmp_path / "a.db")
    twice = msgspec.structs.replace(remember(1), changes=remember(1).changes * 2)
    results = engine.commit([twice, remember(3)])
    assert [type(result) for result in results] == [MnemonError, RememberResult]
    mirrored(engine, tmp_path / "a.db")
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 3"]


def test_a_fact_that_does_not_wait_any_more_among_several_leaves_nothing(tmp_path: Path, noted: type[Noted]) -> None:
    engine = engine_at(tmp_path / "a.db")
    late = msgspec.structs.replace(remember(1), queue=(SettleFact(7, "[]", None),))
    results = engine.commit([remember(2), late, remember(3)])
    assert [type(result) for result in results] == [RememberResult, MnemonError, RememberResult]
    assert noted.asked.count("ROLLBACK") == 1, "a new memory alone is foreseen to be refused by nothing"
    mirrored(engine, tmp_path / "a.db")
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 2", "memory number 3"]


def test_a_database_that_is_busy_right_after_a_refusal_loses_nothing(tmp_path: Path, noted: type[Noted]) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    noted.begins = noted.asked.count("BEGIN IMMEDIATE") + 1
    (refused,) = engine.commit([half_done(2)])
    assert isinstance(refused, MnemonError)
    assert (refused.kind, refused.outcome) == (BUSY, "rejected")
    noted.begins = 1000
    assert contents(engine) == {"memory number 1"}
    assert isinstance(engine.commit([remember(3)])[0], RememberResult)
    engine.close()


def touching(number: int, rows: range) -> ChangeSet:
    """A memory whose operation also changes a page of each of others."""
    weights = (SetImportance(insight_id(row), number / 128) for row in rows)
    made = remember(number)
    return msgspec.structs.replace(made, changes=(*weights, *made.changes))


@pytest.mark.parametrize("rows", [range(1, 21), range(1, 121)])
def test_what_several_change_can_be_taken_back_wherever_it_is_kept(
    tmp_path: Path, noted: type[Noted], rows: range
) -> None:
    others = temporary_files()
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number, f"{number} " + "word " * 600) for number in rows])
    half = touching(200, rows)
    refused = msgspec.structs.replace(half, changes=(*half.changes, *half_done(201).changes))
    before = engine.read(lambda db: db.rows("SELECT id, effective_importance FROM insights"))
    engine.commit([refused, refused])
    assert engine.read(lambda db: db.rows("SELECT id, effective_importance FROM insights")) == before
    assert [type(result) for result in engine.commit([touching(202, rows), touching(203, rows)])] == [
        RememberResult
    ] * 2
    kept_in_memory = {each for each in noted.asked if each.endswith("(deleted)")} <= others
    assert kept_in_memory == (len(rows) * PAGE < SAVEPOINT_BYTES)
    engine.close()


def test_what_is_kept_in_memory_is_not_changed_while_a_database_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise AssertionError("SQLite was shut down under an open database")

    monkeypatch.setattr(apsw, "shutdown", never)
    with apsw.Connection(":memory:") as db:
        connections._keep_savepoints_in_memory()
        assert db.execute("SELECT 1").get == 1
