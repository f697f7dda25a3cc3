"""The server, and two daemons' parts of a store, of tests with a shared log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.pg_server import PgServer
from tests.store.pg_server import running

if TYPE_CHECKING:
    from tests.store.shared_world import Peer


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    with running("-c", "fsync=off") as server:
        yield server


@pytest.fixture
def peers(server: PgServer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Peer, Peer]]:
    from tests.store.shared_world import Peer  # needs psycopg

    a, b = (Peer(tmp_path / f"{each}.db", server.dsn, request.node.name) for each in "ab")
    yield a, b
    a.close()
    b.close()
