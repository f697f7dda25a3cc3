"""A disk that is really full: a file system of a few megabytes, made where a user may make one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = "25m"
ALONE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
"""Mounts are seen by what runs in it alone, and are gone with it."""


def _inside(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    script = f'mount -t tmpfs -o size={SIZE},mode=700 none "$1" && {command}'
    return subprocess.run([*ALONE, script, "sh", str(home)], capture_output=True, text=True, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a small file system can be mounted."""
    if shutil.which("unshare") is None or _inside(tmp_path, "true").returncode:
        pytest.skip("no file system can be made here: a full disk is tried with injected errors only")
    return tmp_path


def test_a_disk_that_is_full(home: Path) -> None:
    done = _inside(home, f'exec "{sys.executable}" -m tests.faults.full_disk "$1"')
    assert done.stdout.splitlines() == [
        "full True False the disk is full",
        "recalled True",
        "refused rejected",
        "forgotten True",
        "room True True None",
        "kept True",
    ], done.stderr
