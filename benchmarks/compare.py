"""Compare the CPU that two versions of the daemon use for a request, interleaved.

python -m benchmarks.compare --before PYTHON:ROOT [--after PYTHON:ROOT] [--requests 10000] [--memories 1000]
    [--json FILE]

Both daemons, each of its own checkout and interpreter, begin with the same memories. Every round sends the same few
requests of a kind to one daemon and then to the other, who is first changes, and notes the CPU time of its process: all
threads, user and system. Linux only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from benchmarks.daemon_process import DaemonProcess, Tree, temporary_data_dir
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, Wire, request

SEED = 23
MEMORIES = 1_000
BLOCK = 25
"""Requests of one kind that are sent to a daemon in a row."""
PINGS = 200
"""The same for a ping, which costs a fiftieth of the others."""
REST_S = 0.003
"""Time for what the daemon does after a reply, such as closing a connection."""
WARM_UP = 2
"""Rounds that are not counted."""

KINDS = ("ping", "recall", "state", "remember", "hook")
"""`state`: a recall whose question asks how something is, for which memories are compared with each other."""

Send = Callable[[], object]


class TreeDaemon(DaemonProcess):
    """The daemon of a checkout."""

    def __init__(self, data_dir: Path, tree: Tree) -> None:
        super().__init__(data_dir)
        self._tree = tree

    def spawn(self) -> None:
        """Start it without waiting."""
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [self._tree.python, "-m", "mnemond", "--data-dir", self.data_dir], cwd=self._tree.root,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(), start_new_session=True,
            )  # fmt: skip

    def cpu_ms(self) -> float:
        """Return the CPU milliseconds of the process so far. /proc counts in hundredths of a second; this clock is
        exact for threads that sleep, and up to a tick late for those that run, so the daemon gets time to finish."""
        time.sleep(REST_S)
        clock = (~self._running().pid << 3) | 2  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the Linux kernel
        return time.clock_gettime_ns(clock) / 1e6


def measure(trees: Mapping[str, Tree], rounds: int, memories: int = MEMORIES) -> Json:
    """Return CPU milliseconds per request, by kind, and for each tree one value a round."""
    notes = Notes(SEED)
    texts = notes.take(memories)
    spent: dict[str, dict[str, list[float]]] = {kind: defaultdict(list) for kind in KINDS}
    with ExitStack() as stack:
        daemons = {
            name: stack.enter_context(TreeDaemon(stack.enter_context(temporary_data_dir()), tree))
            for name, tree in trees.items()
        }
        for daemon in daemons.values():
            with daemon.connect() as wire:
                for _ in wire.pipeline("remember", ({"content": text, "no_diff": True} for text in texts)):
                    pass
        wires = {name: stack.enter_context(daemon.connect()) for name, daemon in daemons.items()}
        for number in range(-WARM_UP, rounds):
            names = list(daemons) if number % 2 else list(reversed(daemons))
            for kind, messages in _round(notes, texts, number):
                for name in names:
                    daemon, wire = daemons[name], wires[name]
                    before = daemon.cpu_ms()
                    for message in messages:
                        _send(daemon, wire, kind, message)
                    if number >= 0:
                        spent[kind][name].append((daemon.cpu_ms() - before) / len(messages))
    return {kind: dict(by_name) for kind, by_name in spent.items()}


def _round(notes: Notes, texts: list[str], number: int) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the messages of a round, by kind."""
    turns = [(number + WARM_UP) * BLOCK + place for place in range(BLOCK)]
    questions = [notes.question(texts[turn % len(texts)]) for turn in turns]
    yield "ping", [request(1, "ping", {})] * PINGS
    yield "recall", [request(1, "recall", {"query": question}) for question in questions]
    yield "state", [request(1, "recall", {"query": _for_state(question)}) for question in questions]
    yield "remember", [request(1, "remember", {"content": text}) for text in notes.take(BLOCK)]
    yield "hook", [_prompt(turn, question) for turn, question in zip(turns, questions, strict=True)]


def _for_state(question: str) -> str:
    return question.replace("What do we know about", "What is the")


def _prompt(turn: int, prompt: str) -> bytes:
    event = {"session_id": f"s{turn}", "cwd": "/home/ada/apollo", "hook_event_name": "UserPromptSubmit",
             "prompt": prompt, "prompt_id": "1"}  # fmt: skip
    return json.dumps(event).encode() + b"\n"


def _send(daemon: DaemonProcess, wire: Wire, kind: str, message: bytes) -> None:
    """Send one message and wait for its reply; a hook has a connection of its own, as agents run it."""
    if kind == "hook":
        with daemon.connect() as own:
            own.round_trip(message)
    else:
        wire.exchange(message)


def summary(spent: Json) -> Json:
    """Return for each kind the medians over the rounds, their ratio, and quartiles of the ratio of single rounds; also
    the ratio of the sums, which contains what a daemon does now and then, such as counting recalls."""
    figures: Json = {}
    for kind, by_name in spent.items():
        before, after = by_name["before"], by_name["after"]
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        figures[kind] = {
            "requests": len(before) * (PINGS if kind == "ping" else BLOCK),
            "before_ms": median(before), "after_ms": median(after), "ratio": median(after) / median(before),
            "ratio_p25": percentile(ratios, 0.25), "ratio_p75": percentile(ratios, 0.75),
            "ratio_of_sums": sum(after) / sum(before),
        }  # fmt: skip
    return figures


def render(figures: Json) -> str:
    """A table."""
    keys = ("requests", "before_ms", "after_ms", "ratio", "ratio_p25", "ratio_p75", "ratio_of_sums")
    rows: list[list[Cell]] = [[kind, *(each[key] for key in keys)] for kind, each in figures.items()]
    heads = ("request", "number", "before ms", "after ms", "after / before", "p25", "p75", "of sums")
    return table("CPU of the daemon for a request", heads, rows)


def tree(text: str) -> Tree:
    """Return what PYTHON:ROOT names. ValueError if a part is missing."""
    python, colon, root = text.rpartition(":")
    if not colon or not Path(python).exists() or not (Path(root) / "mnemond").is_dir():
        raise ValueError(text)
    return Tree(Path(root).resolve(), Path(python).absolute())


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    this = Tree(Path(__file__).resolve().parents[1], Path(sys.executable))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--before", type=tree, required=True, metavar="PYTHON:ROOT", help="interpreter and checkout")
    parser.add_argument("--after", type=tree, default=this, metavar="PYTHON:ROOT", help="default: this checkout")
    parser.add_argument("--requests", type=int, default=10_000, help="requests to each daemon, of all kinds together")
    parser.add_argument("--memories", type=int, default=MEMORIES, help="memories that both begin with")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    rounds = max(1, options.requests // (BLOCK * len(KINDS)))
    figures = summary(measure({"before": options.before, "after": options.after}, rounds, options.memories))
    say(render(figures))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
