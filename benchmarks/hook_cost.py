"""What a hook costs its host: each way to run one, beside the bare interpreter, interleaved in one run.

python -m benchmarks.hook_cost [--rounds N] [--nc PATH] [--json FILE]

CPU is that of the whole process, waited for; wall includes its start by this program. A daemon that answers at once,
one that hangs, and none. `nc -N -U` is measured where it is found: it has no deadline below a whole second (`-w`) and
leaves with 1 where nobody listens, which is why no host is given it (docs/decisions/0022-hooks-by-a-launcher.md).
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.report import say, write_json
from benchmarks.wire import Json
from mnemonctl.setup import launchers

EVENT = b'{"hook_event_name":"UserPromptSubmit","session_id":"b","prompt":"why no Redis"}\n'
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"' + b"x" * 1500 + b'"}}\n'
LIMIT_S = 5.0
"""Seconds after which a process that has no deadline of its own is ended here."""


@contextmanager
def daemon(path: Path, *, answers: bool) -> Iterator[None]:
    """Someone who listens, and answers at once or never."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(64)
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(listener, over), daemon=True)
        if answers:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if answers:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
                    last.connect(str(path))
                thread.join()
    path.unlink()


def _serve(listener: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 16):
                pass
            if not over.is_set():
                connection.sendall(ANSWER)


def commands(directory: Path, nc: str | None) -> dict[str, list[str]]:
    """Each way, by name; the first is what the others are compared with."""
    found = {
        "python -IS -c pass": [launchers.interpreter(), "-IS", "-c", "pass"],
        "mnemond-hook": [str(launchers.path(directory, "hook"))],
    }
    if nc is not None:
        found["nc -N -U"] = [nc, "-N", "-U", str(directory / "sock")]
        found["nc -w 1 -N -U"] = [nc, "-w", "1", "-N", "-U", str(directory / "sock")]
    return found


def once(command: list[str]) -> Json:
    """One process: milliseconds of CPU and wall, exit status (null when it was ended) and bytes it wrote."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run(command, input=EVENT, capture_output=True, check=False, timeout=LIMIT_S)
        code, said = done.returncode, len(done.stdout)
    except subprocess.TimeoutExpired:
        code, said = None, 0
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_ms": cpu * 1000, "wall_ms": wall * 1000, "exit": code, "bytes": said}


def measure(rounds: int, nc: str | None) -> Json:
    """Figures by situation and way."""
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        for file in launchers.files(directory):
            file.write()
        (directory / "hook-start.stamp").touch()  # nothing is started meanwhile
        ways = commands(directory, nc)
        sock = directory / "sock"
        with daemon(sock, answers=True):
            answered = _interleaved(ways, rounds)
        with daemon(sock, answers=False):
            hung = _interleaved(ways, max(3, rounds // 20))
        absent = _interleaved(ways, max(3, rounds // 4))
    return {"answers": answered, "hangs": hung, "absent": absent}


def _interleaved(ways: Mapping[str, list[str]], rounds: int) -> Json:
    taken: dict[str, list[Json]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            taken[name].append(once(command))
    return {name: _summary(runs) for name, runs in taken.items()}


def _summary(runs: list[Json]) -> Json:
    cpu, wall = ([run[key] for run in runs] for key in ("cpu_ms", "wall_ms"))
    exits = sorted({"ended" if run["exit"] is None else str(run["exit"]) for run in runs})
    return {
        "rounds": len(runs), "cpu_ms": median(cpu), "cpu_least_ms": min(cpu), "wall_ms": median(wall),
        "wall_most_ms": max(wall), "exit": " ".join(exits), "bytes": max(run["bytes"] for run in runs),
    }  # fmt: skip


def render(figures: Json) -> str:
    """A table for each situation."""
    lines = []
    for situation, ways in figures.items():
        lines += [f"the daemon {situation}", "  CPU ms  (least)   wall ms   (most)  exit   bytes  x pass"]
        floor = next(iter(ways.values()))["cpu_ms"]
        for name, row in ways.items():
            lines.append(
                f"{row['cpu_ms']:8.2f} {row['cpu_least_ms']:8.2f} {row['wall_ms']:9.1f} {row['wall_most_ms']:8.1f}"
                f"  {row['exit']:<5} {row['bytes']:6} {row['cpu_ms'] / floor:7.2f}  {name}"
            )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hook_cost", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--nc", default=shutil.which("nc"), help="an nc that knows -N and -U; default: that of PATH")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    figures = measure(options.rounds, options.nc and os.path.abspath(options.nc))
    say(f"Python {platform.python_version()}, {platform.machine()}\n{render(figures)}")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
