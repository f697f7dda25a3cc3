"""Cost of the hook of a prompt for its host: each way to run one beside the bare interpreter, interleaved in one run.

python -m benchmarks.hook_cost [--memories N] [--rounds N] [--nc PATH] [--json FILE]

A real daemon with that many memories, each prompt another question in a session of its own; then the same daemon
stopped (SIGSTOP), and none. With `--memories 0` a server gives the same answer to everything, at once or never. CPU
is that of the whole process of the hook, waited for; wall includes its start by this program. `nc -N -U` is measured
where it is found: it has no deadline below a whole second (`-w`) and exits with 1 if no daemon listens, which is why
no host is given it (docs/decisions/0022-hooks-by-a-launcher.md).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.report import say, write_json
from benchmarks.sizes import fill
from benchmarks.synthetic import Notes
from benchmarks.wire import Json
from mnemonctl.setup import own_files

QUESTION = "why no Redis"
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"' + b"x" * 1500 + b'"}}\n'
SEED = 7
QUESTIONS = 200
NC_CPU_MS = 2.0
"""Limit of CPU milliseconds for `nc -N -U`."""
LAUNCHER_TIMES = 1.1
"""Limit for the launcher, in starts of a bare interpreter."""
PROMISED_MS = 300.0
"""Until when a hook has ended with nothing, where the daemon is stopped, hangs or is not there."""
LIMIT_S = 5.0
"""Seconds after which a process that has no deadline of its own is ended here."""


@contextmanager
def daemon(path: Path, *, answers: bool) -> Iterator[None]:
    """A server that answers at once or never."""
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


def event(question: str) -> bytes:
    """A prompt as Claude Code sends it; nothing was shown in its session yet."""
    number = next(_numbers)
    prompt = {"session_id": f"s{number}", "transcript_path": "/x.jsonl", "cwd": "/x", "prompt_id": f"p{number}",
              "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": question}  # fmt: skip
    return json.dumps(prompt).encode() + b"\n"


_numbers = count()


def commands(directory: Path, nc: str | None) -> dict[str, list[str]]:
    """Each way, by name; the first is what the others are compared with."""
    found = {
        "python -IS -c pass": [own_files.interpreter(), "-IS", "-c", "pass"],
        "mnemond-hook": [str(own_files.launcher(directory, "hook"))],
    }
    if nc is not None:
        found["nc -N -U"] = [nc, "-N", "-U", str(directory / "sock")]
        found["nc -w 1 -N -U"] = [nc, "-w", "1", "-N", "-U", str(directory / "sock")]
    return found


def once(command: list[str], message: bytes) -> Json:
    """One process: milliseconds of CPU and wall, exit status (null when it was ended) and bytes it wrote."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run(command, input=message, capture_output=True, check=False, timeout=LIMIT_S)
        code, said = done.returncode, len(done.stdout)
    except subprocess.TimeoutExpired:
        code, said = None, 0
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_ms": cpu * 1000, "wall_ms": wall * 1000, "exit": code, "bytes": said}


def measure(rounds: int, nc: str | None, memories: int) -> Json:
    """Figures by situation and way."""
    with temporary_data_dir() as directory:
        for file in own_files.launcher_files(directory):
            file.write()
        ways = commands(directory, nc)
        few = max(3, rounds // 20)
        if memories:
            answered, hung = _with_memories(directory, ways, rounds, few, memories)
        else:
            sock = directory / "sock"
            with daemon(sock, answers=True):
                answered = _interleaved(directory, ways, rounds, [QUESTION])
            with daemon(sock, answers=False):
                hung = _interleaved(directory, ways, few, [QUESTION])
        absent = _interleaved(directory, ways, max(3, rounds // 4), [QUESTION])
    return {"answers": answered, "hangs": hung, "absent": absent}


def _with_memories(
    directory: Path, ways: Mapping[str, list[str]], rounds: int, few: int, memories: int
) -> tuple[Json, Json]:
    notes = Notes(SEED)
    texts = notes.take(memories)
    fill(directory, texts)
    questions = [notes.question(text) for text in texts[:: max(1, memories // QUESTIONS)]]
    with DaemonProcess(directory) as process:
        answered = _interleaved(directory, ways, rounds, questions)
        with process.stopped():
            hung = _interleaved(directory, ways, few, questions)
    return answered, hung


def _interleaved(directory: Path, ways: Mapping[str, list[str]], rounds: int, questions: list[str]) -> Json:
    taken: dict[str, list[Json]] = {name: [] for name in ways}
    for number in range(rounds):
        (directory / "hook-start.stamp").touch()  # so no hook starts a daemon: one has just been started, it says
        for name, command in ways.items():
            taken[name].append(once(command, event(questions[number % len(questions)])))
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


def promises(figures: Json) -> list[tuple[str, bool]]:
    """Return the requirements of a hook, each with True if these figures meet it."""
    answers = figures["answers"]
    ratio = answers["mnemond-hook"]["cpu_ms"] / answers["python -IS -c pass"]["cpu_ms"]
    said = [(f"the launcher: {ratio:.2f} x a bare interpreter, at most {LAUNCHER_TIMES}", ratio <= LAUNCHER_TIMES)]
    if "nc -N -U" in answers:
        cost = answers["nc -N -U"]["cpu_ms"]
        said.append((f"nc -N -U: {cost:.2f} ms of the processor, at most {NC_CPU_MS:g}", cost <= NC_CPU_MS))
    for situation in ("hangs", "absent"):
        row = figures[situation]["mnemond-hook"]
        kept = row["wall_most_ms"] <= PROMISED_MS and (row["exit"], row["bytes"]) == ("0", 0)
        said.append((f"the daemon {situation}: {row['wall_most_ms']:.0f} ms at most, and nothing said", kept))
    return said


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hook_cost", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--nc", default=shutil.which("nc"), help="an nc that knows -N and -U; default: that of PATH")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    figures = measure(options.rounds, options.nc and os.path.abspath(options.nc), options.memories)
    say(f"Python {platform.python_version()}, {platform.machine()}\n{render(figures)}")
    for sentence, kept in promises(figures):
        say(f"{'kept' if kept else 'NOT KEPT'}: {sentence}")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
