"""The shared log of a store on PostgreSQL 15 or newer, or an engine that speaks its protocol (docs/shared-store.md).

Needs the extra `postgresql` (psycopg 3); imported only where a shared store is used. Every statement about a store
names its `store_id`, with which every key begins, so that a cluster can place a store on one node.
"""

from __future__ import annotations

import base64
import hashlib
import select
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, LiteralString, NamedTuple, Protocol, TypeVar

import msgspec
import psycopg
from psycopg import conninfo, errors, sql, waiting

from mnemond.clock import monotonic_s
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, UNSUPPORTED, MnemonError, rejected
from mnemond.model.answers import Visibility
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operation_log import EDGE_COLUMNS, LINKS, ROWS_AT_ONCE, TABLES, Operation, StoredRows, encode
from mnemond.store.shared_log import (
    Head,
    HeadMovedError,
    Line,
    Listener,
    LostConnectionError,
    contended,
    seen_otherwise,
)

FORMAT: Final = 1
"""Version of the tables; a store with another one is refused."""

ANSWER_S: Final = 10.0
"""Seconds that the server may take for an answer; then the connection counts as lost."""

CONNECT_S: Final = 3
"""Seconds that connecting to one host may take."""

TURN_S: Final = 5.0
"""Seconds that a write waits for its turn before it is refused as busy: less than ANSWER_S."""

IDLE_S: Final = 10
"""Seconds after which the server ends the transaction, and the turn, of a daemon that stopped within it."""

LOAD_S: Final = 600
"""The same while it loads all rows, in a transaction that holds up no other: an index is built meanwhile."""

LEASE_S: Final = 10
"""Seconds for which a turn is leased; longer than any write takes."""

LEASE_POLLS_S: Final = (0.005, 0.01, 0.02, 0.04, 0.08)
"""Seconds between tries to take a lease, the last one again and again."""

KEPT_DAYS: Final = 90
"""Days for which lines are kept. A cache that is further behind loads the rows anew."""

TRIM_EVERY: Final = 1_000
"""Lines after which older ones are looked for."""

RV = TypeVar("RV")
_encoder = msgspec.json.Encoder()
_edges = msgspec.json.Decoder(dict[str, list[Any]])
EDGE: Final = "edge"
"""The kind of rows that are in `links`, where those of one memory are a row: a write adds one, not seventy."""
_KEYS: Final = {each.kind: each.key for each in TABLES}

SCHEMA: Final[LiteralString] = """
CREATE SCHEMA IF NOT EXISTS mnemond;
CREATE TABLE IF NOT EXISTS mnemond.heads(
  store_id text NOT NULL PRIMARY KEY,
  format integer NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  entry text NOT NULL DEFAULT '',
  tail bigint NOT NULL DEFAULT 0,
  embedder json,
  fence bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  jobs_by text,
  jobs_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS mnemond.access(
  store_id text NOT NULL PRIMARY KEY REFERENCES mnemond.heads ON DELETE CASCADE,
  visibility text NOT NULL CHECK (visibility IN ('private', 'project', 'team')),
  created_by text NOT NULL DEFAULT session_user
);
CREATE TABLE IF NOT EXISTS mnemond.operations(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  seq bigint NOT NULL,
  entry text NOT NULL,
  op_id text NOT NULL,
  method text NOT NULL,
  actor text NOT NULL DEFAULT session_user,
  written_at timestamptz NOT NULL DEFAULT now(),
  line json NOT NULL,
  PRIMARY KEY(store_id, seq)
);
CREATE INDEX IF NOT EXISTS operations_by_op_id ON mnemond.operations(store_id, op_id);
CREATE TABLE IF NOT EXISTS mnemond.rows(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  kind text NOT NULL,
  key text NOT NULL,
  row json NOT NULL,
  seq bigint NOT NULL,
  model text,
  vector bytea,
  PRIMARY KEY(store_id, kind, key)
);
CREATE TABLE IF NOT EXISTS mnemond.links(
  store_id text NOT NULL REFERENCES mnemond.heads ON DELETE CASCADE,
  memory bigint NOT NULL,
  edges json NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY(store_id, memory)
);
CREATE OR REPLACE VIEW mnemond.memories AS
  SELECT store_id, (row->>'number')::bigint AS number, row->>'id' AS id, row->>'content' AS content,
    row->>'category' AS category, (row->>'importance')::integer AS importance, row->>'status' AS status,
    row->>'user_id' AS user_id, row->>'session_id' AS session_id, row->>'agent_id' AS agent_id,
    row->>'created_at' AS created_at, row->>'updated_at' AS updated_at, seq, model, vector, row
  FROM mnemond.rows WHERE kind = 'memory';
ALTER VIEW mnemond.memories SET (security_invoker = true);
CREATE OR REPLACE VIEW mnemond.edges AS
  SELECT store_id, (edge.value->>0)::bigint AS source, (edge.value->>1)::bigint AS target,
    ('{temporal,semantic,causal,entity}'::text[])[(edge.value->>2)::integer + 1] AS kind,
    (edge.value->>3)::double precision AS weight, edge.value->>4 AS metadata, edge.value->>5 AS created_at,
    edge.value->>8 AS created_by, seq
  FROM mnemond.links, json_each(links.edges) AS edge;
ALTER VIEW mnemond.edges SET (security_invoker = true);
ALTER TABLE mnemond.access ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.operations ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE mnemond.links ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON mnemond.access FOR SELECT USING (
  visibility = 'team' OR created_by = session_user
  OR visibility = 'project' AND EXISTS (
    SELECT FROM pg_catalog.pg_roles WHERE rolname = store_id AND pg_has_role(session_user, oid, 'MEMBER')
  )
);
CREATE POLICY made ON mnemond.access FOR INSERT WITH CHECK (created_by = session_user);
CREATE POLICY changed ON mnemond.access FOR UPDATE
  USING (created_by = session_user) WITH CHECK (created_by = session_user);
CREATE POLICY seen ON mnemond.heads FOR SELECT USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY made ON mnemond.heads FOR INSERT WITH CHECK (true);
CREATE POLICY moved ON mnemond.heads FOR UPDATE USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY removed ON mnemond.heads FOR DELETE
  USING (store_id IN (SELECT store_id FROM mnemond.access WHERE created_by = session_user));
CREATE POLICY visible ON mnemond.rows USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY visible ON mnemond.links USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY seen ON mnemond.operations FOR SELECT USING (store_id IN (SELECT store_id FROM mnemond.access));
CREATE POLICY made ON mnemond.operations FOR INSERT
  WITH CHECK (store_id IN (SELECT store_id FROM mnemond.access) AND actor = session_user);
CREATE POLICY removed ON mnemond.operations FOR DELETE USING (store_id IN (SELECT store_id FROM mnemond.access));
"""
"""Made by the first daemon that uses a database, in one transaction. A role without the right to make tables finds them
there. Policies hold for every role but the owner of the tables: a store is seen by all (team), by members of the role
with its name (project), or by the role that made it (private), which alone changes that and removes the store; no line
can be written in the name of another role, or changed."""

EXTRAS: Final[Mapping[str, LiteralString]] = {
    "compression": """
ALTER TABLE mnemond.operations ALTER COLUMN line SET COMPRESSION lz4;
ALTER TABLE mnemond.links ALTER COLUMN edges SET COMPRESSION lz4;
""",
    "vectors": """
DO $$ BEGIN CREATE EXTENSION IF NOT EXISTS vector; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE OR REPLACE FUNCTION mnemond.floats(vector bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(
    (1 - 2 * sign) * CASE exponent WHEN 0 THEN mantissa * 2.0::double precision ^ -149
      ELSE (mantissa + 8388608) * 2.0::double precision ^ (exponent - 150) END ORDER BY at)
  FROM (SELECT at, get_byte(vector, at + 3) >> 7 AS sign,
      ((get_byte(vector, at + 3) & 127) << 1) | (get_byte(vector, at + 2) >> 7) AS exponent,
      ((get_byte(vector, at + 2) & 127) << 16) | (get_byte(vector, at + 1) << 8) | get_byte(vector, at) AS mantissa
    FROM generate_series(0, length(vector) - 4, 4) AS at) AS bits
$$;
CREATE OR REPLACE VIEW {view} AS
  SELECT store_id, (row->>'number')::bigint AS number, row->>'id' AS id, row->>'content' AS content,
    row->>'status' AS status, model, mnemond.floats(substring(vector FOR 4 * {dimension}))::vector({dimension})
    AS embedding
  FROM mnemond.rows WHERE kind = 'memory' AND length(vector) IN (4 * {dimension}, 8 * {dimension});
ALTER VIEW {view} SET (security_invoker = true);
""",
}
"""Statements that not every server and role can run, and nothing here needs: faster compression, tried as the tables
are made, and, with pgvector, a view of the vectors of one dimension, tried as a store is made or joined. Floats are
read from their bits (IEEE 754)."""

_PUT: Final[LiteralString] = (
    "INSERT INTO mnemond.rows(store_id, kind, key, row, seq, model, vector)"
    " SELECT %(store_id)s, kind, key, line::json, %(new_seq)s, nullif(model, ''), CASE WHEN model <> '' THEN vector END"
    " FROM unnest(%(kinds)b::text[], %(keys)b::text[], %(rows)b::text[], %(models)b::text[], %(vectors)b::bytea[])"
    " AS new(kind, key, line, model, vector) ON CONFLICT (store_id, kind, key)"
    " DO UPDATE SET row = excluded.row, seq = excluded.seq, model = excluded.model, vector = excluded.vector"
)
_LINK: Final[LiteralString] = (
    "INSERT INTO mnemond.links(store_id, memory, edges, seq)"
    " SELECT %(store_id)s, memory, edges::json, %(new_seq)s FROM unnest(%(memories)b::bigint[], %(edges)b::text[])"
    " AS new(memory, edges) ON CONFLICT (store_id, memory)"
    " DO UPDATE SET edges = (links.edges::jsonb || excluded.edges::jsonb)::json, seq = excluded.seq"
)
# A head that moved makes seq NULL, which its column refuses: the comparison needs no answer of its own.
_APPEND: Final[LiteralString] = (
    "WITH moved AS (UPDATE mnemond.heads SET entry = %(new_entry)s, seq ="  # noqa: S608 - constants
    " CASE WHEN seq = %(seq)s AND entry = %(entry)s AND fence = %(fence)s THEN %(new_seq)s::bigint END,"
    " tail = greatest(tail, %(tail)s), embedder = %(embedder)s::json, lease_until = NULL"
    " WHERE store_id = %(store_id)s RETURNING seq),"
    " appended AS (INSERT INTO mnemond.operations(store_id, seq, entry, op_id, method, line)"
    " SELECT %(store_id)s, seq, %(new_entry)s, op_id, method, line::json"
    " FROM unnest(%(seqs)s::bigint[], %(op_ids)b::text[], %(methods)b::text[], %(lines)b::text[])"
    " AS new(seq, op_id, method, line)),"
    f" put AS ({_PUT}), linked AS ({_LINK})"
)
"""A write, in one statement: each more takes as long to send as all its parts."""

STATEMENTS: Final[Mapping[str, LiteralString]] = {
    "make": "INSERT INTO mnemond.heads(store_id, format, embedder) VALUES(%(store_id)s, %(format)s, %(embedder)s::json)"
    " ON CONFLICT DO NOTHING",
    "own": "INSERT INTO mnemond.access(store_id, visibility) VALUES(%(store_id)s, %(visibility)s)"
    " ON CONFLICT DO NOTHING",
    "access": "SELECT visibility FROM mnemond.access WHERE store_id = %(store_id)s",
    "show": "UPDATE mnemond.access SET visibility = %(visibility)s WHERE store_id = %(store_id)s RETURNING visibility",
    "head": "SELECT format, seq, entry, tail, fence, embedder::text FROM mnemond.heads WHERE store_id = %(store_id)s",
    "lock": "SELECT pg_advisory_xact_lock(hashtextextended('mnemond:' || %(store_id)s, 0))",
    "lease": "UPDATE mnemond.heads SET fence = fence + 1,"
    " lease_until = clock_timestamp() + %(lease_s)s * interval '1 second' WHERE store_id = %(store_id)s"
    " AND (lease_until IS NULL OR lease_until < clock_timestamp() OR fence = %(own)s)"
    " RETURNING format, seq, entry, tail, fence, embedder::text",
    "release": "UPDATE mnemond.heads SET lease_until = NULL WHERE store_id = %(store_id)s AND fence = %(fence)s",
    "lease_jobs": "UPDATE mnemond.heads SET jobs_by = %(owner)s,"
    " jobs_until = clock_timestamp() + %(lease_s)s * interval '1 second' WHERE store_id = %(store_id)s"
    " AND (jobs_by IS NULL OR jobs_by = %(owner)s OR jobs_until < clock_timestamp()) RETURNING seq",
    "release_jobs": "UPDATE mnemond.heads SET jobs_by = NULL, jobs_until = NULL WHERE store_id = %(store_id)s"
    " AND jobs_by = %(owner)s",
    "append": f"{_APPEND} SELECT seq FROM moved",  # noqa: S608 - constants
    "append_and_announce": f"{_APPEND} SELECT pg_notify(%(channel)s, seq::text) FROM moved",  # noqa: S608
    "put": _PUT,
    "link": _LINK,
    "drop": "DELETE FROM mnemond.rows USING unnest(%(kinds)b::text[], %(keys)b::text[]) AS gone(kind, key)"
    " WHERE rows.store_id = %(store_id)s AND rows.kind = gone.kind AND rows.key = gone.key",
    "unlink": "UPDATE mnemond.links SET edges = (links.edges::jsonb - gone.names)::json, seq = %(seq)s"
    " FROM (SELECT memory, array_agg(name) AS names FROM unnest(%(memories)b::bigint[], %(names)b::text[])"
    " AS each(memory, name) GROUP BY memory) AS gone"
    " WHERE links.store_id = %(store_id)s AND links.memory = gone.memory",
    "prune": "DELETE FROM mnemond.links WHERE store_id = %(store_id)s AND memory = ANY(%(memories)b::bigint[])"
    " AND edges::text = '{}'",
    "clear": "DELETE FROM mnemond.rows WHERE store_id = %(store_id)s",
    "clear_links": "DELETE FROM mnemond.links WHERE store_id = %(store_id)s",
    "trim": "DELETE FROM mnemond.operations WHERE store_id = %(store_id)s AND seq <= %(tail)s",
    "old": "SELECT max(seq) FROM mnemond.operations WHERE store_id = %(store_id)s AND seq < %(seq)s"
    " AND written_at < now() - %(days)s * interval '1 day'",
    "holds": "SELECT entry FROM mnemond.operations WHERE store_id = %(store_id)s AND seq = %(seq)s",
    "lines": "SELECT seq, entry, line FROM (SELECT seq, entry, line::text AS line,"
    " sum(octet_length(line::text)) OVER (ORDER BY seq) AS size FROM mnemond.operations"
    " WHERE store_id = %(store_id)s AND seq > %(seq)s ORDER BY seq LIMIT %(limit)s) AS found"
    " WHERE size <= %(size)s OR seq = %(seq)s + 1 ORDER BY seq",
    "copy": "COPY (SELECT row::text, model, vector FROM mnemond.rows WHERE store_id = %(store_id)s"
    " AND kind = %(kind)s) TO STDOUT (FORMAT BINARY)",
    "copy_links": "COPY (SELECT edges::text FROM mnemond.links WHERE store_id = %(store_id)s)"
    " TO STDOUT (FORMAT BINARY)",
}
"""Every statement about a store. Arrays are sent in binary (%b): as text every quotation mark of a row is escaped."""

SESSION: Final[Mapping[str, LiteralString]] = {
    "begin": "BEGIN",
    "begin_copy": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "patience": "SELECT set_config('idle_in_transaction_session_timeout', %(idle_ms)s, true)",
    "commit": "COMMIT",
    "rollback": "ROLLBACK",
    "ready": "SELECT to_regclass('mnemond.heads') IS NOT NULL AND to_regclass('mnemond.rows') IS NOT NULL",
    "has": "SELECT to_regclass(%(name)s) IS NOT NULL",
    "only_one": "SELECT pg_advisory_xact_lock(7167416)",
    "settings": "SELECT set_config('idle_in_transaction_session_timeout', %(idle_ms)s, false),"
    " set_config('lock_timeout', %(turn_ms)s, false), set_config('client_encoding', 'UTF8', false),"
    " CASE WHEN current_setting('synchronous_commit') = 'off'"
    " THEN set_config('synchronous_commit', 'on', false) END",
}
"""Every statement about the session."""

_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
_MOVED: Final = (errors.NotNullViolation, errors.UniqueViolation, errors.SerializationFailure)


class _Connection(psycopg.Connection[Any]):
    """A connection that does not wait for an answer for ever."""

    def wait(self, gen: Generator[Any, Any, RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout or ANSWER_S)


# Who may write.


class Turns(Protocol):
    """What of an engine orders the writers of a store, and wakes the others."""

    channel: str | None
    """Where new lines are announced; None: they have to be polled."""

    lock: str | None
    """A statement that waits for a turn of the open transaction, if there is one."""

    def take(self, log: PostgresqlLog) -> Head:
        """Wait for the turn; a transaction may be open then. Raises MnemonError(BUSY)."""
        ...

    def end(self, log: PostgresqlLog, head: Head) -> None: ...


class LockTurns:
    """An advisory lock for the time of a transaction, and LISTEN."""

    lock: str | None = "lock"

    def __init__(self, store: str) -> None:
        self.channel: str | None = channel_of(store)

    def take(self, log: PostgresqlLog) -> Head:
        try:
            with log.answers() as db, db.pipeline():
                log.session("begin")
                log.run("lock")
                found = log.run("head")
            return log.head_of(found.fetchone())
        except errors.LockNotAvailable as error:
            log.close()
            raise contended() from error

    def end(self, log: PostgresqlLog, head: Head) -> None:
        if log.in_transaction:
            log.session("rollback")


class LeaseTurns:
    """A lease in the head's row, for engines without advisory locks or LISTEN, or behind a pool of connections."""

    channel: str | None = None
    lock: str | None = None

    def __init__(self) -> None:
        self._own = -1
        """The fence of the last lease, which is given back late if the connection was cut."""

    def take(self, log: PostgresqlLog) -> Head:
        begin_s, tries = monotonic_s(), 0
        while True:
            try:
                found = log.run("lease", lease_s=LEASE_S, own=self._own).fetchone()
            except errors.LockNotAvailable as error:
                raise contended() from error
            if found is not None:
                head = log.head_of(found)
                self._own = head.fence
                return head
            log.head()  # it may be gone
            if monotonic_s() - begin_s > TURN_S:
                raise contended()
            threading.Event().wait(LEASE_POLLS_S[min(tries, len(LEASE_POLLS_S) - 1)])
            tries += 1

    def end(self, log: PostgresqlLog, head: Head) -> None:
        log.connect()
        log.run("release", fence=head.fence)


def channel_of(store: str) -> str:
    """Return the channel of a store: an identifier."""
    return "mnemond_" + hashlib.blake2b(store.encode(), digest_size=12).hexdigest()


# The log.


class PostgresqlLog:
    """See `shared_log.Log`."""

    def __init__(self, dsn: str, store: str, turns: Turns | None = None) -> None:
        """`turns`: how writers are ordered; None: what the server can. Raises MnemonError for a DSN that is none."""
        self._dsn = checked_dsn(dsn)
        self._store = store
        self._turns = turns
        self._db: _Connection | None = None
        self._turn: Head | None = None
        self._loading: object | None = None
        """The load that the open transaction belongs to."""
        self.visibility: Visibility | None = None

    # ------------------------------------------------------------ the connection

    def connect(self) -> None:
        if self._db is not None and not self._db.closed:
            if self.in_transaction:  # what began it was interrupted
                self._loading = None
                self.session("rollback")
            return
        with lost_or_refused():
            self._db = open_connection(self._dsn)
            if self._turns is None:
                self._turns = turns_of(self._db, self._store)
            with suppress(errors.UndefinedTable, errors.InsufficientPrivilege):
                self.visibility = next(iter(self.run("access").fetchall()), (None,))[0]

    def make(self, embedder: EmbedderRecord | None, visibility: Visibility | None = None) -> Head:
        """Make the tables and the store, if they are not there, and return its head. Raises MnemonError."""
        self.connect()
        with lost_or_refused(), self.answers() as db:
            if self.session("ready").fetchone() != (True,):
                with db.transaction():
                    self.session("only_one")
                    db.execute(SCHEMA)
                self._try("compression")
            record = None if embedder is None else _encoder.encode(embedder).decode()
            with db.transaction():
                self.run("make", format=FORMAT, embedder=record)
                self.run("own", visibility=visibility or "team")
            found = self.run("access").fetchone()
        if found is None:
            raise rejected(
                UNAVAILABLE,
                f"the server has a store {self._store[:64]!a} that this role may not see",
                "give yours another name; or the role that made it lets others see it: mnemonctl store set NAME"
                " --visibility team",
            )
        self.visibility = found[0]
        if visibility not in (None, self.visibility):
            raise seen_otherwise(self._store, found[0])
        head = self.head()
        if head.embedder is not None:
            view = f"vectors_{head.embedder.dimension}"
            if self.session("has", name=f"mnemond.{view}").fetchone() != (True,):
                self._try("vectors", sql.Identifier("mnemond", view), head.embedder.dimension)
        return head

    def _try(self, extra: str, view: sql.Composable = sql.NULL, dimension: int = 0) -> None:
        """Make one of EXTRAS, if that is possible. Raises LostConnectionError."""
        missing = (psycopg.ProgrammingError, psycopg.NotSupportedError)
        with lost_or_refused(), suppress(*missing), self.answers() as db, db.transaction():
            db.execute(sql.SQL(EXTRAS[extra]).format(view=view, dimension=sql.Literal(dimension)))

    def show(self, visibility: Visibility) -> None:
        try:
            found = self.run("show", visibility=visibility).fetchone()
        except psycopg.Error as error:
            raise refused(error) from error
        if found is None:
            raise rejected(
                INVALID_PARAMS,
                "only the role that made a store says who sees it",
                "its daemon, or an administrator of the server, can: docs/shared-store.md",
            )
        self.visibility = visibility

    @property
    def in_transaction(self) -> bool:
        idle = psycopg.pq.TransactionStatus.IDLE
        return self._db is not None and not self._db.closed and self._db.pgconn.transaction_status != idle

    @contextmanager
    def answers(self) -> Iterator[_Connection]:
        """The connection; it is closed after it failed. Raises LostConnectionError."""
        if self._db is None or self._db.closed:
            raise LostConnectionError("there is no connection")
        try:
            yield self._db
        except psycopg.Error as error:
            if isinstance(error, errors.LockNotAvailable | errors.SerializationFailure):
                raise
            if not (isinstance(error, _LOST) or self._db.closed):
                raise
            self._db.close()
            raise LostConnectionError(plain(error)) from error

    def run(self, statement: str, **values: object) -> psycopg.Cursor[Any]:
        """Run one of STATEMENTS. Raises LostConnectionError, psycopg.Error."""
        with self.answers() as db:
            return db.execute(STATEMENTS[statement], {"store_id": self._store, **values})

    def session(self, statement: str, **values: object) -> psycopg.Cursor[Any]:
        """Run one of SESSION. Raises LostConnectionError, psycopg.Error."""
        with self.answers() as db:
            return db.execute(SESSION[statement], values or None)

    def close(self) -> None:
        """End the connection; `connect` makes another. Also after a statement of a pipeline failed: the driver takes
        those behind it, which the server passed over, for prepared."""
        if self._db is not None:
            self._db.close()

    # ------------------------------------------------------------ reading

    def head_of(self, row: Sequence[Any] | None) -> Head:
        """Raises MnemonError for a store that is not there, or of another format."""
        if row is None:
            raise rejected(
                UNAVAILABLE,
                f"the server has no store {self._store[:64]!a}, or this role may not see it",
                "`mnemonctl store create` makes it; look at the database that the connection string names",
            )
        version, seq, entry, tail, fence, embedder = row
        if version != FORMAT:
            raise rejected(
                UNSUPPORTED, f"the shared store is of format {version}; this mnemond reads {FORMAT}", "update mnemond"
            )
        record = None if embedder is None else msgspec.json.decode(embedder, type=EmbedderRecord)
        return Head(seq, entry, tail, fence, record)

    def head(self) -> Head:
        try:
            return self.head_of(self.run("head").fetchone())
        except errors.UndefinedTable:
            return self.head_of(None)

    def holds(self, seq: int, entry: str) -> bool:
        row = self.run("holds", seq=seq).fetchone()
        return row is not None and row[0] == entry

    def lines(self, after: int, limit: int, size: int) -> list[Line]:
        found = self.run("lines", seq=after, limit=limit, size=size).fetchall()
        return [Line(seq, entry, text.encode()) for seq, entry, text in found]

    def rows(self) -> tuple[Head, Generator[StoredRows]]:
        self.session("begin_copy")
        self.session("patience", idle_ms=str(LOAD_S * 1000))
        self._loading = loading = object()
        return self.head(), self._rows(loading)

    def _rows(self, loading: object) -> Generator[StoredRows]:
        try:
            for table in TABLES:  # a row comes after those that it refers to
                if table.kind == EDGE:
                    continue
                values = {"store_id": self._store, "kind": table.kind}
                with self.answers() as db, db.cursor() as cursor, cursor.copy(STATEMENTS["copy"], values) as copy:
                    copy.set_types(["text", "text", "bytea"])
                    yield from _stored_rows(table.kind, copy.rows())
            yield StoredRows(LINKS)
            if self._loading is not loading:
                raise LostConnectionError("another use of the connection ended the transaction that loads")
            values = {"store_id": self._store}
            with self.answers() as db, db.cursor() as cursor, cursor.copy(STATEMENTS["copy_links"], values) as copy:
                copy.set_types(["text"])
                yield from _stored_edges(copy.rows())
            self.session("commit")
        except GeneratorExit:
            self.close()
            raise

    # ------------------------------------------------------------ writing

    def take_turn(self) -> Head:
        assert self._turns is not None, "it is connected"  # noqa: S101
        try:
            self._turn = self._turns.take(self)
        except errors.UndefinedTable:
            self.close()
            self._turn = self.head_of(None)
        except MnemonError:
            if self.in_transaction:
                self.session("rollback")
            raise
        return self._turn

    def is_open(self) -> bool:
        if self._db is None or self._db.closed or self._turns is None or self._turns.lock is None:
            return False
        return not select.select([self._db.pgconn.socket], [], [], 0)[0]  # a server that ends it says so

    def end_turn(self) -> None:
        assert self._turn is not None, "it was taken"  # noqa: S101
        assert self._turns is not None, "it was taken"  # noqa: S101
        head, self._turn = self._turn, None
        self._turns.end(self, head)

    def append(
        self,
        head: Head,
        entry: str,
        operations: Sequence[Operation],
        rows: Iterator[Operation] | None,
        embedder: EmbedderRecord | None,
    ) -> None:
        left = Folded({}, [], {}, []) if rows is not None else folded(operations)
        seq = head.seq + len(operations)
        purges = [head.seq + at for at, each in enumerate(operations, 1) if each.purged]
        tail = seq if rows is not None else purges[-1] - 1 if purges else 0
        if not tail and seq // TRIM_EVERY > head.seq // TRIM_EVERY:
            tail = next(iter(self.run("old", seq=head.seq, days=KEPT_DAYS)))[0] or 0
        try:
            with self.answers() as db, db.pipeline():
                if not self.in_transaction:
                    self.session("begin")
                    if self._turns is not None and self._turns.lock is not None:
                        self.run(self._turns.lock)
                self._remove(left, seq)
                self._append(head, entry, operations, left, tail, embedder)
                if tail > head.tail:
                    self.run("trim", tail=tail)
                if rows is not None:
                    self.run("clear")
                    self.run("clear_links")
                    for each in rows:
                        added = folded([each])
                        self.run("put", new_seq=seq, **_rows_of(added))
                        self.run("link", new_seq=seq, **_edges_of(added))
                self.session("commit")
        except _MOVED as error:
            self.close()
            raise HeadMovedError from error
        except errors.LockNotAvailable as error:
            self.close()
            raise contended() from error
        except psycopg.Error as error:
            self.close()
            raise refused(error) from error
        self._turn = None

    def _append(
        self,
        head: Head,
        entry: str,
        operations: Sequence[Operation],
        left: Folded,
        tail: int,
        embedder: EmbedderRecord | None,
    ) -> None:
        channel = None if self._turns is None else self._turns.channel
        self.run(
            "append" if channel is None else "append_and_announce", channel=channel,
            seq=head.seq, entry=head.entry, fence=head.fence, tail=tail,
            new_seq=head.seq + len(operations), new_entry=entry,
            embedder=None if embedder is None else _encoder.encode(embedder).decode(),
            seqs=[head.seq + at for at in range(1, len(operations) + 1)],
            op_ids=[each.op_id for each in operations], methods=[each.method for each in operations],
            lines=[encode(each).decode() for each in operations], **_rows_of(left), **_edges_of(left),
        )  # fmt: skip

    def _remove(self, left: Folded, seq: int) -> None:
        if left.gone:
            self.run("drop", kinds=[each[0] for each in left.gone], keys=[each[1] for each in left.gone])
        if left.unlinked:
            memories = [each[0] for each in left.unlinked]
            self.run("unlink", seq=seq, memories=memories, names=[each[1] for each in left.unlinked])
            self.run("prune", memories=memories)

    def lease_jobs(self, owner: str, lease_s: float) -> bool:
        try:
            return self.run("lease_jobs", owner=owner, lease_s=lease_s).fetchone() is not None
        except errors.LockNotAvailable as error:
            raise contended() from error
        except psycopg.Error as error:
            raise refused(error) from error

    def release_jobs(self, owner: str) -> None:
        self.run("release_jobs", owner=owner)

    def listener(self) -> Listener:
        with lost_or_refused():
            db = open_connection(self._dsn)
            turns = self._turns or turns_of(db, self._store)
            self._turns = turns
            if turns.channel is None:
                db.close()
                return Polled()
            db.execute(f"LISTEN {turns.channel}".encode())  # an identifier of our own
            return Notified(db)


# Rows.


class StoredRow(NamedTuple):
    """`model`: "" for a row without a vector."""

    row: str
    model: str
    vector: bytes


class Folded(NamedTuple):
    """Rows and edges that operations leave. `put`: rows by kind and key; `gone`: keys of rows that are gone. `linked`:
    edges by the newer of their two memories and their name; `unlinked`: those that are gone."""

    put: dict[tuple[str, str], StoredRow]
    gone: list[tuple[str, str]]
    linked: dict[int, dict[str, list[Any]]]
    unlinked: list[tuple[int, str]]


def folded(operations: Sequence[Operation]) -> Folded:
    """Return what operations leave of rows, without edges in between."""
    rows: dict[tuple[str, str], StoredRow | None] = {}
    edges: dict[tuple[int, str], list[Any] | None] = {}
    for it in operations:
        for kind, keys in it.drop.items():
            if kind == EDGE:
                edges |= {_place(*key): None for key in keys}
            else:
                rows |= {(kind, _encoder.encode(key).decode()): None for key in keys}
        for part in (it.change, it.add):
            for kind, found in part.items():
                if kind == EDGE:
                    edges |= {
                        _place(row["source"], row["target"], row["kind"]): list(map(row.get, EDGE_COLUMNS))
                        for row in found
                    }
                    continue
                for row in found:
                    key = _encoder.encode([row[each] for each in _KEYS[kind]]).decode()
                    vector = it.vectors.get(str(row.get("id"))) if kind == "memory" else None
                    model = "" if vector is None or it.model is None else it.model
                    rows[kind, key] = StoredRow(_encoder.encode(row).decode(), model, base64.b64decode(vector or ""))
    linked: dict[int, dict[str, list[Any]]] = {}
    for (memory, name), edge in edges.items():
        if edge is not None:
            linked.setdefault(memory, {})[name] = edge
    return Folded(
        {each: row for each, row in rows.items() if row},
        [each for each, row in rows.items() if row is None],
        linked,
        [each for each, edge in edges.items() if edge is None],
    )


def _rows_of(left: Folded) -> dict[str, list[Any]]:
    """Return the values of `put`."""
    rows = list(left.put.values())
    return {
        "kinds": [each[0] for each in left.put], "keys": [each[1] for each in left.put],
        "rows": [each.row for each in rows], "models": [each.model for each in rows],
        "vectors": [each.vector for each in rows],
    }  # fmt: skip


def _edges_of(left: Folded) -> dict[str, list[Any]]:
    """Return the values of `link`."""
    edges = [_encoder.encode(each).decode() for each in left.linked.values()]
    return {"memories": list(left.linked), "edges": edges}


def _place(source: Any, target: Any, kind: Any) -> tuple[int, str]:  # noqa: ANN401 - numbers of a line
    """Return where an edge is: with the newer of its memories, whose first edges are one row so."""
    return max(source, target), f"{source}-{target}-{kind}"


def _stored_rows(kind: str, copied: Iterator[tuple[Any, ...]]) -> Iterator[StoredRows]:
    """Yield rows of a kind (row, model, vector) in parts."""
    while part := list(islice(copied, ROWS_AT_ONCE)):
        rows = [msgspec.json.decode(each[0]) for each in part]
        vectors = {
            str(row.get("id")): (model, vector)
            for row, (_, model, vector) in zip(rows, part, strict=True)
            if vector is not None
        }
        yield StoredRows(kind, rows, vectors=vectors)


def _stored_edges(copied: Iterator[tuple[Any, ...]]) -> Iterator[StoredRows]:
    """Yield edges in parts, each those of one memory."""
    for (edges,) in copied:
        yield StoredRows(EDGE, edges=list(_edges.decode(edges).values()))


# Connections.


def checked_dsn(dsn: str) -> str:
    """Return a connection string with what this program needs. Raises MnemonError(INVALID_PARAMS), without a word of
    it, if it cannot be read."""
    try:
        given = conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise rejected(
            INVALID_PARAMS,
            "the environment variable holds no connection string of PostgreSQL",
            "for instance: host=db.example dbname=memory user=ada",
        ) from None
    own: dict[str, str | int | None] = {
        "connect_timeout": CONNECT_S, "application_name": "mnemond", "target_session_attrs": "read-write",
        "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 10_000,
    }  # fmt: skip
    return conninfo.make_conninfo("", **{**own, **given})


def open_connection(dsn: str) -> _Connection:
    """Connect, outside of transactions. Raises psycopg.Error."""
    db = _Connection.connect(dsn, autocommit=True)
    try:
        db.execute(SESSION["settings"], {"idle_ms": str(IDLE_S * 1000), "turn_ms": str(int(TURN_S * 1000))})
    except BaseException:
        db.close()
        raise
    return db


def turns_of(db: psycopg.Connection[Any], store: str) -> Turns:
    """Try what orders writers and wakes readers on a server, and return what works."""
    channel = channel_of(f"probe of {store} by {db.pgconn.backend_pid}")
    try:
        db.execute(SESSION["only_one"])
        db.execute(f"LISTEN {channel}".encode())
        db.execute(f"NOTIFY {channel}".encode())
        heard = [each.channel for each in db.notifies(timeout=0.5, stop_after=1)]
        db.execute(f"UNLISTEN {channel}".encode())
    except (errors.FeatureNotSupported, errors.UndefinedFunction, errors.SyntaxError, errors.InsufficientPrivilege):
        return LeaseTurns()
    return LockTurns(store) if channel in heard else LeaseTurns()


@contextmanager
def lost_or_refused() -> Iterator[None]:
    """Raise LostConnectionError for a server that does not answer, MnemonError for one that refuses."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise LostConnectionError(plain(error)) from error
    except psycopg.Error as error:
        raise refused(error) from error


def refused(error: psycopg.Error) -> MnemonError:
    return rejected(
        UNAVAILABLE,
        f"the server refused: {plain(error)}; nothing was written",
        "look at the rights of the role on the schema mnemond, and at the server's log",
    )


def plain(error: Exception) -> str:
    """Return an error of the driver in one line. It may name the host and the role, and never a password."""
    return " ".join(str(error).split())[:300]


# Waiting for news.


class Notified:
    """Waits with LISTEN."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self._db = db
        self.fileno: int | None = db.pgconn.socket

    def take(self) -> int:
        newest = 0
        try:
            pg = self._db.pgconn
            pg.consume_input()
            while (note := pg.notifies()) is not None:
                if note.extra.isdigit():
                    newest = max(newest, int(note.extra))
        except psycopg.Error as error:
            raise LostConnectionError(plain(error)) from error
        return newest

    def close(self) -> None:
        self._db.close()


class Polled:
    """There is nothing to wait for: the log is read now and then."""

    fileno: int | None = None

    def take(self) -> int:
        return 0

    def close(self) -> None: ...
