"""What tests of whole daemons share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mnemond.store.connection  # noqa: F401 - whoever opens a store in this process writes checksums from here on
from tests.faults.fork_server import ForkServer


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    """Starts daemons."""
    with ForkServer() as server:
        yield server
