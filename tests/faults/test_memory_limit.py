"""There is no more memory, from nothing on up to what a request needs: requests are answered, what was acknowledged is
there, and what recall sees is what the file says.

Where not even the event loop gets the few bytes it needs to wait, or a library does not look whether it got any, the
process ends. That is rare, nothing that was acknowledged is lost by it, and the next one serves.
"""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.synthetic import Notes
from benchmarks.wire import RpcError, Wire
from tests.faults.fork_server import ForkServer

PAGE_BYTES = resource.getpagesize()
MEMORIES = 400
"""Stored before memory runs out."""
PATIENCE_S = 30.0
REQUESTS = 12
"""With each limit."""
UNFORESEEN = 70
"""The exit status of a process that something nobody foresaw has ended (sysexits.h, EX_SOFTWARE)."""
LARGE = 6_000
"""Words of some of the memories, so that single allocations fail as well."""
RARELY = 0.02
"""Of the requests, how many may end the process."""
LIMITS = [*range(0, 1 << 20, 1 << 17), *range(1 << 20, 12 << 20, 1 << 20)]
"""Bytes of address space beyond what the daemon has."""


ENCODING = """
import resource
from msgspec import Raw
from mnemond.wire.jsonrpc import encode_result
result = [{"content": "x" * 1000, "number": number} for number in range(20_000)]
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (4 << 20), resource.RLIM_INFINITY))
try:
    encode_result(Raw(b"1"), result)
except MemoryError:
    print("MemoryError")
"""


def address_space(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * PAGE_BYTES


class Starved:
    """A daemon that is given so much more memory and not a byte beyond."""

    def __init__(self, server: ForkServer, home: Path) -> None:
        self._server, self._home = server, home
        daemon = server.start(home)
        self._pid, self._daemon = daemon.pid, daemon
        self._chance = random.Random(7)
        self._notes = Notes(7)
        self._made = 0
        self.acknowledged: list[str] = []
        self.seen: Counter[str] = Counter()
        self.wire = daemon.connect()
        for text in self._notes.take(MEMORIES):
            self.wire.call("remember", content=text, no_diff=True)

    def round(self, extra: int) -> None:
        """Some requests with `extra` bytes left, then a look at everything with plenty."""
        before = resource.prlimit(self._pid, resource.RLIMIT_AS)
        resource.prlimit(self._pid, resource.RLIMIT_AS, (address_space(self._pid) + extra, before[1]))
        for _ in range(REQUESTS):
            self._ask()
        resource.prlimit(self._pid, resource.RLIMIT_AS, before)
        self._look()

    def _ask(self) -> None:
        """Anything; an answer comes, be it an error. Only whoever sends what cannot even be read is cut off."""
        kind = self._chance.choice(["recall", "recall", "remember", "remember", "list", "large", "backup", "verify"])
        try:
            match kind:
                case "recall":
                    self.wire.call("recall", query=self._notes.take(1)[0], limit=100)
                case "remember":
                    self._remember()
                case "list":
                    self.wire.call("list", limit=1000)
                case "large":
                    self.wire.call("recall", query="x" * 900_000)
                case "backup":
                    self.wire.call("backup.create")
                case _:
                    self.wire.call("verify", full=True)
        except (RpcError, OSError) as error:
            self._refused(kind, error)
        else:
            self.seen[f"{kind} answered"] += 1

    def _refused(self, kind: str, error: Exception) -> None:
        if '"code"' in str(error):
            self.seen[f"{kind} refused"] += 1
            return
        self.wire.close()
        if self._lives():
            self.seen[f"{kind} cut"] += 1
        else:
            self.seen["ended"] += 1
            assert self._daemon.end(signal.SIGKILL) in (UNFORESEEN, -signal.SIGSEGV, -signal.SIGABRT)
            self._daemon = self._server.start(self._home)
            self._pid = self._daemon.pid
        self.wire = self._daemon.connect()

    def _lives(self) -> bool:
        """Whether the daemon still answers; one that has ended is a zombie. The limit is set aside meanwhile."""
        limit = resource.prlimit(self._pid, resource.RLIMIT_AS)
        resource.prlimit(self._pid, resource.RLIMIT_AS, (limit[1], limit[1]))
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            if Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
            with suppress(OSError, RpcError), Wire(self._home / "sock") as wire:
                wire.call("ping")
                resource.prlimit(self._pid, resource.RLIMIT_AS, limit)
                return True
        raise AssertionError("it neither answers nor ends")

    def end(self) -> None:
        """Stop the daemon; everything that was acknowledged is there."""
        assert self.wire.call("status")["total_insights"] >= MEMORIES + len(self.acknowledged)
        self.wire.close()
        assert self._daemon.end(signal.SIGTERM) == 0

    def _remember(self) -> None:
        self._made += 1
        words = " ".join(self._notes.take(LARGE // 10)) if self._chance.random() < 0.3 else self._notes.take(1)[0]
        text = f"number {self._made} {words}"[:LARGE]
        self.acknowledged.append(str(self.wire.call("remember", content=text, no_diff=True)["id"]))

    def _look(self) -> None:
        """What was acknowledged is there, and all invariants hold."""
        for insight_id in self.acknowledged[-REQUESTS:]:
            self.wire.call("get", id=insight_id)
        found = self.wire.call("verify", full=True)
        assert [each for each in found["checks"] if not each["ok"]] == []


def survive(forks: ForkServer, home: Path, limits: list[int]) -> Counter[str]:
    home.mkdir(0o700)
    (home / "config.toml").write_text("[lifecycle]\nmax_insights = 0\n")
    starved = Starved(forks, home)
    for extra in limits:
        starved.round(extra)
    starved.end()
    return starved.seen


def test_a_reply_for_which_there_is_no_memory_is_an_error() -> None:
    """In a process of its own: where the encoder's buffer cannot grow, msgspec ends it."""
    done = subprocess.run([sys.executable, "-c", ENCODING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "MemoryError\n"), done.stderr


@pytest.mark.deep
def test_memory_runs_out_at_every_size(forks: ForkServer, tmp_path: Path) -> None:
    seen = survive(forks, tmp_path / "home", LIMITS)
    print(dict(seen))
    assert seen["recall answered"] > 0
    assert seen["ended"] <= RARELY * seen.total()
    assert sum(count for kind, count in seen.items() if not kind.endswith("answered")) > 0
