"""The demonstration of `make demo`: a real daemon remembers a dozen notes, answers three questions, recognises a
correction and undoes it, with timings.

Everything goes through the console script `mnemonctl`, as a user would type it, in a temporary data directory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Cell, median, say, table


@dataclass(frozen=True)
class Note:
    """One memory of the demonstration."""

    content: str
    category: str
    importance: int = 3


@dataclass(frozen=True)
class Question:
    """A question and the beginning of the note that must come first."""

    text: str
    expected: str


NOTES = (
    Note("We chose SQLite over PostgreSQL for the sync service: one file a customer, nothing to run.", "decision", 5),
    Note("The staging cluster runs in Frankfurt; production runs in Dublin.", "fact", 4),
    Note("I prefer small pull requests, one reason to change each, and rebase over merge commits.", "preference", 4),
    Note("Flaky: test_upload_resume fails when the runner's disk is nearly full; clean /var/tmp first.", "insight", 4),
    Note("API keys rotate on the first Monday of the month; Priya owns the runbook.", "fact", 4),
    Note("The mobile client still calls the v1 endpoints, so they stay until the March release.", "decision", 4),
    Note("Error messages must say what happened, why, and what to do next.", "preference", 3),
    Note("Thumbnails are rendered lazily, because doing it at upload time doubled the p95 latency.", "decision", 4),
    Note("The search index is rebuilt every night at 02:30 UTC and takes about eleven minutes.", "fact", 3),
    Note("Mateo is on parental leave until September; ask Ines about the billing code.", "context", 3),
    Note("Never run the payments migration without a snapshot: the 2023 rollback took nine hours.", "insight", 5),
    Note("日志保留三十天，之后归档到冷存储。", "fact", 3),
)  # fmt: skip

QUESTIONS = (
    Question("why did we pick SQLite for the sync service", "We chose SQLite"),
    Question("who can answer questions about billing", "Mateo is on parental leave"),
    Question("日志保留多久", "日志保留三十天"),
)

CORRECTED = "The search index is rebuilt every night at 02:30 UTC and takes about eleven minutes."
CORRECTION = "The search index is rebuilt every night at 04:15 UTC and takes about eleven minutes."


class DemoError(Exception):
    """A command failed, or a question was not answered as it should be."""


class Shell:
    """Runs `mnemonctl` lines against one data directory and keeps their wall times."""

    def __init__(self, data_dir: Path) -> None:
        self._script = Path(sys.executable).parent / "mnemonctl"
        self._environment = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON_")}
        self._environment["MNEMON_DATA_DIR"] = str(data_dir)
        self._environment.pop("OPENBLAS_NUM_THREADS", None)
        self.times: dict[str, list[float]] = {}

    def run(self, *arguments: str) -> str:
        """Return the output of a command. DemoError with its error output if it fails."""
        begin = time.perf_counter()
        done = subprocess.run(
            [str(self._script), *arguments], env=self._environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        name = " ".join(arguments[:2]) if arguments[0] == "daemon" else arguments[0]
        self.times.setdefault(name, []).append((time.perf_counter() - begin) * 1000)
        if done.returncode != 0:
            raise DemoError(f"mnemonctl {' '.join(arguments)} left with status {done.returncode}:\n{done.stderr}")
        return done.stdout


def remember(shell: Shell) -> None:
    """Every note, one command each."""
    for note in NOTES:
        shell.run("remember", "--category", note.category, "--importance", str(note.importance), "--", note.content)
        say(f"  remembered [{note.category}] {note.content}")


def ask(shell: Shell, question: Question) -> float:
    """Show the answer as a person sees it; the daemon's own milliseconds. DemoError when another note comes first."""
    say(f'\n$ mnemonctl recall --limit 3 "{question.text}"')
    say(shell.run("recall", "--text", "--limit", "3", question.text).rstrip())
    answer = json.loads(shell.run("recall", "--json", "--limit", "3", question.text))
    found = [hit["insight"]["content"] for hit in answer["results"]]
    if not found or not found[0].startswith(question.expected):
        raise DemoError(f'"{question.text}" should be answered by "{question.expected} …", but gave {found[:1]}')
    return float(answer["meta"]["took_ms"])


def correct(shell: Shell) -> None:
    """Replace a note by its correction, and undo that. DemoError if either fails."""
    say(f'\n$ mnemonctl remember "{CORRECTION}"')
    reply = json.loads(shell.run("remember", "--json", "--category", "fact", "--", CORRECTION))
    say(f"  {reply['action']} {str(reply['replaced_id'])[:8]}: {reply['reason']}")
    _expect(shell, CORRECTION, instead_of=CORRECTED)
    say(f"\n$ mnemonctl undo {reply['op_id'][:8]}")
    say(shell.run("undo", "--text", reply["op_id"]).rstrip())
    _expect(shell, CORRECTED, instead_of=CORRECTION)


def _expect(shell: Shell, content: str, instead_of: str) -> None:
    kept = [memory["content"] for memory in json.loads(shell.run("list", "--json", "--limit", "100"))["insights"]]
    if content not in kept or instead_of in kept:
        raise DemoError(f'"{content}" should be remembered in place of "{instead_of}"')


def demonstrate(shell: Shell) -> None:
    """Start, remember, recall, correct, undo, stop; then the timings."""
    say("Starting a daemon in a temporary data directory …")
    shell.run("daemon", "start")
    try:
        remember(shell)
        took = [ask(shell, question) for question in QUESTIONS]
        correct(shell)
    finally:
        shell.run("daemon", "stop")
    rows: list[list[Cell]] = [
        [f"mnemonctl {name}", len(times), min(times), median(times), max(times)] for name, times in shell.times.items()
    ]
    rows.append(["recall inside the daemon", len(took), min(took), median(took), max(took)])
    say(table("milliseconds of wall time", ("whole command", "runs", "min", "median", "max"), rows))
    say("\nThe daemon has been stopped and its data directory removed.")


def main() -> int:
    """0 when every command succeeded and every question was answered by the right note."""
    with tempfile.TemporaryDirectory(prefix="mnemond-demo-") as directory:
        try:
            demonstrate(Shell(Path(directory)))
        except (DemoError, OSError, subprocess.TimeoutExpired) as error:
            sys.stderr.write(f"demo failed: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
