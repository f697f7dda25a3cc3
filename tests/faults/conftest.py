"""What tests of whole daemons share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.fork_server import ForkServer


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    """Starts daemons."""
    with ForkServer() as server:
        yield server
