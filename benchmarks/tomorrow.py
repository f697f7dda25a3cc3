"""What the next day knows of the sessions of agents: recall, the start of a session, a prompt, and what is kept.

    python -m benchmarks.tomorrow SESSIONS.json … [--others FILE.jsonl … --most N] [--misses] [--memories FILE]
                                  [--json FILE]

Sends the exchanges of each session to a real daemon by the hooks of its host, each project in a directory of its own,
and then asks. A file has one project: `sessions` with `exchanges` (prompt, answer) and `start_should_have` (outcome,
open), `standing` instructions, `questions` with the parts of an `answer`, `tasks` with what they need,
`unrelated_prompts`, and `must_never_be_known`; a part is a list of alternatives, one of which a right text contains.

known: the answer is in one of the first three results of `recall`. new first: of a correction, the value that holds is
in a result before every one with the former value. start: what the first text of the next session says of outcome, open
work and standing instructions, and its characters. hook: the hook tells what a task needs; with start: it or the start
does. in vain: the hook tells anything for a prompt that nothing belongs to. told: texts that must never be known, in
any answer or in the files of the store.

`--others`: exchanges of conversations in the format of the recall benchmarks, told to each project beside its own.
`--memories`: writes what was extracted, each with its class, for a reader to judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, say, table, write_json
from benchmarks.unasked import PATIENT
from benchmarks.wire import Json, Wire

FIRST: Final = 3
"""Results of a recall among which the answer must be."""

KINDS: Final = {
    "cause": "causes, fixes", "fix": "causes, fixes", "open": "open work", "instruction": "instructions",
    "preference": "instructions", "correction": "corrections", "decision": "decisions",
}  # fmt: skip
"""Groups of questions; the rest are "others"."""

HEADINGS: Final = ("", "n", "share")

Parts = Sequence[Sequence[str]]


class Project(NamedTuple):
    """The sessions of one project and what is asked about them, as the file has them, and its directory."""

    name: str
    data: Json
    directory: Path


def has(text: str, parts: Parts) -> bool:
    """Return True if a text contains one alternative of each part, whatever their case."""
    folded = " ".join(text.casefold().split())
    return all(any(" ".join(each.casefold().split()) in folded for each in part) for part in parts)


class Shares:
    """Hits and attempts by the name of a figure."""

    def __init__(self) -> None:
        self._marks: dict[str, list[float]] = defaultdict(list)
        self.misses: list[str] = []

    def add(self, name: str, value: float, miss: str = "") -> None:
        """Count one value; a false one with the text of what was missed."""
        self._marks[name].append(float(value))
        if miss and not value:
            self.misses.append(f"{name}: {miss}")

    def figures(self) -> dict[str, tuple[int, float]]:
        """Return for each name the number of values and their mean."""
        return {name: (len(marks), sum(marks) / len(marks)) for name, marks in self._marks.items()}


class Agent:
    """Sends the events of sessions of one project as its host does, and returns what the daemon tells."""

    def __init__(self, wire: Wire, project: Project) -> None:
        self._wire = wire
        self._project = project

    def event(self, session: str, host: str, name: str, **fields: str) -> str:
        """Send an event and return the text for the model."""
        payload = {"session_id": session, "cwd": str(self._project.directory), "hook_event_name": name, **fields}
        if host == "gemini":
            payload |= {"hook_event_name": GEMINI.get(name, name), "timestamp": "2026-11-01T00:00:00Z"}
        answer = json.loads(self._wire.round_trip(json.dumps(payload).encode() + b"\n"))
        told: str = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
        return told

    def session(self, session: Json) -> str:
        """Send a whole session; return what it began with."""
        name, host = session["id"], session["host"]
        begun = self.event(name, host, "SessionStart", source="startup")
        for number, exchange in enumerate(session["exchanges"]):
            self.event(name, host, "UserPromptSubmit", prompt=exchange["prompt"], prompt_id=str(number))
            answer = {"prompt_response" if host == "gemini" else "last_assistant_message": exchange["answer"]}
            if host == "gemini":
                answer["prompt"] = exchange["prompt"]
            self.event(name, host, "Stop", prompt_id=str(number), **answer)
        self.event(name, host, "SessionEnd", reason="exit")
        return begun


GEMINI: Final = {"UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent"}
"""Names of events in Gemini CLI."""


def measure(paths: Sequence[Path], others: Sequence[Json], memories: Path | None) -> tuple[Shares, dict[str, Json]]:
    """Fill one daemon with the sessions of all files and ask; return the shares, and the extracted memories."""
    shares, extracted = Shares(), dict[str, Json]()
    with temporary_data_dir() as data_dir:
        (data_dir / "config.toml").write_text(f"{NO_CAP}\n{PATIENT}", "utf-8")
        with DaemonProcess(data_dir) as process, process.connect() as wire:
            projects = [_project(path, data_dir / "work") for path in paths]
            answers = [text for each in projects for text in _filled(wire, each, shares)]
            for each in projects:
                _told_beside(wire, each, others)
            _settled(wire)
            for each in projects:
                answers += _asked(wire, each, shares)
            extracted = {it["id"]: it for it in _listed(wire)}
            _count_told(projects, "\n".join(answers), data_dir, shares)
    if memories is not None:
        memories.write_text(json.dumps(list(extracted.values()), ensure_ascii=False, indent=1), "utf-8")
    return shares, extracted


def _project(path: Path, root: Path) -> Project:
    data = json.loads(path.read_text("utf-8"))
    directory = root / data["project"]
    directory.mkdir(parents=True)
    return Project(data["project"], data, directory)


def _filled(wire: Wire, project: Project, shares: Shares) -> Iterator[str]:
    """Send the sessions; judge what each began with by the one before."""
    agent, standing, before = Agent(wire, project), list[Json](), dict[str, Any]()
    for number, session in enumerate([*project.data["sessions"], {"id": f"{project.name}-next"}]):
        _settled(wire)
        if "exchanges" not in session:
            begun = agent.event(session["id"], "claude-code", "SessionStart", source="startup")
        else:
            begun = agent.session(session)
        yield begun
        if number:
            shares.add("start: characters", len(begun))
            for kind in ("outcome", "open"):
                for part in before.get("start_should_have", {}).get(kind, []):
                    shares.add(f"start: {kind}", has(begun, [part]), f"{before['id']} {part}")
            for each in standing:
                shares.add("start: standing", has(begun, each["must_contain"]), f"{session['id']} {each['said']}")
        if not session.get("private") and "exchanges" in session:
            before = session
            standing += [each for each in project.data["standing"] if each["session"] == session["id"]]


def _told_beside(wire: Wire, project: Project, others: Sequence[Json]) -> None:
    agent = Agent(wire, project)
    for number, each in enumerate(others):
        session = f"{project.name}-other-{each['session']}"
        agent.event(session, "claude-code", "UserPromptSubmit", prompt=each["prompt"], prompt_id=str(number))
        agent.event(session, "claude-code", "Stop", last_assistant_message=each["answer"], prompt_id=str(number))


def _settled(wire: Wire) -> None:
    """Wait until everything that was said is read and embedded."""
    wire.call("jobs.run", name="extract", yes=True)
    wire.call("embed.run")


def _asked(wire: Wire, project: Project, shares: Shares) -> Iterator[str]:
    agent, directory = Agent(wire, project), str(project.directory)
    for each in project.data["questions"]:
        results = wire.call("recall", query=each["question"], limit=10, directory=directory, touch=False)["results"]
        texts = [it["insight"]["content"] for it in results]
        right = any(has(text, each["answer"]) for text in texts[:FIRST])
        miss = f"{each['id']} {each['question']} {each['answer']}"
        shares.add("known", right, miss)
        shares.add(f"known: {KINDS.get(each['kind'], 'others')}", right)
        shares.add(f"known: {project.name}", right)
        if each.get("stale"):
            places = [at for at, text in enumerate(texts) if has(text, each["answer"])]
            stale = [at for at, text in enumerate(texts) if has(text, [each["stale"]]) and at not in places]
            shares.add("known: new first", bool(places) and places[0] < min([*stale, len(texts)]), miss)
        yield from texts
    begun = agent.event(f"{project.name}-tasks", "claude-code", "SessionStart", source="startup")
    for number, each in enumerate(project.data["tasks"]):
        told = agent.event(f"{project.name}-t{number}", "claude-code", "UserPromptSubmit", prompt=each["prompt"])
        shares.add("task: hook", has(told, each["needs"]))
        shares.add("task: hook or start", has(told + begun, each["needs"]), f"{each['prompt']} {each['needs']}")
        yield told
    for number, prompt in enumerate(project.data["unrelated_prompts"]):
        told = agent.event(f"{project.name}-u{number}", "claude-code", "UserPromptSubmit", prompt=prompt)
        shares.add("in vain: hook", bool(told.strip()))
        yield told


def _listed(wire: Wire) -> Iterator[Json]:
    """Return all memories."""
    before: str | None = None
    while True:
        page = wire.call("list", limit=100, **({} if before is None else {"before": before}))
        yield from page["insights"]
        before = page["next"]
        if before is None:
            return


def _count_told(projects: Sequence[Project], answers: str, data_dir: Path, shares: Shares) -> None:
    files = b"\n".join(each.read_bytes() for each in data_dir.rglob("*") if each.is_file() and "mnemon.db" in each.name)
    for project in projects:
        for text in project.data["must_never_be_known"]:
            shares.add("told: in answers", text in answers)
            shares.add("told: in files", text.encode() in files)


def exchanges_of(paths: Sequence[Path], most: int) -> list[Json]:
    """Return up to `most` exchanges of the conversations in benchmark files; of messages without an answer the text
    alone."""
    found: list[Json] = []
    for path in paths:
        waiting: dict[str, str] = {}
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["type"] != "memory":
                continue
            store = row["store"]
            if row.get("role") == "user":
                waiting[store] = row["content"]
            else:
                found.append({
                    "session": f"{store}-{row.get('session')}", "prompt": waiting.pop(store, "go on"),
                    "answer": row["content"],
                })  # fmt: skip
    return found[:most]


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.tomorrow", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sessions", type=Path, nargs="+")
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    parser.add_argument("--most", type=int, default=3_000)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--memories", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    shares, extracted = measure(given.sessions, exchanges_of(given.others, given.most), given.memories)
    rows: list[list[Cell]] = [[name, count, mean] for name, (count, mean) in shares.figures().items()]
    say(table("tomorrow", HEADINGS, [*rows, ["memories", len(extracted), None]]))
    if given.misses:
        say("\n".join(shares.misses))
    if given.json:
        write_json(given.json, {name: {"n": n, "mean": mean} for name, (n, mean) in shares.figures().items()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
