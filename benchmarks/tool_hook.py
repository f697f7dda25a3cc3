"""Round trip of the hook before a call of a tool, on the socket: one connection a call, as the launcher makes.

python -m benchmarks.tool_hook [--rules N] [--memories N] [--rounds N] [--json FILE]

A daemon with that many memories, N of which are rules: commands, paths, tools and words in equal parts, or (`hostile`)
all of one kind that no index can tell apart. Calls that fit none, one and several, and some with a megabyte of input.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import say, write_json
from benchmarks.synthetic import Notes

PROMISED_MS: Final = 2.0
"""Limit of the 95th percentile with 1,000 rules."""

HUGE: Final = "x = '" + "a*b " * 200_000
SEED: Final = 7


def mixed(number: int) -> str:
    """A trigger of one of four kinds."""
    kinds = (
        f"Bash:tool{number} deploy*", f"Edit:area{number}/**", f"mcp__server{number}__*", f"words:alpha{number} beta",
    )  # fmt: skip
    return kinds[number % len(kinds)]


def hostile(number: int) -> str:
    """A trigger with as many stars as there may be, and nothing to find it by."""
    return f"Bash:*a*b*c*d*{number}*e*f"


CALLS: Final[dict[str, dict[str, object]]] = {
    "fits none": {"tool_name": "Bash", "tool_input": {"command": "ls -la && git status --short | head"}},
    "fits a command": {"tool_name": "Bash", "tool_input": {"command": "cd there && tool0 deploy --now"}},
    "fits a path": {"tool_name": "Edit", "tool_input": {"file_path": "/home/u/p/area1/x.sql", "new_string": "y" * 500}},
    "fits words": {"tool_name": "Write", "tool_input": {"file_path": "/x/y.py", "content": "the alpha3 and beta"}},
    "a megabyte": {"tool_name": "Write", "tool_input": {"file_path": "/x/y.py", "content": HUGE}},
    "a long line": {"tool_name": "Bash", "tool_input": {"command": "echo " + "abcdef;" * 2_000}},
    "a megabyte line": {"tool_name": "Bash", "tool_input": {"command": "git push && " * 80_000}},
}


def main() -> int:
    """0 when the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {
        name: measured(options.rules, options.memories, options.rounds, trigger)
        for name, trigger in (("mixed", mixed), ("hostile", hostile))
    }
    for name, calls in found.items():
        say(f"{options.rules:,} rules among {options.memories:,} memories, {name}")
        for call, figures in calls.items():
            say(f"  {call:<16} median {figures['median']:.2f} ms  p95 {figures['p95']:.2f}  most {figures['most']:.2f}")
    if options.json:
        write_json(options.json, found)
    usual = [figures["p95"] for call, figures in found["mixed"].items() if not call.startswith("a ")]
    return 0 if max(usual) <= PROMISED_MS else 1


def measured(rules: int, memories: int, rounds: int, trigger: Callable[[int], str]) -> dict[str, dict[str, float]]:
    """Milliseconds of each call of CALLS, each in a session of its own."""
    texts: list[dict[str, object]] = [{"content": text, "no_diff": True} for text in Notes(SEED).take(memories - rules)]
    texts += [
        {
            "content": f"Rule {number}: say so before anything is done with number {number}", "no_diff": True,
            "when": [trigger(number)],
        }
        for number in range(rules)
    ]  # fmt: skip
    with temporary_data_dir() as directory, DaemonProcess(directory) as daemon, daemon.connect() as wire:
        for _ in wire.pipeline("remember", texts):
            pass
        return {name: _times(daemon.socket_path, name, call, rounds) for name, call in CALLS.items()}


def _times(path: Path, name: str, call: dict[str, object], rounds: int) -> dict[str, float]:
    times = []
    for number in range(-3, rounds):
        payload = {
            "session_id": f"{name}-{number}", "cwd": "/home/u/p", "hook_event_name": "PreToolUse",
            "tool_use_id": f"toolu_{number}", **call,
        }  # fmt: skip
        message = json.dumps(payload).encode()
        begun = time.perf_counter()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as host:
            host.connect(str(path))
            host.sendall(message)
            host.shutdown(socket.SHUT_WR)
            while host.recv(1 << 16):
                pass
        if number >= 0:
            times.append((time.perf_counter() - begun) * 1_000)
    return {"median": median(times), "p95": quantiles(times, n=20)[-1], "most": max(times)}


if __name__ == "__main__":
    raise SystemExit(main())
