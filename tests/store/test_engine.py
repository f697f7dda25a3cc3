"""A batch is one transaction, each operation a savepoint of its own, and the index follows the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.errors import INTERNAL, NOT_FOUND, OP_ID_REUSED, MnemonError
from mnemond.model.changes import AddEdge, AddInsight, Change, ChangeSet, RemoveEdge, RetireInsight
from mnemond.model.memory import Edge, Scope
from mnemond.model.outcomes import ForgetResult, RememberResult
from mnemond.model.relations import Evidence
from mnemond.store import history, operations, relations
from mnemond.store.connection import SqliteError
from tests.outcomes import forgotten
from tests.store.factories import by_status, contents, engine_at, forget, insight_id, open_at, remember, stored


def test_what_is_committed_is_stored_and_seen(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    results = engine.commit([remember(1), remember(2)])
    assert [type(result) for result in results] == [RememberResult, RememberResult]
    assert contents(engine) == {"memory number 1", "memory number 2"}
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1", "memory number 2"]


def test_a_refused_operation_does_not_sink_the_others(tmp_path: Path) -> None:
    defects: list[BaseException] = []
    engine = engine_at(tmp_path / "a.db", defects=defects)
    results = engine.commit([remember(1), forget(9), remember(1), remember(2)])
    assert len(defects) == 1  # the id that exists is one nobody foresaw
    assert isinstance(results[0], RememberResult)
    assert isinstance(results[1], MnemonError)
    assert results[1].kind is NOT_FOUND
    assert isinstance(results[2], MnemonError)  # the id exists
    assert results[2].kind is INTERNAL
    assert isinstance(results[3], RememberResult)
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1", "memory number 2"]


def test_a_repeat_gets_the_first_outcome_and_writes_nothing(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    first = engine.commit([remember(1, op_id="mine")])[0]
    again = engine.commit([remember(2, op_id="mine")])[0]
    assert isinstance(first, RememberResult)
    assert isinstance(again, RememberResult)
    assert (again.id, again.replayed, first.replayed) == (first.id, True, False)
    assert contents(engine) == {"memory number 1"}
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1"]


def test_a_repeat_in_the_same_batch_too(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    results = engine.commit([remember(1, op_id="mine"), remember(2, op_id="mine")])
    assert [result.id for result in results if isinstance(result, RememberResult)] == [insight_id(1), insight_id(1)]
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1"]


def test_an_op_id_cannot_serve_two_requests(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1, op_id="mine")])
    other = engine.commit([remember(2, op_id="mine", digest="another request")])[0]
    assert isinstance(other, MnemonError)
    assert other.kind is OP_ID_REUSED
    assert contents(engine) == {"memory number 1"}
    engine.close()


def test_an_op_id_that_the_daemon_chose_cannot_be_used_again(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    chosen = engine.commit([remember(1)])[0]
    assert isinstance(chosen, RememberResult)
    other = engine.commit([remember(2, op_id=chosen.op_id)])[0]
    assert isinstance(other, MnemonError)
    assert (other.kind, other.outcome) == (OP_ID_REUSED, "rejected")
    assert contents(engine) == {"memory number 1"}
    engine.close()


def test_outcomes_expire_after_seven_days_not_before(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1, op_id="mine")])
    engine.close()
    connection = open_at(tmp_path / "a.db").connection
    written_us = 1_770_000_000_000_001
    assert operations.expire(connection, written_us + operations.RETENTION_US) == 0
    assert operations.expire(connection, written_us + operations.RETENTION_US + 1) == 1
    connection.close()


def test_forget_takes_out_of_recall_and_keeps_the_row(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    outcome = engine.commit([forget(1)])[0]
    assert outcome == forgotten(insight_id(1), "forget-1")
    assert contents(engine) == {"memory number 2"}
    assert engine.read(by_status) == {"active": 1, "forgotten": 1}
    twice = engine.commit([forget(1)])[0]
    assert isinstance(twice, MnemonError)
    assert twice.kind is NOT_FOUND
    engine.close()


def test_forget_counts_logical_links_and_removes_them(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2), remember(3)])
    one, two, three = insight_id(1), insight_id(2), insight_id(3)
    links = (
        Edge(one, two, "temporal", 0.5), Edge(two, one, "temporal", 0.5),
        Edge(one, two, "causal", 0.4), Edge(three, one, "entity", 0.3), Edge(one, three, "entity", 0.3),
    )  # fmt: skip
    linking = remember(4)
    engine.commit(
        [
            ChangeSet(
                op_id="link", client_op_id=False, method="link", now=linking.now,
                changes=tuple(AddEdge(edge) for edge in links), outcome=linking.outcome,
            )
        ]
    )  # fmt: skip
    assert sum(engine.index.snapshot.edge_counts().values()) == 3
    outcome = engine.commit([forget(1)])[0]
    assert isinstance(outcome, ForgetResult)
    assert outcome.edges_removed == 3
    assert sum(engine.index.snapshot.edge_counts().values()) == 0
    assert engine.read(lambda connection: connection.rows("SELECT * FROM edges")) == []
    engine.close()


def test_history_has_before_and_after_of_every_change(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    engine.commit([forget(1)])
    rows = engine.read(
        lambda connection: connection.rows(
            "SELECT operation_type, memory_id, before_state IS NULL, after_state IS NULL, op_id FROM memory_operations"
        )
    )
    assert rows == [("CREATE", insight_id(1), 1, 0, "made-1"), ("DELETE", insight_id(1), 0, 0, "forget-1")]
    assert history.State.__struct_fields__ == ("insight", "edges")
    engine.close()


def test_the_oplog_keeps_the_newest_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MAX_LINES", 10)
    engine = engine_at(tmp_path / "a.db")
    for number in range(25):
        engine.commit([remember(number)])
    assert engine.read(operations.count_lines) == 10
    newest = engine.read(lambda connection: connection.row("SELECT insight_id FROM oplog ORDER BY id DESC LIMIT 1"))
    assert newest == (insight_id(24),)
    engine.close()


def test_a_cold_start_sees_what_a_warm_store_saw(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number) for number in range(20)])
    engine.commit([forget(3), forget(7)])
    warm = contents(engine)
    engine.close()
    again = engine_at(tmp_path / "a.db")
    assert contents(again) == warm
    again.close()


def test_the_write_ahead_log_is_copied_when_it_has_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 10)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 12)
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number, "word " * 500) for number in range(60)])
    assert (tmp_path / "a.db-wal").stat().st_size > 0
    engine.checkpoint_if_due()
    assert (tmp_path / "a.db-wal").stat().st_size == 0
    engine.close()


def test_an_existing_store_keeps_its_embedder(tmp_path: Path) -> None:
    engine_at(tmp_path / "a.db").close()
    from mnemond.store.database import open_database
    from mnemond.store.meta import EmbedderRecord

    opened = open_database(tmp_path / "a.db", lambda: EmbedderRecord("another", 4, "x"), 0)
    assert opened.embedder is not None
    assert opened.embedder.name == "toy"
    opened.connection.close()


def changing(number: int, *changes: Change) -> ChangeSet:
    """An operation of several changes that is told as a remember."""
    base = remember(number)
    return ChangeSet(
        op_id=f"change-{number}", client_op_id=False, method="remember", now=base.now, changes=changes,
        outcome=base.outcome,
    )  # fmt: skip


def test_a_memory_can_take_the_place_of_another_in_one_operation(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    successor = changing(2, RetireInsight(insight_id(1), "superseded"), *remember(2).changes)
    outcome = engine.commit([successor])[0]
    assert outcome == successor.outcome
    assert contents(engine) == {"memory number 2"}
    assert engine.read(by_status) == {"active": 1, "superseded": 1}
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 2"]


def test_a_refused_change_undoes_those_before_it_in_the_same_operation(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    refused = engine.commit([changing(2, *remember(2).changes, RetireInsight(insight_id(1), "superseded"))])[0]
    assert isinstance(refused, MnemonError)
    assert refused.kind is NOT_FOUND
    assert contents(engine) == set()
    engine.close()
    assert stored(tmp_path / "a.db") == []


def test_edges_are_kept_raised_and_removed_as_the_index_has_them(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2), remember(3)])
    one, two, three = insight_id(1), insight_id(2), insight_id(3)
    engine.commit(
        [
            changing(
                10, AddEdge(Edge(one, two, "temporal", 0.5)), AddEdge(Edge(two, three, "entity", 0.9)),
                AddEdge(Edge(one, three, "semantic", 0.3)),
            )
        ]
    )  # fmt: skip
    engine.commit(
        [
            changing(
                11, AddEdge(Edge(one, two, "temporal", 0.8)), AddEdge(Edge(two, three, "entity", 0.1)),
                RemoveEdge(one, three, "semantic"), RemoveEdge(one, three, "causal"),
            )
        ]
    )  # fmt: skip
    warm = engine.index.snapshot.edge_counts()
    assert warm == {"temporal": 1, "semantic": 0, "causal": 0, "entity": 1}
    engine.close()
    again = engine_at(tmp_path / "a.db")
    assert again.index.snapshot.edge_counts() == warm
    rows = again.read(lambda connection: connection.rows("SELECT edge_type, weight FROM edges ORDER BY edge_type"))
    assert rows == [("entity", 0.9), ("temporal", 0.8)]
    again.close()


def test_a_vector_of_another_length_counts_as_none_after_a_start(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    engine.read(
        lambda connection: connection.run(
            "UPDATE insights SET embedding = x'00000000', embedding_dim = 1 WHERE id = ?", (insight_id(2),)
        )
    )
    engine.close()
    again = engine_at(tmp_path / "a.db")
    assert again.index.snapshot.live == 2
    assert again.index.snapshot.embedded == 1
    again.close()


def test_a_memory_without_a_vector_stays_without(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    plain = remember(1)
    change = plain.changes[0]
    assert isinstance(change, AddInsight)
    engine.commit([changing(1, AddInsight(change.insight, None)), remember(2)])
    assert engine.index.snapshot.embedded == 1
    assert engine.read(lambda db: db.rows("SELECT embedding_model, embedding_dim FROM insights ORDER BY id")) == [
        (None, None),
        ("toy", 8),
    ]
    engine.close()
    again = engine_at(tmp_path / "a.db")
    assert (again.index.snapshot.live, again.index.snapshot.embedded) == (2, 1)
    again.close()


def test_what_readers_need_stays_as_it_was_known_if_it_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_at(tmp_path / "a.db")
    failures: list[Exception] = []
    monkeypatch.setattr(engine.health, "note_failure", failures.append)

    def broken(*_: object) -> None:
        raise SqliteError("disk I/O error")

    monkeypatch.setattr("mnemond.store.core_summaries.current", broken)
    engine.rewrite(lambda _: None)
    assert [str(each) for each in failures] == ["disk I/O error"]
    assert engine.core_summaries == {}
    engine.close()


def test_a_reader_of_one_session_is_shown_what_was_given_directly(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    at = "2026-01-01T00:00:00.000000Z"
    given = Evidence(id=1, source_id="a", type="uses", target_id="b", kind="start", at=at, created_at=at, origin="host")
    assert engine.read(lambda it: relations.visible(it, [given], Scope(session_id="s"))) == {1}
    engine.close()
