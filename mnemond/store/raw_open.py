"""No code of this process but SQLite opens the files of a store.

Closing such a file drops every lock that SQLite holds on it in this process. The next program that opens and closes the
store then counts as its last user and throws its log away, and what is acknowledged from there on is lost: ten of ten
commits when it was measured (reliability, section 0). An audit hook sees every file that Python opens, and none that
SQLite does.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

STORE_FILES: Final = ("mnemon.db", "mnemon.db-wal", "mnemon.db-shm", "mnemon.db-journal")


class RawOpenError(RuntimeError):
    """A defect: somebody was about to open a file of a store."""


class Watch:
    """An audit hook over the stores of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._stores = f"{data_dir / 'data'}{os.sep}"

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raises RawOpenError instead of letting a file of a store be opened."""
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[0])
        if path.endswith(STORE_FILES) and os.path.basename(path) in STORE_FILES:
            path = os.path.abspath(path)
            if path.startswith(self._stores):
                raise RawOpenError(f"{path} may be opened by SQLite alone: closing it would drop SQLite's locks")


def forbid(data_dir: Path) -> None:
    """From now on and for good, in this process. `data_dir` is absolute."""
    sys.addaudithook(Watch(data_dir))
