"""The shared log of a store on PostgreSQL 15 or newer, or an engine that speaks its protocol (docs/shared-store.md).

Needs the extra `postgresql` (psycopg 3); imported only where a shared store is used.
"""

from __future__ import annotations

import base64
import hashlib
import select
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import psycopg
from psycopg import conninfo, errors, sql, waiting

from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, UNSUPPORTED, MnemonError, rejected
from mnemond.model.answers import Visibility
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operation_log import EDGE_COLUMNS, LINKS, ROWS_AT_ONCE, TABLES, Operation, StoredRows, encode
from mnemond.store.postgresql_statements import EXTRAS, SCHEMA, SESSION, STATEMENTS
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

_LOST: Final = (psycopg.OperationalError, psycopg.InterfaceError, errors.IdleInTransactionSessionTimeout)
_MOVED: Final = (errors.NotNullViolation, errors.UniqueViolation, errors.SerializationFailure)


class _Connection(psycopg.Connection[Any]):
    """A connection that does not wait for an answer for ever."""

    def wait(self, gen: Generator[Any, Any, RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=timeout or ANSWER_S)


def channel_of(store: str) -> str:
    """Return the channel of a store: an identifier."""
    return "mnemond_" + hashlib.blake2b(store.encode(), digest_size=12).hexdigest()


# The log.


class PostgresqlLog:
    """See `shared_log.Log`."""

    def __init__(self, dsn: str, store: str) -> None:
        """Raises MnemonError for a DSN that is none."""
        self._dsn = checked_dsn(dsn)
        self._store = store
        self._channel = channel_of(store)
        self._is_known = False
        """True once the server was found to have what is needed."""
        self._db: _Connection | None = None
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
            if not self._is_known:
                check_server(self._db, self._store)
                self._is_known = True
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
        version, seq, entry, tail, embedder = row
        if version != FORMAT:
            raise rejected(
                UNSUPPORTED, f"the shared store is of format {version}; this mnemond reads {FORMAT}", "update mnemond"
            )
        record = None if embedder is None else msgspec.json.decode(embedder, type=EmbedderRecord)
        return Head(seq, entry, tail, record)

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
            if self._loading is loading:  # a load that failed may be thrown away while another one runs
                self.close()
            raise

    # ------------------------------------------------------------ writing

    def take_turn(self) -> Head:
        try:
            with self.answers() as db, db.pipeline():
                self.session("begin")
                self.run("lock")
                found = self.run("head")
            return self.head_of(found.fetchone())
        except errors.LockNotAvailable as error:
            self.close()
            raise contended() from error
        except errors.UndefinedTable:
            self.close()
            return self.head_of(None)
        except MnemonError:
            if self.in_transaction:
                self.session("rollback")
            raise

    def is_open(self) -> bool:
        if self._db is None or self._db.closed:
            return False
        return not select.select([self._db.pgconn.socket], [], [], 0)[0]  # a server that ends it says so

    def end_turn(self) -> None:
        if self.in_transaction:
            self.session("rollback")

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
                    self.run("lock")
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

    def _append(
        self,
        head: Head,
        entry: str,
        operations: Sequence[Operation],
        left: Folded,
        tail: int,
        embedder: EmbedderRecord | None,
    ) -> None:
        self.run(
            "append", channel=self._channel, seq=head.seq, entry=head.entry, tail=tail,
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
            db.execute(f"LISTEN {self._channel}".encode())  # an identifier of our own
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


def check_server(db: psycopg.Connection[Any], store: str) -> None:
    """Try what orders writers and wakes readers. Raises MnemonError for a server that does not have it."""
    channel = channel_of(f"probe of {store} by {db.pgconn.backend_pid}")
    try:
        db.execute(SESSION["only_one"])
        db.execute(f"LISTEN {channel}".encode())
        db.execute(f"NOTIFY {channel}".encode())
        heard = [each.channel for each in db.notifies(timeout=0.5, stop_after=1)]
        db.execute(f"UNLISTEN {channel}".encode())
    except (errors.FeatureNotSupported, errors.UndefinedFunction, errors.SyntaxError, errors.InsufficientPrivilege):
        heard = []
    if channel not in heard:
        raise rejected(
            UNSUPPORTED,
            "the server has no advisory locks, or what it announces does not arrive (LISTEN)",
            "PostgreSQL 15 or newer has both; connect to it without a pool of connections in between",
        )


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
        self.fileno: int = db.pgconn.socket

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
