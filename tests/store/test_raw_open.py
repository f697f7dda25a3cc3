"""Files of stores are opened by SQLite alone; whoever else tries is stopped before it has happened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnemond.store.connection import STORE_FILES, OpenGuard, RawOpenError

PROGRAM = """
import os, sys
from pathlib import Path
from mnemond.store.connection import RawOpenError, forbid_raw_open
from tests.store.factories import engine_at, remember

home = Path(sys.argv[1])
path = home / "data" / "default" / "mnemon.db"
path.parent.mkdir(parents=True)
forbid_raw_open(home)
engine = engine_at(path)
engine.commit([remember(1)])
ways = [
    lambda: open(path), lambda: path.read_bytes(), lambda: os.open(str(path), os.O_RDONLY),
    lambda: open(os.fsencode(path) + b"-wal", "rb"), lambda: open(os.path.relpath(path)),
]
for way in ways:
    try:
        way()
    except RawOpenError:
        print("stopped")
engine.commit([remember(2)])
engine._healthy().backup_to(path.with_name("mnemon.db.bak-1"))
print(len(path.with_name("mnemon.db.bak-1").read_bytes()) > 0)
engine.close()
"""


def test_sqlite_goes_on_and_nobody_else_gets_in(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["stopped"] * 5 + ["True"], done.stderr


def test_what_is_none_of_a_store_s_files_may_be_opened(tmp_path: Path) -> None:
    watch, stores = OpenGuard(tmp_path), tmp_path / "data" / "default"
    for path in (tmp_path / "mnemon.db", stores / "mnemon.db.bak-3", stores / "my-mnemon.db", stores / "config.toml"):
        watch("open", (str(path), "r", 0))
    watch("open", (3, "r", 0))
    watch("os.rename", (str(stores / "mnemon.db"), "elsewhere"))
    for name in STORE_FILES:
        for form in (stores / name, str(stores / name), os.fsencode(stores / name)):
            with pytest.raises(RawOpenError, match="SQLite alone"):
                watch("open", (form, "r", 0))
