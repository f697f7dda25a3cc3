"""Whatever is done to a store: its log, applied to an empty one, gives the same store, and its index the same index."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import tables
from mnemond.interchange.restore import restore
from mnemond.model.changes import AddEdge, AddInsight, Change, ChangeSet, PurgeInsight, PutInsight, SetVector
from mnemond.model.memory import Cue, Edge
from mnemond.model.outcomes import Maintained
from mnemond.store import operation_log
from mnemond.store.connection import Connection
from mnemond.store.engine import Engine
from mnemond.store.operation_log import (
    Operation,
    apply,
    decode,
    encode,
    index_changes,
    parts,
    passage_changes,
    snapshot,
)
from mnemond.store.verify import verify_closed
from tests.examples import examples
from tests.faults.failing_vfs import FailingVfs, Fault
from tests.faults.test_state_machine import Stores
from tests.interchange.test_restore import lines_of, record
from tests.memory import test_knowledge_replay as knowledge
from tests.memory.knowledge_world import KnowledgeWorld
from tests.store import test_passages as passages
from tests.store.factories import EMBEDDER, START_US, engine_at, forget, insight_id, remember
from tests.store.mirror import mirrored, portrait
from tests.tables import each_row

NOW = "2026-11-28T09:00:00.000000Z"


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.integers(1, 5))
def test_parts_of_an_operation_do_the_same(sizes: list[int], room: int) -> None:
    dropped, changed, added = sizes
    whole = Operation(
        op_id="o", method="m", at=NOW, purged=["x"], drop={"edge": [[1, 2, each] for each in range(dropped)]},
        change={"memory": [{"id": f"c{each}", "number": each} for each in range(changed)]},
        add={"memory": [{"id": f"a{each}", "number": 9 + each} for each in range(added)], "cue": [{"memory": 9}]},
        model="toy-1", vectors={f"{part}{each}": "" for part in "ca" for each in (0, 3)},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operation_log, "ROWS_A_LINE", room)
        found = list(parts(whole))
    for name in ("drop", "change", "add"):
        rows: dict[str, list[Any]] = {}
        for each in found:
            for kind, some in getattr(each, name).items():
                rows.setdefault(kind, []).extend(some)
        assert {kind: some for kind, some in rows.items() if some} == {
            kind: some for kind, some in getattr(whole, name).items() if some
        }
    counts = [sum(len(r) for p in (it.drop, it.change, it.add) for r in p.values()) for it in found]
    assert counts[:-1] == [room] * (len(found) - 1)
    assert 0 < counts[-1] <= room
    assert [each.op_id for each in found] == ["o", *[""] * (len(found) - 1)]
    assert [each.purged for each in found] == [["x"], *[[]] * (len(found) - 1)]
    if len(found) > 1:
        ids = [row["id"] for it in found for part in (it.change, it.add) for row in part.get("memory", ())]
        assert sorted(key for it in found for key in it.vectors) == sorted(whole.vectors.keys() & set(ids))
    kinds = [[name for name in ("drop", "change", "add") if getattr(it, name)] for it in found]
    order = [name for names in kinds for name in names]
    assert order == sorted(order, key=("drop", "change", "add").index)


class Log:
    """The lines of a store's log, kept outside of it. A purge replaces all of them by the store as it is then."""

    def __init__(self, engine: Engine) -> None:
        self.lines: list[bytes] = []
        self.purged = False
        engine.log = self.take

    def take(self, operations: Any) -> None:
        for each in operations:
            self.lines.append(encode(each))
            self.purged = self.purged or bool(each.purged)

    def compact(self, engine: Engine) -> None:
        """Replace it by what the store is now."""
        self.lines = [encode(each) for each in taken(engine)]
        self.purged = False


def taken(engine: Engine) -> list[Operation]:
    found = engine.read(lambda connection: list(snapshot(connection, EMBEDDER, NOW)))
    assert isinstance(found, list)
    return found


def replay(engine: Engine, lines: list[bytes]) -> None:
    """Apply lines in one transaction each, with the index beside the rows."""
    for line in lines:
        operation = decode(line)
        assert encode(operation) == line

        def work(connection: Connection, operation: Operation = operation) -> None:
            apply(connection, operation, EMBEDDER)
            engine.index.stage(index_changes(connection, operation, engine.index, EMBEDDER))
            engine.index.stage_passages(passage_changes(connection, operation, EMBEDDER))

        engine.rewrite(work)
        engine.index.publish()


def assert_same(engine: Engine, lines: list[bytes], home: Path) -> None:
    """Replay a log from nothing, and compare exports, readers and vectors."""
    there = engine_at(home / "replayed.db")
    try:
        replay(there, lines)
        assert lines_of(there) == lines_of(engine)
        seen = mirrored(there, home / "replayed.db")
        assert {each: it["vector"] for each, it in seen.items()} == vectors_in(engine)
        assert passages.by_id(passages.shown(there)) == passages.by_id(passages.shown(engine))
    finally:
        there.close()
        (home / "replayed.db").chmod(0o600)
        wrong = [each for each in verify_closed(home / "replayed.db", "full", START_US) if each.problems]
        (home / "replayed.db").unlink()
    assert wrong == []


def vectors_in(engine: Engine) -> dict[str, Any]:
    return {each: it["vector"] for each, it in portrait(engine.index.snapshot).items()}


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    """The disk of the state machine, which fails when it is told to."""
    registered = FailingVfs()
    yield
    registered.unregister()


class Logged(Stores):
    """Memories and links, in every state; also across purges, crashes and new starts."""

    def break_disk(self, at: int, fault: Fault, persistent: bool) -> None:
        """Not here: a disk that fails is another test's."""

    def _write(self, *changes: Any) -> None:
        if not hasattr(self, "log"):
            self.log = Log(self.engine)
        self.engine.log = self.log.take
        super()._write(*changes)
        if self.log.purged:
            self.log.compact(self.engine)

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        home = Path(tempfile.mkdtemp())
        try:
            assert_same(self.engine, self.log.lines if hasattr(self, "log") else [], home)
        finally:
            shutil.rmtree(home)
            super().teardown()


TestLogged = Logged.TestCase
TestLogged.settings = settings(stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None)


@settings(examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(knowledge.STEPS)
def test_relations_names_merges_summaries_and_reviews_are_in_the_log(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = KnowledgeWorld(Path(directory) / "a.db")
        log = Log(world.engine)
        for kind, one, two in steps:
            knowledge.step(world, kind, one, two)
        assert_same(world.engine, log.lines, Path(directory))
        log.compact(world.engine)
        assert_same(world.engine, log.lines, Path(directory))
        world.engine.close()


@settings(examples(25), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["keep", "forget", "restore", "purge", "embed", "memory"]), st.integers(1, 4)))
)
def test_the_record_of_sessions_is_in_the_log(steps: list[tuple[str, int]]) -> None:
    """Without vectors, which each store makes for itself; also what a purged memory leaves of it."""
    with tempfile.TemporaryDirectory() as home:
        engine = engine_at(Path(home) / "a.db")
        log = Log(engine)
        for at, (what, number) in enumerate(steps):
            if what == "memory":
                engine.commit([remember(number, f"Answer {number}")])
                engine.commit([change_set(f"purge-{at}", PurgeInsight(insight_id(number)))])
            else:
                engine.commit([passages.write(at, passages.change(what, number, answer=f"Answer {number}. More."))])
            if log.purged:
                assert_same(engine, log.lines, Path(home))
                log.compact(engine)
        assert_same(engine, log.lines, Path(home))
        engine.close()


def test_vectors_of_a_passage_stay_with_its_text(tmp_path: Path) -> None:
    """In a store that a log is applied to: dropped where a purge changed the text, kept where it was only forgotten."""
    engine, there = engine_at(tmp_path / "a.db"), engine_at(tmp_path / "b.db")
    log = Log(engine)
    engine.commit([passages.write(1, *(passages.keep(each, answer=f"Answer {each}. More.") for each in (1, 2)))])
    replay(there, log.lines)
    there.commit(
        [
            passages.write(
                9, *(passages.embedded(passages.passage(each, answer=f"Answer {each}. More.")) for each in (1, 2))
            )
        ]
    )
    engine.commit([remember(1, "Answer 1")])
    engine.commit([change_set("purge", PurgeInsight(insight_id(1)))])
    engine.commit([passages.write(2, passages.change("forget", 2))])
    engine.commit([passages.write(3, passages.change("restore", 2))])
    replay(there, log.lines[1:])
    assert there.index.snapshot.parts.passages.without_vector() == [passages.passage(1).id]
    assert passages.by_id(passages.shown(there)) == passages.by_id(passages.shown(engine))
    there.close()
    engine.close()


def test_an_import_of_an_export_is_in_the_log(tmp_path: Path) -> None:
    source = engine_at(tmp_path / "source.db")
    source.commit([remember(1), remember(2), forget(2)])
    lines = lines_of(source)
    source.close()
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    engine.rewrite(lambda connection: restore(connection, lines, record()), rows=True)
    assert [decode(each).op_id for each in log.lines] == [""]
    assert_same(engine, log.lines, tmp_path)
    engine.close()


def test_every_table_and_column_is_in_the_log_or_left_out_for_a_reason(tmp_path: Path) -> None:
    def look(connection: Connection) -> None:
        names = connection.column(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        logged = {each.table: each for each in operation_log.TABLES}
        assert set(names) == {*logged, *operation_log.NOT_LOGGED}
        for table in logged.values():
            info = connection.rows(f"PRAGMA table_info({table.table})")
            assert table.key == tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]), table.table
            assert table.left_out <= {row[1] for row in info}
        columns = {each.table: set(operation_log.columns_of(connection, each)) for each in logged.values()}
        for exported in (*tables.TABLES, *tables.PARTS):
            if exported is not tables.EDGES:  # which is read through a view
                assert set(exported.columns(connection)) <= columns[exported.table], exported.table

    engine = engine_at(tmp_path / "a.db")
    engine.read(look)
    engine.close()


def test_what_the_log_refuses_is_not_written(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    before = lines_of(engine)

    def refuse(_operations: Any) -> None:
        raise MnemonError(INVALID_PARAMS, "the log cannot be reached")

    engine.log = refuse
    assert isinstance(engine.commit([remember(2)])[0], MnemonError)
    with pytest.raises(MnemonError, match="cannot be reached"):
        engine.rewrite(lambda connection: connection.run("DELETE FROM insights"))
    engine.log = None
    assert lines_of(engine) == before
    mirrored(engine, tmp_path / "a.db")
    engine.commit([remember(2)])
    engine.close()


def test_a_batch_is_one_line_an_operation_and_a_repeat_none(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    again = msgspec.structs.replace(remember(3), client_op_id=True)
    engine.commit([remember(1), remember(2), again])
    engine.commit([again])
    assert [decode(each).op_id for each in log.lines] == [remember(1).op_id, remember(2).op_id, again.op_id]
    assert_same(engine, log.lines, tmp_path)
    engine.close()


def test_vectors_of_another_embedder_are_left_out(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    engine.commit([remember(1)])
    other = msgspec.structs.replace(decode(log.lines[0]), model="another")
    there = engine_at(tmp_path / "b.db")
    replay(there, [encode(other)])
    assert lines_of(there) == lines_of(engine)
    assert vectors_in(engine) != vectors_in(there) == dict.fromkeys(vectors_in(engine))
    there.close()
    engine.close()


BROKEN: dict[str, bytes] = {
    "mnemond_log": b"{}",
    "it is of version 2; this mnemond reads version 1": b'{"mnemond_log":2}',
    "missing required field `op_id`": b'{"mnemond_log":1}',
    "there is no kind 'spell'": b'{"mnemond_log":1,"op_id":"a","method":"b","at":"c","add":{"spell":[]}}',
    "memory has no column 'cost'": (
        b'{"mnemond_log":1,"op_id":"a","method":"b","at":"c","add":{"memory":[{"number":1,"cost":2}]}}'
    ),
    "Input data was truncated": b"{",
}


@each_row("why", BROKEN)
def test_a_line_that_cannot_be_applied_is_refused(why: str, tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    with pytest.raises(MnemonError, match=why):
        replay(engine, [BROKEN[why]])
    engine.close()


@each_row(("vector", "why"), [("*", "is no base64"), ("AAAA", "has 3 bytes")])
def test_a_vector_that_is_none_is_refused(vector: str, why: str, tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    engine.commit([remember(1)])
    operation = decode(log.lines[0])
    engine.close()
    there = engine_at(tmp_path / "b.db")
    bad = msgspec.structs.replace(operation, vectors=dict.fromkeys(operation.vectors, vector))
    with pytest.raises(MnemonError, match=why):
        there.rewrite(lambda connection: apply(connection, bad, EMBEDDER))
    assert len(lines_of(there)) == 1
    there.close()


def test_a_purged_memory_takes_its_cues_and_links_along(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    cued = remember(1)
    added = cued.changes[0]
    assert isinstance(added, AddInsight)
    insight = msgspec.structs.replace(added.insight, cues=(Cue("which number"),))
    vector = np.stack((added.vector, added.vector))
    cued = msgspec.structs.replace(cued, changes=(msgspec.structs.replace(added, insight=insight, vector=vector),))
    edge = AddEdge(Edge(insight_id(2), insight_id(1), "causal", 0.5))
    purged = change_set("purge", PurgeInsight(insight_id(1)))
    unknown = change_set("unknown", SetVector(insight_id(2), None))
    engine.commit([cued])
    engine.commit([remember(2)])
    engine.commit([change_set("link", edge)])
    engine.commit([unknown])
    engine.commit([purged])
    last = decode(log.lines[-1])
    assert last.purged == [insight_id(1)]
    assert "memory number 1" not in log.lines[-1].decode()
    assert decode(log.lines[-2]).vectors == {insight_id(2): operation_log.UNEMBEDDABLE}
    assert_same(engine, log.lines, tmp_path)
    engine.close()


def test_without_vectors_a_text_that_stays_keeps_its_own(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    log = Log(engine)
    engine.commit([remember(1)])
    it = remember(1).changes[0].insight  # type: ignore[union-attr]
    engine.commit([change_set("tags", PutInsight(msgspec.structs.replace(it, tags=("new",))))])
    engine.commit([change_set("text", PutInsight(msgspec.structs.replace(it, content="another"), "UPDATE", True))])
    lines = [encode(msgspec.structs.replace(decode(each), model=None, vectors={})) for each in log.lines[1:]]
    there = engine_at(tmp_path / "b.db")
    replay(there, [log.lines[0], lines[0]])
    assert vectors_in(there)[insight_id(1)] is not None
    replay(there, lines[1:])
    assert vectors_in(there) == {insight_id(1): None}
    assert lines_of(there) == lines_of(engine)
    assert [each.vectors for each in taken(there) if "memory" in each.add] == [{}]
    there.close()
    engine.close()


def change_set(op_id: str, *changes: Change) -> ChangeSet:
    return ChangeSet(
        op_id=op_id, client_op_id=False, method="test", now=NOW, changes=changes, outcome=Maintained(op_id=op_id)
    )
