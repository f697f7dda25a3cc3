"""Hostile messages, many to a connection: every one gets the reply it is owed, and nothing escapes."""

from __future__ import annotations

import random
import signal
import socket
from collections import Counter
from pathlib import Path

import pytest

from tests.daemon.test_fuzz import message
from tests.faults.fork_server import ForkServer
from tests.wire.test_fuzz import count_replies, owed_to

PATIENCE_S = 60.0
FRAMES = 50
"""Messages of one connection."""
QUICK, DEEP = 1_000, 200_000


def converse(path: Path, sent: bytes) -> bytes:
    """Everything that is answered to all of this."""
    received = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_S)
        client.connect(str(path))
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        while data := client.recv(1 << 16):
            received += data
    return received


def fuzz(server: ForkServer, home: Path, frames: int, seed: int) -> Counter[str]:
    """What replies there were."""
    daemon = server.start(home)
    daemon.connect().close()
    seen: Counter[str] = Counter()
    for number in range(frames // FRAMES):
        chance = random.Random(f"{seed}/{number}")
        sent = b"".join(message(chance) for _ in range(FRAMES))
        received = converse(home / "sock", sent)
        kinds = count_replies(received)
        owed = [owed_to(line.strip(b" \t\r")) for line in sent.split(b"\n") if line.strip(b" \t\r")]
        least = sum(1 for each in owed if each)
        assert received.count(b"\n") >= least, f"{seed}/{number}: a message without a reply"
        if -1 not in owed:
            assert kinds.total() == sum(owed), f"{seed}/{number}: {kinds} for {owed}"
        seen += kinds
    with daemon.connect() as wire:
        assert wire.call("ping") == {"ok": True}
        assert wire.call("status")["total_insights"] > 0
    assert daemon.end(signal.SIGTERM) == 0
    log = home.with_suffix(".log").read_text()
    assert "defect" not in log
    assert "Traceback" not in log
    return seen


def test_a_thousand_hostile_messages(forks: ForkServer, tmp_path: Path) -> None:
    seen = fuzz(forks, tmp_path / "home", QUICK, seed=1)
    assert {"result", "-32700", "-32600", "-32601", "-32602", "1003"} <= seen.keys()
    assert seen["-32603"] == 0


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_two_hundred_thousand_hostile_messages(forks: ForkServer, seed: int, tmp_path: Path) -> None:
    assert fuzz(forks, tmp_path / "home", DEEP // 4, seed=10 + seed).total() > DEEP // 8
