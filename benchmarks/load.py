"""Many clients at once, nine recalls to one remember: 500 requests a second alone and beside jobs and backups, as many
as are answered alone and beside an import and backups; then a crowd of clients.

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
from benchmarks.company import (
    CAP_SHARE,
    HALF_FULL,
    BackingUp,
    Checkpointing,
    Company,
    Decaying,
    Importing,
    Pruning,
    store,
)
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.probe import Probe
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, RpcError, Wire, request

SEED = 17
REMEMBERS = 0.1
"""Share of requests that write."""
ASKED = 500
"""Different questions."""
WAL_EVERY_S = 0.01
"""Between two looks at the size of the write-ahead log."""

RATE = 500.0
"""Requests a second in all, where clients do not ask as fast as they are answered: there all of them wait for each
other, and a time says no more than how many they are."""
LEAST_PER_S, RECALL_MS, REMEMBER_MS, LOOP_MS, LOG_MIB = 500.0, 25.0, 60.0, 50.0, 64.0
"""Requirements at this rate: requests a second, p99 of both, the longest wait for the event loop, the log."""
BESIDE = 2.0
"""Factor for these times beside jobs and backups."""
STOLEN = 7
"""The place of stolen time in /proc/stat. Where it is more than nothing, times are longer than they would be."""
WHOLE = 0.95
"""A phase of so much of its time needs no other round for the rest."""

PHASES: tuple[tuple[str, float, type[Company]], ...] = (
    ("alone", RATE, Company),
    ("beside decay", RATE, Decaying),
    ("beside checkpoints", RATE, Checkpointing),
    ("beside backups", RATE, BackingUp),
    ("alone again", RATE, Company),
    ("saturated", 0.0, Company),
    ("saturated, backups", 0.0, BackingUp),
    ("saturated, an import", 0.0, Importing),
)
"""On one daemon, one after the other; the import last, because it leaves a larger store."""
PRUNED = ("beside prune", RATE, Pruning)
"""On a daemon of its own, whose store is nearly full."""


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
        """Take the answer; milliseconds since the request."""
        if b'"error":' in (reply := self.wire.take())[:60]:
            raise RpcError(reply.decode()[:300])
        return (time.perf_counter() - self.sent) * 1000


class Requests:
    """An endless mixture, from a seed."""

    def __init__(self, notes: Notes, questions: list[str], seed: int) -> None:
        self._notes, self._questions, self._random = notes, questions, random.Random(seed)
        self._texts: list[str] = []

    def next(self) -> tuple[str, bytes]:
        """Return the kind and the message."""
        if self._random.random() < REMEMBERS:
            self._texts = self._texts or self._notes.take(100)
            return "remember", request(1, "remember", {"content": self._texts.pop(), "no_diff": True})
        return "recall", request(1, "recall", {"query": self._random.choice(self._questions)})


def drive(
    daemon: DaemonProcess,
    clients: int,
    seconds: float,
    requests: Requests,
    rate: float = 0.0,
    enough: Callable[[], bool] = lambda: False,
) -> dict[str, list[float]]:
    """Milliseconds of every answered request, by kind. Each client asks again when it has its answer, or, where a rate
    is given, no sooner than its share of so many requests a second; until the seconds are over, or it is `enough`, and
    each kind was answered."""
    times: dict[str, list[float]] = {"recall": [], "remember": []}
    pause = clients / rate if rate else 0.0
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        connected = [Client(stack.enter_context(daemon.connect())) for _ in range(clients)]
        begin, under_way = time.perf_counter(), 0  # of the requests: connecting is no part of them
        resting: list[tuple[float, int, Client]] = []
        for number, client in enumerate(connected):
            selector.register(client.wire, selectors.EVENT_READ, (number, client))
            heapq.heappush(resting, (begin + pause * number / clients, number, client))

        def over() -> bool:
            # Not before each kind was answered: a percentile of nothing is none, and a machine may stand still.
            return (time.perf_counter() >= begin + seconds or enough()) and all(times.values())

        while under_way or resting:
            while resting and resting[0][0] <= (now := time.perf_counter()) and not over():
                due, _, client = heapq.heappop(resting)
                client.send(*requests.next(), due if rate else now)
                under_way += 1
            if over():
                resting.clear()
                if not under_way:
                    break
            for key, _ in selector.select(max(0.0, resting[0][0] - time.perf_counter()) if resting else None):
                number, client = key.data
                times[client.kind].append(client.answered())
                under_way -= 1
                heapq.heappush(resting, (client.sent + pause, number, client))
    return times


# ------------------------------------------------------------------ one phase


class LogSize:
    """The greatest size of a file while it is watched."""

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


def processor_times() -> tuple[int, int]:
    """What all processors did so far, in ticks, and how much of that went to other machines on the same hardware: the
    first line of /proc/stat, proc(5)."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(ticks[: STOLEN + 1]), ticks[STOLEN]


class Phase:
    """Rounds with one company, for so many seconds in all."""

    def __init__(self, daemon: DaemonProcess, company: Company, log: LogSize, notes: Notes) -> None:
        self._daemon, self._company, self._log, self._notes = daemon, company, log, notes
        self._times: dict[str, list[float]] = {"recall": [], "remember": []}
        self._pings: list[Json] = []
        self._ticks = self._stolen = 0
        self._took_s = self._cpu_s = 0.0

    def measure(self, clients: int, seconds: float, requests: Requests, rate: float) -> Json:
        """All rounds."""
        while not self._pings or self._took_s < WHOLE * seconds:
            self._company.prepare(self._daemon, self._notes)
            self._round(clients, seconds - self._took_s, requests, rate)
        count, company = sum(map(len, self._times.values())), self._company
        return {
            "rate": rate, "requests": count, "per_s": count / self._took_s, "rounds": len(self._pings),
            **{kind: {"count": len(many), "p50_ms": median(many), "p99_ms": percentile(many, 0.99)}
               for kind, many in self._times.items()},
            "ping": {key: max(each[key] for each in self._pings) for key in self._pings[0] if key != "pings"},
            "log_most_mib": self._log.most_mib, "daemon_cpu_share": self._cpu_s / self._took_s,
            "rss_mib": self._daemon.usage().rss_mib, "stolen_share": self._stolen / max(1, self._ticks),
            "company": {"runs": company.runs, "changed": company.changed, "unit": company.unit,
                        "share": min(1.0, company.working_s / self._took_s)},
        }  # fmt: skip

    def _round(self, clients: int, seconds: float, requests: Requests, rate: float) -> None:
        finished = threading.Event()

        def work(done: threading.Event) -> None:
            try:
                self._company.work(self._daemon, self._notes, done)
            finally:
                finished.set()

        enough = finished.is_set if self._company.ends else lambda: False
        before, (ticks, stolen) = self._daemon.usage().cpu_s, processor_times()
        with Probe(self._daemon.socket_path) as probe, beside(work, self._log.watch):
            begin = time.perf_counter()
            for kind, many in drive(self._daemon, clients, seconds, requests, rate, enough).items():
                self._times[kind] += many
            self._took_s += time.perf_counter() - begin
        self._cpu_s += self._daemon.usage().cpu_s - before
        more_ticks, more_stolen = processor_times()
        self._ticks, self._stolen = self._ticks + more_ticks - ticks, self._stolen + more_stolen - stolen
        self._pings.append(probe.figures)


# ------------------------------------------------------------------ figures


def measure(memories: int, seconds: float, clients: int, attempts: int) -> Json:
    """Every company in turn, then the crowd."""
    notes = Notes(SEED)
    texts = notes.take(memories)
    questions = [notes.question(text) for text in random.Random(SEED).choices(texts, k=ASKED)]
    phases: Json = {}

    def phase(daemon: DaemonProcess, log: Path, name: str, rate: float, company: type[Company]) -> None:
        number = len(phases)
        requests = Requests(notes, questions, SEED + number)
        one = Phase(daemon, company(), LogSize(log), Notes(SEED + 100 + number))
        phases[name] = one.measure(clients, seconds, requests, rate)
        say(f"  {name}: {phases[name]['per_s']:.0f} requests a second")

    with (
        temporary_data_dir(HALF_FULL.format(cap=int(memories * CAP_SHARE))) as data_dir,
        DaemonProcess(data_dir) as one,
    ):
        phase(one, store(one, texts), *PRUNED)
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        log = store(daemon, texts)
        for each in PHASES:
            phase(daemon, log, *each)
        return {
            "memories": memories, "clients": clients, "seconds": seconds, "phases": phases,
            "crowd": crowd.measure(daemon, attempts),
        }  # fmt: skip


def missed(name: str, phase: Json) -> list[str]:
    """What is promised of a phase and was not kept, and what was to go on beside it and did not. Nothing of the times
    where clients ask as fast as they can."""
    company = phase["company"]
    found = [f"no {company['unit']}"] if company["unit"] and not company["runs"] else []
    found += [] if phase["log_most_mib"] <= LOG_MIB else ["log"]
    if not phase["rate"]:
        return found + (["rate"] if name == "saturated" and phase["per_s"] < LEAST_PER_S else [])
    times = 1.0 if name.startswith("alone") else BESIDE
    limits = (("recall", RECALL_MS), ("remember", REMEMBER_MS))
    found += [kind for kind, limit in limits if phase[kind]["p99_ms"] > limit * times]
    return found + (["loop"] if phase["ping"]["longest_ms"] > LOOP_MS else [])


def render(figures: Json) -> str:
    """Times and what was promised, what went on beside, the crowd."""
    times: list[list[Cell]] = []
    works: list[list[Cell]] = []
    alone = figures["phases"]["alone"]
    for name, phase in figures["phases"].items():
        kinds: list[Cell] = []
        for kind in ("recall", "remember"):
            ratio = phase[kind]["p99_ms"] / alone[kind]["p99_ms"] if phase["rate"] else None
            kinds += [phase[kind]["p50_ms"], phase[kind]["p99_ms"], ratio]
        longest, verdict = phase["ping"]["longest_ms"], ", ".join(missed(name, phase)) or "kept"
        shares = (phase["daemon_cpu_share"], phase["stolen_share"], phase["ping"]["latest_ms"])
        times.append([name, phase["per_s"], *kinds, longest, phase["log_most_mib"], *shares, verdict])
        company = phase["company"]
        if company["unit"]:
            works.append([name, company["runs"], company["changed"], company["unit"], company["share"]])
    title = f"{figures['clients']} clients, 9 recalls to 1 remember, {figures['memories']:,} memories (milliseconds)"
    heads = ("", "requests/s", "recall p50", "p99", "by alone", "remember p50", "p99", "by alone", "longest", "log MiB",
             "CPU", "stolen", "probe late", "promised")  # fmt: skip
    beside_them = table("beside them", ("", "runs", "changed", "of", "share of the time"), works)
    return "\n".join((table(title, heads, times), beside_them, crowd.render(figures["crowd"])))


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
