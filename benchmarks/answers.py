"""Changed facts and questions without an answer, by halves of stores: the newer or the older statement first, and how
well the score of the first result tells an answered question from one that no memory answers.

    python -m benchmarks.answers [--data FILE.jsonl …] [--half tune|report|all] [--keep DIRECTORY] [--diff] [--misses]
                                 [--json FILE]

Without `--data`, benchmarks/data/answers.jsonl: small stores in which facts change, with questions how things are
(`now`), how they were (`then`), about what did not change (`known`), and about what no memory says (`missing`).
`first`: a right memory is the first result. doubted: nothing of more than low confidence is found; AUROC: of the score
of the first result between `now`, `then`, `known` and `missing`. `--diff` stores as `remember` does by default, so that
replaced facts leave recall; otherwise every note stays.

With `--data`, benchmark files: updated first, as the scorer counts it, AUROC of answerable and other questions, hit@1
and R@10 over the questions with known turns (sessions where only these are known), and confident, the share of these
with a right first result of more than low confidence. `SPLIT` says which stores are in which half. `--keep` holds the
filled stores of these files for the next run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from benchmarks.bench_files import LIMIT, BenchFile
from benchmarks.bench_files import load as load_bench
from benchmarks.report import Cell, say, table, write_json
from benchmarks.small_stores import DATA
from benchmarks.stores_in_process import ASKED_US, ScratchStore, Stores, scratch_store
from benchmarks.wire import Json
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import Draft
from mnemond.model.memory import parse_rfc3339
from mnemond.model.query import CONFIDENCES, Filter, Hit, Query
from mnemond.recall.recall import recall
from mnemond.recall.superseded_answers import asked_former, replaced, with_former

Half = Literal["tune", "report"]

SPLIT: Final[Mapping[str, Half]] = {
    "c04": "tune", "c08": "tune", "c12": "tune", "c16": "report", "c20": "report",
    "conv-26": "tune", "conv-30": "tune", "conv-44": "report",
    "arena-pool": "tune", "june-e47becba": "tune", "hay-6a1eabeb": "report", "june-58bf7951": "report",
}  # fmt: skip
"""Stores of the benchmark files, divided before the rules were written."""

FILE: Final = DATA / "answers.jsonl"
HEADINGS: Final = ("", "now first", "then first", "known first", "missing doubted", "others doubted", "AUROC")
BENCH_HEADINGS: Final = ("", "n", "updated first", "AUROC", "doubted: missing", "others", "hit@1", "R@10", "confident")


class Note(msgspec.Struct, frozen=True):
    """A memory and the day it was made."""

    id: str
    at: str
    text: str


class Question(msgspec.Struct, frozen=True):
    """A question; `gold`: the id of the note that answers it, empty for `missing`."""

    kind: Literal["now", "then", "known", "missing"]
    text: str
    gold: str


class World(msgspec.Struct, frozen=True):
    """A small store."""

    split: Half
    store: str
    language: Literal["en", "de", "zh"]
    notes: list[Note]
    questions: list[Question]


class Outcome(msgspec.Struct, frozen=True):
    """What one question got. `right`: None if it has no known answer; `updated`: if the newer of two known statements
    is above the older, None if there are no two."""

    group: str
    kind: str
    text: str
    score: float
    doubted: bool
    right: bool | None = None
    found: float | None = None
    updated: bool | None = None

    @property
    def answerable(self) -> bool:
        """Return True if a memory answers it."""
        return self.kind != "missing"


def worlds(half: str) -> list[World]:
    """Read the small stores of one half or of both ("all")."""
    decoder = msgspec.json.Decoder(World)
    found = [decoder.decode(line) for line in FILE.read_bytes().splitlines()]
    return [each for each in found if half in ("all", each.split)]


def outcomes(world: World, embedder: Embedder, *, diff: bool) -> Iterator[Outcome]:
    """Fill a store and ask its questions."""
    with scratch_store(embedder) as scratch:
        for number, note in enumerate(world.notes):
            made = f"{note.at}T09:00:00Z"
            draft = Draft(content=note.text, created_at=made, no_diff=not diff)
            scratch.write(number, draft, parse_rfc3339(made))
        answers = [_answer(scratch, question.text, embedder) for question in world.questions]
    for question, hits in zip(world.questions, answers, strict=True):
        wanted = int(question.gold[1:]) - 1 if question.gold else None
        first = int(hits[0].insight.id[:8], 16) if hits else None
        best = hits[0].insight.content if hits else ""
        yield Outcome(
            world.language, question.kind, f"{world.store}: {question.text} -> {best}",
            hits[0].score if hits else 0.0, _doubted(hits), None if wanted is None else first == wanted,
        )  # fmt: skip


def _answer(scratch: ScratchStore, text: str, embedder: Embedder) -> Sequence[Hit]:
    """Return the results that the daemon would, with what held before them."""
    wanted = Filter(now_us=ASKED_US)
    query = Query(text, limit=LIMIT, filter=wanted, now_us=ASKED_US)
    found = recall(scratch.snapshot, query, embedder, time.perf_counter)
    if (asked := asked_former(found, text, ASKED_US)) is None:
        return found.hits
    return with_former(found.hits, replaced(scratch.connection, found.hits, wanted), asked, LIMIT)


def _hits(snapshot: Snapshot, text: str, now_us: int, embedder: Embedder, limit: int = LIMIT) -> Sequence[Hit]:
    query = Query(text, limit=limit, filter=Filter(now_us=now_us), now_us=now_us)
    return recall(snapshot, query, embedder, time.perf_counter).hits


def _doubted(hits: Sequence[Hit]) -> bool:
    return all(hit.confidence == CONFIDENCES[0] for hit in hits)


def bench_outcomes(bench: BenchFile, snapshots: Mapping[str, Snapshot], embedder: Embedder) -> Iterator[Outcome]:
    """Ask the questions of the stores of a benchmark file."""
    for store, queries in bench.queries.items():
        if store not in snapshots:
            continue
        sessions = {memory["id"]: memory.get("session") for memory in bench.memories[store]}
        for query in queries:
            now_us = parse_rfc3339(query["ref_time"]) if query.get("ref_time") else ASKED_US
            hits = _hits(snapshots[store], query["text"], now_us, embedder)
            yield _judged(bench.name, query, hits, sessions)


def _judged(name: str, query: Json, hits: Sequence[Hit], sessions: Mapping[str, str | None]) -> Outcome:
    ids = [hit.insight.id for hit in hits]
    gold = set(query["gold"])
    ranked = ids if gold else list(dict.fromkeys(sessions[each] for each in ids))
    wanted = gold or set(query["gold_sessions"])
    groups = query.get("groups") or {}
    updated = None
    if groups.get("original_info") and groups.get("updated_info"):
        place = {each: at for at, each in enumerate(ids)}
        newer, older = (
            min(place.get(each, LIMIT) for each in groups[part]) for part in ("updated_info", "original_info")
        )
        updated = newer < older
    return Outcome(
        name, "known" if query["answerable"] else "missing", f"{query['store']}: {query['text']}",
        hits[0].score if hits else 0.0, _doubted(hits),
        bool(ranked) and ranked[0] in wanted if wanted else None,
        len(wanted.intersection(ranked[:10])) / len(wanted) if wanted else None,
        updated,
    )  # fmt: skip


def auroc(found: Sequence[Outcome]) -> float:
    """Return the probability that an answerable question has a higher score than another; ties count half."""
    yes = [each.score for each in found if each.answerable]
    no = [each.score for each in found if not each.answerable]
    wins = sum((one > other) + 0.5 * (one == other) for one in yes for other in no)
    return wins / (len(yes) * len(no)) if yes and no else float("nan")


def _share(marks: Sequence[bool | float]) -> float:
    return sum(marks) / len(marks) if marks else float("nan")


def _row(name: str, found: Sequence[Outcome]) -> list[Cell]:
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for each in found:
        by_kind[each.kind].append(each)
    firsts = [_share([bool(each.right) for each in by_kind[kind]]) for kind in ("now", "then", "known")]
    return [name, *firsts, *_doubts(found), auroc(found)]


def _doubts(found: Sequence[Outcome]) -> list[float]:
    return [_share([each.doubted for each in found if each.answerable is kind]) for kind in (False, True)]


def _bench_row(name: str, found: Sequence[Outcome]) -> list[Cell]:
    judged = [each for each in found if each.right is not None]
    return [
        name, len(found), _share([each.updated for each in found if each.updated is not None]), auroc(found),
        *_doubts(found), _share([bool(each.right) for each in judged]),
        _share([each.found for each in judged if each.found is not None]),
        _share([bool(each.right) and not each.doubted for each in judged]),
    ]  # fmt: skip


def _of_files(paths: Sequence[Path], half: str, keep: Path, embedder: Embedder) -> Iterator[Outcome]:
    for path in paths:
        bench = load_bench(path)
        directory = keep / bench.name
        stores = Stores(directory, embedder)
        if not directory.exists():
            directory.mkdir(parents=True)
            stores.fill(bench)
        halves = {name: SPLIT.get(name, "tune") for name in bench.queries}
        snapshots = stores.snapshots(bench)
        wanted = {name: each for name, each in snapshots.items() if half in ("all", halves[name])}
        yield from bench_outcomes(bench, wanted, embedder)


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.answers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--half", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--diff", action="store_true")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--embedder", default=registry.DEFAULT)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    embedder = registry.create(options.embedder)
    if options.data:
        with tempfile.TemporaryDirectory(prefix="mnemond-bench-") as scratch:
            found = list(_of_files(options.data, options.half, options.keep or Path(scratch), embedder))
        headings: tuple[str, ...] = BENCH_HEADINGS
        row = _bench_row
    else:
        found = [each for world in worlds(options.half) for each in outcomes(world, embedder, diff=options.diff)]
        headings = HEADINGS
        row = _row
    groups = list(dict.fromkeys(each.group for each in found))
    figures = [row(name, [each for each in found if each.group == name]) for name in groups]
    if len(groups) > 1:
        figures.append(row("all", found))
    say(table(f"Answers ({options.half})", headings, figures))
    if options.misses:
        say("\n".join(_miss(each) for each in found if _miss(each)))
    write_json(options.json, {str(each[0]): dict(zip(headings[1:], each[1:], strict=True)) for each in figures})
    return 0


def _miss(found: Outcome) -> str:
    """Return what was wrong about an outcome, empty if nothing was."""
    wrong = [
        *(["not first"] if found.right is False else []),
        *(["older first"] if found.updated is False else []),
        *(["doubted"] if found.answerable and found.doubted else []),
        *(["not doubted"] if not found.answerable and not found.doubted else []),
    ]
    return f"{found.kind} {found.score:.3f} {', '.join(wrong)}: {found.text}" if wrong else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
