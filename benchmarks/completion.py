"""Time of one completion in bash, beside the start of a Python that does nothing.

python -m benchmarks.completion [--memories N] [--rounds N] [--json FILE]

One bash that has loaded the script runs its function as a key does, in turn with `python -c pass`, against a daemon
with that many memories. The client is the command `mnemonctl` beside this interpreter.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import say, write_json
from benchmarks.synthetic import Notes
from mnemond.cli.completion import SCRIPTS

PROMISED_MS: Final = 30.0
"""Limit of the median of one key."""

LINES: Final = {
    "a command": "mnemonctl rem",
    "an option": "mnemonctl recall --exp",
    "an id": "mnemonctl get ",
    "a tag": "mnemonctl list --tag ",
    "a store": "mnemonctl --store ",
}

SEED: Final = 11

LOOP: Final = """
source /dev/stdin
timed() {
  local begun=$EPOCHREALTIME
  "${@:2}"
  local ended=$EPOCHREALTIME
  printf '%s\\t%s\\n' "$1" "$(( (${ended/./} - ${begun/./}) ))"
}
key() { COMP_LINE=$1; COMP_POINT=${#1}; _mnemonctl; }
for (( round = 0; round < ROUNDS; round++ )); do
  timed python "$PYTHON" -c pass
  for line in "$@"; do timed "$line" key "$line"; done
done
"""
"""Prints microseconds."""


def main() -> int:
    """0 when the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with temporary_data_dir() as directory, DaemonProcess(directory) as daemon, daemon.connect() as wire:
        texts: list[dict[str, object]] = [
            {"content": text, "no_diff": True, "tags": [f"tag{number % 50}"]}
            for number, text in enumerate(Notes(SEED).take(options.memories))
        ]
        for _ in wire.pipeline("remember", texts):
            pass
        found = measured(directory, options.rounds)
    names = {line: name for name, line in LINES.items()}
    for line, times in found.items():
        shown = names.get(line, "python -c pass")
        say(f"{shown:<16} median {median(times):.1f} ms  p95 {quantiles(times, n=20)[-1]:.1f}")
    if options.json:
        write_json(options.json, found)
    return 0 if max(median(times) for line, times in found.items() if line in names) <= PROMISED_MS else 1


def measured(directory: Path, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each round, by line; "python" is the start of an interpreter."""
    bin_directory = Path(sys.executable).parent
    environ = {
        **os.environ, "MNEMON_DATA_DIR": str(directory), "ROUNDS": str(rounds + 1), "PYTHON": sys.executable,
        "PATH": f"{bin_directory}:{os.environ.get('PATH', '')}",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", LOOP, "bash", *LINES.values()],
        input=SCRIPTS["bash"], env=environ, capture_output=True, check=True, text=True,
    )  # fmt: skip
    found: dict[str, list[float]] = {}
    for row in done.stdout.splitlines():
        line, _, microseconds = row.partition("\t")
        found.setdefault(line, []).append(int(microseconds) / 1_000)
    return {line: times[1:] for line, times in found.items()}


if __name__ == "__main__":
    raise SystemExit(main())
