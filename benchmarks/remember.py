"""Cost of remembering, beside the floor of the same run: python -m benchmarks.remember [--sizes …] [--flush-ms N]

One client: each remember, then one flush of a page, then the very rows that remember wrote once more in a bare
transaction on a copy of the store. The bare transaction is timed with its own flush, so the floor, one flush and the
bare transaction, holds two. Then the CPU of the daemon for each write, and the import of a store without comparing.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bare_write import BareWrites, Flush
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.diary import Diary
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.slow_disk import slow_down
from benchmarks.wire import Json, RpcError, request, result_of

SEED = 11
WARM_UP = 50
"""Writes before the first that counts: caches, the copy's first pages."""

MOST_TIMES_FLOOR = 1.5
MOST_CPU_MS = 2.0
LEAST_IMPORTED = 1_500
"""Requirements: times the floor, CPU milliseconds of the daemon a write, imported memories a second."""

CONNECTIONS = (1, 4)
IN_FLIGHT = 64
"""Requests that each connection of an import has on the way."""

EDGE_TYPES = ("temporal", "entity", "causal", "semantic")


def measure(sizes: Sequence[int], rounds: int, cpu_writes: int) -> Json:
    """Figures for every size, and the import of the largest."""
    figures: Json = {"remember": [], "import": []}
    for memories in sizes:
        say(f"  {memories:,} memories")
        figures["remember"].append(_at_size(memories, rounds, cpu_writes))
    for connections in CONNECTIONS:
        say(f"  importing {max(sizes):,} memories over {connections}")
        figures["import"].append(_import(max(sizes), connections))
    return figures


# ------------------------------------------------------------------ one client


def _at_size(memories: int, rounds: int, cpu_writes: int) -> Json:
    diary = Diary(SEED)
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        pour(daemon, diary.take(memories), 1)
        cpu = _cpu(daemon, diary.take(cpu_writes))
        return {"memories": memories, **_beside_the_floor(daemon, data_dir, diary.take(WARM_UP + rounds)), **cpu}


def _cpu(daemon: DaemonProcess, many: list[Json]) -> Json:
    """CPU of the whole daemon, and wall time, for writes one after the other."""
    with daemon.connect() as wire:
        messages = [request(number, "remember", params) for number, params in enumerate(many)]
        cpu, begin = daemon.usage().cpu_s, time.perf_counter()
        replies = [wire.round_trip(message) for message in messages]
        took = time.perf_counter() - begin
        cpu = daemon.usage().cpu_s - cpu
    results = [result_of(reply) for reply in replies]
    actions = {action: sum(one["action"] == action for one in results) for action in ("added", "replaced", "skipped")}
    return {
        "cpu_ms": cpu / len(many) * 1000, "cpu_writes": len(many), "writes_per_s": len(many) / took,
        "actions": actions, "within_cpu": cpu / len(many) * 1000 <= MOST_CPU_MS,
        **{f"{name}_edges": _average([one["edges_created"][name] for one in results]) for name in EDGE_TYPES},
    }  # fmt: skip


def _beside_the_floor(daemon: DaemonProcess, data_dir: Path, many: list[Json]) -> Json:
    times: dict[str, list[float]] = {"remember": [], "flush": [], "bare": []}
    with daemon.connect() as wire:
        flush = Flush(data_dir / "flush")
        bare = BareWrites(Path(wire.call("status")["db_path"]), data_dir / "bare.db")
        try:
            for number, params in enumerate(many):
                message = request(number, "remember", params)
                begin = time.perf_counter()
                reply = wire.round_trip(message)
                times["remember"].append((time.perf_counter() - begin) * 1000)
                times["flush"].append(flush.run_ms())
                times["bare"].append(bare.run_ms(result_of(reply)["op_id"]))
            if differing := bare.differing():
                raise RpcError(f"the bare transactions did not write what the daemon wrote to {', '.join(differing)}")
        finally:
            bare.close()
            flush.close()
    counted = {name: values[WARM_UP:] for name, values in times.items()}
    floor = median(counted["flush"]) + median(counted["bare"])
    ratio = median(counted["remember"]) / floor
    return {
        **{f"{name}_p50_ms": median(values) for name, values in counted.items()},
        "edge_rows": bare.edge_rows / len(many), "importance_rows": bare.importance_rows / len(many),
        "remember_p95_ms": percentile(counted["remember"], 0.95),
        "floor_ms": floor, "ratio": ratio, "within_floor": ratio <= MOST_TIMES_FLOOR, "rounds": len(counted["flush"]),
    }  # fmt: skip


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# ------------------------------------------------------------------ many at once


def _import(memories: int, connections: int) -> Json:
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        many = Diary(SEED).take(memories)
        cpu = daemon.usage().cpu_s
        took = pour(daemon, many, connections)
        cpu = daemon.usage().cpu_s - cpu
        with daemon.connect() as wire:
            stored = wire.call("status")["total_insights"]
    if stored != memories:
        raise RpcError(f"{memories} memories were sent and {stored} are there")
    rate = memories / took
    return {
        "memories": memories, "connections": connections, "in_flight": IN_FLIGHT * connections, "per_s": rate,
        "daemon_cpu_ms": cpu / memories * 1000, "within_rate": rate >= LEAST_IMPORTED,
    }  # fmt: skip


def pour(daemon: DaemonProcess, many: Sequence[Json], connections: int) -> float:
    """Seconds to remember everything without comparing, `IN_FLIGHT` requests on the way on each connection."""
    messages = [
        request(number, "remember", {**params, "no_diff": True, "channel": "import"})
        for number, params in enumerate(many)
    ]
    failures: list[BaseException] = []
    hoses = [
        threading.Thread(target=_hose, args=(daemon, messages[place::connections], failures))
        for place in range(connections)
    ]
    begin = time.perf_counter()
    for hose in hoses:
        hose.start()
    for hose in hoses:
        hose.join()
    took = time.perf_counter() - begin
    if failures:
        raise failures[0]
    return took


def _hose(daemon: DaemonProcess, messages: list[bytes], failures: list[BaseException]) -> None:
    half = IN_FLIGHT // 2
    bursts = [messages[at : at + half] for at in range(0, len(messages), half)]
    try:
        with daemon.connect() as wire:
            replies: list[bytes] = []
            for place, burst in enumerate(bursts):
                wire.post(b"".join(burst))
                if place:
                    replies += [wire.take() for _ in bursts[place - 1]]
            replies += [wire.take() for _ in bursts[-1]] if bursts else []
        for reply in replies:
            result_of(reply)
    except (RpcError, OSError) as error:
        failures.append(error)


# ------------------------------------------------------------------ the report


def render(figures: Json) -> str:
    """Three tables."""
    floors: list[list[Cell]] = []
    costs: list[list[Cell]] = []
    for one in figures["remember"]:
        name = f"{one['memories']:,} memories"
        keys = ("remember_p50_ms", "remember_p95_ms", "flush_p50_ms", "bare_p50_ms", "floor_ms", "ratio")
        floors.append([name, *(one[key] for key in keys), _verdict(one["within_floor"])])
        edges = [one[f"{kind}_edges"] for kind in EDGE_TYPES]
        rows = (one["edge_rows"], one["importance_rows"])
        costs.append([name, one["cpu_ms"], _verdict(one["within_cpu"]), *edges, sum(edges), *rows])
    rates: list[list[Cell]] = [
        [f"{one['connections']} with {one['in_flight']} in flight", one["memories"], one["per_s"], one["daemon_cpu_ms"],
         _verdict(one["within_rate"])]
        for one in figures["import"]
    ]  # fmt: skip
    floor_heads = ("", "p50", "p95", "one flush", "bare, its flush in it", "floor", "ratio", f"<= {MOST_TIMES_FLOOR}")
    cost_heads = ("", "cpu ms", f"<= {MOST_CPU_MS:g}", *EDGE_TYPES, "links", "edge rows", "neighbours rewritten")
    rate_heads = ("connections", "memories", "per s", "daemon cpu ms", f">= {LEAST_IMPORTED:,}")
    return "\n".join(
        (
            table(
                "remember, one client, synchronous=FULL, milliseconds (floor: one flush + bare)", floor_heads, floors
            ),
            table("daemon CPU a remember; links it gets by type; rows written for them", cost_heads, costs),
            table("import: pipelined remembers with no_diff", rate_heads, rates),
        )
    )


def _verdict(holds: bool) -> str:
    return "yes" if holds else "NO"


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured, whatever it came to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.remember", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000], help="memories of the stores")
    parser.add_argument("--rounds", type=int, default=300, help="writes that are compared with their floor")
    parser.add_argument("--cpu-writes", type=int, default=600, help="writes over which CPU is counted")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--flush-ms", type=float, default=0.0, help="how much longer each flush of the disk takes")
    options = parser.parse_args(argv)
    if options.flush_ms > 0:
        slow_down("benchmarks.remember", sys.argv[1:] if argv is None else argv, options.flush_ms)
    figures = measure(options.sizes, options.rounds, options.cpu_writes)
    say(render(figures))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
