"""Work in a daemon beside the clients of the load benchmark: an import, backups, and jobs.

A company prepares a round before the measurement, then works until it is stopped, or, if it `ends`, until its work is
done: the clients stop with it, so that nothing is measured beside an idle job.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess
from benchmarks.report import say
from benchmarks.synthetic import Notes
from benchmarks.wire import BURST, RpcError, Wire

LASTING = 4
"""Importance of the memories a store begins with: no prune takes them (`immune_importance`), and their stored
importance changes in the sixth decimal, the last one, within 3.2 s."""

BRAKE = 0.05
"""Share of a store beyond which a prune needs confirmation."""
FILLED = 0.9
"""Share of that limit that a round offers to prune; the clients add to it meanwhile."""
STALE = 0.95
"""Share of the store that a decay refresh must find to rewrite before a round begins."""
STALE_WITHIN_S, LOOK_S = 60.0, 0.2
HELD_S = 1.0
"""For so long a reader of another process keeps the write-ahead log from being copied and begun anew: a second of
writes, more than the 4 MB from which on it is cut back."""
PAUSE_S = 0.5
"""Between two backups."""

HALF_FULL = "[lifecycle]\nmax_insights = {cap}\n[pruning]\nenabled = true\nthreshold = 1.0\n"
"""The config.toml of a store in which a prune, and no write, takes whatever is not immune: every such memory counts as
faded, and the store is fuller than nine tenths of its cap, and below it."""
CAP_SHARE = 1.1


class Company:
    """No work. `runs`, `changed` and `working_s` count its runs, the memories changed and the seconds worked."""

    ends = False
    unit = ""

    def __init__(self) -> None:
        self.runs = 0
        self.changed = 0
        self.working_s = 0.0

    def prepare(self, daemon: DaemonProcess, notes: Notes) -> None:
        """Before a round."""

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """A round, on connections of its own, until the event is set."""
        done.wait()

    def run(self, wire: Wire, job: str) -> None:
        """Run a job, and count it if it did something."""
        begin = time.perf_counter()
        changed = wire.call("jobs.run", name=job, yes=True)["changed"]
        if changed:
            self.working_s += time.perf_counter() - begin
            self.runs += 1
            self.changed += changed


class Importing(Company):
    """Memories over one connection, 64 and more under way at any time."""

    unit = "memories"

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """Import."""
        begin = time.perf_counter()
        with daemon.connect() as wire:
            while not done.is_set():
                texts = notes.take(BURST * 4)
                for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
                    self.changed += 1
                self.runs += 1
        self.working_s += time.perf_counter() - begin


class BackingUp(Company):
    """One backup after the other."""

    unit = "bytes"

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """Back up."""
        with daemon.connect() as wire:
            while not done.wait(PAUSE_S):
                begin = time.perf_counter()
                self.changed += wire.call("backup.create")["backup"]["bytes"]
                self.working_s += time.perf_counter() - begin
                self.runs += 1


class Decaying(Company):
    """A decay refresh that finds nearly every memory to rewrite."""

    ends = True
    unit = "memories"

    def prepare(self, daemon: DaemonProcess, notes: Notes) -> None:
        """Wait until what is stored is no longer what is true."""
        deadline = time.monotonic() + STALE_WITHIN_S
        with daemon.connect() as wire:
            live = wire.call("status")["total_insights"]
            while wire.call("jobs.run", name="decay_refresh", dry_run=True)["changed"] < STALE * live:
                if time.monotonic() > deadline:
                    raise RpcError("too little of the store is stale for a decay refresh")
                time.sleep(LOOK_S)

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """One run."""
        with daemon.connect() as wire:
            self.run(wire, "decay_refresh")


class Pruning(Company):
    """A prune that takes as many memories as it may without asking."""

    ends = True
    unit = "memories"

    def prepare(self, daemon: DaemonProcess, notes: Notes) -> None:
        """Take away what the clients left, and store what is to go."""
        with daemon.connect() as wire:
            wire.call("jobs.run", name="prune", yes=True)
            live = wire.call("status")["total_insights"]
            doomed = notes.take(int(live * BRAKE * FILLED))
            for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in doomed)):
                pass

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """One run."""
        with daemon.connect() as wire:
            self.run(wire, "prune")


class Checkpointing(Company):
    """One checkpoint after the other, each of a log that had to wait for a reader of another process."""

    unit = "bytes of log"

    def work(self, daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
        """Read, let go, cut back."""
        with daemon.connect() as wire:
            path = Path(wire.call("status")["db_path"])
            while not done.is_set():
                with _reading(path):
                    done.wait(HELD_S)
                self.run(wire, "checkpoint")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """A read transaction of this process: what is written meanwhile stays in the log."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM meta").fetchone()
        yield
        connection.execute("COMMIT")


def store(daemon: DaemonProcess, texts: list[str]) -> Path:
    """Fill a store with memories that no prune takes; the path of its write-ahead log."""
    with daemon.connect() as wire:
        memories = ({"content": text, "no_diff": True, "importance": LASTING} for text in texts)
        for _ in wire.pipeline("remember", memories):
            pass
        say(f"  {len(texts):,} memories are stored")
        return Path(wire.call("status")["db_path"] + "-wal")
