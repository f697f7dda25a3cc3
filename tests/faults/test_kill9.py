"""kill -9 in the middle of pipelined writing, and during start-up. Every acknowledged memory is there, none twice, and
every exchange of a session whose hook was answered.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import select
import signal
import threading
import time
from pathlib import Path

import apsw
import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import RpcError, Wire, request
from tests.faults.fork_server import Forked, ForkServer

CLIENTS = 4
PIPELINED = 8
SESSIONS = 2
"""Sessions of agents whose hooks bring an exchange after the other."""
PATIENT = "[server]\nhook_deadline_ms = 10_000\n"
"""Configuration with which an answered hook has ended: one that is late is answered before its exchange is stored."""
PATIENCE_S = 30.0
QUICK = 40
A_FEW = 20
"""Kills of one store in the quick part: what is verified after each grows with it."""
DEEP = 1_000
A_STORE = 50
"""Cycles; and those of one store, which grows."""
MOST, MOST_QUICK = 60, 20
"""Acknowledgements before a kill: of two batches in the quick part, which is as soon as anything can be lost."""
VERIFIED_EVERY = 5
KEPT = {"no_diff": True, "importance": 5}
"""What makes sure that no memory is replaced by another, or pruned for it: each must be there afterwards."""


class Workload:
    """Several clients that always keep a few writes in flight, each text unique, each with an op_id of its own. What a
    kill left unanswered is sent first after it, under the op_id it had."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.acknowledged: dict[str, str] = {}
        self.sent: dict[str, str] = {}
        self.repeated = 0
        self.kept: set[str] = set()
        self._exchanges = itertools.count()
        self._numbers = 0
        self._unanswered: list[str] = []

    def next_request(self, waiting: dict[int, str]) -> bytes:
        self._numbers += 1
        if self._unanswered:
            self.repeated += 1
            text = self._unanswered.pop()
        else:
            text = f"memory {self._numbers} " + "x" * self.random.randint(0, 300)
            self.sent[text] = f"op-{self._numbers}"
        waiting[self._numbers] = text
        return request(self._numbers, "remember", {"content": text, "op_id": self.sent[text], **KEPT})

    def drive(self, daemon: DaemonProcess | Forked, target: int) -> None:
        """Write until `target` acknowledgements, and an eighth as many of hooks, then kill; late ones still in the
        sockets count as well."""
        clients: list[tuple[Wire, dict[int, str]]] = [(daemon.connect(), {}) for _ in range(CLIENTS)]
        agents = [threading.Thread(target=self._converse, args=(daemon.connect(), at)) for at in range(SESSIONS)]
        for agent in agents:
            agent.start()
        buffers = {wire.fileno(): b"" for wire, _ in clients}
        for wire, waiting in clients:
            wire.post(b"".join(self.next_request(waiting) for _ in range(PIPELINED)))
        got, kept = 0, len(self.kept) + target // 8
        ends = time.monotonic() + PATIENCE_S
        while got < target or len(self.kept) < kept:
            assert time.monotonic() < ends, "the daemon answers no hook"
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
            self._unanswered += waiting.values()
        for agent in agents:
            agent.join()

    def _converse(self, wire: Wire, session: int) -> None:
        """Bring exchanges of one session until the daemon is gone, and note those whose hook was answered."""
        with contextlib.suppress(RpcError, OSError), wire:
            for number in self._exchanges:
                prompt = f"Why does step {session}-{number} of the import take so long?"
                event = {
                    "session_id": f"session-{session}", "cwd": "/home/ada/apollo", "timestamp": "",
                    "hook_event_name": "AfterAgent", "prompt": prompt, "prompt_response": f"Cause {number}.",
                }  # fmt: skip
                if wire.round_trip(json.dumps(event).encode() + b"\n") == b"{}\n":
                    self.kept.add(prompt)

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
        said = {str(prompt) for (prompt,) in connection.execute("SELECT prompt FROM passages")}
        integrity = connection.pragma("integrity_check")
        connection.close()
        assert integrity == "ok"
        lost = [key for key, text in self.acknowledged.items() if found.get(key) != text]
        assert lost == [], f"{len(lost)} acknowledged memories lost"
        assert self.kept <= said, f"{len(self.kept - said)} exchanges of answered hooks lost"
        assert len(set(found.values())) == len(found), "a memory is stored twice"
        assert set(found.values()) <= set(self.sent), "a memory nobody sent"


def kill(daemon: DaemonProcess | Forked) -> None:
    if isinstance(daemon, Forked):
        assert daemon.end(signal.SIGKILL) == -signal.SIGKILL
        return
    process = daemon._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)


def kill_during_start_up(server: ForkServer, data_dir: Path, chance: random.Random, start_s: float) -> None:
    daemon = server.start(data_dir)
    # A moment of the start chosen by chance is what is being tested; nothing later depends on how long it was.
    time.sleep(chance.uniform(0, start_s))
    daemon.end(signal.SIGKILL)


def cycles(server: ForkServer, home: Path, number: int, seed: int, most: int = MOST) -> Workload:
    """So many kills under load, each after `most` acknowledgements at most, and a third as many during start-up, on one
    data directory."""
    workload, start_s = Workload(seed), 0.1
    path = home / "data" / "default" / "mnemon.db"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text(PATIENT, "utf-8")
    for at in range(1, number + 1):
        if workload.random.random() < 0.3:
            kill_during_start_up(server, home, workload.random, start_s)
        begin = time.monotonic()
        daemon = server.start(home)
        daemon.connect().close()
        start_s = time.monotonic() - begin
        workload.drive(daemon, workload.random.randint(1, most))
        if at % VERIFIED_EVERY == 0 or at == number:
            workload.verify(path)
    retry_is_answered_once(server, home, workload)
    return workload


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.check_all) for seed in range(1, QUICK // A_FEW))]
)
def test_some_kills_in_the_middle_of_writing(forks: ForkServer, seed: int, tmp_path: Path) -> None:
    workload = cycles(forks, tmp_path / "home", A_FEW, seed=1 + seed, most=MOST_QUICK)
    assert len(workload.acknowledged) > A_FEW
    assert workload.repeated > A_FEW
    assert workload.kept, "no hook was answered before a kill: nothing is shown of exchanges"


@pytest.mark.deep
def test_kills_of_daemons_that_were_started_cold(tmp_path: Path) -> None:
    workload = Workload(seed=3)
    (tmp_path / "config.toml").write_text(PATIENT, "utf-8")
    for _ in range(10):
        daemon = DaemonProcess(tmp_path)
        daemon.start()
        workload.drive(daemon, 40)
        workload.verify(tmp_path / "data" / "default" / "mnemon.db")


def retry_is_answered_once(server: ForkServer, home: Path, workload: Workload) -> None:
    """A caller that was cut off repeats with the same op_id and ends with exactly one copy, acknowledged or not."""
    daemon = server.start(home)
    with daemon.connect() as wire:
        assert wire.call("recall", query="memory").get("degraded_reason") is None, "no kill makes a store go backwards"
        for text, op_id in list(workload.sent.items())[-20:]:
            wire.call("remember", content=text, op_id=op_id, **KEPT)
    assert daemon.end(signal.SIGTERM) == 0
    connection = apsw.Connection(str(home / "data" / "default" / "mnemon.db"))
    rows = connection.execute("SELECT content, count(*) FROM insights GROUP BY content HAVING count(*) > 1").fetchall()
    connection.close()
    assert rows == []


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(DEEP // A_STORE))
def test_a_thousand_kills_in_the_middle_of_writing(forks: ForkServer, seed: int, tmp_path: Path) -> None:
    assert len(cycles(forks, tmp_path / "home", A_STORE, seed=10 + seed).acknowledged) > A_STORE
