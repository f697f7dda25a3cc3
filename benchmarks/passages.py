"""CPU of a recall with passages of sessions beside the memories against one without, in one process.

    python -m benchmarks.passages [--memories N] [--passages N] [--questions N] [--rounds N] [--json FILE]

One snapshot answers each question twice in turn, with passages and with `kind: memory`, in several rounds; of either
the least time of a question counts. Half of the questions ask after a memory, half after a passage. A passage has a
prompt of one note and an answer of eight: some four pieces. The ratio is that of the sums.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.daemon_process import temporary_data_dir
from benchmarks.report import Cell, median, percentile, say, table, write_json
from benchmarks.stores_in_process import ASKED_US, WRITTEN_US, ScratchStore
from benchmarks.synthetic import Notes
from mnemond.config.reading import RetrievalSettings
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.passages import PassageIndex, PassageSnapshot
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import Draft
from mnemond.memory.embedding import embed_passages
from mnemond.model.memory import format_us
from mnemond.model.passages import Passage
from mnemond.model.query import Query
from mnemond.recall.recall import recall

ANSWER: Final = 8
"""Notes in an answer: 1,100 characters."""

TURN_US: Final = 60_000_000
SESSION: Final = 8
"""Time between two exchanges, and exchanges of a session."""

BATCH: Final = 64


class Question(NamedTuple):
    """CPU milliseconds of one question, the least of all rounds: with passages, and without."""

    beside: float
    alone: float


def measure(memories: int, passages: int, questions: int, rounds: int) -> list[Question]:
    """Fill a store of notes, index passages beside it, and ask; also prints what is asked."""
    notes = Notes(7)
    embedder = registry.create(registry.DEFAULT)
    texts = notes.take(memories)
    with temporary_data_dir() as directory:
        store = ScratchStore(directory / "notes.db", embedder)
        for number, text in enumerate(texts):
            store.write(number, Draft(content=text, no_diff=True))
        snapshot = store.snapshot
        said = indexed(notes, passages, embedder)
        asked = [texts[at * 7 % memories] for at in range(questions // 2)]
        asked += [said.passage(at * 7 % passages).prompt for at in range(questions // 2)]
        queries = [Query(notes.question(each), limit=10, now_us=ASKED_US) for each in asked]
        return [_least(snapshot, said, query, embedder, rounds) for query in queries]


def indexed(notes: Notes, count: int, embedder: Embedder) -> PassageSnapshot:
    """Return the index of many passages of notes, in sessions of `SESSION` exchanges."""
    said = [
        Passage(
            id=f"{at:08x}-1111-4000-8000-000000000000", said_at=format_us(WRITTEN_US + at * TURN_US), host="codex",
            conversation_id=f"session-{at // SESSION}", prompt=notes.take(1)[0], answer=" ".join(notes.take(ANSWER)),
        )
        for at in range(count)
    ]  # fmt: skip
    vectors = [each.vectors for each in embed_passages(embedder, said, BATCH)]
    return PassageIndex.build(zip(said, vectors, strict=True), embedder.dimension, embedder.fingerprint).snapshot


def _least(snapshot: Snapshot, said: PassageSnapshot, query: Query, embedder: Embedder, rounds: int) -> Question:
    own = msgspec.structs.replace(query, kind="memory")
    times: list[Question] = []
    for _ in range(rounds):
        each = []
        for one in (query, own):
            embedder.clear_cache()
            begin = time.process_time()
            recall(snapshot, one, embedder, time.perf_counter, RetrievalSettings(), said)
            each.append((time.process_time() - begin) * 1e3)
        times.append(Question(*each))
    return Question(*map(min, zip(*times, strict=True)))


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.passages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--passages", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = measure(options.memories, options.passages, options.questions, options.rounds)
    columns = dict(zip(Question._fields, map(list, zip(*found, strict=True)), strict=True))
    ratio = sum(columns["beside"]) / sum(columns["alone"])
    rows: list[Sequence[Cell]] = [
        [name, median(each), percentile(each, 0.95), sum(each) / len(each)] for name, each in columns.items()
    ]
    title = f"CPU of a recall, {options.memories:,} memories, {options.passages:,} passages: {ratio:.2f} times"
    say(table(title, ("milliseconds", "p50", "p95", "mean"), rows))
    write_json(options.json, {"ratio": ratio, **columns})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
