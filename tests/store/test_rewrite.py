"""Work in a transaction of its own that may replace the embedder; staged vectors; writes that come too late for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import numpy as np
import pytest

from mnemond.errors import BUSY, INTERNAL, STORAGE, MnemonError
from mnemond.model.changes import AddInsight, ChangeSet, SetVector, Vector
from mnemond.model.memory import Insight
from mnemond.model.outcomes import EmbedRunResult, RememberResult
from mnemond.store import embedder_switch, insights
from mnemond.store import engine as engines
from mnemond.store.connection import BusyError, Connection
from mnemond.store.embedder_switch import StagedRow, SwitchRecord, read_switch
from mnemond.store.engine import SWITCHED, Engine, is_outdated, with_fitting_vectors
from mnemond.store.meta import EmbedderRecord, read_embedder, write_embedder
from mnemond.store.operations import Proposal, View
from tests.outcomes import forgotten, made
from tests.store.factories import DIMENSION, EMBEDDER, engine_at, insight_id, open_at, remember, vector_of

OTHER = EmbedderRecord("other", 4, "other-1")
TWIN = EmbedderRecord("twin", DIMENSION, "twin-1")
SWITCH = SwitchRecord("ollama", OTHER, "2026-02-17T09:30:00.000000Z")


def short(number: int) -> Vector:
    found: Vector = np.eye(4, dtype=np.float32)[number % 4]
    return found


def staged_row(number: int) -> StagedRow:
    return StagedRow(insight_id(number), f"memory number {number}", short(number))


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    built = engine_at(tmp_path / "a.db")
    built.commit([remember(number) for number in range(3)])
    return built


def column(engine: Engine, sql: str) -> list[object]:
    found = engine.read(lambda connection: [row[0] for row in connection.rows(sql)])
    assert isinstance(found, list)
    return found


def test_what_is_written_is_there_and_the_index_stays(engine: Engine) -> None:
    before = engine.index
    measured = EmbedderRecord(EMBEDDER.name, DIMENSION, EMBEDDER.fingerprint, 0.3, 0.8)
    assert engine.rewrite(lambda connection: write_embedder(connection, measured)) is None
    assert engine.embedder == measured
    assert engine.index is before


def test_a_refusal_leaves_nothing(engine: Engine) -> None:
    def refuse(connection: Connection) -> None:
        write_embedder(connection, OTHER)
        raise MnemonError(BUSY, "not now")

    with pytest.raises(MnemonError, match="not now"):
        engine.rewrite(refuse)
    assert engine.embedder == EMBEDDER
    assert engine.read(read_embedder) == EMBEDDER
    assert isinstance(engine.commit([remember(9)])[0], RememberResult)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [(BusyError("locked"), BUSY), (apsw.FullError("full"), STORAGE), (apsw.ConstraintError("no"), INTERNAL)],
)
def test_a_database_that_refuses_leaves_nothing(engine: Engine, failure: Exception, kind: object) -> None:
    def fail(connection: Connection) -> None:
        write_embedder(connection, OTHER)
        raise failure

    with pytest.raises(MnemonError) as caught:
        engine.rewrite(fail)
    assert (caught.value.kind, caught.value.outcome) == (kind, "rejected")
    assert engine.read(read_embedder) == EMBEDDER


def test_a_database_that_others_hold_is_left_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def held(self: Connection, sql: str, values: tuple[object, ...] = ()) -> int:
        raise BusyError("locked")

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "run", held)
        with pytest.raises(MnemonError, match="another process holds") as caught:
            engine.rewrite(read_embedder)
    assert (caught.value.kind, caught.value.outcome) == (BUSY, "rejected")
    assert engine.rewrite(read_embedder) == EMBEDDER


def test_a_defect_leaves_nothing_and_passes(engine: Engine) -> None:
    def fail(connection: Connection) -> None:
        write_embedder(connection, OTHER)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.rewrite(fail)
    assert engine.read(read_embedder) == EMBEDDER
    assert isinstance(engine.commit([remember(9)])[0], RememberResult)


def test_a_commit_that_raises_is_told_as_unknown(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Connection.run

    def fail(self: Connection, sql: str, values: tuple[object, ...] = ()) -> int:
        if sql == "COMMIT":
            raise apsw.IOError("the disk is gone")
        return run(self, sql, values)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "run", fail)
        with pytest.raises(MnemonError, match="failed while committing") as caught:
            engine.rewrite(lambda connection: write_embedder(connection, OTHER))
    assert (caught.value.kind, caught.value.outcome) == (STORAGE, "unknown")
    assert engine.rewrite(read_embedder) == EMBEDDER


def test_a_rollback_that_fails_opens_the_store_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Connection.run

    def fail(self: Connection, sql: str, values: tuple[object, ...] = ()) -> int:
        if sql == "ROLLBACK":
            raise apsw.IOError("the disk is gone")
        return run(self, sql, values)  # type: ignore[arg-type]

    def refuse(_: Connection) -> None:
        raise MnemonError(BUSY, "not now")

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "run", fail)
        with pytest.raises(MnemonError, match="not now"):
            engine.rewrite(refuse)
    assert engine.rewrite(read_embedder) == EMBEDDER


def test_files_that_were_taken_away_are_noticed_before_and_after(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(engine._files, "replaced", lambda: "a.db" if seen else None)

    def work(_: Connection) -> None:
        seen.append("worked")

    for outcome in ("unknown", "rejected"):
        with pytest.raises(MnemonError, match="was removed") as caught:
            engine.rewrite(work)
        assert caught.value.outcome == outcome
    assert seen == ["worked"]


def test_a_store_that_cannot_be_read_again_is_opened_anew(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MnemonError(STORAGE, "a damaged row")

    with monkeypatch.context() as patch:
        patch.setattr(engines, "load_index", fail)
        engine.rewrite(lambda connection: write_embedder(connection, OTHER))
    assert engine.embedder == OTHER
    assert engine.index.made_by == OTHER.fingerprint


# ------------------------------------------------------------ staged vectors


def test_staged_vectors_take_over_at_once(engine: Engine) -> None:
    engine.rewrite(partial(embedder_switch.begin, record=SWITCH))
    assert engine.read(read_switch) == SWITCH
    assert engine.rewrite(partial(embedder_switch.stage, record=SWITCH, rows=[staged_row(0), staged_row(1)])) is True
    assert engine.read(embedder_switch.unstaged) == [insight_id(2)]
    assert engine.read(embedder_switch.count_staged) == 2
    assert engine.rewrite(partial(embedder_switch.cut_over, record=SWITCH, without=[])) == [insight_id(2)]
    assert engine.embedder == EMBEDDER
    assert engine.rewrite(partial(embedder_switch.cut_over, record=SWITCH, without=[insight_id(2)])) == []
    assert (engine.embedder, engine.index.made_by) == (OTHER, "other-1")
    snapshot = engine.index.snapshot
    assert (snapshot.dimension, snapshot.embedded, snapshot.live) == (4, 2, 3)
    assert column(engine, "SELECT count(*) FROM staged_vectors") == [0]
    assert column(engine, "SELECT embedding_model FROM insights ORDER BY id") == ["other", "other", None]
    assert engine.read(read_switch) is None
    assert engine.rewrite(partial(embedder_switch.cut_over, record=SWITCH, without=[])) is None
    assert engine.rewrite(partial(embedder_switch.stage, record=SWITCH, rows=[staged_row(0)])) is False


def test_a_text_without_known_words_is_noted_as_that(engine: Engine) -> None:
    engine.rewrite(partial(embedder_switch.begin, record=SWITCH))
    wordless = StagedRow(insight_id(0), "memory number 0", None)
    engine.rewrite(partial(embedder_switch.stage, record=SWITCH, rows=[wordless, staged_row(1), staged_row(2)]))
    assert engine.rewrite(partial(embedder_switch.cut_over, record=SWITCH, without=[])) == []
    assert engine.read(partial(insights.unembeddable, embedder=OTHER)) == {insight_id(0)}
    assert engine.read(partial(insights.unembeddable, embedder=None)) == set()
    assert engine.index.snapshot.without_vector().tolist() == [0]


def test_what_is_staged_for_another_text_does_not_count(engine: Engine) -> None:
    engine.rewrite(partial(embedder_switch.begin, record=SWITCH))
    rows = [StagedRow(insight_id(0), "what it said before", short(0)), StagedRow(insight_id(77), "gone", short(0))]
    engine.rewrite(partial(embedder_switch.stage, record=SWITCH, rows=rows))
    assert set(column(engine, "SELECT insight_id FROM staged_vectors")) == {insight_id(0)}
    assert engine.read(embedder_switch.count_staged) == 0
    assert engine.rewrite(partial(embedder_switch.cut_over, record=SWITCH, without=None)) == []
    assert engine.index.snapshot.embedded == 0


def test_a_purge_takes_the_staged_vector_with_it(engine: Engine) -> None:
    engine.rewrite(partial(embedder_switch.begin, record=SWITCH))
    engine.rewrite(partial(embedder_switch.stage, record=SWITCH, rows=[staged_row(0)]))
    engine.rewrite(partial(insights.purge, insight_id=insight_id(0)))
    assert engine.read(embedder_switch.staged_hashes) == {}
    assert engine.rewrite(embedder_switch.clear) == 0


def test_vectors_of_another_model_are_counted_and_not_served(engine: Engine, tmp_path: Path) -> None:
    engine.rewrite(lambda connection: connection.run("UPDATE insights SET embedding_model = 'x' WHERE rowid = 1"))
    engine.rewrite(lambda connection: connection.run("UPDATE insights SET embedding = x'00' WHERE rowid = 2"))
    assert engine.read(partial(insights.count_stale, embedder=EMBEDDER)) == 2
    assert engine.read(partial(insights.count_stale, embedder=None)) == 3
    engine.close()
    again = open_at(tmp_path / "a.db")
    assert again.index.snapshot.embedded == 1
    again.connection.close()


# ------------------------------------------------------------ vectors of an embedder that is not the store's any more


def proposing(change: ChangeSet, made_by: str | None) -> Proposal:
    return Proposal(change.op_id, False, change.method, "d", lambda _: change, vector_of(1), made_by)


def deciding(change: ChangeSet, seen: list[View], made_by: str) -> Proposal:
    def decide(view: View) -> ChangeSet:
        seen.append(view)
        return change

    return Proposal(change.op_id, False, change.method, "d", decide, vector_of(1), made_by)


def test_a_write_with_vectors_of_the_embedder_before_is_kept_without_them(engine: Engine) -> None:
    engine.rewrite(lambda connection: write_embedder(connection, TWIN))  # of the same dimension
    seen: list[View] = []
    (outcome,) = engine.commit([deciding(remember(7), seen, EMBEDDER.fingerprint)])
    assert isinstance(outcome, RememberResult)
    assert (outcome.embedded, outcome.embed_error) == (False, SWITCHED)
    assert seen[0].similarity is None
    row = engine.index.snapshot.row_of(insight_id(7))
    assert row is not None
    assert engine.index.snapshot.vector(row) is None
    fitting = engine.commit([proposing(remember(8), TWIN.fingerprint)])[0]
    assert isinstance(fitting, RememberResult)
    assert fitting.embedded is True


def test_vectors_alone_are_dropped_and_not_counted(engine: Engine) -> None:
    base = remember(0)
    change = ChangeSet(
        "o",
        False,
        "embed.run",
        base.now,
        (SetVector(insight_id(0), vector_of(5)),),
        made(EmbedRunResult, "o", status="backfill_complete", succeeded=1),
    )
    (outcome,) = engine.commit([proposing(change, "somebody else's")])
    assert isinstance(outcome, EmbedRunResult)
    assert outcome.succeeded == 0
    row = engine.index.snapshot.row_of(insight_id(0)) or 0
    kept = engine.index.snapshot.vector(row)
    assert kept is not None
    assert np.allclose(kept, vector_of(0))


def test_what_brings_no_vectors_is_never_outdated() -> None:
    change = remember(1)
    assert is_outdated(change, None) is False
    assert is_outdated(proposing(change, None), None) is False
    assert is_outdated(proposing(change, "x"), None) is True
    assert with_fitting_vectors(change, TWIN) is change
    bare = ChangeSet("o", False, "forget", change.now, (), forgotten("x", "o"))
    stripped = with_fitting_vectors(proposing(bare, "x"), TWIN)
    assert isinstance(stripped, Proposal)
    assert stripped.decide(None) == bare  # type: ignore[arg-type]


def test_a_row_that_is_wordless_gets_no_vector_and_leaves_no_line(engine: Engine) -> None:
    lines = len(column(engine, "SELECT id FROM oplog"))
    changes = (SetVector(insight_id(0), None), SetVector(insight_id(1), vector_of(9)))
    now = remember(0).now
    quiet = ChangeSet("o", False, "embed.run", now, changes, made(EmbedRunResult, "o"), operation="")
    engine.commit([quiet])
    assert engine.index.snapshot.embedded == 2
    assert engine.read(partial(insights.unembeddable, embedder=EMBEDDER)) == {insight_id(0)}
    assert len(column(engine, "SELECT id FROM oplog")) == lines


def test_an_embedder_is_asked_for_only_where_nothing_is_lost(tmp_path: Path) -> None:
    from mnemond.store.database import open_database

    asked: list[int] = []

    def wanted(found: EmbedderRecord | None) -> Callable[[], EmbedderRecord | None]:
        def ask() -> EmbedderRecord | None:
            asked.append(1)
            return found

        return ask

    path = tmp_path / "b.db"
    opened = open_database(path, wanted(None), 0)
    assert (opened.embedder, opened.index.made_by) == (None, "")
    opened.connection.close()
    opened = open_database(path, wanted(None), 0)
    insight = Insight(id=insight_id(1), content="tea", created_at=remember(1).now, updated_at=remember(1).now)
    opened.connection.run("BEGIN")
    insights.insert(opened.connection, AddInsight(insight), None)
    opened.connection.run("COMMIT")
    opened.connection.close()
    opened = open_database(path, wanted(OTHER), 0)
    assert opened.embedder is None  # its memories have no vectors: whoever embeds in the background adopts it
    opened.connection.close()
    assert len(asked) == 2
