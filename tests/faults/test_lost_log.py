"""The log of a killed daemon's store is removed: the next daemon says that memories are missing, and doctor which."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.fork_server import ForkServer


def test_a_daemon_says_that_its_store_went_backwards(forks: ForkServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(0o700)
    daemon = forks.start(home)
    with daemon.connect() as wire:
        for number in range(3):
            wire.call("remember", content=f"memory number {number}", no_diff=True)
    daemon.end(signal.SIGKILL)
    (home / "data" / "default" / "mnemon.db-wal").unlink()
    daemon = forks.start(home)
    with daemon.connect() as wire:
        reply = wire.call("recall", query="memory number")
        assert reply["results"] == []
        assert "went backwards" in reply["degraded_reason"]
        wire.call("remember", content="what comes after", no_diff=True)
        found = {each["name"]: each for each in wire.call("verify")["checks"] if not each["ok"]}
        assert "line 3 was acknowledged" in found["high_water"]["detail"]
        assert "full_verify --yes" in found["high_water"]["problems"][0]["next"]
        wire.call("jobs.run", name="full_verify", yes=True)
        assert "degraded_reason" not in wire.call("recall", query="what comes after")
    assert daemon.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_whose_log_is_whole_says_nothing(by: signal.Signals, forks: ForkServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(0o700)
    for _ in range(2):
        daemon = forks.start(home)
        with daemon.connect() as wire:
            assert wire.call("remember", content="kept").get("degraded_reason") is None
        daemon.end(by)
