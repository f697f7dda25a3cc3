"""Daemons, without their processes, that share a store: engines with a cache each and one log on a server."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from mnemond.ids import RandomIds
from mnemond.store.connection import Connection
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from mnemond.store.postgresql import PostgresqlLog
from mnemond.store.shared_log import Cursor, SharedLog, read_cursor, write_cursor
from tests.interchange.test_restore import lines_of
from tests.store.factories import EMBEDDER, engine_at
from tests.store.mirror import mirrored


def share(engine: Engine, dsn: str, store: str) -> Engine:
    """Let an engine write to a log, from where its file ends, if it does not."""
    if engine.shared is not None:
        return engine
    cursor = engine.read(read_cursor)
    if cursor is None:
        cursor = Cursor("postgresql", "DSN", store)
        engine.rewrite(lambda connection: write_cursor(connection, cursor))
    assert isinstance(cursor, Cursor)
    engine.follow(SharedLog(cursor, lambda: PostgresqlLog(dsn, store), RandomIds().new))
    return engine


class Peer:
    """One of them."""

    def __init__(self, path: Path, dsn: str, store: str, embedder: EmbedderRecord | None = EMBEDDER) -> None:
        self.path, self.dsn, self.store = path, dsn, store
        self.defects: list[BaseException] = []
        with closing(PostgresqlLog(dsn, store)) as log:
            log.make(embedder)
        self.engine = self._opened()

    def _opened(self) -> Engine:
        return share(engine_at(self.path, defects=self.defects), self.dsn, self.store)

    def again(self) -> None:
        """Open the file anew, as a process that was killed and started does: nothing is closed in good order."""
        if self.engine.shared is not None:
            self.engine.shared.close()
        self.engine._connection = None
        self.engine = self._opened()

    def write(self, *writes: Any) -> list[Any]:
        return list(self.engine.commit(writes))

    def catch_up(self) -> None:
        self.engine.catch_up()

    def export(self) -> list[bytes]:
        """Return its export, after index and file were found to be the same."""
        mirrored(self.engine, self.path)
        return lines_of(self.engine)

    @property
    def shared(self) -> SharedLog:
        assert self.engine.shared is not None
        return self.engine.shared

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        def look(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.rows(sql)

        found = self.engine.read(look)
        assert isinstance(found, list)
        return found

    def close(self) -> None:
        self.engine.close()
        assert self.defects == []
