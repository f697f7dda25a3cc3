"""Round trip of `ping` against a blocking Python echo, in alternating blocks of one run."""

from __future__ import annotations

import time

from benchmarks import echo
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, median, percentile, table
from benchmarks.wire import Json, Wire, request

BLOCK = 500
"""Round trips before the other has its turn."""


def measure(rounds: int) -> Json:
    """Microseconds a round trip over `rounds` blocks, and the daemon's CPU microseconds a request."""
    message = request(7, "ping", {})
    times: dict[str, list[float]] = {"ping": [], "echo": []}
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        with daemon.connect() as wire, echo.running(data_dir) as plain:
            _block(wire, message), _block(plain, message)
            before = daemon.usage().cpu_s
            for _ in range(rounds):
                times["ping"].append(median(_block(wire, message)))
                times["echo"].append(median(_block(plain, message)))
            cpu_us = (daemon.usage().cpu_s - before) / (rounds * BLOCK) * 1e6
        one_shot = [_one_shot(daemon, message) for _ in range(rounds * 10)]
    return {
        "ping_us_min": min(times["ping"]), "ping_us_median": median(times["ping"]),
        "echo_us_min": min(times["echo"]), "echo_us_median": median(times["echo"]),
        "ratio_min": min(times["ping"]) / min(times["echo"]),
        "ratio_median": median([one / other for one, other in zip(times["ping"], times["echo"], strict=True)]),
        "daemon_cpu_us": cpu_us,
        "connect_ping_close_us_min": min(one_shot), "connect_ping_close_us_p50": median(one_shot),
        "connect_ping_close_us_p95": percentile(one_shot, 0.95),
    }  # fmt: skip


def _block(wire: Wire, message: bytes) -> list[float]:
    times = []
    for _ in range(BLOCK):
        begin = time.perf_counter()
        wire.round_trip(message)
        times.append((time.perf_counter() - begin) * 1e6)
    return times


def _one_shot(daemon: DaemonProcess, message: bytes) -> float:
    begin = time.perf_counter()
    with daemon.connect() as wire:
        wire.round_trip(message)
    return (time.perf_counter() - begin) * 1e6


def render(figures: Json) -> str:
    """A table."""
    rows: list[list[Cell]] = [
        ["ping", figures["ping_us_min"], figures["ping_us_median"]],
        ["Python echo", figures["echo_us_min"], figures["echo_us_median"]],
        ["ratio", figures["ratio_min"], figures["ratio_median"]],
        ["connect, ping, close", figures["connect_ping_close_us_min"], figures["connect_ping_close_us_p50"]],
        ["daemon CPU a request", figures["daemon_cpu_us"], None],
    ]
    return table("round trip (microseconds; best and median block)", ("", "min", "median"), rows)
