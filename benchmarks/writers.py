"""Remembering with 1, 8 and 64 writers, each waiting for its acknowledgement, against one transaction a memory."""

from __future__ import annotations

import json
import selectors
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks import replay
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, median, percentile, say, table
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, RpcError, Wire, request

SEED = 3
WRITES = {1: 300, 8: 1200, 64: 3200}
"""Memories for each number of writers. Together fewer than the 5,000 lines that the operation log keeps: the
baseline writes the rows it finds, and must find a line for each memory."""

BASELINE_WRITES = 1000

BASES = {"bare": "one transaction each", "single": "1"}
"""Compared with 64 writers: the same rows straight into SQLite, and one writer of the daemon."""


def measure(rounds: int) -> Json:
    """Rates of every round; ratios are taken within a round."""
    all_rounds = []
    for number in range(rounds):
        all_rounds.append(_round(SEED + number))
        rates = {name: round(entry["per_s"]) for name, entry in all_rounds[-1].items()}
        say(f"  round {number + 1}: writes a second {rates}")
    figures: Json = {"rounds": all_rounds}
    for name, base in BASES.items():
        ratios = [one["64"]["per_s"] / one[base]["per_s"] for one in all_rounds]
        figures[f"ratio_64_to_{name}"] = {"median": median(ratios), "best": max(ratios)}
    return figures


def _round(seed: int) -> Json:
    notes = Notes(seed)
    figures: Json = {}
    with temporary_data_dir() as data_dir:
        with DaemonProcess(data_dir) as daemon:
            for writers, count in WRITES.items():
                figures[str(writers)] = write(daemon, notes.take(count), writers)
            with daemon.connect() as wire:
                database = Path(wire.call("status")["db_path"])
        figures["one transaction each"] = replay.measure(database, data_dir / "baseline.db", BASELINE_WRITES)
    return figures


def write(daemon: DaemonProcess, texts: list[str], writers: int) -> Json:
    """Remember `texts` over `writers` connections, each sending its next when its last is acknowledged."""
    waiting = [request(number, "remember", {"content": text, "no_diff": True}) for number, text in enumerate(texts)]
    sent: dict[Wire, float] = {}
    times: list[float] = []
    replies: list[bytes] = []
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        cpu, own_cpu = daemon.usage().cpu_s, time.process_time()
        begin = time.perf_counter()
        for _ in range(writers):
            wire = stack.enter_context(daemon.connect())
            selector.register(wire, selectors.EVENT_READ, wire)
            sent[wire] = time.perf_counter()
            wire.post(waiting.pop())
        while len(times) < len(texts):
            for key, _ in selector.select():
                wire = key.data
                replies.append(wire.take())
                times.append((time.perf_counter() - sent[wire]) * 1000)
                if waiting:
                    sent[wire] = time.perf_counter()
                    wire.post(waiting.pop())
        took, own_cpu = time.perf_counter() - begin, time.process_time() - own_cpu
    _check(replies, len(texts))
    return {
        "writes": len(texts), "per_s": len(texts) / took, "p50_ms": median(times), "p95_ms": percentile(times, 0.95),
        "daemon_cpu_us": (daemon.usage().cpu_s - cpu) / len(texts) * 1e6, "client_cpu_us": own_cpu / len(texts) * 1e6,
    }  # fmt: skip


def _check(replies: list[bytes], expected: int) -> None:
    """Every write was acknowledged with an id of its own."""
    decoded = [json.loads(reply) for reply in replies]
    ids = {reply["result"]["id"] for reply in decoded if "result" in reply}
    if len(ids) != expected:
        failed = next((reply for reply in decoded if "result" not in reply), None)
        raise RpcError(f"{expected} writes gave {len(ids)} ids; first failure: {failed}")


def render(figures: Json) -> str:
    """A table of the medians over the rounds."""
    rows: list[list[Cell]] = []
    for name in figures["rounds"][0]:
        entries = [one[name] for one in figures["rounds"]]
        cells: list[Cell] = [
            None if key not in entries[0] else median([entry[key] for entry in entries])
            for key in ("per_s", "p50_ms", "p95_ms", "daemon_cpu_us", "client_cpu_us")
        ]
        rows.append([name if not name.isdigit() else f"{name} writers", *cells])
    for name, base in BASES.items():
        label = base if not base.isdigit() else f"{base} writer"
        rows.append([f"64 writers / {label}", figures[f"ratio_64_to_{name}"]["median"], *[None] * 4])
    heads = ("", "writes/s", "p50 ms", "p95 ms", "daemon cpu us", "client cpu us")
    return table("remember, synchronous=FULL (median round)", heads, rows)
