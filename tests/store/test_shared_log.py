"""A store with its log in PostgreSQL: two daemons see one store, whatever fails between them."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MethodType
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.pg_server import PgServer
from mnemond.errors import NOT_FOUND, OP_ID_REUSED, UNAVAILABLE, MnemonError
from mnemond.interchange.restore import restore
from mnemond.model.changes import AddEdge, Change, ChangeSet, CountUse, PurgeInsight, RecallLine, RemoveEdge, SetVector
from mnemond.model.memory import Edge
from mnemond.store import embedder_switch, engine, operation_log, postgresql, shared_log
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.embedder_switch import SwitchRecord, read_switch
from mnemond.store.meta import EmbedderRecord, write_embedder
from mnemond.store.postgresql import PostgresqlLog
from mnemond.store.shared_log import LostConnectionError
from tests.faults.failing_vfs import FailingVfs, Fault
from tests.faults.test_state_machine import Stores
from tests.interchange.test_restore import lines_of, record
from tests.store.factories import (
    DIMENSION,
    EMBEDDER,
    bytes_of,
    contents,
    engine_at,
    forget,
    insight_id,
    remember,
    vector_of,
)
from tests.store.mirror import mirrored, portrait
from tests.store.pg_proxy import Cut, CuttingProxy
from tests.store.shared_world import Peer, share

NOW = "2026-11-28T09:00:00.000000Z"
ROW_TABLES = ("heads", "operations", "rows", "links")


def purge(number: int) -> ChangeSet:
    it = forget(number)
    return msgspec.structs.replace(it, op_id=f"purge-{number}", changes=(PurgeInsight(insight_id(number)),))


def assert_same(*peers: Peer) -> None:
    for each in peers:
        each.catch_up()
    first, *others = [each.export() for each in peers]
    assert all(each == first for each in others)


def refused(result: Any) -> MnemonError:
    assert isinstance(result, MnemonError), result
    return result


def test_writes_of_both_are_visible_in_both(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    assert not isinstance(a.write(remember(1), remember(2))[0], MnemonError)
    b.write(remember(3))
    assert contents(b.engine) == {"memory number 1", "memory number 2", "memory number 3"}
    assert contents(a.engine) == {"memory number 1", "memory number 2"}
    a.catch_up()
    assert contents(a.engine) == contents(b.engine)
    a.write(forget(3))
    assert_same(a, b)
    assert (a.shared.cursor.seq, b.shared.cursor.seq) == (4, 4)


def test_the_log_has_no_gap_and_the_rows_of_the_store(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, b = peers
    for number in range(1, 6):
        (a if number % 2 else b).write(remember(number))
    of = "WHERE store_id = %s"
    seqs = [each[0] for each in server.query(f"SELECT seq FROM mnemond.operations {of} ORDER BY seq", a.store)]
    assert seqs == [1, 2, 3, 4, 5]
    found = server.query(f"SELECT content, length(vector) FROM mnemond.memories {of} ORDER BY content", a.store)
    assert found == [(f"memory number {each}", 32) for each in range(1, 6)]


def test_a_repeat_on_another_daemon_is_the_same_write(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1, op_id="mine"))
    (again,) = b.write(remember(1, op_id="mine"))
    assert again.replayed
    assert refused(b.write(remember(2, op_id="mine", digest="other"))[0]).kind is OP_ID_REUSED
    assert_same(a, b)
    assert a.shared.cursor.seq == 1


def test_a_write_is_decided_on_what_others_wrote(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    b.write(forget(1))
    assert refused(a.write(forget(1))[0]).kind is NOT_FOUND
    results = a.write(remember(2), forget(1), remember(3))
    assert [isinstance(each, MnemonError) for each in results] == [False, True, False]
    assert_same(a, b)


def test_counts_of_a_daemon_need_no_turn(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    line = msgspec.structs.replace(
        remember(9), changes=(), recalls=(RecallLine(insight_id(1), "q", NOW),), operation=""
    )
    b.shared.note_failure(LostConnectionError("no server"))
    b.shared._retry_at_s = float("inf")
    written, unwritten = b.write(line, remember(2))
    assert not isinstance(written, MnemonError)
    assert refused(unwritten).kind is UNAVAILABLE
    assert refused(unwritten).outcome == "rejected"
    assert b.rows("SELECT count(*) FROM recalls") == [(1,)]
    b.shared._retry_at_s = 0.0
    assert_same(a, b)
    assert a.rows("SELECT count(*) FROM recalls") == [(0,)]


def test_a_purge_leaves_no_text_on_the_server_nor_in_the_other_file(
    peers: tuple[Peer, Peer], server: PgServer, tmp_path: Path
) -> None:
    a, b = peers
    a.write(remember(1, "the vault opens with marmalade"), remember(2))
    assert_same(a, b)
    a.write(purge(1))
    b.catch_up()
    sql = "SELECT line::text FROM mnemond.operations UNION ALL SELECT row::text FROM mnemond.rows"
    assert not any("marmalade" in text for (text,) in server.query(sql))
    assert b"marmalade" not in bytes_of(tmp_path)
    assert_same(a, b)


def test_a_cache_that_is_behind_a_purge_loads_everything_anew(peers: tuple[Peer, Peer], tmp_path: Path) -> None:
    a, b = peers
    a.write(remember(1, "the vault opens with marmalade"))
    b.catch_up()
    a.write(remember(2))
    a.write(purge(1))
    a.write(remember(3))
    b.write(remember(4))
    assert contents(b.engine) == {"memory number 2", "memory number 3", "memory number 4"}
    assert b"marmalade" not in bytes_of(tmp_path)
    assert_same(a, b)


def test_a_new_daemon_loads_the_rows(
    peers: tuple[Peer, Peer], server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without a purge: many lines take longer than the rows that they left."""
    a, b = peers
    c = Peer(tmp_path / "early.db", server.dsn, a.store)
    a.write(*(remember(each) for each in range(500, 540)))
    monkeypatch.setattr(shared_log, "LINES_AT_ONCE", 20)
    c.engine._replay = None  # type: ignore[assignment,method-assign]
    c.catch_up()
    assert_same(a, c)
    c.close()
    for first in range(1, 400, 50):
        a.write(*(remember(each) for each in range(first, first + 50)))
    a.write(forget(7), purge(8))
    c = Peer(tmp_path / "c.db", server.dsn, a.store)
    c.catch_up()
    assert c.shared.cursor.seq == 442
    assert_same(a, b, c)
    c.close()


@pytest.fixture
def linked(peers: tuple[Peer, Peer]) -> Peer:
    """A store with links, of which the other daemon has nothing."""
    a, _ = peers
    one, two = insight_id(1), insight_id(2)
    a.write(remember(1), remember(2), remember(3))
    a.write(link(1, AddEdge(Edge(one, two, "semantic", 0.5)), AddEdge(Edge(two, one, "semantic", 0.5))))
    a.write(purge(3))  # lines before it are not kept
    return a


def links_of(peer: Peer) -> tuple[int, int]:
    """Return how many links the index has, and the file."""
    connection = peer.engine._connection
    assert connection is not None
    found = sum(len(it["links"]) for it in portrait(peer.engine.index.snapshot).values())
    return found, connection.count("SELECT count(*) FROM edge_rows")


def test_links_are_loaded_when_all_else_can_be_searched(linked: Peer, peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    heard = list[int]()
    b.engine.on_replayed = lambda operations: heard.append(len(operations))
    b.engine.catch_up(with_links=False)
    assert contents(b.engine) == contents(a.engine) == {"memory number 1", "memory number 2"}
    assert links_of(b) == (0, 0)
    assert "links between memories are still being loaded" in str(b.engine.degraded_reason)
    assert (b.shared.standing.seq, b.shared.standing.behind) == (0, 5)
    assert heard == []
    b.catch_up()
    assert links_of(b) == links_of(a)
    assert links_of(b)[1] == 2
    assert b.engine.degraded_reason is None
    assert heard == [0]
    assert_same(a, b)


@pytest.mark.parametrize("use", ["write", "refused", "read", "jobs", "show"])
def test_what_needs_links_waits_for_them(linked: Peer, peers: tuple[Peer, Peer], use: str) -> None:
    a, b = peers
    b.engine.catch_up(with_links=False)
    if use == "read":
        assert b.rows("SELECT count(*) FROM edge_rows") == [(2,)]
    elif use == "jobs":
        assert b.engine.hold_jobs()
    elif use == "show":
        b.engine.show("team")
    else:
        result = b.write(remember(4) if use == "write" else forget(9))[0]
        assert isinstance(result, MnemonError) == (use == "refused")
    assert b.engine.degraded_reason is None
    assert_same(a, b)


@pytest.mark.parametrize("end", ["new start", "lost connection", "other use", "failing disk"])
def test_links_that_were_not_loaded_are_loaded_with_all_else(
    linked: Peer, peers: tuple[Peer, Peer], server: PgServer, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    a, b = peers
    b.engine.catch_up(with_links=False)
    a.write(remember(5), forget(2))
    if end == "new start":
        b.again()
        assert "links between memories" in str(b.engine.degraded_reason)
        assert contents(b.engine) == {"memory number 1", "memory number 2"}
    elif end == "lost connection":
        server.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE state = 'idle in transaction'")
        with pytest.raises(MnemonError, match="cannot be reached"):
            b.catch_up()
    elif end == "other use":
        b.shared.look()
        with pytest.raises(MnemonError, match="another use of the connection"):
            b.catch_up()
    else:

        def fail(*_: Any) -> None:
            raise SqliteError("the disk is gone")

        with monkeypatch.context() as failing:
            failing.setattr(engine, "load", fail)
            with pytest.raises(SqliteError, match="disk is gone"):
                b.catch_up()
    assert links_of(b) == (0, 0)
    assert_same(a, b)
    assert b.engine.degraded_reason is None
    assert contents(b.engine) == {"memory number 1", "memory number 5"}


def link(number: int, *changes: Change) -> ChangeSet:
    return msgspec.structs.replace(forget(1), op_id=f"link-{number}", method="link", changes=changes)


def test_links_on_the_server_are_those_of_the_store(peers: tuple[Peer, Peer], server: PgServer, tmp_path: Path) -> None:
    """Added, changed, removed and added again, by one line or by several, and taken along by a purge."""
    a, b = peers
    one, two, three, four = map(insight_id, (1, 2, 3, 4))
    a.write(*map(remember, (1, 2, 3, 4)))
    there = AddEdge(Edge(two, one, "semantic", 0.5, '{"sub_type":"\\u0000"}'))
    a.write(link(1, there, AddEdge(Edge(one, two, "semantic", 0.5)), AddEdge(Edge(one, four, "causal", 1.0))))
    b.write(link(2, AddEdge(Edge(two, one, "semantic", 0.75)), AddEdge(Edge(three, one, "temporal", 1e-7))))
    a.write(link(3, RemoveEdge(two, one, "semantic"), RemoveEdge(one, four, "causal")))
    a.write(link(4, there), link(5, AddEdge(Edge(four, two, "entity", 0.25, created_by="host"))))
    b.write(link(6, RemoveEdge(one, two, "semantic")))
    a.write(purge(3))
    assert_same(a, b)
    columns = "source, target, weight, metadata, created_at, created_by"
    local = a.rows(f"SELECT {columns} FROM edge_rows ORDER BY source, target")
    assert len(local) == 2
    sql = f"SELECT {columns} FROM mnemond.edges WHERE store_id = %s ORDER BY source, target"
    assert server.query(sql, a.store) == local
    assert server.query("SELECT memory FROM mnemond.links WHERE store_id = %s ORDER BY memory", a.store) == [(2,), (4,)]
    c = Peer(tmp_path / "c.db", server.dsn, a.store)
    c.catch_up()
    assert_same(a, c)
    c.close()


def test_an_operation_of_many_rows_is_several_lines(
    peers: tuple[Peer, Peer], server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which are applied in one transaction, however few are read at once."""
    a, b = peers
    heard, committed = list[str](), list[int]()
    b.engine.on_replayed = lambda operations: heard.extend(each.op_id for each in operations)
    note_committed = b.shared.note_committed

    def commit() -> None:
        note_committed()
        committed.append(b.shared.cursor.seq)

    b.shared.note_committed = commit  # type: ignore[method-assign]
    monkeypatch.setattr(operation_log, "ROWS_A_LINE", 2)
    one, two = insight_id(1), insight_id(2)
    a.write(remember(1, op_id="one"), remember(2, op_id="two"))
    ends = [a.shared.cursor.seq]
    a.write(link(1, AddEdge(Edge(one, two, "semantic", 0.5)), AddEdge(Edge(two, one, "semantic", 0.5))))
    ends.append(a.shared.cursor.seq)
    assert ends[0] > 2
    assert ends[1] > ends[0] + 1
    monkeypatch.setattr(shared_log, "BYTES_AT_ONCE", 1)
    b.catch_up()
    assert committed == ends
    assert [each for each in heard if each] == ["one", "two", "link-1"]
    assert_same(a, b)
    a.write(purge(1))
    monkeypatch.setattr(shared_log, "LINES_AT_ONCE", 3)
    assert_same(a, b)
    c = Peer(tmp_path / "c.db", server.dsn, a.store)
    assert_same(a, c)
    c.close()


@pytest.mark.parametrize("way", ["import", "writes", "purge"])
def test_a_change_that_is_too_large_for_lines_replaces_all_rows(
    peers: tuple[Peer, Peer], server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    a, b = peers
    a.write(remember(1), remember(2, "the vault opens with marmalade"))
    b.catch_up()
    monkeypatch.setattr(shared_log, "LOGGED_BYTES", 10)
    if way == "import":
        source = engine_at(tmp_path / "source.db")
        source.commit([remember(3), remember(4), forget(4)])
        lines = lines_of(source)
        source.close()
        a.engine.rewrite(lambda connection: restore(connection, lines, record()), rows=True)
    elif way == "writes":
        assert not any(isinstance(each, MnemonError) for each in a.write(remember(3, op_id="mine"), remember(4)))
        assert b.write(remember(3, op_id="mine"))[0].replayed
    else:
        a.write(purge(2))
        b.catch_up()
        assert b"marmalade" not in bytes_of(tmp_path)
        found = server.query("SELECT row::text FROM mnemond.rows WHERE store_id = %s", a.store)
        assert not any("marmalade" in text for (text,) in found)
    assert server.query("SELECT seq, tail FROM mnemond.heads WHERE store_id = %s", a.store) == [(3, 3)]
    assert server.query("SELECT count(*) FROM mnemond.operations WHERE store_id = %s", a.store) == [(0,)]
    monkeypatch.undo()
    b.write(remember(5))
    assert_same(a, b)


def test_an_import_is_one_line(peers: tuple[Peer, Peer], tmp_path: Path) -> None:
    a, b = peers
    source = engine_at(tmp_path / "source.db")
    source.commit([remember(1), remember(2), forget(2)])
    lines = lines_of(source)
    source.close()
    a.engine.rewrite(lambda connection: restore(connection, lines, record()), rows=True)
    assert_same(a, b)
    assert a.shared.cursor.seq == 1


def test_another_embedder_reaches_every_cache(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1), remember(2))
    b.catch_up()
    other = EmbedderRecord("other", DIMENSION, "other-1")

    def switch(connection: Connection) -> None:
        connection.run("UPDATE insights SET embedding_model = 'other'")
        write_embedder(connection, other)

    mine = SwitchRecord("builtin", EmbedderRecord("mine", DIMENSION, "mine-1"), NOW)
    b.engine.rewrite(lambda connection: embedder_switch.begin(connection, mine))
    a.engine.rewrite(switch)
    b.catch_up()
    assert b.engine.read(read_switch) is None
    assert b.engine.embedder == a.engine.embedder == other
    assert b.engine.index.snapshot.made_by == "other-1"
    assert_same(a, b)
    b.write(remember(3))
    assert_same(a, b)


def test_a_calibration_reaches_every_cache(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    b.catch_up()
    measured = msgspec.structs.replace(EMBEDDER, unrelated=0.25, paraphrase=0.75)
    a.engine.rewrite(lambda connection: write_embedder(connection, measured))
    b.catch_up()
    assert b.engine.embedder == a.engine.embedder == measured
    b.write(remember(2))
    a.catch_up()
    assert b.engine.embedder == a.engine.embedder == measured
    b.again()
    assert b.engine.embedder == measured
    assert_same(a, b)


def test_what_stays_as_it_is_keeps_its_row_of_the_index(peers: tuple[Peer, Peer]) -> None:
    """A use that is counted, or a link, gives no memory a new one, which would have to be removed some day."""
    a, b = peers
    a.write(remember(1), remember(2))
    b.catch_up()
    assert b.engine.index.snapshot.rows == 2
    link = AddEdge(Edge(insight_id(1), insight_id(2), "causal", 0.5), audited=True)
    for change in (CountUse(insight_id(1), 3, NOW), link):
        a.write(msgspec.structs.replace(forget(1), op_id=type(change).__name__, changes=(change,)))
    assert_same(a, b)
    assert b.engine.index.snapshot.rows == 2
    a.write(msgspec.structs.replace(forget(1), op_id="embedded", changes=(SetVector(insight_id(1), vector_of(9)),)))
    assert_same(a, b)
    assert b.engine.index.snapshot.rows == 3


@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_connection_cut_in_a_commit_neither_loses_nor_doubles(
    server: PgServer,
    cut: Cut,
    meanwhile: bool,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`meanwhile`: another daemon writes before this one has connected again."""
    proxy = CuttingProxy(server.home)
    a = Peer(tmp_path / "a.db", proxy.dsn, request.node.name)
    b = Peer(tmp_path / "b.db", server.dsn, request.node.name)
    try:
        a.write(remember(1))
        b.catch_up()
        proxy.cut_next = cut
        if meanwhile:
            connect = PostgresqlLog.connect

            def write_first(log: PostgresqlLog) -> None:
                if log._db is not None and log._db.closed and not written:
                    written.append(b.write(remember(5), remember(6)))
                connect(log)

            written: list[Any] = []
            a.shared._opened.connect = MethodType(write_first, a.shared._opened)  # type: ignore[union-attr,method-assign]
        results = a.write(remember(2), remember(3))
        assert proxy.cuts == 1
        assert not any(isinstance(each, MnemonError) for each in results)
        a.write(remember(4))
        assert_same(a, b)
        expected = {1, 2, 3, 4, *((5, 6) if meanwhile else ())}
        assert contents(a.engine) == {f"memory number {each}" for each in expected}
        assert a.shared.cursor.seq == len(expected)
    finally:
        a.close()
        b.close()
        proxy.close()


@pytest.mark.parametrize("arrives", ["before the cut", "before the repeat", "after the repeat", "never"])
def test_a_write_without_an_answer_is_stored_once_whenever_its_commit_arrives(
    server: PgServer,
    arrives: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The outcome is unknown, and a repeat is answered truly: it was written before if its commit had arrived, else it
    is written now, and the commit that arrives then is refused."""
    monkeypatch.setattr(shared_log, "RECOVERY_S", 0.0)
    monkeypatch.setattr(shared_log, "RETRY_S", 0.0)
    proxy = CuttingProxy(server.home)
    a = Peer(tmp_path / "a.db", proxy.dsn, request.node.name)
    b = Peer(tmp_path / "b.db", server.dsn, request.node.name)
    cuts: dict[str, Cut] = {"before the cut": "after", "never": "before"}
    try:
        a.write(remember(1))
        proxy.cut_next, proxy.refuses = cuts.get(arrives, "late"), True
        (result,) = a.write(remember(2, op_id="mine"))
        assert refused(result).outcome == "unknown"
        assert contents(a.engine) == {"memory number 1"}
        assert "cannot be reached" in str(a.engine.degraded_reason)
        assert refused(a.write(remember(3))[0]).outcome == "rejected"
        if arrives == "before the repeat":
            assert proxy.deliver()
        proxy.refuses = False
        (result,) = a.write(remember(2, op_id="mine"))
        assert result.replayed == (arrives in ("before the cut", "before the repeat"))
        if arrives == "after the repeat":
            assert not proxy.deliver()
        assert a.engine.degraded_reason is None
        assert contents(a.engine) == {"memory number 1", "memory number 2"}
        assert_same(a, b)
        assert a.shared.cursor.seq == 2
    finally:
        a.close()
        b.close()
        proxy.close()


def test_a_daemon_that_dies_between_both_commits_finds_its_write(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    connection = a.engine._connection
    assert connection is not None
    run = connection.run

    def die(sql: str, values: Any = ()) -> int:
        if sql == "COMMIT":
            raise SystemExit
        return run(sql, values)

    connection.run = die  # type: ignore[method-assign]
    with pytest.raises(SystemExit):
        a.write(remember(2))
    connection.close()
    a.again()
    assert contents(a.engine) == {"memory number 1"}
    assert_same(a, b)
    assert contents(a.engine) == {"memory number 1", "memory number 2"}


def test_a_server_that_lost_what_it_acknowledged_is_what_counts(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, b = peers
    a.write(remember(1))
    b.catch_up()
    kept = {each: server.query(f"SELECT * FROM mnemond.{each} WHERE store_id = %s", a.store) for each in ROW_TABLES}
    a.write(remember(2))
    server.query("DELETE FROM mnemond.heads WHERE store_id = %s", a.store)
    for table, rows in kept.items():
        for row in rows:
            values = [json.dumps(each) if isinstance(each, dict) else each for each in row]
            server.query(f"INSERT INTO mnemond.{table} VALUES({', '.join(['%s'] * len(row))})", *values)
    b.write(remember(3))
    a.catch_up()
    assert contents(a.engine) == {"memory number 1", "memory number 3"}
    assert "does not have operation 2" in str(a.engine.degraded_reason)
    assert_same(a, b)


def test_lines_of_a_newer_mnemond_are_not_applied(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, b = peers
    a.write(remember(1))
    a.write(remember(2))
    b.catch_up()
    a.write(remember(3))
    sql = "UPDATE mnemond.operations SET line = (jsonb_set(line::jsonb, '{mnemond_log}', '9'))::json"
    server.query(f"{sql} WHERE store_id = %s AND seq = 3", a.store)
    with pytest.raises(MnemonError, match="version 9"):
        b.catch_up()
    assert refused(b.write(remember(4))[0]).message.startswith("this is no operation of a log: it is of version 9")
    assert "version 9" in str(b.engine.degraded_reason)
    assert b.shared.standing.behind == 1
    assert contents(b.engine) == {"memory number 1", "memory number 2"}
    mirrored(b.engine, b.path)


def test_old_lines_are_removed_and_a_cache_behind_them_loads_anew(
    peers: tuple[Peer, Peer], server: PgServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = peers
    monkeypatch.setattr(postgresql, "TRIM_EVERY", 4)
    a.write(remember(1), remember(2), remember(3))
    server.query(
        "UPDATE mnemond.operations SET written_at = now() - interval '91 days' WHERE store_id = %s AND seq < 3", a.store
    )
    a.write(remember(4))
    assert server.query("SELECT min(seq) FROM mnemond.operations WHERE store_id = %s", a.store) == [(3,)]
    b.write(remember(5))
    assert_same(a, b)


def test_a_store_that_is_not_there_is_not_made_by_a_write(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, _ = peers
    server.query("DELETE FROM mnemond.heads WHERE store_id = %s", a.store)
    assert "has no store" in refused(a.write(remember(1))[0]).message


# The same histories as a local store.


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    """The disk of the state machine."""
    registered = FailingVfs()
    yield
    registered.unregister()


@pytest.mark.check_all
def test_what_holds_for_a_local_store_holds_for_a_shared_one(server: PgServer) -> None:
    """Memories and links in every state, purges, crashes and new starts: after each history another daemon has the
    same store, whether it was there from the beginning, or comes at the end."""
    made = itertools.count()

    class Shared(Stores):
        def break_disk(self, at: int, fault: Fault, persistent: bool) -> None:
            """Not here: a disk that fails is another test's."""

        def _write(self, *changes: Any) -> None:
            if not hasattr(self, "name"):
                self.name = f"machine {next(made)}"
                self.peers_home = Path(tempfile.mkdtemp())
                self.other = Peer(self.peers_home / "other.db", server.dsn, self.name)
            if self.engine.shared is None:
                share(self.engine, server.dsn, self.name)
            super()._write(*changes)

        def teardown(self) -> None:
            try:
                if hasattr(self, "name"):
                    share(self.engine, server.dsn, self.name)
                    late = Peer(self.peers_home / "late.db", server.dsn, self.name)
                    for each in (self.other, late):
                        each.catch_up()
                        assert each.export() == lines_of(self.engine)
                        each.close()
            finally:
                if hasattr(self, "peers_home"):
                    shutil.rmtree(self.peers_home)
                super().teardown()

    run_state_machine_as_test(
        Shared,
        settings=settings(
            stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None, max_examples=10
        ),
    )
