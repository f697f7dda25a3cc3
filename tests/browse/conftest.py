"""A real daemon, and a store of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.browse.calls import Daemon
from mnemonctl.client import Client
from tests.faults.forked_daemons import forked_daemons

__all__ = ["forked_daemons"]

_NUMBERS = count()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture
def client(running: DaemonProcess) -> Iterator[Client]:
    """A client of a new store."""
    name = f"store{next(_NUMBERS)}"
    with Client(data_dir=running.data_dir, store=name, start=False) as memory:
        memory.stores.create(name=name)
        yield memory


@pytest.fixture
def daemon(client: Client, running: DaemonProcess) -> Daemon:
    return opened(running.data_dir, client.store)


def opened(directory: Path, store: str | None = None) -> Daemon:
    """A daemon as the browser sees it, without a person at a terminal."""
    return Daemon(directory, store, at_terminal=False)
