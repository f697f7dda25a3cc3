"""A process that pings a daemon all the time, to measure how long its event loop is busy.

The longest round trip is at least as long as the longest piece of work on the loop; on a busy machine, longer. How late
the probe itself is woken up shows how much longer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from benchmarks.report import median, percentile
from benchmarks.wire import Json, Wire, request

EVERY_S = 0.002
"""Between an answer and the next question."""
END_S = 60.0


class Probe:
    """Pings while the context is open; `figures` are there afterwards."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path
        self.figures: Json = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.probe", str(self._path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it is connected
        return self

    def __exit__(self, *_exception: object) -> None:
        answer, _said = self._process.communicate(b"\n", END_S)
        self.figures = json.loads(answer)


def run(path: Path) -> Json:
    """Ping until standard input has a line or ends."""
    import select

    message = request(1, "ping", {})
    times: list[float] = []
    late: list[float] = []
    with Wire(path) as wire:
        wire.round_trip(message)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        slept = time.perf_counter()
        while not times or not select.select([sys.stdin], [], [], EVERY_S)[0]:
            begin = time.perf_counter()
            late.append((begin - slept - EVERY_S) * 1000)
            wire.round_trip(message)
            slept = time.perf_counter()
            times.append((slept - begin) * 1000)
    return {
        "pings": len(times), "p50_ms": median(times), "p99_ms": percentile(times, 0.99), "longest_ms": max(times),
        "late_p99_ms": percentile(late, 0.99), "latest_ms": max(late),
    }  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]))))
