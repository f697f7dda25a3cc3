"""Rows of a batch are inserted together, and nothing else can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.model.changes import AddInsight, AddRelations, ChangeSet
from mnemond.model.memory import Entity, Relation
from mnemond.model.outcomes import RememberResult
from mnemond.store.connection import STATEMENT_ROWS, Connection, Insertion, NoSavepointError, PendingRows, Value
from mnemond.store.engine import Engine
from mnemond.store.operations import Proposal, View
from tests.store.factories import engine_at, forget, insight_id, open_at, remember
from tests.store.mirror import mirrored
from tests.tables import each_row

TABLES = (
    "insights", "entities", "memory_entities", "hypothetical_queries", "edge_rows", "memory_operations", "oplog",
    "operations",
)  # fmt: skip
LINE = Insertion(6, "oplog", ("operation", "insight_id", "detail", "created_at"))


class Noted(Connection):
    """A connection that tells what it executed."""

    asked: ClassVar[list[str]]

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        self.asked.append(sql)
        return super().run(sql, values)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> type[Noted]:
    class Fresh(Noted):
        asked: ClassVar[list[str]] = []

    monkeypatch.setattr("mnemond.store.database.Connection", Fresh)
    return Fresh


def memory(number: int, older: Sequence[int] = (), names: Sequence[str] = (), op_id: str | None = None) -> ChangeSet:
    """A memory with links both ways to older ones, entities and a question."""
    made = remember(number, op_id=op_id)
    (added,) = made.changes
    assert isinstance(added, AddInsight)
    mentions = tuple(Entity(name, name.lower(), "concept") for name in names)
    links = tuple(Relation(insight_id(each), "entity", 0.5, "{}", '{"back":1}') for each in older)
    cause = tuple(Relation(insight_id(each), "causal", 0.25, None, "{}") for each in older[:1])
    added = msgspec.structs.replace(added, mentions=mentions, queries=(f"what is {number}?",))
    return msgspec.structs.replace(made, changes=(added, AddRelations(insight_id(number), links + cause)))


def weighing(write: ChangeSet, weight: float) -> ChangeSet:
    added, *others = write.changes
    assert isinstance(added, AddInsight)
    insight = msgspec.structs.replace(added.insight, effective_importance=weight)
    return msgspec.structs.replace(write, changes=(msgspec.structs.replace(added, insight=insight), *others))


def weight_of_one(path: Path) -> float:
    """Effective importance of a memory without links, right after it was written."""
    engine = engine_at(path)
    (outcome,) = engine.commit([memory(1)])
    engine.close()
    assert isinstance(outcome, RememberResult)
    return outcome.effective_importance


def tables(engine: Engine) -> dict[str, object]:
    found = engine.read(lambda db: {name: db.rows(f"SELECT * FROM {name}") for name in TABLES})
    assert isinstance(found, dict)
    return found


memories = st.lists(
    st.tuples(
        st.integers(0, 5), st.sets(st.sampled_from(["Rust", "SQLite", "Trio", "Numpy"]), max_size=3), st.booleans()
    ),
    min_size=1,
    max_size=20,
)


@given(many=memories, cuts=st.lists(st.integers(1, 20), max_size=4))
def test_a_batch_writes_what_its_operations_write_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, many: list[tuple[int, set[str], bool]], cuts: list[int]
) -> None:
    writes = [
        memory(number, range(max(1, number - links), number), sorted(names), f"op-{number}" if named else None)
        for number, (links, names, named) in enumerate(many, 1)
    ]
    if len(writes) > 2:
        writes.insert(len(writes) // 2, forget(1))
    directory = tmp_path_factory.mktemp("stores")
    single, batched = engine_at(directory / "single.db"), engine_at(directory / "batched.db")
    outcomes = [result for write in writes for result in single.commit([write])]
    begin, together = 0, list[object]()
    for cut in [*cuts, len(writes)]:
        together += batched.commit(writes[begin : begin + cut])
        begin = min(begin + cut, len(writes))
    assert [str(each) for each in together] == [str(each) for each in outcomes]
    assert tables(batched) == tables(single)
    mirrored(batched, directory / "batched.db")
    single.close()
    batched.close()


def test_rows_of_several_memories_go_in_one_statement(tmp_path: Path, noted: type[Noted]) -> None:
    writes = [memory(number) for number in range(1, 10)]
    weight = weight_of_one(tmp_path / "other.db")
    engine = engine_at(tmp_path / "a.db")
    noted.asked.clear()
    engine.commit([weighing(each, weight) for each in writes])  # else each is written once more, as it weighs by then
    inserts = [sql.partition("(")[0] for sql in noted.asked if sql.startswith("INSERT")]
    tables = ("insights", "hypothetical_queries", "memory_operations", "oplog")
    assert inserts == [f"INSERT INTO {table}" for table in tables for _ in ("eight", "one")]
    engine.close()


def test_who_decides_sees_what_waits(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    seen: list[int] = []

    def decide(view: View) -> ChangeSet:
        assert view.connection is not None
        seen.append(len(view.connection.rows("SELECT 1 FROM insights")))
        return memory(3, [1, 2])

    asking = Proposal(op_id="asking", client_op_id=False, method="remember", request_digest="", decide=decide)
    assert all(isinstance(each, RememberResult) for each in engine.commit([memory(1), memory(2, [1]), asking]))
    assert seen == [2]
    engine.close()


def test_a_repeat_in_the_same_batch_is_known(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    first, second = engine.commit([memory(1, op_id="mine"), memory(1, op_id="mine")])
    assert isinstance(first, RememberResult)
    assert isinstance(second, RememberResult)
    assert (first.replayed, second.replayed) == (False, True)
    engine.close()


def test_what_a_constraint_refuses_later_is_written_once_more_with_the_others(tmp_path: Path) -> None:
    defects: list[BaseException] = []
    engine = engine_at(tmp_path / "a.db", defects=defects)
    engine.commit([memory(1)])
    engine.commit([forget(1)])  # its row stays, and nothing in memory knows of it
    results = engine.commit([memory(2), memory(1), memory(3, [2])])
    assert [type(each) for each in results] == [RememberResult, MnemonError, RememberResult]
    assert len(defects) == 1
    mirrored(engine, tmp_path / "a.db")
    engine.close()


def interrupted(connection: Connection) -> None:
    with connection.inserts_batched(enabled=True):
        connection.add(LINE, [("never", None, "", "now")])
        raise ZeroDivisionError


def impossible(connection: Connection) -> None:
    with connection.inserts_batched(enabled=True):
        connection.add(LINE, [("never", None, "", "now"), (None, None, "", "now")])


@each_row(("way", "error"), [(interrupted, ZeroDivisionError), (impossible, NoSavepointError)])
def test_whoever_leaves_early_leaves_nothing_waiting(
    tmp_path: Path, way: Callable[[Connection], None], error: type[Exception]
) -> None:
    connection = open_at(tmp_path / "a.db").connection
    connection.run("BEGIN IMMEDIATE")
    with pytest.raises(error):
        way(connection)
    assert not connection.batches_inserts
    connection.run("ROLLBACK")
    assert connection.rows("SELECT * FROM oplog WHERE operation = 'never'") == []
    connection.close()


@given(st.integers(0, 300))
def test_every_row_is_taken_once_and_in_order(rows: int) -> None:
    waiting = PendingRows()
    waiting.add(LINE, [(number, None, "", "now") for number in range(rows)])
    taken = list(waiting.take())
    assert [value for _, values in taken for value in values[::4]] == list(range(rows))
    assert all(sql.count("?") == len(values) and len(values) // 4 in STATEMENT_ROWS for sql, values in taken)
    assert not waiting
