"""The core summary: what it holds of the facts of generated users, and what it costs beside one bare k-means.

    python -m benchmarks.core_summary [--seeds N] [--memories N] [--rounds N]

Each user says stable facts among four hundred other things, which are remembered as the daemon does it; some facts are
corrected later, in plain words. Of the facts that hold, ranked by the generator's importance, those count that 500
words have room for. The cost is that of a whole update in an open store, its reads and its write included, beside
k-means in bare numpy over the same vectors, in turns; and the longest time for which the event loop was away meanwhile.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import trio

from benchmarks.report import Cell, say, table
from benchmarks.stores_in_process import WRITTEN_US, scratch_store
from benchmarks.synthetic import Notes
from mnemond.config.settings import config_from
from mnemond.config.writing import CoreSummarySettings
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.jobs.core_summary import CoreDeps, made, stored
from mnemond.memory.core_subset import ROUNDS
from mnemond.memory.core_summary import Draft as CoreDraft
from mnemond.memory.draft import Draft
from mnemond.memory.write import WriteContext
from mnemond.model.changes import AddInsight, ChangeSet
from mnemond.model.core import joined
from mnemond.model.memory import Insight, format_us
from mnemond.model.outcomes import Maintained
from mnemond.recall.core_text import drafted
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store, open_store
from mnemond.text.tokens import word_count

OTHERS: Final = 400
CORRECTED: Final = 8
HOUR_US: Final = 3_600_000_000
LEAST_HELD: Final = 0.9
MOST_COST: Final = 2.0
CLOSE_S: Final = 30.0
"""Seconds that closing a store may take."""

CHUNK: Final = 500
USERS: Final = 5

NAMES: Final = ("Ana", "Bjørn", "Chen", "Dara", "Emil", "Fatima", "Goran", "Hana")
PLACES: Final = ("Bergen", "Lyon", "Porto", "Graz", "Turku", "Leeds", "Gdansk", "Utrecht")
TOOLS: Final = ("Neovim", "Helix", "Emacs", "Zed", "Kakoune", "Sublime", "Micro", "Lapce")
STORES: Final = ("PostgreSQL", "SQLite", "DuckDB", "MariaDB", "CockroachDB", "Cassandra", "Redis", "Firebird")
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS: Final = tuple(str(each) for each in range(3, 60))

FACTS: Final[tuple[tuple[str, int, str, Sequence[str]], ...]] = (
    ("preference", 5, "The user's editor is {}", TOOLS),
    ("preference", 4, "The user prefers {} spaces for indentation in Python files", NUMBERS),
    ("preference", 4, "The user prefers short commit messages of at most {} words", NUMBERS),
    ("preference", 3, "The user likes to drink {} coffees before the stand-up", NUMBERS),
    ("preference", 4, "The user prefers meetings on {} afternoons", DAYS),
    ("preference", 4, "The user prefers error messages with the name of the failing file first", ("",)),
    ("preference", 3, "The user prefers dark themes with the contrast at {} percent", NUMBERS),
    ("preference", 4, "The user wants code examples in Rust rather than in pseudocode", ("",)),
    ("preference", 5, "Never push to the main branch without a review by {}", NAMES),
    ("preference", 5, "Always run the linter before every commit in all repositories", ("",)),
    ("preference", 4, "Never schedule a deployment on {}", DAYS),
    ("preference", 4, "Always answer the user in English, also to German questions", ("",)),
    ("decision", 5, "Decided that {} stores all orders of the shop", STORES),
    ("decision", 4, "Decided that invoices are kept for {} years", NUMBERS),
    ("decision", 4, "Decided to version the public API by header", ("",)),
    ("decision", 5, "Decided to encrypt backups with age and to keep {} of them", NUMBERS),
    ("decision", 4, "Decided to write the importer in Go because of its small binaries", ("",)),
    ("decision", 4, "Decided that feature flags expire after {} days", NUMBERS),
    ("decision", 3, "Decided to name branches after the ticket and the author", ("",)),
    ("decision", 4, "Decided against Kubernetes for the staging cluster", ("",)),
    ("decision", 4, "Decided to release every second {}", DAYS),
    ("decision", 4, "Decided that the mobile app drops support for Android {}", NUMBERS),
    ("fact", 5, "The user's office is in {}", PLACES),
    ("fact", 5, "The lead developer of the shop is {}", NAMES),
    ("fact", 4, "The on-call phone is with {} this year", NAMES),
    ("fact", 4, "The staging database listens on port 54{}", NUMBERS),
    ("fact", 4, "The payment provider limits requests to {} per second", NUMBERS),
    ("fact", 4, "The barcode scanners of the warehouse have a battery for {} hours", NUMBERS),
    ("fact", 4, "The data protection officer of the company is {}", NAMES),
    ("fact", 4, "The nightly import takes {} minutes on the old server", NUMBERS),
    ("fact", 4, "The user's sister lives in {}", PLACES),
    ("fact", 5, "The user is allergic to nuts and carries an injector", ("",)),
    ("fact", 4, "The user holds a pilot licence since {} months", NUMBERS),
    ("fact", 4, "The search index has {} shards", NUMBERS),
    ("fact", 4, "The certificate of the mail server is renewed every {} days", NUMBERS),
    ("fact", 4, "The company's fiscal year begins in July", ("",)),
    ("fact", 4, "The archive of old contracts is in the cellar in {}", PLACES),
    ("fact", 4, "The build machine has {} cores and an encrypted disk", NUMBERS),
    ("fact", 3, "The printer beside the kitchen needs drawer {}", NUMBERS),
    ("fact", 4, "The test suite of the shop runs in {} minutes", NUMBERS),
    ("insight", 4, "Fixed the slow login by adding an index on the session table", ("",)),
    ("insight", 4, "Fixed the failing exports by raising the worker memory to {} GB", NUMBERS),
    ("insight", 4, "The memory leak of the gateway was caused by unclosed response bodies", ("",)),
    ("insight", 4, "Fixed the double bookings by locking the calendar row", ("",)),
    ("preference", 4, "The user prefers reviews in the morning before {} o'clock", ("nine", "ten", "eleven", "eight")),
    ("preference", 3, "The user likes release notes with one sentence for each change", ("",)),
    ("decision", 4, "Decided to translate the help pages into French before the summer", ("",)),
    ("decision", 3, "Decided that the wiki of the team is read-only after a year", ("",)),
    ("fact", 4, "The tax adviser of the company is {}", NAMES),
    ("fact", 3, "The bicycle cellar of the office has room for {} bicycles", NUMBERS),
    ("fact", 4, "The contract with the hosting company ends after {} months", NUMBERS),
    ("fact", 3, "The heating of the server room was replaced by a heat pump", ("",)),
    ("insight", 4, "The timeouts of the gateway came from a proxy with {} connections", NUMBERS),
    ("insight", 3, "Fixed the garbled invoices by embedding the fonts in every document", ("",)),
)
"""Category, importance, text and the values of its gap."""

EVENTS: Final = (
    "Looked at the logs of service {} for a while", "Talked to {} about the weekend", "Read a page about topic {}",
    "Restarted the laptop after update {}", "Renamed variable {} in a scratch file", "Had lunch near building {}",
)  # fmt: skip


class Fact(NamedTuple):
    """A planted fact as it holds at the end; `outdated`: how it was said before, "" if it never changed."""

    text: str
    category: str
    importance: int
    outdated: str = ""


class Held(NamedTuple):
    """What a summary holds: of `room` facts that have room, `held`; `outdated` ones; all `words`."""

    facts: int
    room: int
    held: int
    outdated: int
    words: int

    @property
    def share(self) -> float:
        return self.held / self.room if self.room else 1.0


def facts_of(seed: int) -> list[Fact]:
    """The stable facts of a user; some of them are corrected."""
    drawn = random.Random(seed)
    changing = set(drawn.sample([at for at, each in enumerate(FACTS) if len(each[3]) > 1], CORRECTED))
    found: list[Fact] = []
    for at, (category, importance, text, values) in enumerate(FACTS):
        if len(values) == 1:
            found.append(Fact(text, category, importance))
            continue
        old, new = drawn.sample(values, 2)
        now = f"{text.format(new)} now"
        found.append(Fact(now, category, importance, text.format(old)) if at in changing else
                     Fact(text.format(old), category, importance))  # fmt: skip
    return found


def said_by(seed: int, facts: Sequence[Fact]) -> list[Draft]:
    """Everything that a user says, in its order: facts, corrections after them, and other things between."""
    drawn = random.Random(seed + 1_000)
    others = [Draft(content=text, category="general", importance=drawn.randint(1, 3))
              for text in Notes(seed).take(OTHERS // 2)]  # fmt: skip
    for number in range(OTHERS - len(others)):
        text, category = f"{drawn.choice(EVENTS).format(number)} ({number})", drawn.choice(("context", "general"))
        others.append(Draft(content=text, category=category, importance=drawn.randint(1, 3)))
    first = [Draft(content=it.outdated or it.text, category=it.category, importance=it.importance) for it in facts]
    early = [*first, *others[: OTHERS // 2]]
    late = [Draft(content=it.text, category=it.category, importance=it.importance) for it in facts if it.outdated]
    late += others[OTHERS // 2 :]
    drawn.shuffle(early)
    drawn.shuffle(late)
    return [*early, *late]


def held_by(seed: int, embedder: Embedder | None) -> Held:
    """What the core summary of a user holds."""
    facts = facts_of(seed)
    with scratch_store(embedder) as store:
        for number, each in enumerate(said_by(seed, facts)):
            store.write(number, each, WRITTEN_US + number * HOUR_US)
        snapshot = store.snapshot
    now_us = WRITTEN_US + (OTHERS + len(FACTS) + CORRECTED) * HOUR_US
    lines = exhausted(drafted(snapshot, None, CoreSummarySettings(), {}, now_us)).lines
    text = joined(lines)
    wanted = room_for(facts, CoreSummarySettings().max_words)
    said = {line.text for line in lines}
    return Held(
        len(facts), len(wanted), sum(it.text in said for it in wanted),
        sum(bool(it.outdated) and it.outdated in said for it in facts), word_count(text),
    )  # fmt: skip


def room_for(facts: Sequence[Fact], most: int) -> list[Fact]:
    """The facts that so many words have room for, the most important first."""
    found: list[Fact] = []
    for it in sorted(facts, key=lambda it: -it.importance):
        most -= word_count(it.text)
        if most < 0:
            break
        found.append(it)
    return found


def exhausted(steps: Generator[None, None, CoreDraft]) -> CoreDraft:
    """Take every step, and return the value."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made_: CoreDraft = end.value
            return made_


# The cost.


def bare_kmeans(vectors: npt.NDArray[np.float32], k: int, seed: int) -> npt.NDArray[np.int64]:
    """k-means++ and Lloyd's rounds by cosine as one would write them in numpy."""
    drawn = np.random.default_rng(seed)
    chosen = [int(drawn.integers(len(vectors)))]
    nearest = 1.0 - vectors @ vectors[chosen[0]]
    for _ in range(k - 1):
        weights = np.clip(nearest, 0.0, None)
        chosen.append(int(drawn.choice(len(vectors), p=weights / weights.sum())))
        nearest = np.minimum(nearest, 1.0 - vectors @ vectors[chosen[-1]])
    centres, labels = vectors[chosen], np.full(len(vectors), -1)
    for _ in range(ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, labels):
            break
        labels = found
        means = np.stack([vectors[labels == each].mean(axis=0) for each in range(k)])
        centres = means / np.linalg.norm(means, axis=1, keepdims=True)
    return labels


class Cost(NamedTuple):
    """Milliseconds: of updates and of bare k-means, in turns; and the longest absences of the event loop beside each,
    which on a shared machine has other causes as well."""

    updates: list[float]
    bare: list[float]
    away: float
    away_bare: float

    @property
    def ratio(self) -> float:
        return statistics.median(self.updates) / statistics.median(self.bare)


class _Clock:
    def now_us(self) -> int:
        return WRITTEN_US


async def cost_of(memories: int, rounds: int, embedder: Embedder | None, seed: int) -> Cost:
    """Measure updates of a store with so many memories."""
    with tempfile.TemporaryDirectory(prefix="mnemond-bench-") as directory:
        record = None
        if embedder is not None:
            record = EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
        store = open_store(
            "default", Path(directory) / "store.db", choose_embedder=lambda: record, now_us=_Clock().now_us,
            loop=trio.lowlevel.current_trio_token(), on_defect=_unforeseen,
        )  # fmt: skip
        store.start()
        await _fill(store, memories, embedder, seed)
        try:
            return await _measured(store, rounds)
        finally:
            with trio.move_on_after(CLOSE_S, shield=True):
                await store.close()


async def _fill(store: Store, memories: int, embedder: Embedder | None, seed: int) -> None:
    drawn, texts = random.Random(seed), Notes(seed).take(memories)
    vectors: Sequence[Any] = [None] * memories if embedder is None else embedder.embed(texts)
    for begin in range(0, memories, CHUNK):
        changes = []
        for number in range(begin, min(begin + CHUNK, memories)):
            at = format_us(WRITTEN_US - number * HOUR_US)
            it = Insight(
                f"{number:08x}-0000-4000-8000-000000000000", at, at, content=texts[number],
                importance=drawn.randint(2, 5),
                category=drawn.choice(("fact", "general", "decision", "preference")),
            )  # fmt: skip
            changes.append(AddInsight(it, vectors[number]))
        name = f"fill-{begin}"
        await store.write(
            ChangeSet(name, False, "bench", format_us(WRITTEN_US), tuple(changes), Maintained(op_id=name))
        )


async def _measured(store: Store, rounds: int) -> Cost:
    snapshot = store.snapshot
    vectors = snapshot.dense.matrix[snapshot.dense.present != 0]
    updates, bare, away, away_bare = list[float](), list[float](), [0.0], [0.0]

    async def think(function: Any, *arguments: object) -> Any:  # noqa: ANN401
        return await trio.to_thread.run_sync(function, *arguments)

    async with trio.open_nursery() as nursery:
        for number in range(rounds + 1):
            settings = config_from({"core_summary.seed": number, "core_summary.max_words": 500 - number})
            identity = WriteContext(
                id="x", op_id=f"update-{number}", client_op_id=False, now_us=WRITTEN_US, store="default",
                request_digest="",
            )  # fmt: skip
            means = CoreDeps(lambda _, config=settings: config, lambda *_, it=identity: it)  # type: ignore[misc]
            watch = trio.CancelScope()
            nursery.start_soon(_watch, watch, away)
            begun = time.perf_counter()
            draft = await made(store, None, means, WRITTEN_US, think)
            await stored(store, draft, identity, "core.update")
            updates.append((time.perf_counter() - begun) * 1e3)
            watch.cancel()
            watch = trio.CancelScope()
            nursery.start_soon(_watch, watch, away_bare)
            begun = time.perf_counter()
            await think(bare_kmeans, vectors, settings.core_summary.clustering_k, number)
            bare.append((time.perf_counter() - begun) * 1e3)
            watch.cancel()
            if number == 0:
                away[0] = away_bare[0] = 0.0
    return Cost(updates[1:], bare[1:], away[0], away_bare[0])  # the first compiles expressions


async def _watch(scope: trio.CancelScope, away: list[float]) -> None:
    """Note the longest time between two turns of the event loop, in milliseconds, beyond those that were asked for."""
    with scope:
        while True:
            begun = time.perf_counter()
            await trio.sleep(0.001)
            away[0] = max(away[0], (time.perf_counter() - begun - 0.001) * 1e3)


def _unforeseen(where: str, error: BaseException) -> None:
    raise SystemExit(f"{where}: {error!r}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print both; return 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=USERS)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    wanted = parser.parse_args(argv)
    embedder = registry.create(registry.NAMES[0])
    held = [held_by(seed, embedder) for seed in range(wanted.seeds)]
    rows: list[list[Cell]] = [
        [seed, it.facts, it.room, it.held, f"{it.share:.3f}", it.outdated, it.words] for seed, it in enumerate(held)
    ]
    say(table("Users", ["user", "facts", "have room", "held", "share", "outdated", "words"], rows))
    cost = trio.run(cost_of, wanted.memories, wanted.rounds, embedder, 7)
    say(
        f"update at {wanted.memories:,} memories: {statistics.median(cost.updates):.1f} ms, bare k-means"
        f" {statistics.median(cost.bare):.1f} ms, ratio {cost.ratio:.2f}; event loop away {cost.away:.1f} ms at most,"
        f" beside bare k-means {cost.away_bare:.1f} ms"
    )
    missed = [it for it in held if it.share < LEAST_HELD or it.outdated] or cost.ratio > MOST_COST
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
