"""A plugin, `pytest -p tests.shared_backend`: the stores of tests are shared ones, and after each test another daemon,
which comes then, has the same.

A store that is new gets a log on a server of the test run; one that a test brings along, with rows of its own, stays
local. What is not so for a shared store is in ONLY_LOCAL.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.pg_server import pg_running, why_not
from mnemond.ids import RandomIds
from mnemond.interchange import export
from mnemond.interchange.export import Selection
from mnemond.store import store as stores
from mnemond.store.connection import Connection
from mnemond.store.database import Opened, open_database
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord, read_embedder
from mnemond.store.operation_log import TABLES
from mnemond.store.postgresql import PostgresqlLog
from mnemond.store.shared_log import Cursor, SharedLog, read_cursor, write_cursor

ONLY_LOCAL: Final[Mapping[str, str]] = {
    "tests/api/test_doctor.py::test_a_log_that_was_left": "is degraded until it is connected",
    "tests/api/test_doctor.py::test_a_memory_that_cannot": "what was changed in the file by hand is not in the log",
    "tests/api/test_doctor.py::test_a_store_that_can_only_be_read": "is degraded until it is connected",
    "tests/api/test_doctor.py::test_a_store_that_nobody_has_open": "has no mark of the last acknowledged line",
    "tests/api/test_doctor.py::test_a_store_whose_file_is_damaged": "the damaged file is compared afterwards",
    "tests/api/test_doctor.py::test_vectors_of_another": "is degraded until it is connected",
    "tests/api/test_doctor.py::test_what_another_program": "what was changed in the file by hand is not in the log",
    "tests/api/test_embed_switch.py::test_repeats_that_come": "a repeat names a later operation (seq)",
    "tests/api/test_embed_switch.py::test_the_old_vectors_serve": "a repeat names a later operation (seq)",
    "tests/api/test_links.py::test_the_reply_to_a_link": "a reply has seq",
    "tests/api/test_shared_answers.py": "has shared stores of its own",
    "tests/api/test_sync.py": "it is not synced through files",
    "tests/api/test_top.py::test_what_waits": "is degraded until it is connected",
    "tests/store/invariants/test_checks.py::test_exactly_the_check_of_what_is_broken_fires[schema1]": "is flushed late",
    "tests/store/test_backup_service.py::test_a_restore_ends_what_was_known": "its log has what was acknowledged",
    "tests/store/test_batched_inserts.py::test_rows_of_several": "rows that are recorded go in one by one",
    "tests/store/test_damaged.py": "what was changed in the file by hand is not in the log",
    "tests/store/test_high_water.py": "its log has what was acknowledged",
    "tests/store/test_postgresql.py": "has shared stores of its own",
    "tests/store/test_proposals.py::test_after_a_commit_that_failed": "what is in the log by then is made up for",
    "tests/store/test_registry.py::test_a_store_that_nobody_waits_for": "looks at how it is opened",
    "tests/store/test_rewrite.py::test_a_commit_that_raises": "what is in the log by then is made up for",
    "tests/store/test_shared_log": "has shared stores of its own",
}
"""Beginnings of the names of tests, and why what they say is not so for a shared store."""


class Backend:
    """The server, and the stores of the running test by their files."""

    def __init__(self, dsn: str, home: Path, init: Callable[..., None]) -> None:
        self.dsn = dsn
        self._home = home
        self._init = init
        self.stores: dict[Path, str] = {}
        self._logs: list[SharedLog] = []
        self._empty: Path | None = None

    def forget(self) -> None:
        """The test has ended."""
        for each in self._logs:
            each.close()
        self._logs.clear()
        self.stores.clear()

    def share(self, engine: Engine, opened: Opened) -> None:
        """Give a new store a log; go on with the one that it has."""
        path = Path(opened.connection.rows("PRAGMA database_list")[0][2])
        if opened.read_only is not None or opened.wrong is not None:
            return
        cursor = read_cursor(opened.connection)
        if cursor is None:
            if any(
                opened.connection.row(f"SELECT 1 FROM {each.table} LIMIT 1") for each in TABLES if each.kind != "fact"
            ):
                return
            name = hashlib.blake2b(f"{path} {RandomIds().new()}".encode(), digest_size=12).hexdigest()
            cursor = Cursor("postgresql", "DSN", name)
            with closing(self._log(name)) as log:
                log.make(engine.embedder)
            opened.connection.run("BEGIN IMMEDIATE")
            write_cursor(opened.connection, cursor)
            opened.connection.run("COMMIT")
        self.stores[path] = cursor.store
        shared = SharedLog(cursor, partial(self._log, cursor.store), RandomIds().new)
        self._logs.append(shared)
        engine.follow(shared)

    def compare(self) -> None:
        """Another daemon, which comes now, has the same as each file."""
        for path, name in self.stores.items():
            if path.is_file():
                self._compare(path, name)

    def _compare(self, path: Path, name: str) -> None:
        with closing(Connection(path)) as connection, tempfile.TemporaryDirectory() as home:
            late = Path(home) / "late.db"
            shutil.copy(self._empty_file(), late)
            with closing(self._engine(late, read_embedder(connection))) as there:
                there.follow(SharedLog(Cursor("postgresql", "DSN", name), partial(self._log, name), RandomIds().new))
                there.catch_up()
                assert there.read(_lines) == _lines(connection)

    def _log(self, name: str) -> PostgresqlLog:
        return PostgresqlLog(self.dsn, name)

    def _empty_file(self) -> Path:
        if self._empty is None:
            path = self._home / "empty.db"
            self._engine(path, None).close()
            self._empty = path
        return self._empty

    def _engine(self, path: Path, embedder: EmbedderRecord | None) -> Engine:
        def opened() -> Opened:
            return open_database(path, lambda: embedder, 0)

        engine = Engine.__new__(Engine)
        self._init(engine, opened(), opened, _defect)
        return engine


def _defect(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


def _lines(connection: Connection) -> list[bytes]:
    return list(export.lines(connection, Selection()))


@pytest.fixture(scope="session")
def shared_backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    if (reason := why_not()) is not None:
        pytest.skip(f"no PostgreSQL server: {reason}")
    init = Engine.__init__
    with pg_running("-c", "fsync=off") as server, pytest.MonkeyPatch.context() as patch:
        made = Backend(server.dsn, tmp_path_factory.mktemp("shared"), init)

        def shared(self: Engine, opened: Opened, *args: Any, **more: Any) -> None:
            init(self, opened, *args, **more)
            made.share(self, opened)

        patch.setattr(Engine, "__init__", shared)
        patch.setattr(stores, "connect_log", lambda cursor, _: PostgresqlLog(server.dsn, cursor.store))
        yield made


@pytest.fixture(autouse=True)
def _shared(shared_backend: Backend) -> Iterator[None]:
    yield
    try:
        shared_backend.compare()
    finally:
        shared_backend.forget()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for start, why in ONLY_LOCAL.items():
            if item.nodeid.startswith(start):
                item.add_marker(pytest.mark.skip(reason=f"only of a local store: {why}"))
