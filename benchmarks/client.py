"""The whole `mnemonctl recall` process against an empty Python, in CPU and wall time, interleaved.

python -m benchmarks.client [--bin DIRECTORY] [--rounds N] [--json FILE]

The client is the one installed in DIRECTORY, `bin` of an environment, and the empty Python that environment's. By
default that is the environment which runs this; the daemon comes from there in any case.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, median, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import Json

MEMORIES = 1000
SEED = 11

CLIENT_PART = "from mnemonctl import main; main()"
"""The client in an ordinary Python, without the script `launcher/mnemonctl`."""


@dataclass(frozen=True)
class Cost:
    """One process from spawn to exit: CPU (user and system) and wall milliseconds."""

    cpu_ms: float
    wall_ms: float


def cost_of(command: list[str], environment: dict[str, str]) -> Cost:
    """Run `command` with its output discarded. SystemExit when it fails."""
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, environment, file_actions=silent)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"{' '.join(command)} left with status {os.waitstatus_to_exitcode(status)}")
    return Cost((used.ru_utime + used.ru_stime) * 1000, wall * 1000)


def measure(rounds: int, bin_directory: Path = Path(sys.executable).parent) -> Json:
    """Every command once a round; the least and the median over the rounds, and ratios to the empty Python."""
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        question = _fill(daemon)
        environment = {**os.environ, "MNEMON_DATA_DIR": str(data_dir)}
        environment.pop("OPENBLAS_NUM_THREADS", None)
        commands = _commands(bin_directory, question)
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                costs[name].append(cost_of(command, environment))
    version = subprocess.check_output([commands["python -c pass"][0], "--version"], text=True)
    return {"rounds": rounds, "interpreter": version.split()[1], "processes": _summary(costs)}


def _fill(daemon: DaemonProcess) -> str:
    notes = Notes(SEED)
    texts = notes.take(MEMORIES)
    with daemon.connect() as wire:
        for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
            pass
    return notes.question(texts[MEMORIES // 2])


def _commands(bin_directory: Path, question: str) -> dict[str, list[str]]:
    beside, script = bin_directory / "python", bin_directory / "mnemonctl"
    if not script.exists():
        raise SystemExit(f"there is no {script}: install the project into that environment")
    python = str(beside) if beside.exists() else sys.executable  # none beside it after `pip install --user`
    return {
        "python -c pass": [python, "-c", "pass"],
        "mnemonctl recall": [str(script), "recall", question],
        "client part": [python, "-P", "-c", CLIENT_PART, "recall", question],
    }


def _summary(costs: dict[str, list[Cost]]) -> Json:
    empty = costs["python -c pass"]
    summary: Json = {}
    for name, all_costs in costs.items():
        entry: Json = {}
        for kind in ("cpu_ms", "wall_ms"):
            values, base = ([getattr(cost, kind) for cost in many] for many in (all_costs, empty))
            entry[kind] = {
                "min": min(values), "median": median(values),
                "ratio_min": min(values) / min(base), "ratio_median": median(values) / median(base),
            }  # fmt: skip
        summary[name] = entry
    return summary


def render(figures: Json) -> str:
    """A table."""
    rows: list[list[Cell]] = []
    for name, entry in figures["processes"].items():
        cells = [
            entry[kind][key] for kind in ("cpu_ms", "wall_ms") for key in ("min", "median", "ratio_min", "ratio_median")
        ]
        rows.append([name, *cells])
    heads = ("process", "cpu min", "cpu med", "x min", "x med", "wall min", "wall med", "x min", "x med")
    return table(f"whole process (milliseconds, {figures['rounds']} rounds)", heads, rows)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.client", description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, help="`bin` of an environment")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    figures = measure(options.rounds, options.bin.absolute())
    say(f"Python {figures['interpreter']}, {options.bin}\n{render(figures)}")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
