"""What is said to PostgreSQL: every statement names the store, connection strings are checked, servers are tried."""

from __future__ import annotations

import ast
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.pg_server import PgServer
from mnemond.errors import BUSY, INVALID_PARAMS, UNAVAILABLE, UNSUPPORTED, MnemonError
from mnemond.store.postgresql_statements import SESSION, STATEMENTS
from mnemond.store.shared_log import Cursor
from mnemond.store.store import connect_log
from tests.store.factories import DIMENSION, EMBEDDER, contents, forget, insight_id, remember
from tests.store.pg_server import running
from tests.store.shared_world import Peer
from tests.tables import each_row

postgresql = pytest.importorskip("mnemond.store.postgresql", reason="psycopg is not installed (the extra postgresql)")


@each_row("name", STATEMENTS)
def test_every_statement_names_the_store(name: str) -> None:
    sql = STATEMENTS[name]
    assert "%(store_id)s" in sql
    if sql.startswith("INSERT"):
        assert "WHERE" not in sql
    elif "WHERE" in sql:
        assert "store_id = %(store_id)s" in sql
    else:
        assert "FROM" not in sql  # a lock, which is of no table
    assert re.findall(r"INSERT INTO mnemond\.\w+\((\w+), ", sql) == ["store_id"] * sql.count("INSERT")
    assert sql.count("%(store_id)s") >= sql.count("mnemond.")
    tables = re.findall(r"mnemond\.(\w+)", sql)
    assert set(tables) <= {"access", "heads", "operations", "rows", "links"}


@each_row("name", SESSION)
def test_statements_of_a_session_touch_no_table(name: str) -> None:
    assert re.search(r"(?i)\b(from|into|update|delete)\b", SESSION[name]) is None


def test_there_are_no_other_statements() -> None:
    """Whatever is executed is one of both tables, the tables themselves, or a channel of this program's own."""
    tree = ast.parse(Path(postgresql.__file__).read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    executed = [ast.unparse(node.args[0]) for node in calls if node.func.attr in {"execute", "executemany", "copy"}]  # type: ignore[attr-defined]
    assert len(executed) >= 8
    for each in executed:
        channel = re.fullmatch(r"f'(LISTEN|NOTIFY|UNLISTEN) \{(self\._)?channel\}'\.encode\(\)", each)
        extra = each == "sql.SQL(EXTRAS[extra]).format(view=view, dimension=sql.Literal(dimension))"
        assert channel or extra or each == "SCHEMA" or re.fullmatch(r"(STATEMENTS|SESSION)\[[\w'\"]+\]", each), each


def test_every_key_begins_with_the_store(server: PgServer) -> None:
    with closing(postgresql.PostgresqlLog(server.dsn, "keys")) as log:
        log.make(EMBEDDER)
    sql = (
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = i.indrelid"
        " AND a.attnum = i.indkey[0] WHERE n.nspname = 'mnemond'"
    )
    found = server.query(sql)
    assert len(found) == 6
    assert {column for _, column in found} == {"store_id"}


def test_a_store_of_another_format_is_refused(server: PgServer) -> None:
    with closing(postgresql.PostgresqlLog(server.dsn, "old")) as log:
        log.make(EMBEDDER)
        server.query("UPDATE mnemond.heads SET format = 9 WHERE store_id = 'old'")
        with pytest.raises(MnemonError, match="format 9") as caught:
            log.head()
    assert caught.value.kind is UNSUPPORTED


def test_one_daemon_at_a_time_runs_jobs(server: PgServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "TURN_S", 0.05)
    with closing(postgresql.PostgresqlLog(server.dsn, "jobs")) as log:
        log.make(EMBEDDER)
        assert log.lease_jobs("a", 60)
        assert log.lease_jobs("a", 60)
        assert not log.lease_jobs("b", 60)
        log.release_jobs("b")
        assert not log.lease_jobs("b", 60)
        log.release_jobs("a")
        assert log.lease_jobs("b", 0)
        assert log.lease_jobs("a", 60)
        with closing(postgresql.open_connection(postgresql.checked_dsn(server.dsn))) as other, other.transaction():
            other.execute(b"SELECT FROM mnemond.heads WHERE store_id = 'jobs' FOR UPDATE")
            with pytest.raises(MnemonError) as caught:
                log.lease_jobs("a", 60)
        assert caught.value.kind is BUSY
        server.query("ALTER TABLE mnemond.heads RENAME COLUMN jobs_by TO was")
        with pytest.raises(MnemonError, match="the server refused"):
            log.lease_jobs("a", 60)
        server.query("ALTER TABLE mnemond.heads RENAME COLUMN was TO jobs_by")


def test_a_server_without_locks_or_news_is_refused(server: PgServer) -> None:
    with closing(postgresql.open_connection(postgresql.checked_dsn(server.dsn))) as db:
        postgresql.check_server(db, "x")

        class NoLocks:
            pgconn = db.pgconn

            def execute(self, sql: bytes) -> None:
                raise postgresql.errors.FeatureNotSupported("advisory locks are not supported")

        class NoNews:
            pgconn = db.pgconn

            def execute(self, sql: bytes) -> None: ...

            def notifies(self, **_: object) -> list[object]:
                return []

        for lacking in (NoLocks(), NoNews()):
            with pytest.raises(MnemonError, match="no advisory locks, or what it announces") as caught:
                postgresql.check_server(lacking, "x")
            assert caught.value.kind is UNSUPPORTED


def test_news_that_are_no_number_are_left_out(server: PgServer) -> None:
    with closing(postgresql.PostgresqlLog(server.dsn, "news")) as log:
        log.make(EMBEDDER)
        with closing(log.listener()) as listener:
            for text in ("rubbish", "7", "5"):
                server.query(f"SELECT pg_notify('{postgresql.channel_of('news')}', %s)", text)
            found = 0
            while found < 7:
                select.select([listener.fileno], [], [], 5)
                found = max(found, listener.take())
            assert found == 7


def test_texts_are_compressed_fast_where_the_server_can(server: PgServer) -> None:
    with closing(postgresql.PostgresqlLog(server.dsn, "packed")) as log:
        log.make(EMBEDDER)
        log._try("vectors")  # is no identifier: what cannot be made is left out
        assert log.head().seq == 0
    sql = "SELECT attname::text, attcompression::text FROM pg_attribute WHERE attcompression <> ''"
    assert sorted(server.query(sql)) == [("edges", "l"), ("line", "l")]


@pytest.fixture(scope="module")
def vector_server() -> Iterator[PgServer]:
    with running("-c", "fsync=off", extension="vector") as server:
        yield server


def test_with_pgvector_there_is_a_view_of_vectors(vector_server: PgServer, tmp_path: Path) -> None:
    a = Peer(tmp_path / "a.db", vector_server.dsn, "near")
    a.write(*map(remember, range(1, 30)), forget(7))
    view = f"mnemond.vectors_{DIMENSION}"
    ((kind,),) = vector_server.query(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass"
        " AND attname = 'embedding'", view,
    )  # fmt: skip
    assert kind == f"vector({DIMENSION})"
    found = vector_server.query(f"SELECT id, embedding::real[] FROM {view} WHERE store_id = 'near' ORDER BY number")
    stored = a.rows("SELECT id, embedding FROM insights ORDER BY number")
    assert len(stored) == 29
    assert [(each, np.asarray(vector, "<f4").tobytes()) for each, vector in found] == stored
    nearest = vector_server.query(
        f"SELECT content FROM {view} WHERE store_id = 'near' AND status = 'active'"
        " ORDER BY embedding <=> (SELECT embedding FROM mnemond.vectors_8 WHERE id = %s) LIMIT 1", insight_id(9),
    )  # fmt: skip
    assert nearest == [("memory number 9",)]
    vector_server.query(
        "CREATE INDEX near ON mnemond.rows USING hnsw"
        f" ((mnemond.floats(substring(vector FOR {4 * DIMENSION}))::vector({DIMENSION})) vector_cosine_ops)"
        " WHERE kind = 'memory' AND store_id = 'near'"
    )
    a.write(remember(30))
    assert vector_server.query(f"SELECT count(*) FROM {view} WHERE store_id = 'near'") == [(30,)]
    a.close()


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -1.0, 0.1, 3.4028234663852886e38, -1.1754943508222875e-38, 1e-45, -7e-42]
)
def test_floats_are_read_from_their_bits(vector_server: PgServer, value: float) -> None:
    with closing(postgresql.PostgresqlLog(vector_server.dsn, "floats")) as log:
        log.make(EMBEDDER)
    bits = np.asarray([value, 2.0], "<f4").tobytes()
    ((found,),) = vector_server.query("SELECT mnemond.floats(%s)", bits)
    assert np.asarray(found, "<f4").tolist() == np.frombuffer(bits, "<f4").tolist()


def test_a_role_that_may_not_write_is_told_so(server: PgServer) -> None:
    with closing(postgresql.PostgresqlLog(server.dsn, "guarded")) as log:
        log.make(EMBEDDER)
    server.query("CREATE ROLE reader LOGIN")
    log = postgresql.PostgresqlLog(server.dsn.replace("user=mnemond", "user=reader"), "guarded")
    with closing(log), pytest.raises(MnemonError, match="permission denied") as caught:
        log.make(EMBEDDER)
    assert caught.value.kind is UNAVAILABLE


@pytest.fixture(scope="module")
def roles(server: PgServer) -> dict[str, str]:
    """Three roles, of which two are members of the project "shop", and a connection string of each. The tables are of
    an administrator's role."""
    with closing(postgresql.PostgresqlLog(server.dsn, "first")) as log:
        log.make(EMBEDDER)
    server.query("CREATE ROLE shop")
    for role in ("ada", "bob", "eve"):
        server.query(f"CREATE ROLE {role} LOGIN")
        server.query(f"GRANT USAGE ON SCHEMA mnemond TO {role}")
        server.query(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mnemond TO {role}")
    server.query("GRANT shop TO ada, bob")
    return {role: server.dsn.replace("user=mnemond", f"user={role}") for role in ("ada", "bob", "eve")}


def test_a_store_is_seen_by_its_team_its_project_or_its_maker(
    server: PgServer, roles: dict[str, str], tmp_path: Path
) -> None:
    """A role that sees it writes into it, in its own name; the role that made it says who sees it."""
    peers = {role: Peer(tmp_path / f"{role}.db", dsn, "shop") for role, dsn in roles.items()}  # ada is the first
    of, seen = "WHERE store_id = 'shop'", "SELECT count(*) FROM mnemond.memories WHERE store_id = 'shop'"
    for number, (visibility, sees) in enumerate(
        (("team", "ada bob eve"), ("project", "ada bob"), ("private", "ada"), ("team", "ada bob eve")), 1
    ):
        peers["ada"].shared.show(visibility)  # type: ignore[arg-type]
        written = 0
        for role, each in peers.items():
            (result,) = each.write(remember(10 * number + written))
            if role in sees:
                assert not isinstance(result, MnemonError), (visibility, role)
                assert server.query(f"SELECT actor FROM mnemond.operations {of} ORDER BY seq DESC LIMIT 1") == [(role,)]
                written += 1
            else:
                assert isinstance(result, MnemonError)
                assert "or this role may not see it" in result.message
                assert result.outcome == "rejected"
            with closing(postgresql.open_connection(roles[role])) as reading:
                found = reading.execute(seen).fetchone()
                assert (found > (0,)) is (role in sees)
    for each in peers.values():
        each.catch_up()
    assert len({frozenset(contents(each.engine)) for each in peers.values()}) == 1
    assert peers["eve"].shared.standing.visibility == "team"
    with pytest.raises(MnemonError, match="only the role that made a store says who sees it") as caught:
        peers["bob"].shared.show("private")
    assert caught.value.kind is INVALID_PARAMS
    for each in peers.values():
        each.close()


def test_a_store_of_another_role_is_not_joined_unseen(server: PgServer, roles: dict[str, str]) -> None:
    def made(role: str, visibility: Any = None) -> Any:
        with closing(postgresql.PostgresqlLog(roles[role], "diary")) as log:
            log.make(EMBEDDER, visibility)
            return log.visibility

    assert made("ada", "private") == "private"
    assert made("ada") == "private"
    with pytest.raises(MnemonError, match="'diary' that this role may not see") as caught:
        made("bob")
    assert caught.value.kind is UNAVAILABLE
    with pytest.raises(MnemonError, match="is there already, with visibility private") as caught:
        made("ada", "team")
    assert caught.value.kind is INVALID_PARAMS


_INSERT = "INSERT INTO mnemond.operations(store_id, seq, entry, op_id, method, line"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE mnemond.operations SET actor = 'bob'",
        "UPDATE mnemond.operations SET line = '{}'",
        "UPDATE mnemond.access SET visibility = 'private'",
        "UPDATE mnemond.access SET created_by = 'bob'",
        "DELETE FROM mnemond.access",
        "DELETE FROM mnemond.heads",
        f"{_INSERT}, actor) VALUES('notes', 9, '', '', '', '{{}}', 'ada')",
        f"{_INSERT}) VALUES('hidden', 9, '', '', '', '{{}}')",
        "INSERT INTO mnemond.rows(store_id, kind, key, row, seq) VALUES('hidden', 'memory', '[9]', '{}', 9)",
        "UPDATE mnemond.heads SET seq = 9 WHERE store_id = 'hidden'",
        "INSERT INTO mnemond.access(store_id, visibility, created_by) VALUES('notes', 'team', 'ada')",
    ],
)
def test_nothing_is_written_in_the_name_of_another_role(
    server: PgServer, roles: dict[str, str], sql: str, tmp_path: Path
) -> None:
    """Whatever a role tries by hand: nothing of another role's lines and stores changes."""
    server.query("DELETE FROM mnemond.heads WHERE store_id IN ('notes', 'hidden')")
    for store, visibility in (("notes", "team"), ("hidden", "private")):
        with closing(postgresql.PostgresqlLog(roles["ada"], store)) as log:
            log.make(EMBEDDER, visibility)
    ada = Peer(tmp_path / "ada.db", roles["ada"], "notes")
    ada.write(remember(1))
    ada.close()
    everything = "SELECT * FROM mnemond.{} WHERE store_id IN ('notes', 'hidden') ORDER BY 1, 2"
    before = [server.query(everything.format(each)) for each in ("access", "heads", "operations", "rows")]
    with closing(postgresql.open_connection(roles["bob"])) as bob, suppress(postgresql.psycopg.Error):
        bob.execute(sql)
    assert [server.query(everything.format(each)) for each in ("access", "heads", "operations", "rows")] == before


def test_a_connection_string_that_is_none_is_not_repeated() -> None:
    with pytest.raises(MnemonError) as caught:
        postgresql.checked_dsn("passwort=hunter2 host")
    assert "hunter2" not in caught.value.message + str(caught.value.hint)


def test_what_the_user_says_about_a_connection_wins() -> None:
    found = postgresql.conninfo.conninfo_to_dict(postgresql.checked_dsn("host=a connect_timeout=1"))
    assert (found["connect_timeout"], found["target_session_attrs"]) == ("1", "read-write")


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(MnemonError, match="TEAM_DSN, which names the server, is not set"):
        connect_log(Cursor("postgresql", "TEAM_DSN", "team"), {})


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mnemond.store.postgresql", None)
    with pytest.raises(MnemonError, match="needs psycopg") as caught:
        connect_log(Cursor("postgresql", "TEAM_DSN", "team"), {"TEAM_DSN": "host=a"})
    assert "mnemond[postgresql]" in str(caught.value.hint)


def test_a_daemon_without_shared_stores_imports_no_driver() -> None:
    """Nor does one whose stores are local need the extra."""
    code = "import sys, mnemond.daemon; print([each for each in sys.modules if each.startswith('psycopg')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
