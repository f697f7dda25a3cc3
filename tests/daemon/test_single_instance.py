"""Many daemons started at once on one data directory: exactly one serves, the others leave with status 75."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.wire import Wire
from mnemond.errors import LOCKED

PATIENCE_S = 60.0


def started_at_once(data_dir: Path, number: int) -> list[subprocess.Popen[str]]:
    """`number` daemons that all go for the lock when the last of them is ready to."""
    source = (
        "import sys; import mnemond.daemon; from mnemond.__main__ import main;"
        "print('ready', flush=True); sys.stdin.readline(); sys.exit(main(['--data-dir', sys.argv[1]]))"
    )
    daemons = [
        subprocess.Popen(
            [sys.executable, "-c", source, str(data_dir)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(number)
    ]  # fmt: skip
    for daemon in daemons:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "ready\n"
    for daemon in daemons:
        assert daemon.stdin is not None
        daemon.stdin.write("go\n")
        daemon.stdin.flush()
    return daemons


def leavers(daemons: list[subprocess.Popen[str]], number: int) -> list[subprocess.Popen[str]]:
    """The first `number` of them that have left."""
    watched = {os.pidfd_open(daemon.pid): daemon for daemon in daemons}
    gone: list[subprocess.Popen[str]] = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(gone) < number:
            left = {watched[fd]: fd for fd in watched if watched[fd] not in gone}
            ended, _, _ = select.select(list(left.values()), [], [], max(0.0, deadline - time.monotonic()))
            assert ended, f"{len(left)} daemons serve one directory"
            gone += [watched[fd] for fd in ended]
    finally:
        for fd in watched:
            os.close(fd)
    return gone


def one_round(data_dir: Path, number: int, expected_memories: int) -> None:
    daemons = started_at_once(data_dir, number)
    try:
        gone = leavers(daemons, number - 1)
        (serving,) = [daemon for daemon in daemons if daemon not in gone]
        for daemon in gone:
            _, said = daemon.communicate(timeout=PATIENCE_S)
            assert daemon.returncode == LOCKED.exit == 75, said
            assert re.search(rf"another daemon \(process (\w+)\) serves {re.escape(str(data_dir))}", said), said
        with Wire(data_dir / "sock") as wire:
            assert wire.call("hello")["pid"] == serving.pid
            wire.call("remember", content=f"round {expected_memories}")
            assert wire.call("status")["total_insights"] == expected_memories
            wire.call("daemon.stop")
        assert serving.wait(PATIENCE_S) == 0
        assert not (data_dir / "sock").exists()
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.communicate()


def test_six_daemons_at_once_leave_one(tmp_path: Path) -> None:
    one_round(tmp_path / "home", 6, 1)


@pytest.mark.deep
def test_twelve_daemons_at_once_leave_one_ten_times_over(tmp_path: Path) -> None:
    for number in range(1, 11):
        one_round(tmp_path / "home", 12, number)
