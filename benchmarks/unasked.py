"""Memories told unasked, with a prompt: does the right one come, and does none come where none belongs?

    python -m benchmarks.unasked [--data DIRECTORY] [--stores NAME,…] [--cues] [--hook] [--embedder NAME]
                                 [--commits FILE --unrelated FILE] [--misses] [--json FILE]

Fills a store of a real daemon with the notes of each small store (with `--cues` also with their cues) and gives it each
prompt, in a session of its own: by `recall` always, with `--hook` by the hook of a coding agent as well.

first, three: recall has a right note first, among three. hook: the hook brings a right note; brief: it or the brief of
the session does. wrong: the hook brings notes, none of them right. Of prompts that no note answers, in vain: the hook
brings any. Figures by language, store, way, and for prompts with pasted logs.

`--commits`: every question of a benchmark file as a prompt, to its own store, and 100 questions of another file, which
nothing there answers.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.bench_files import load as load_bench
from benchmarks.bench_files import remember_params
from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, say, table, write_json
from benchmarks.small_stores import DATA, SmallStore, load
from benchmarks.wire import Json, Wire

SHOWN: Final = re.compile(r"<ref:([0-9a-f]{8})")
PATIENT: Final = "[server]\nhook_deadline_ms = 10_000\n"
"""Settings of a daemon that is judged by what it tells, not by its speed on a busy machine."""

UNRELATED: Final = 100
"""Questions of another file."""

MOST_LABELS: Final = 5
"""Groups that a prompt counts in, at most."""

HEADINGS: Final = ("", "prompts", "first", "three", "hook", "brief", "wrong", "none", "in vain")


class Outcome(msgspec.Struct, frozen=True):
    """What one prompt got. `labels`: the groups it counts in. The rest are ids: `wanted`, those of recall, best first,
    and those that the hook and the session's brief showed (their first eight characters)."""

    labels: tuple[str, ...]
    prompt: str
    wanted: frozenset[str]
    recalled: tuple[str, ...]
    hook: tuple[str, ...]
    brief: frozenset[str]

    @property
    def answered(self) -> bool:
        """Return True if a note belongs to the prompt."""
        return bool(self.wanted)

    @property
    def right(self) -> bool:
        """Return True if the hook brings a right note."""
        return not self.wanted.isdisjoint(self.hook)

    def is_right_among(self, most: int) -> bool:
        """Return True if recall has a right note among the first."""
        return not self.wanted.isdisjoint(self.recalled[:most])


@contextmanager
def daemon(embedder: str) -> Iterator[Wire]:
    """A connection to a daemon on an empty data directory."""
    with temporary_data_dir() as data_dir:
        (data_dir / "config.toml").write_text(f'{NO_CAP}\n{PATIENT}\n[embedding]\nmodel = "{embedder}"\n', "utf-8")
        with DaemonProcess(data_dir) as process, process.connect() as wire:
            yield wire


def outcomes(store: SmallStore, embedder: str, *, cues: bool, hook: bool) -> list[Outcome]:
    """Fill a store and give it its prompts."""
    with daemon(embedder) as wire:
        ids = dict(zip((note.id for note in store.notes), _filled(wire, _memories(store, cues=cues)), strict=True))
        brief = frozenset(_at(wire, store.name, "brief", "SessionStart", source="startup")) if hook else frozenset()
        return [
            Outcome(
                labels=(
                    store.language, f"  {store.name}", f"way: {prompt.way}",
                    *(["long"] if prompt.long else []), *(["none, hard"] if prompt.hard else []),
                ),
                prompt=f"{store.name} {prompt.id}",
                wanted=frozenset(ids[gold] for gold in prompt.gold),
                recalled=_recalled(wire, prompt.text),
                hook=_prompted(wire, store.name, prompt.id, prompt.text) if hook else (),
                brief=brief,
            )
            for prompt in store.prompts
        ]  # fmt: skip


def _memories(store: SmallStore, *, cues: bool) -> list[Json]:
    return [
        {
            "content": note.text, "cues": store.cues.get(note.id, []) if cues else [], "category": note.category,
            "importance": note.importance, "tags": [*note.tags, store.name], "no_diff": True,
        }
        for note in store.notes
    ]  # fmt: skip


def _filled(wire: Wire, memories: Sequence[Json]) -> list[str]:
    """Store memories and return the beginnings of their ids."""
    return [each["id"][:8] for each in wire.pipeline("remember", memories)]


def _recalled(wire: Wire, text: str) -> tuple[str, ...]:
    found = wire.call("recall", query=text, limit=5, touch=False)
    return tuple(hit["insight"]["id"][:8] for hit in found["results"])


def _prompted(wire: Wire, project: str, session: str, text: str) -> tuple[str, ...]:
    return _at(wire, project, session, "UserPromptSubmit", prompt=text, prompt_id="1")


def _at(wire: Wire, project: str, session: str, event: str, **fields: str) -> tuple[str, ...]:
    """Send an event of a session and return what its answer shows."""
    payload = {"session_id": session, "cwd": f"/home/ada/{project}", "hook_event_name": event, **fields}
    return tuple(SHOWN.findall(wire.round_trip(json.dumps(payload).encode() + b"\n").decode()))


def commits(path: Path, unrelated: Path, embedder: str) -> list[Outcome]:
    """Every question of a benchmark file of one store, and questions of another, by the hook."""
    bench = load_bench(path)
    [(store, every)] = bench.memories.items()
    memories = [each for each in every if each["content"].strip()]
    others = [query for queries in load_bench(unrelated).queries.values() for query in queries][:UNRELATED]
    with daemon(embedder) as wire:
        params = [remember_params(each, "default") for each in memories]
        ids = dict(zip((each["id"] for each in memories), _filled(wire, params), strict=True))
        return [
            Outcome(
                labels=(label,),
                prompt=f"{label} {query['id']}",
                wanted=frozenset(ids[gold] for gold in query["gold"]) if label == "commits" else frozenset(),
                recalled=_recalled(wire, query["text"]),
                hook=_prompted(wire, store, f"{label}{query['id']}", query["text"]),
                brief=frozenset(),
            )
            for label, queries in (("commits", bench.queries[store]), ("unrelated", others))
            for query in queries
        ]


def rows(found: Sequence[Outcome]) -> list[list[Cell]]:
    """Return a row for all prompts, and one for each group."""
    labels = dict.fromkeys(
        label for place in range(MOST_LABELS) for each in found for label in each.labels[place : place + 1]
    )
    return [_row("all", found), *(_row(label, [it for it in found if label in it.labels]) for label in labels)]


def _row(name: str, found: Sequence[Outcome]) -> list[Cell]:
    answered = [each for each in found if each.answered]
    none = [each for each in found if not each.answered]
    return [
        name,
        len(answered),
        _share([each.is_right_among(1) for each in answered]),
        _share([each.is_right_among(3) for each in answered]),
        _share([each.right for each in answered]),
        _share([each.right or not each.wanted.isdisjoint(each.brief) for each in answered]),
        _share([bool(each.hook) and not each.right for each in answered]),
        len(none),
        _share([bool(each.hook) for each in none]),
    ]


def _share(marks: Sequence[bool]) -> float:
    return sum(marks) / len(marks) if marks else float("nan")


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.unasked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--stores", default="")
    parser.add_argument("--cues", action="store_true")
    parser.add_argument("--hook", action="store_true")
    parser.add_argument("--embedder", default="minilm_static_256_int8")
    parser.add_argument("--commits", type=Path)
    parser.add_argument("--unrelated", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if (options.commits is None) != (options.unrelated is None):
        parser.error("--commits and --unrelated are given together")
    stores = load(options.data, [name for name in options.stores.split(",") if name])
    if options.commits is not None:
        found = commits(options.commits, options.unrelated, options.embedder)
    else:
        found = [
            each for store in stores for each in outcomes(store, options.embedder, cues=options.cues, hook=options.hook)
        ]
    figures = rows(found)
    say(table("Memories told unasked", HEADINGS, figures))
    if options.misses:
        say("\n".join(f"{each.prompt}: {_fate(each)}" for each in found if _fate(each)))
    write_json(options.json, {str(row[0]): dict(zip(HEADINGS[1:], row[1:], strict=True)) for row in figures})
    return 0


def _fate(found: Outcome) -> str:
    """Return in words what was not right about an outcome; empty if it was right."""
    if found.right or not (found.answered or found.hook):
        return ""
    return ("wrong" if found.answered else "in vain") if found.hook else "silent"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
