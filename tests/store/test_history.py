"""The history table: found by memory and by operation, in order, and which operation took which back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.memory import Insight
from mnemond.store import history, operations
from mnemond.store.connection import Connection
from mnemond.store.history import Entry, OperationHeader, State
from tests.store.factories import engine_at, forget, open_at, remember

Note = Callable[..., None]

IT = Insight("aaaaaa-1", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", content="tea")


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    return open_at(tmp_path / "a.db").connection


@pytest.fixture
def note(connection: Connection) -> Note:
    def write(op_id: str, *ids: str, undoes: str | None = None, by: str = "user") -> None:
        entries = [Entry("UPDATE", each, State(IT), State(IT)) for each in ids]
        history.append(connection, entries, op_id, by, "2026-01-01T00:00:00Z", undoes)

    return write


def test_rows_are_found_by_memory_and_by_operation(connection: Connection, note: Note) -> None:
    note("one", "a", "b")
    note("two", "a", by="host:editor")
    note("none")
    assert [(each.memory_id, each.op_id) for each in history.of_operation(connection, "one")] == [
        ("a", "one"), ("b", "one"),
    ]  # fmt: skip
    assert [each.op_id for each in history.of_memory(connection, "a", 9)] == ["one", "two"]
    assert [each.op_id for each in history.of_memory(connection, "a", 1)] == ["two"]
    assert (history.count_of(connection, "a"), history.count_of(connection, "c")) == (2, 0)
    assert (history.newest_of(connection, "a"), history.newest_of(connection, "c")) == ("two", None)
    record = history.of_memory(connection, "a", 1)[0]
    assert (record.before, record.after, record.triggered_by) == (State(IT), State(IT), "host:editor")


def test_operations_come_newest_first_each_once(
    connection: Connection, note: Note, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_BATCH", 2)
    note("one", "a", "b", "c")
    note("two", "a", undoes="one", by="system:x")
    assert list(history.newest_first(connection)) == [
        OperationHeader("two", "system:x", "one"),
        OperationHeader("one", "user", None),
    ]


def test_an_operation_is_taken_back_while_what_took_it_back_is_not(connection: Connection, note: Note) -> None:
    note("one", "a")
    assert history.undone_by(connection, "one") is None
    note("two", "a", undoes="one")
    assert history.undone_by(connection, "one") == "two"
    note("three", "a", undoes="two")
    assert history.undone_by(connection, "one") is None
    note("four", "a", undoes="one")
    assert history.undone_by(connection, "one") == "four"


def test_names_are_found_by_their_beginning(connection: Connection, note: Note) -> None:
    for op_id in ("op", "op-1", "op-2", "other"):
        note(op_id, f"memory-{op_id}")
    assert history.operations_beginning(connection, "op-", 9) == ["op-1", "op-2"]
    assert history.operations_beginning(connection, "op-", 1) == ["op-1"]
    assert history.operations_beginning(connection, "op", 9) == ["op"]
    assert history.operations_beginning(connection, "%", 9) == []
    assert history.memories_beginning(connection, "memory-op-", 9) == ["memory-op-1", "memory-op-2"]


@pytest.mark.parametrize("damage", ["{", "[]", 'x"'])
def test_a_damaged_row_is_told(connection: Connection, note: Note, damage: str) -> None:
    note("one", "a")
    connection.run("UPDATE memory_operations SET before_state = ?", (damage,))
    with pytest.raises(MnemonError) as caught:
        history.of_operation(connection, "one")
    assert caught.value.kind is STORAGE


def test_the_5001st_line_of_the_log_takes_the_first_ones_place(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    engine.read(
        lambda connection: connection.run(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO oplog(id, operation, created_at) SELECT i, 'gc', '2026-01-01T00:00:00Z' FROM n",
            (operations.MAX_LINES - 1,),
        )
    )

    def ends(connection: Connection) -> tuple[int, int, int]:
        lines = operations.newest_lines(connection, operations.MAX_LINES + 1)
        return len(lines), lines[-1].id, lines[0].id

    engine.commit([remember(2)])
    assert engine.read(ends) == (5000, 1, 5000)
    engine.commit([forget(2)])
    assert engine.read(ends) == (5000, 2, 5001)
    newest = engine.read(lambda connection: operations.newest_lines(connection, 1))
    assert isinstance(newest, list)
    assert (newest[0].operation, newest[0].insight_id) == ("forget", remember(2).changes[0].insight.id)  # type: ignore[union-attr]
    engine.close()


def test_a_state_that_was_not_there_has_no_edges_to_leave_out() -> None:
    assert history._without(None, ["a"]) is None
