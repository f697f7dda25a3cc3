"""What holds for every test."""

from __future__ import annotations

import faulthandler
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.faults.fork_server import ForkServer

# How long an example takes says more of the machine than of the code: no test has a deadline. `make check` tries the
# same examples every time; `make check-all` tries more of them (--hypothesis-profile=deep), other ones each time.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=8)
settings.register_profile("deep", deadline=None, max_examples=100)
settings.load_profile("quick")

LONGEST_END_S = 120
"""How long the interpreter may take to end after the last test; the report of coverage takes two of these seconds."""

BEGUN_S = pytest.StashKey[float]()
"""When the run began."""

GUARDED_S = pytest.StashKey[float]()
"""When the time in which a test has to end was counted from last."""

GUARD_EVERY_S = 30.0
"""Seconds between two beginnings of that time. pytest's own `faulthandler_timeout` begins and ends it for each test,
and each time waits until a thread has ended: 3 ms on a busy machine, for most tests more than the test itself."""

STDERR = pytest.StashKey[int]()
"""Standard error as it is outside of tests."""

IN_MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 256 << 20


def temporary_files_in_memory() -> None:
    """Puts what the tests and their daemons write where an fsync costs nothing, unless TMPDIR names another place.

    SQLite syncs as often as ever. That it syncs in time is shown by the power cuts of tests/faults, whose file system
    knows what was synced and what was not.
    """
    if "TMPDIR" in os.environ or not os.access(IN_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(IN_MEMORY).free > ENOUGH_BYTES:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None  # pytest has asked already


temporary_files_in_memory()

# What a test starts buffers as it does for a user: some machines turn that off for everybody, and hide what it does.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hang_timeout", "seconds after which a test that hangs ends the run", default="900")
    parser.addoption("--minutes", type=float, default=0.0, help="begin no test after so many; what is left is skipped")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BEGUN_S] = time.monotonic()
    config.stash[GUARDED_S] = -GUARD_EVERY_S
    config.stash[STDERR] = os.dup(2)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that hangs ends the run. The long runs have a time in which they must fit; `-rs` says what did not."""
    stash, now = item.config.stash, time.monotonic()
    if now >= stash[GUARDED_S] + GUARD_EVERY_S:
        stash[GUARDED_S] = now
        longest = float(item.config.getini("hang_timeout"))
        faulthandler.dump_traceback_later(longest, exit=True, file=stash[STDERR])
    minutes = item.config.getoption("--minutes")
    if minutes and time.monotonic() - item.config.stash[BEGUN_S] > 60 * minutes:
        pytest.skip(f"the {minutes:g} minutes are over")


def pytest_collection_finish() -> None:
    """Spares the garbage collector what lives to the end, thousands of tests and all modules: a fifth of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """A thread that a test left waiting would hold the process for ever, after the last word was printed."""
    faulthandler.dump_traceback_later(LONGEST_END_S, exit=True)


@pytest.fixture(scope="session")
def forks() -> Iterator[ForkServer]:
    """Starts daemons in milliseconds, for all tests of a worker."""
    from tests.faults.fork_server import ForkServer  # few tests need it

    with ForkServer() as server:
        yield server
