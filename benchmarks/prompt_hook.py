"""Time that a hook of an agent waits for the daemon at each moment, beside a ping over the same way, interleaved.

python -m benchmarks.prompt_hook [--size N] [--passages N] [--rounds N] [--cues] [--json FILE]

Each round trip is a connection of its own, as the launcher makes it; every prompt is a new turn of a new session, and
asks after another memory. With --cues each memory has four; a prompt of 10 to 60 words is one whose words are all of
one memory and its neighbours, so that each says something. With --passages so many exchanges of sessions, each a note
and an answer of eight, are kept beside the memories.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, percentile, say, table, write_json
from benchmarks.synthetic import Notes
from benchmarks.wire import Json, request

AROUND = "First look at how it is done now. Then write down a plan. Wait until I have read it. Do not commit yet. "
PASTED = "0x00007f3a at frame in some_function of module line 42\n" * 2_000
WARM_UP = 5
CUES = 4
FEWEST, MOST = 10, 60
"""Words of a long prompt."""

ANSWER = 8
"""Notes in an answer: 1,100 characters."""

SESSION = 8
"""Exchanges of a session."""

CONFIG = f"{NO_CAP}[server]\nhook_deadline_ms = 10_000\n[extraction]\nenabled = false\n"
"""An exchange is stored when its hook is answered; nothing is read out of it while hooks are measured."""


def measure(size: int, rounds: int, *, with_cues: bool = False, passages: int = 0) -> Json:
    """Milliseconds a round trip by kind of hook: p50, p95 and the maximum, and the share that got a text."""
    notes = Notes(7)
    with temporary_data_dir() as data_dir:
        (data_dir / "config.toml").write_text(CONFIG, "utf-8")
        with DaemonProcess(data_dir) as daemon:
            texts = notes.take(size)
            with daemon.connect() as wire:
                for at, text in enumerate(texts):
                    cues = [notes.question(text) for _ in range(CUES)] if with_cues else []
                    wire.call("remember", content=text, no_diff=True, importance=1 + at % 5, cues=cues)
                for at in range(passages):
                    prompt, *answer = notes.take(1 + ANSWER)
                    said = {"prompt": prompt, "prompt_response": " ".join(answer), "timestamp": ""}
                    wire.round_trip(_event(at // SESSION, "k", "AfterAgent", **said))
                wire.call("embed.run")
            times: dict[str, list[float]] = defaultdict(list)
            told: dict[str, int] = defaultdict(int)
            for number in range(-WARM_UP, rounds):
                at = number % size
                words = " ".join(texts[at : at + MOST // FEWEST]).split()[: FEWEST + number % (MOST - FEWEST + 1)]
                for name, message in _messages(number, notes.question(texts[at]), " ".join(words)):
                    begin = time.perf_counter()
                    with daemon.connect() as wire:
                        reply = wire.round_trip(message)
                    if number >= 0:
                        times[name].append((time.perf_counter() - begin) * 1e3)
                        told[name] += b"recalled-data" in reply
    return {name: _figures(each, told[name] / rounds) for name, each in times.items()}


def _figures(times_ms: list[float], told: float) -> Json:
    return {
        "p50_ms": percentile(times_ms, 0.5), "p95_ms": percentile(times_ms, 0.95), "p99_ms": percentile(times_ms, 0.99),
        "max_ms": max(times_ms), "told": told,
    }  # fmt: skip


def _messages(number: int, question: str, words: str) -> Iterator[tuple[str, bytes]]:
    yield "ping", request(7, "ping", {})
    yield "a question", _prompt(number, "a", question)
    yield f"{FEWEST} to {MOST} words", _prompt(number, "e", words)
    yield "among instructions", _prompt(number, "b", f"{AROUND}{question} {AROUND}")
    yield "before 100 kB", _prompt(number, "c", f"{question}\n{PASTED}")
    yield "a session begins", _event(number, "d", "SessionStart", source="startup")
    yield (
        "an answer is kept",
        _event(number, "a", "Stop", last_assistant_message=f"Because of {question}", prompt_id="1"),
    )


def _prompt(number: int, name: str, text: str) -> bytes:
    return _event(number, name, "UserPromptSubmit", prompt=text, prompt_id="1")


def _event(number: int, name: str, event: str, **fields: object) -> bytes:
    payload = {"session_id": f"{name}{number}", "cwd": "/home/ada/apollo", "hook_event_name": event, **fields}
    return json.dumps(payload).encode() + b"\n"


def render(figures: Json, size: int, passages: int) -> str:
    """A table."""
    heads = ("milliseconds", "p50", "p95", "p99", "max", "told")
    rows: list[Sequence[Cell]] = [[name, *each.values()] for name, each in figures.items()]
    return table(f"A hook's round trip, {size:,} memories, {passages:,} passages", heads, rows)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.prompt_hook", description=__doc__)
    parser.add_argument("--size", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--cues", action="store_true", help="give each memory four cues")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    figures = measure(options.size, options.rounds, with_cues=options.cues, passages=options.passages)
    say(render(figures, options.size, options.passages))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
