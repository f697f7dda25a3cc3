"""Turns that a conversation loses when each is compared with all before it.

    python -m benchmarks.replay_diff --data DIR/locomo.jsonl [--embedder NAME …] [--literal]

Each store's turns are compared in order with the remaining turns, as the product does; nothing is stored. Every turn
that is skipped or replaces another is printed with the one it met.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.bench_files import BenchFile, load, remember_params
from benchmarks.diff_paths import DiffPath, paths, prepared
from benchmarks.report import Cell, say, table
from benchmarks.wire import Json
from mnemond.embed import registry
from mnemond.memory.diff import LITERAL, SAFEGUARDS, Match, Side, Verdict, overall
from mnemond.model.changes import Vector

SHOWN = 400
"""Characters of a turn that are printed."""


@dataclass(frozen=True)
class Turn:
    """One memory, ready to be compared; `place` is its position among the turns of its store."""

    place: int
    memory: Json
    side: Side
    vector: Vector | None


@dataclass(frozen=True)
class Met:
    """A turn that did not simply join the others, the older turn it met, and the verdict on the two."""

    old: Turn
    new: Turn
    verdict: Verdict


@dataclass
class Replay:
    """One replayed store: pairs that met, turns that remain, and turns that stayed beside one that the table would have
    them replace."""

    store: str
    turns: int
    met: list[Met] = field(default_factory=list)
    standing: dict[int, Turn] = field(default_factory=dict)
    held_back: int = 0

    @property
    def actions(self) -> Counter[str]:
        """How often each action was taken, ADD left out."""
        return Counter(met.verdict.action for met in self.met)


def replay(path: DiffPath, store: str, memories: list[Json]) -> Replay:
    """Compare every turn with those remaining before it, and apply the decision."""
    sent = [remember_params(memory, store) for memory in memories]
    vectors = path.vectors([params["content"] for params in sent])
    done = Replay(store, len(memories))
    for place, (memory, params, vector) in enumerate(zip(memories, sent, vectors, strict=True)):
        turn = Turn(place, memory, prepared(params["content"], params["entities"]), vector)
        _join(path, done, turn)
    return done


def _join(path: DiffPath, done: Replay, turn: Turn) -> None:
    matches = [
        Match(str(old.place), old.place, path.verdict(old.side, turn.side, old.vector, turn.vector))
        for old in done.standing.values()
    ]
    decisive = overall(matches)
    action = decisive.verdict.action if decisive else "ADD"
    if decisive and action == "ADD":
        done.held_back += decisive.verdict.held_back
    elif decisive:
        old = done.standing[decisive.created_us]
        done.met.append(Met(old, turn, decisive.verdict))
        if action != "DUPLICATE":
            del done.standing[old.place]
    if action != "DUPLICATE":
        done.standing[turn.place] = turn


def described(met: Met) -> str:
    """A pair that met, on four lines."""
    verdict, old, new = met.verdict, met.old, met.new
    cosine = "-" if verdict.cosine is None else f"{verdict.cosine:.3f}"
    figures = f"similarity {verdict.similarity:.3f}  tokens {verdict.token_similarity:.3f}  cosine {cosine}"
    lines = (
        f"{verdict.action}  {figures}  novelty {verdict.novelty:.2f}",
        f"    {verdict.reason}",
        f"    old {old.memory['id']} {old.memory.get('speaker')}: {old.side.text[:SHOWN]}",
        f"    new {new.memory['id']} {new.memory.get('speaker')}: {new.side.text[:SHOWN]}",
    )
    return "\n".join(lines)


def row(done: Replay) -> list[Cell]:
    """One store's line of the table."""
    taken = [done.actions[action] for action in ("DUPLICATE", "CONFLICT", "UPDATE")]
    return [done.store, done.turns, len(done.standing), *taken, done.held_back]


def report(path: DiffPath, bench: BenchFile) -> list[Replay]:
    """Replay every store of a file and print what met."""
    replays = [replay(path, store, memories) for store, memories in bench.memories.items()]
    for done in replays:
        for met in done.met:
            say(f"\n[{path.name}, {done.store}] {described(met)}")
    heads = ("store", "turns", "standing", "skipped", "replaced: conflict", "replaced: update", "held back")
    say(table(f"{bench.name}: {path.name}", heads, [row(done) for done in replays]))
    return replays


def main(argv: list[str] | None = None) -> int:
    """0 when every file was replayed."""
    parser = argparse.ArgumentParser(description="Replay conversations with every turn compared with the others.")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="benchmark files")
    parser.add_argument("--embedder", nargs="*", default=list(registry.NAMES), choices=registry.NAMES)
    parser.add_argument("--literal", action="store_true", help="the decision table to the letter")
    options = parser.parse_args(argv)
    policy = LITERAL if options.literal else SAFEGUARDS
    for path in paths(options.embedder, policy):
        for data in options.data:
            report(path, load(data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
