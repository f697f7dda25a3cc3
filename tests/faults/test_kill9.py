"""kill -9 in the middle of pipelined writing, and during start-up. Every acknowledged memory is there, none twice."""

from __future__ import annotations

import json
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Wire, request

CLIENTS = 4
PIPELINED = 8
PATIENCE_S = 30.0
KEPT = {"no_diff": True, "importance": 5}
"""What makes sure that no memory is replaced by another, or pruned for it: each must be there afterwards."""


class Workload:
    """Several clients that always keep a few writes in flight, each text unique, each with an op_id of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.acknowledged: dict[str, str] = {}
        self.sent: dict[str, str] = {}
        self._numbers = 0

    def next_request(self, waiting: dict[int, str]) -> bytes:
        self._numbers += 1
        text = f"memory {self._numbers} " + "x" * self.random.randint(0, 300)
        op_id = f"op-{self._numbers}"
        self.sent[text] = op_id
        waiting[self._numbers] = text
        return request(self._numbers, "remember", {"content": text, "op_id": op_id, **KEPT})

    def drive(self, daemon: DaemonProcess, target: int) -> None:
        """Write until `target` acknowledgements, then kill; late ones still in the sockets count as well."""
        clients: list[tuple[Wire, dict[int, str]]] = [(daemon.connect(), {}) for _ in range(CLIENTS)]
        buffers = {wire.fileno(): b"" for wire, _ in clients}
        for wire, waiting in clients:
            wire.post(b"".join(self.next_request(waiting) for _ in range(PIPELINED)))
        got = 0
        while got < target:
            readable, _, _ = select.select([wire for wire, _ in clients], [], [], PATIENCE_S)
            assert readable, "the daemon stopped answering"
            for wire, waiting in clients:
                if wire in readable:
                    done = self._take(wire, waiting, buffers)
                    got += done
                    wire.post(b"".join(self.next_request(waiting) for _ in range(done)))
        kill(daemon)
        for wire, waiting in clients:
            while self._take(wire, waiting, buffers, until_closed=True):
                pass
            wire.close()

    def _take(
        self, wire: Wire, waiting: dict[int, str], buffers: dict[int, bytes], *, until_closed: bool = False
    ) -> int:
        try:
            data = wire._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        assert data or until_closed, "the daemon closed a connection"
        *lines, buffers[wire.fileno()] = (buffers[wire.fileno()] + data).split(b"\n")
        for line in lines:
            reply = json.loads(line)
            assert "result" in reply, reply
            self.acknowledged[reply["result"]["id"]] = waiting.pop(reply["id"])
        return len(lines)

    def verify(self, path: Path) -> None:
        connection = apsw.Connection(str(path))
        rows = connection.execute("SELECT id, content FROM insights WHERE status = 'active'").fetchall()
        found = {str(key): str(text) for key, text in rows}
        integrity = connection.pragma("integrity_check")
        connection.close()
        assert integrity == "ok"
        lost = [key for key, text in self.acknowledged.items() if found.get(key) != text]
        assert lost == [], f"{len(lost)} acknowledged memories lost"
        assert len(set(found.values())) == len(found), "a memory is stored twice"
        assert set(found.values()) <= set(self.sent), "a memory nobody sent"


def kill(daemon: DaemonProcess) -> None:
    process = daemon._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)


def kill_during_start_up(data_dir: Path, chance: random.Random) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mnemond", "--data-dir", str(data_dir)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    # A moment of the start chosen by chance is what is being tested; nothing later depends on how long it was.
    time.sleep(chance.uniform(0.2, 0.8))
    process.kill()
    process.wait(PATIENCE_S)


def cycles(data_dir: Path, number: int, seed: int) -> Workload:
    workload = Workload(seed)
    path = data_dir / "data" / "default" / "mnemon.db"
    for _ in range(number):
        if workload.random.random() < 0.2:
            kill_during_start_up(data_dir, workload.random)
        daemon = DaemonProcess(data_dir)
        daemon.start()
        workload.drive(daemon, workload.random.randint(1, 60))
        workload.verify(path)
    return workload


def test_a_few_kills_in_the_middle_of_writing(tmp_path: Path) -> None:
    data_dir = tmp_path
    workload = cycles(data_dir, 3, seed=1)
    assert len(workload.acknowledged) > 3
    retry_is_answered_once(data_dir, workload)


def retry_is_answered_once(data_dir: Path, workload: Workload) -> None:
    """A caller that was cut off repeats with the same op_id and ends with exactly one copy, acknowledged or not."""
    with DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        for text, op_id in list(workload.sent.items())[-20:]:
            wire.call("remember", content=text, op_id=op_id, **KEPT)
    connection = apsw.Connection(str(data_dir / "data" / "default" / "mnemon.db"))
    rows = connection.execute("SELECT content, count(*) FROM insights GROUP BY content HAVING count(*) > 1").fetchall()
    connection.close()
    assert rows == []


@pytest.mark.deep
def test_a_hundred_kills_in_the_middle_of_writing(tmp_path: Path) -> None:
    data_dir = tmp_path
    workload = cycles(data_dir, 100, seed=2)
    assert len(workload.acknowledged) > 1000
    retry_is_answered_once(data_dir, workload)
