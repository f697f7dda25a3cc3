"""What a shared store does when others have the turn, the head moves, the server refuses, or a call fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from psycopg import errors

from benchmarks.pg_server import PgServer
from mnemond.errors import BUSY, NOT_FOUND, OP_ID_REUSED, UNAVAILABLE, MnemonError
from mnemond.model.answers import Visibility
from mnemond.store import postgresql, shared_log
from mnemond.store.connection import SqliteError
from mnemond.store.meta import links_fact, note
from mnemond.store.operation_log import LINKS, Operation, StoredRows
from mnemond.store.postgresql import PostgresqlLog
from mnemond.store.postgresql_statements import SESSION
from mnemond.store.shared_log import Cursor, Head, HeadMovedError, Line, LogError, LostConnectionError, SharedLog
from tests.store.factories import EMBEDDER, contents, engine_at, forget, remember
from tests.store.pg_proxy import CuttingProxy
from tests.store.shared_world import Peer, share
from tests.store.test_shared_log import assert_same, purge, refused


def log_of(peer: Peer) -> PostgresqlLog:
    log = peer.shared._log
    assert isinstance(log, PostgresqlLog)
    return log


# Others.


def test_a_write_that_gets_no_turn_is_refused_as_busy(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "TURN_S", 0.2)
    a, b = (Peer(tmp_path / f"{each}.db", server.dsn, "busy") for each in "ab")
    a.write(remember(1))
    a.shared.take_turn()
    assert refused(b.write(remember(2))[0]).kind is BUSY
    assert b.engine.degraded_reason is None
    with pytest.raises(MnemonError) as caught:
        b.engine.rewrite(lambda connection: connection.run("DELETE FROM insights"))
    assert caught.value.kind is BUSY
    a.shared.end_turn()
    b.write(remember(2))
    assert_same(a, b)
    a.close()
    b.close()


def count_turns(peer: Peer) -> list[int]:
    log, taken = log_of(peer), list[int]()
    take = log.take_turn

    def counted() -> Head:
        taken.append(1)
        return take()

    log.take_turn = counted  # type: ignore[method-assign]
    return taken


def test_turns_are_taken_while_others_write(server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that wrote last decides without one, and finds out as it commits whether it was right."""
    a, b = (Peer(tmp_path / f"{each}.db", server.dsn, "silent") for each in "ab")
    a.write(remember(1))
    taken = count_turns(a)
    a.write(remember(2))
    assert refused(a.write(forget(9))[0]).kind is NOT_FOUND
    assert taken == []
    b.write(forget(1))
    assert refused(a.write(forget(1))[0]).kind is NOT_FOUND  # which writes nothing, and is decided on the newest state
    assert taken == [1]
    a.write(remember(3))
    assert taken == [1, 1]  # for a second
    monkeypatch.setattr(a.shared, "_turns_until_s", 0.0)
    a.write(remember(4))
    b.write(remember(5, op_id="mine"))
    assert refused(b.write(remember(5, op_id="mine", digest="other"))[0]).kind is OP_ID_REUSED
    monkeypatch.setattr(a.shared, "_turns_until_s", 0.0)
    a.write(remember(6))
    assert taken == [1, 1, 1]
    assert_same(a, b)
    seqs = server.query("SELECT seq FROM mnemond.operations WHERE store_id = 'silent' ORDER BY seq")
    assert seqs == [(each,) for each in range(1, 8)]
    a.close()
    b.close()


def test_a_write_without_a_turn_waits_for_it_as_it_commits(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "TURN_S", 0.2)
    a, b = (Peer(tmp_path / f"{each}.db", server.dsn, "patient") for each in "ab")
    b.catch_up()
    a.write(remember(1))
    taken = count_turns(a)
    b.shared.take_turn()
    assert refused(a.write(remember(2))[0]).kind is BUSY
    b.shared.end_turn()
    assert contents(a.engine) == {"memory number 1"}
    assert taken == []
    a.write(remember(3))
    assert_same(a, b)
    a.close()
    b.close()


def test_a_write_without_a_turn_is_refused_where_nothing_answers(server: PgServer, tmp_path: Path) -> None:
    """It is not one of which the outcome is unknown."""
    a = Peer(tmp_path / "a.db", server.dsn, "ended")
    a.write(remember(1))
    pid = log_of(a).session("ready").connection.info.backend_pid
    server.query("SELECT pg_terminate_backend(%s, 5000)", pid)
    assert not a.shared.goes_without_turn()
    assert not isinstance(a.write(remember(2))[0], MnemonError)
    log = log_of(a)
    log.is_open = lambda: True  # type: ignore[method-assign]
    log.head = lambda: (_ for _ in ()).throw(LOST)  # type: ignore[method-assign]
    result = refused(a.write(forget(9))[0])
    assert (result.kind, result.outcome) == (UNAVAILABLE, "rejected")
    del log.head, log.is_open
    a.close()


def test_why_the_log_cannot_be_reached_is_said_once(server: PgServer, tmp_path: Path) -> None:
    """A follower notes the error of what it does, which has the sentence already."""
    a = Peer(tmp_path / "a.db", server.dsn, "once")
    log = log_of(a)
    log.head = lambda: (_ for _ in ()).throw(LOST)  # type: ignore[method-assign]
    with pytest.raises(MnemonError) as refusal:
        a.shared.look()
    a.shared.note_failure(refusal.value)
    assert str(a.engine.degraded_reason).count("cannot be reached") == 1
    del log.head
    a.close()


def test_a_turn_that_the_server_ended_is_no_defect(server: PgServer, tmp_path: Path) -> None:
    """A daemon that decided for longer than it may be silent: its session is over, which is no OperationalError."""
    a = Peer(tmp_path / "a.db", server.dsn, "slow")
    a.shared.take_turn()
    log = log_of(a)
    with pytest.raises(LostConnectionError, match="too long"), log.answers():
        raise errors.IdleInTransactionSessionTimeout("silent for too long")
    a.shared.end_turn()
    assert not isinstance(a.write(remember(1))[0], MnemonError)
    assert a.engine.degraded_reason is None
    a.close()


def test_a_daemon_is_not_behind_its_own_write(peers: tuple[Peer, Peer]) -> None:
    """It hears of it before the local file has it."""
    a, _ = peers
    heard = list[bool]()
    append = log_of(a).append

    def heard_of(head: Head, *rest: Any) -> None:
        append(head, *rest)
        heard.append(a.shared.note_news(head.seq + 1))

    log_of(a).append = heard_of  # type: ignore[assignment,method-assign]
    a.write(remember(1))
    assert heard == [False]
    assert a.shared.note_news(2)


@pytest.mark.parametrize("times", [1, 99])
def test_a_head_that_moves_under_a_turn_leads_to_another_decision(
    peers: tuple[Peer, Peer], server: PgServer, times: int
) -> None:
    a, b = peers
    a.write(remember(1))
    log = log_of(a)
    append, moved = log.append, list[int]()

    def move_first(*values: Any) -> None:
        if len(moved) < times:
            moved.append(1)
            server.query("UPDATE mnemond.heads SET entry = entry || 'x' WHERE store_id = %s", a.store)
        append(*values)

    log.append = move_first  # type: ignore[assignment,method-assign]
    (result,) = a.write(remember(2))
    if times == 1:
        assert not isinstance(result, MnemonError)
    else:
        assert refused(result).kind is BUSY
        with pytest.raises(MnemonError) as caught:
            a.engine.rewrite(lambda connection: connection.run("UPDATE insights SET importance = 4"))
        assert caught.value.kind is BUSY
    assert_same(a, b)
    log.append = append  # type: ignore[method-assign]


def test_what_the_server_refuses_is_not_written(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, b = peers
    a.write(remember(1))
    server.query("ALTER TABLE mnemond.operations ADD CONSTRAINT no_forget CHECK (method <> 'forget') NOT VALID")
    try:
        result = refused(a.write(forget(1))[0])
    finally:
        server.query("ALTER TABLE mnemond.operations DROP CONSTRAINT no_forget")
    assert (result.kind, result.outcome) == (UNAVAILABLE, "rejected")
    assert "no_forget" in result.message
    assert contents(a.engine) == {"memory number 1"}
    a.write(forget(1))
    assert_same(a, b)


def test_a_line_that_cannot_be_applied_stops_there(peers: tuple[Peer, Peer], server: PgServer) -> None:
    a, b = peers
    a.write(remember(1))
    a.write(remember(2))
    b.catch_up()
    a.write(remember(3))
    bad = '{"mnemond_log":1,"op_id":"","method":"","at":"","add":{"fact":[{"key":"links","colour":1}]}}'
    server.query("UPDATE mnemond.operations SET line = %s WHERE store_id = %s AND seq = 3", bad, a.store)
    with pytest.raises(MnemonError, match="colour"):
        b.catch_up()
    assert contents(b.engine) == {"memory number 1", "memory number 2"}
    assert "colour" in str(b.engine.degraded_reason)


def test_what_jobs_have_read_travels_without_a_memory(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    b.catch_up()
    a.engine.rewrite(lambda connection: note(connection, [links_fact(7)]))
    b.catch_up()
    assert b.rows("SELECT value FROM meta WHERE key = 'links'") == a.rows("SELECT value FROM meta WHERE key = 'links'")
    a.engine.rewrite(lambda connection: connection.run("DELETE FROM meta WHERE key = 'links'"))
    b.catch_up()
    assert b.rows("SELECT value FROM meta WHERE key = 'links'") == []


def test_a_connection_that_ended_while_it_was_idle_is_made_again(server: PgServer, tmp_path: Path) -> None:
    proxy = CuttingProxy(server.home)
    a = Peer(tmp_path / "a.db", proxy.dsn, "idle")
    a.write(remember(1))
    proxy.cut_all()
    assert not isinstance(a.write(remember(2))[0], MnemonError)
    a.close()
    proxy.close()


def test_a_server_without_the_tables_has_no_store(server: PgServer) -> None:
    with closing(PostgresqlLog(server.dsn.replace("dbname=postgres", "dbname=template1"), "x")) as log:
        log.connect()
        for ask in (log.head, log.take_turn):
            with pytest.raises(MnemonError, match="has no store"):
                ask()


def test_a_snapshot_may_be_left_unread(server: PgServer, tmp_path: Path) -> None:
    a = Peer(tmp_path / "a.db", server.dsn, "unread")
    a.write(*(remember(each) for each in range(1, 300)))
    log = log_of(a)
    for _ in range(2):
        log.connect()
        _, rows = log.rows()
        next(rows)
        rows.close()
    log.connect()
    log.session("begin")  # what began it was interrupted
    log.connect()
    assert not log.in_transaction
    assert log.head().seq == 299
    a.close()


def test_a_load_that_is_thrown_away_late_does_not_end_the_next(server: PgServer, tmp_path: Path) -> None:
    a = Peer(tmp_path / "a.db", server.dsn, "late")
    a.write(*(remember(each) for each in range(1, 30)))
    log, loads = log_of(a), list[Generator[StoredRows]]()
    for _ in range(2):
        log.connect()
        loads.append(log.rows()[1])
        assert list(takewhile(lambda part: part.kind != LINKS, loads[-1]))
    loads[0].close()
    assert list(loads[1]) == []
    assert not log.in_transaction
    a.close()


def test_rows_come_with_the_model_of_their_vectors() -> None:
    rows = [('{"id":"a"}', "x", b"1234"), ('{"id":"b"}', "y", b"1234"), ('{"id":"c"}', None, None)]
    (found,) = postgresql._stored_rows("memory", iter(rows))
    assert found.vectors == {"a": ("x", b"1234"), "b": ("y", b"1234")}


def test_a_connection_whose_settings_fail_is_closed(server: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SESSION, "settings", "SELECT nonsense")
    with closing(PostgresqlLog(server.dsn, "x")) as log, pytest.raises(MnemonError, match="nonsense"):
        log.connect()
    with pytest.raises(LostConnectionError, match="no connection"):
        log.session("commit")


# The local file.


@contextmanager
def failing_commit(peer: Peer) -> Iterator[None]:
    connection = peer.engine._connection
    assert connection is not None
    run = connection.run

    def fail(sql: str, values: Any = ()) -> int:
        if sql == "COMMIT":
            raise SqliteError("the disk is gone")
        return run(sql, values)

    connection.run = fail  # type: ignore[method-assign]
    yield


def test_a_local_commit_that_fails_is_made_up_for_from_the_log(peers: tuple[Peer, Peer]) -> None:
    a, b = peers
    a.write(remember(1))
    with failing_commit(a):
        assert refused(a.write(remember(2, op_id="mine"))[0]).outcome == "unknown"
    assert contents(a.engine) == {"memory number 1"}
    assert a.write(remember(2, op_id="mine"))[0].replayed
    b.catch_up()
    a.write(remember(3))
    with failing_commit(b), pytest.raises(MnemonError, match="while committing"):
        b.catch_up()
    assert_same(a, b)
    a.write(remember(4))
    a.write(purge(4))
    a.write(remember(5))
    with failing_commit(b), pytest.raises(MnemonError, match="while committing"):
        b.catch_up()
    assert_same(a, b)


# Calls that fail.


HEAD = Head(3, "c", 0, EMBEDDER)


class Failing:
    """A log that can do everything, until a method is named in `fails`."""

    visibility: Visibility | None = "team"

    def __init__(self) -> None:
        self.fails: dict[str, list[Exception]] = {}
        self.head_now = HEAD
        self.held = False

    def _call(self, name: str) -> None:
        if self.fails.get(name):
            raise self.fails[name].pop(0)

    def connect(self) -> None:
        self._call("connect")

    def make(self, embedder: Any, visibility: Any = None) -> Head:
        return self.head()

    def show(self, visibility: Visibility) -> None:
        self._call("show")
        self.visibility = visibility

    def head(self) -> Head:
        self._call("head")
        return self.head_now

    def take_turn(self) -> Head:
        self._call("take_turn")
        return self.head_now

    def end_turn(self) -> None:
        self._call("end_turn")

    def is_open(self) -> bool:
        return False

    def append(self, *_: Any) -> None:
        self._call("append")

    def holds(self, _seq: int, _entry: str) -> bool:
        self._call("holds")
        return self.held

    def lines(self, _after: int, _limit: int, _size: int) -> list[Line]:
        self._call("lines")
        return []

    def lease_jobs(self, _owner: str, _lease_s: float) -> bool:
        self._call("lease_jobs")
        return self.held

    def release_jobs(self, _owner: str) -> None:
        self._call("release_jobs")

    def rows(self) -> tuple[Head, Generator[StoredRows]]:
        self._call("rows")
        return self.head_now, self._rows()

    def _rows(self) -> Generator[StoredRows]:
        yield from ()
        self._call("row")

    def listener(self) -> Any:
        raise LostConnectionError

    def close(self) -> None: ...


LOST = LostConnectionError("cut")


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[tuple[Failing, SharedLog, Any]]:
    engine, log = engine_at(tmp_path / "a.db"), Failing()
    shared = SharedLog(Cursor("postgresql", "DSN", "x", 2, "b"), lambda: log, lambda: "mine")
    engine.follow(shared)
    yield log, shared, engine
    engine.close()


@pytest.mark.parametrize("place", ["lines", "holds"])
def test_a_connection_that_ends_while_catching_up_is_told(failing: tuple[Failing, SharedLog, Any], place: str) -> None:
    log, shared, engine = failing
    log.fails = {place: [LOST]}
    log.held = True
    with pytest.raises(MnemonError, match="cannot be reached: cut") as caught:
        engine.catch_up()
    assert caught.value.kind is UNAVAILABLE
    assert (shared.standing.behind, shared.standing.connected) == (1, False)
    assert "1 known operations behind" in str(engine.degraded_reason)
    engine.catch_up()  # the lines were removed meanwhile: the next look sees that
    assert engine.degraded_reason is None


def test_who_sees_a_store_cannot_be_changed_while_the_server_is_away(failing: tuple[Failing, SharedLog, Any]) -> None:
    log, shared, _ = failing
    assert shared.visibility is None
    log.fails = {"show": [LOST]}
    with pytest.raises(MnemonError, match="cannot be reached: cut"):
        shared.show("private")
    before = shared.standing.visibility
    shared.show("private")
    assert (before, shared.standing.visibility) == ("team", "private")


def test_jobs_wait_while_the_server_is_away(failing: tuple[Failing, SharedLog, Any]) -> None:
    log, shared, engine = failing
    assert not engine.hold_jobs()
    log.held, log.fails = True, {"lease_jobs": [LOST], "release_jobs": [LOST]}
    with pytest.raises(MnemonError, match="cannot be reached: cut") as caught:
        engine.hold_jobs()
    assert caught.value.kind is UNAVAILABLE
    assert engine.hold_jobs()
    shared.leave_jobs()
    assert log.fails == {"lease_jobs": [], "release_jobs": []}


@pytest.mark.parametrize("place", ["rows", "row"])
def test_rows_that_cannot_be_read_to_the_end_change_nothing(
    failing: tuple[Failing, SharedLog, Any], place: str
) -> None:
    log, shared, engine = failing
    engine.shared = None
    engine.commit([remember(1)])
    engine.shared = shared
    log.head_now = HEAD._replace(tail=3)
    for error in (LOST, MnemonError(BUSY, "not now")):
        log.fails = {place: [error]}
        with pytest.raises(MnemonError):
            engine.catch_up()
        assert contents(engine) == {"memory number 1"}
    engine.catch_up()
    assert contents(engine) == set()
    assert shared.cursor.seq == 3


def test_a_turn_that_cannot_be_ended_is_noted(failing: tuple[Failing, SharedLog, Any]) -> None:
    log, shared, _ = failing
    log.fails = {"end_turn": [LOST]}
    shared.take_turn()
    shared.end_turn()
    assert not shared.standing.connected


def test_a_turn_is_ended_if_the_state_cannot_be_read(failing: tuple[Failing, SharedLog, Any]) -> None:
    log, shared, engine = failing
    log.fails = {"holds": [LOST]}
    assert refused(engine.commit([remember(1)])[0]).outcome == "rejected"
    assert shared._head is None


def test_after_a_failed_connection_the_next_write_is_refused_at_once(failing: tuple[Failing, SharedLog, Any]) -> None:
    log, shared, engine = failing
    log.fails = {"connect": [LOST, LOST]}
    for _ in range(2):
        assert refused(engine.commit([remember(1)])[0]).kind is UNAVAILABLE
    assert log.fails == {"connect": []}
    with pytest.raises(LostConnectionError):
        shared.listener()


@pytest.mark.parametrize(
    ("now", "held", "expected"),
    [
        (HEAD, True, None),
        (HEAD._replace(seq=5, entry="other"), False, HeadMovedError),
        (HEAD._replace(seq=5, entry="other", tail=4), False, LogError),
    ],
)
def test_what_a_recovery_finds(
    failing: tuple[Failing, SharedLog, Any],
    now: Head,
    held: bool,
    expected: type[Exception] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_log, "PAUSE_S", 0.0)
    log, shared, engine = failing
    log.fails = {"append": [LOST], "connect": []}
    shared.take_turn()
    log.fails["take_turn"] = [MnemonError(BUSY, "not now"), LOST]
    log.head_now, log.held = now, held

    def append(connection: Any) -> None:
        shared.append(connection, [Operation(op_id="", method="", at="")], None)

    if expected is None:
        engine.read(append)
        assert shared._noted is not None
    else:
        with pytest.raises(expected):
            engine.read(append)
        assert shared._noted is None


def test_a_file_that_is_opened_again_has_its_own_place(tmp_path: Path, server: PgServer) -> None:
    a = Peer(tmp_path / "a.db", server.dsn, "again")
    a.write(remember(1))
    a.engine.poison("a test")
    assert a.shared.cursor.seq == 1
    a.write(remember(2))
    assert a.rows("PRAGMA synchronous") == [(1,)]
    a.close()


def test_sharing_an_engine_twice_changes_nothing(tmp_path: Path, server: PgServer) -> None:
    a = Peer(tmp_path / "a.db", server.dsn, "twice")
    before = a.shared
    assert share(a.engine, server.dsn, "twice").shared is before
    a.close()
