"""Writes that are decided under the writer: what they see, and that the index follows the file whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from mnemond.errors import INTERNAL, INVALID_PARAMS, STORAGE, MnemonError
from mnemond.index.vectors import Cosines
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddEdge, ChangeSet, PurgeInsight, RetireInsight, SetImportance, Vector
from mnemond.model.memory import Edge
from mnemond.model.outcomes import RememberResult
from mnemond.store import operations
from mnemond.store.connection import ConstraintError
from mnemond.store.database import Opened
from mnemond.store.engine import BatchCosines
from mnemond.store.operations import Proposal, View, Write
from tests.store.factories import (
    DIMENSION,
    by_status,
    contents,
    engine_at,
    forget,
    insight_id,
    open_at,
    remember,
    vector_of,
)
from tests.store.mirror import mirrored, of_file, portrait

ONE, TWO = insight_id(1), insight_id(2)


def proposing(
    number: int, decide: Callable[[View], ChangeSet], vector: Vector | None = None, op_id: str | None = None
) -> Proposal:
    return Proposal(op_id or f"made-{number}", op_id is not None, "remember", "d", decide, vector)


def linked(number: int, *others: int) -> ChangeSet:
    """A new memory, linked with others."""
    base, new = remember(number), insight_id(number)
    pairs = [(new, insight_id(other)) for other in others]
    links = [AddEdge(Edge(*ends, "semantic", 0.5)) for one, other in pairs for ends in ((one, other), (other, one))]
    return msgspec.structs.replace(base, changes=(*base.changes, *links))


def every(cosines: Cosines) -> npt.NDArray[np.float32]:
    return cosines.of(np.arange(len(cosines)))


# ------------------------------------------------------------------ what a proposal sees


def test_a_proposal_sees_what_earlier_ones_of_its_batch_wrote(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    seen: list[tuple[list[str], list[float], int | None]] = []

    def looking(number: int) -> Callable[[View], ChangeSet]:
        def decide(view: View) -> ChangeSet:
            assert view.similarity is not None
            ids = [view.snapshot.insight(row).id for row in range(view.snapshot.rows)]
            active = by_status(view.connection)["active"]
            assert active == view.snapshot.live
            seen.append((ids, np.round(every(view.similarity), 4).tolist(), view.snapshot.row_of(TWO)))
            return linked(number, 1)

        return decide

    batch: list[Write] = [proposing(3, looking(3), vector_of(1)), forget(2), proposing(4, looking(4), vector_of(3))]
    results = engine.commit(batch)
    assert not any(isinstance(result, MnemonError) for result in results)
    cosines = {(a, b): round(float(vector_of(a) @ vector_of(b)), 4) for a in range(5) for b in range(5)}
    assert seen[0] == ([ONE, TWO], [1.0, pytest.approx(cosines[1, 2], abs=1e-3)], 1)
    assert seen[1][0] == [ONE, TWO, insight_id(3)]
    assert seen[1][1] == pytest.approx([cosines[3, 1], cosines[3, 2], 1.0], abs=1e-3)
    assert seen[1][2] is None
    assert set(mirrored(engine, tmp_path / "a.db")) == {ONE, insight_id(3), insight_id(4)}
    engine.close()


def test_a_whole_batch_is_compared_as_each_would_be_alone(tmp_path: Path) -> None:
    rows = [(remember(number).changes[0].insight, vector_of(number)) for number in range(6)]  # type: ignore[union-attr]
    index = MemoryIndex.build(rows[:4], [], DIMENSION)
    wrong = np.ones(DIMENSION + 1, dtype=np.float32)
    vectors = [vector_of(7), None, wrong, vector_of(8)]
    comparison = BatchCosines(index.working, vectors)
    base = index.working
    index.stage([remember(4).changes[0], remember(5).changes[0]])
    for at, vector in enumerate(vectors):
        for snapshot in (base, index.working):
            found = comparison.of(at, snapshot)
            if vector is None or vector is wrong:
                assert found is None
            else:
                assert found is not None
                assert every(found).tolist() == pytest.approx(snapshot.dense.similarity(vector).tolist(), abs=1e-6)
    assert BatchCosines(base, [None]).of(0, base) is None
    assert BatchCosines(MemoryIndex(0).snapshot, [np.zeros(0, dtype=np.float32)]).of(0, base) is None


def test_a_repeat_is_not_decided_again(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    decided = []

    def decide(view: View) -> ChangeSet:
        decided.append(view)
        return remember(1, op_id="mine")

    for _ in range(2):
        [result] = engine.commit([proposing(1, decide, op_id="mine")])
        assert isinstance(result, RememberResult)
    assert isinstance(result, RememberResult)
    assert (result.replayed, len(decided)) == (True, 1)
    engine.close()


# ------------------------------------------------------------------ refusals


def test_a_proposal_refused_in_the_middle_leaves_no_trace(tmp_path: Path) -> None:
    def refuse(view: View) -> ChangeSet:
        raise MnemonError(INVALID_PARAMS, "not like this", outcome="rejected")

    def half(view: View) -> ChangeSet:
        return msgspec.structs.replace(
            linked(5, 1), changes=(*linked(5, 1).changes, RetireInsight(ONE, "pruned"), PurgeInsight(insight_id(99)))
        )

    with_them, without = engine_at(tmp_path / "a.db"), engine_at(tmp_path / "b.db")
    first = [remember(1), remember(2)]
    for engine in (with_them, without):
        engine.commit(first)
    results = with_them.commit([linked(3, 1), proposing(8, refuse), proposing(5, half), linked(4, 1, 3)])
    assert [isinstance(result, MnemonError) for result in results] == [False, True, True, False]
    without.commit([linked(3, 1), linked(4, 1, 3)])
    assert mirrored(with_them, tmp_path / "a.db") == mirrored(without, tmp_path / "b.db")
    for table in ("oplog", "memory_operations", "operations", "edges"):
        sql = f"SELECT * FROM {table}"
        assert with_them.read(lambda db, sql=sql: db.rows(sql)) == without.read(lambda db, sql=sql: db.rows(sql))  # type: ignore[misc]
    with_them.close()
    without.close()


def test_what_nobody_foresaw_after_staging_sinks_the_batch_and_nothing_else(tmp_path: Path) -> None:
    defects: list[BaseException] = []
    engine = engine_at(tmp_path / "a.db", defects=defects)
    engine.commit([remember(1)])
    before = mirrored(engine, tmp_path / "a.db")
    impossible = msgspec.structs.replace(
        remember(3), changes=(*remember(3).changes, SetImportance(insight_id(99), 1.0))
    )
    results = engine.commit([remember(2), impossible])
    for result in results:
        assert isinstance(result, MnemonError)
        assert (result.kind, result.outcome) == (INTERNAL, "rejected")
    assert [type(defect) for defect in defects] == [MnemonError]
    assert mirrored(engine, tmp_path / "a.db") == before
    assert isinstance(engine.commit([remember(2)])[0], RememberResult)
    assert set(mirrored(engine, tmp_path / "a.db")) == {ONE, TWO}
    engine.close()


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(operations, "log", fail)


@pytest.mark.parametrize(("error", "kind"), [(apsw.IOError("disk"), STORAGE), (ConstraintError("surprise"), INTERNAL)])
def test_a_database_that_fails_after_the_index_was_staged_leaves_it_as_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: object
) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), remember(2)])
    before = mirrored(engine, tmp_path / "a.db")
    with monkeypatch.context() as broken:
        failing(broken, error)
        [result] = engine.commit([linked(3, 1)])
        assert isinstance(result, MnemonError)
        assert (result.kind, result.outcome) == (kind, "rejected")
    assert mirrored(engine, tmp_path / "a.db") == before
    assert isinstance(engine.commit([linked(3, 1, 2)])[0], RememberResult)
    assert mirrored(engine, tmp_path / "a.db")[insight_id(3)]["degree"] == 2
    engine.close()


# ------------------------------------------------------------------ COMMIT


class Half:
    """A COMMIT that raises, although or because it did (not) take place."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, takes_place: bool) -> None:
        from mnemond.store.connection import Connection

        run = Connection.run

        def breaking(connection: Connection, sql: str, values: Sequence[object] = ()) -> int:
            if sql == "COMMIT":
                if takes_place:
                    run(connection, sql)
                raise apsw.IOError("COMMIT failed")
            return run(connection, sql, values)  # type: ignore[arg-type]  # passed through

        monkeypatch.setattr(Connection, "run", breaking)


@pytest.mark.parametrize("takes_place", [True, False])
@pytest.mark.parametrize("reopens", [True, False])
def test_after_a_commit_that_failed_the_index_is_what_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes_place: bool, reopens: bool
) -> None:
    path = tmp_path / "a.db"
    engine = engine_at(path)
    engine.commit([remember(1), remember(2)])
    before = portrait(engine.index.snapshot)
    closed = [not reopens]
    reopen = engine._reopen

    def perhaps() -> Opened:
        if closed[0]:
            raise apsw.CantOpenError("not now")
        monkeypatch.undo()
        return reopen()

    engine._reopen = perhaps
    Half(monkeypatch, takes_place=takes_place)
    [result] = engine.commit([linked(3, 1)])
    assert isinstance(result, MnemonError)
    assert (result.kind, result.outcome) == (STORAGE, "unknown")
    if not reopens:
        assert portrait(engine.index.snapshot) == before, "readers saw what was only staged"
        assert engine.health.degraded_reason is not None
        closed[0] = False
    monkeypatch.undo()
    assert isinstance(engine.commit([linked(4, 2)])[0], RememberResult)
    found = mirrored(engine, path)
    assert (insight_id(3) in found) is takes_place
    assert found[ONE]["degree"] == int(takes_place)
    engine.close()


# ------------------------------------------------------------------ purges


def test_a_purge_whose_index_cannot_be_read_again_shows_and_the_store_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    engine = engine_at(path)
    engine.commit([remember(1, "a secret text"), remember(2)])
    purge = msgspec.structs.replace(forget(1), changes=(PurgeInsight(ONE),))

    def broken(*_: object, **__: object) -> MemoryIndex:
        raise apsw.IOError("disk")

    with monkeypatch.context() as failing_disk:
        failing_disk.setattr("mnemond.store.engine.load_index", broken)
        [result] = engine.commit([purge])
    assert not isinstance(result, MnemonError)
    assert "purged" in str(engine.health.degraded_reason)
    assert contents(engine) == {"memory number 2"}
    engine.checkpoint_if_due()
    assert engine.health.degraded_reason is None
    assert b"a secret text" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert of_file(path) == portrait(engine.index.snapshot)
    engine.close()


def test_purged_and_kept_memories_of_one_batch(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1), linked(2, 1)])
    purge = msgspec.structs.replace(forget(1), changes=(PurgeInsight(ONE),))
    engine.commit([linked(3, 1, 2), purge, linked(4, 2, 3)])
    assert set(mirrored(engine, tmp_path / "a.db")) == {TWO, insight_id(3), insight_id(4)}
    generation = engine.index.snapshot.generation
    engine.commit([remember(5)])
    assert engine.index.snapshot.generation == generation + 1
    open_at(tmp_path / "a.db").connection.close()
    engine.close()
