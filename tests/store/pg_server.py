"""The server of tests with a shared store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.pg_server import PgServer, pg_running, why_not


@contextmanager
def running(*options: str, extension: str = "") -> Iterator[PgServer]:
    """A server with an empty database, which can have an extension. Skips the test where none can be started."""
    if (reason := why_not(extension)) is not None:
        pytest.skip(f"no PostgreSQL server: {reason}")
    with pg_running(*options, extension=extension) as server:
        yield server
