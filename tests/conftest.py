"""What holds for every test."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings

# How long an example takes says more of the machine than of the code: no test has a deadline. `make check` tries the
# same examples every time; `make check-all` tries more of them (--hypothesis-profile=deep), other ones each time.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("deep", deadline=None, max_examples=100)
settings.load_profile("quick")

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


def pytest_collection_finish() -> None:
    """Spares the garbage collector what lives to the end, thousands of tests and all modules: a fifth of the time."""
    gc.collect()
    gc.freeze()
