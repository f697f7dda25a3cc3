"""Daemons that need not be imported anew each time, for packages of tests that start many."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchmarks.daemon_process import DaemonProcess


@pytest.fixture(scope="package", autouse=True)
def forked_daemons(request: pytest.FixtureRequest) -> Iterator[None]:
    """What DaemonProcess starts is forked from one process that has imported everything: that is most of a start. Where
    the start itself is looked at, tests run the program, or the client does."""
    if not hasattr(os, "pidfd_open"):  # Linux has it
        yield
        return
    server = request.getfixturevalue("forks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DaemonProcess, "launch", staticmethod(server.launch))
        yield
