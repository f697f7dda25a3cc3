"""Many clients at once, nine recalls to one remember, alone and beside an import and backups; then a crowd of clients.

python -m benchmarks.load [--memories 10000] [--seconds 20] [--clients 32] [--attempts 10000] [--json FILE]
"""

from __future__ import annotations

import argparse
import heapq
import platform
import random
import selectors
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import crowd
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.probe import Probe
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import BURST, Json, RpcError, Wire, request

SEED = 17
REMEMBERS = 0.1
"""Share of requests that write."""
ASKED = 500
"""Different questions."""
WAL_EVERY_S = 0.01
"""Between two looks at the size of the write-ahead log."""
PAUSE_S = 0.5
"""Between two backups."""

Company = Callable[[DaemonProcess, Notes, threading.Event], None]
"""What goes on beside the clients until the event is set; it uses connections of its own."""


class Client:
    """One connection with one request under way."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.kind = ""
        self.sent = 0.0

    def send(self, kind: str, message: bytes, due: float) -> None:
        """Ask; the time runs from when that was due, so that who has to wait to ask has waited as well."""
        self.kind, self.sent = kind, due
        self.wire.post(message)

    def answered(self) -> float:
        """Take the answer; milliseconds since it was asked for."""
        if b'"error":' in (reply := self.wire.take())[:60]:
            raise RpcError(reply.decode()[:300])
        return (time.perf_counter() - self.sent) * 1000


class Requests:
    """An endless mixture, from a seed."""

    def __init__(self, notes: Notes, questions: list[str], seed: int) -> None:
        self._notes, self._questions, self._random = notes, questions, random.Random(seed)
        self._texts: list[str] = []

    def next(self) -> tuple[str, bytes]:
        """What kind it is, and the message."""
        if self._random.random() < REMEMBERS:
            self._texts = self._texts or self._notes.take(100)
            return "remember", request(1, "remember", {"content": self._texts.pop(), "no_diff": True})
        return "recall", request(1, "recall", {"query": self._random.choice(self._questions)})


def drive(
    daemon: DaemonProcess, clients: int, seconds: float, requests: Requests, rate: float = 0.0
) -> dict[str, list[float]]:
    """Milliseconds of every answered request, by kind. Each client asks again when it has its answer, or, where a rate
    is given, no sooner than its share of so many requests a second."""
    times: dict[str, list[float]] = {"recall": [], "remember": []}
    pause = clients / rate if rate else 0.0
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        begin, under_way = time.perf_counter(), 0
        resting: list[tuple[float, int, Client]] = []
        for number in range(clients):
            client = Client(stack.enter_context(daemon.connect()))
            selector.register(client.wire, selectors.EVENT_READ, (number, client))
            heapq.heappush(resting, (begin + pause * number / clients, number, client))
        ends = begin + seconds
        while under_way or (resting and resting[0][0] < ends):
            while resting and resting[0][0] <= (now := time.perf_counter()) and now < ends:
                due, _, client = heapq.heappop(resting)
                client.send(*requests.next(), due if rate else now)
                under_way += 1
            now = time.perf_counter()
            for key, _ in selector.select(max(0.0, resting[0][0] - now) if resting and now < ends else None):
                number, client = key.data
                times[client.kind].append(client.answered())
                under_way -= 1
                heapq.heappush(resting, (client.sent + pause, number, client))
            if time.perf_counter() >= ends:
                resting.clear()
    return times


# ------------------------------------------------------------------ what goes on beside


def nothing(_: DaemonProcess, __: Notes, ___: threading.Event) -> None:
    """The clients are alone."""


def importing(daemon: DaemonProcess, notes: Notes, done: threading.Event) -> None:
    """Memories over one connection, 64 and more under way at any time."""
    with daemon.connect() as wire:
        while not done.is_set():
            for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in notes.take(BURST * 4))):
                pass


def backing_up(daemon: DaemonProcess, _: Notes, done: threading.Event) -> None:
    """One backup after the other."""
    with daemon.connect() as wire:
        while not done.wait(PAUSE_S):
            wire.call("backup.create")


COMPANY: dict[str, Company] = {
    "alone": nothing, "500 a second": nothing, "beside an import": importing, "beside backups": backing_up,
}  # fmt: skip

RATES = {"500 a second": 500.0}
"""Requests a second in all, where clients do not ask as fast as they are answered: in the other phases all of them wait
for each other, and a time says no more than how many they are."""


class LogSize:
    """The greatest size of a file while somebody looked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.most_mib = 0.0

    def watch(self, done: threading.Event) -> None:
        """Until the event is set."""
        while not done.wait(WAL_EVERY_S):
            if self._path.exists():
                self.most_mib = max(self.most_mib, self._path.stat().st_size / (1 << 20))


@contextmanager
def beside(*tasks: Callable[[threading.Event], None]) -> Iterator[None]:
    """Threads that end with the block."""
    done = threading.Event()
    threads = [threading.Thread(target=task, args=(done,)) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


# ------------------------------------------------------------------ figures


def measure(memories: int, seconds: float, clients: int, attempts: int) -> Json:
    """Every company in turn on one daemon, then the crowd on the same."""
    notes = Notes(SEED)
    texts = notes.take(memories)
    questions = [notes.question(text) for text in random.Random(SEED).choices(texts, k=ASKED)]
    phases: Json = {}
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        with daemon.connect() as wire:
            for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
                pass
            log = Path(wire.call("status")["db_path"] + "-wal")
        say(f"  {memories:,} memories are stored")
        for number, (name, company) in enumerate(COMPANY.items()):
            load = (clients, seconds, Requests(notes, questions, SEED + number), RATES.get(name, 0.0))
            phases[name] = _phase(daemon, company, LogSize(log), load, Notes(SEED + 100 + number))
            say(f"  {name}: {phases[name]['per_s']:.0f} requests a second")
        return {
            "memories": memories, "clients": clients, "seconds": seconds, "phases": phases,
            "crowd": crowd.measure(daemon, attempts),
        }  # fmt: skip


def _phase(
    daemon: DaemonProcess, company: Company, log: LogSize, load: tuple[int, float, Requests, float], notes: Notes
) -> Json:
    before = daemon.usage()
    with Probe(daemon.socket_path) as probe, beside(lambda done: company(daemon, notes, done), log.watch):
        begin = time.perf_counter()
        times = drive(daemon, *load)
        took = time.perf_counter() - begin
    after, count = daemon.usage(), sum(map(len, times.values()))
    return {
        "requests": count, "per_s": count / took,
        **{kind: {"count": len(many), "p50_ms": median(many), "p99_ms": percentile(many, 0.99)}
           for kind, many in times.items()},
        "ping": probe.figures, "log_most_mib": log.most_mib, "daemon_cpu_share": (after.cpu_s - before.cpu_s) / took,
        "rss_mib": after.rss_mib,
    }  # fmt: skip


def render(figures: Json) -> str:
    """Two tables."""
    rows: list[list[Cell]] = []
    for name, phase in figures["phases"].items():
        kinds = [phase[kind][key] for kind in ("recall", "remember") for key in ("p50_ms", "p99_ms")]
        ping = phase["ping"]
        rows.append([name, phase["per_s"], *kinds, ping["p99_ms"], ping["longest_ms"], phase["log_most_mib"]])
    title = f"{figures['clients']} clients, 9 recalls to 1 remember, {figures['memories']:,} memories (milliseconds)"
    heads = ("", "requests/s", "recall p50", "p99", "remember p50", "p99", "ping p99", "longest", "log MiB")
    return table(title, heads, rows) + "\n" + crowd.render(figures["crowd"])


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each phase")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--attempts", type=int, default=10_000, help="connections of the crowd")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    options = parse(argv)
    load = measure(options.memories, options.seconds, options.clients, options.attempts)
    say(render(load))
    write_json(options.json, {"python": platform.python_version(), "machine": platform.machine(), "load": load})
    return 0


if __name__ == "__main__":
    sys.exit(main())
