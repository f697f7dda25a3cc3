"""The fate of an old statement when a new one arrives: kept, replaced, or kept and named as a contradiction.

    python -m benchmarks.changes --data FILE [--split tune|report] [--embedder NAME] [--misses]

A line of FILE: {"id", "lang", "kind": "keep"|"replace"|"contradict", "form", "old", "new", "split"}. Both statements
of a pair are remembered, one after the other, in a store of their own, by the write path of the daemon.

By kind, and within it by language and form: how many old statements came to what, and the share that came to what they
should. Of "keep", only an old statement that is not named as a contradiction is right; "stays" counts the named ones
too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from benchmarks.bench_files import lines_of
from benchmarks.report import Cell, say, table
from benchmarks.stores_in_process import WRITTEN_US, scratch_store
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder

Fate = Literal["kept", "named", "replaced", "skipped"]

FATES: Final[tuple[Fate, ...]] = ("kept", "named", "replaced", "skipped")
WANTED: Final[dict[str, Fate]] = {"keep": "kept", "replace": "replaced", "contradict": "named"}
HEADINGS: Final = ("", "pairs", *FATES, "right", "stays")

LATER_US: Final = 60_000_000
"""Between the two statements: a minute, in microseconds."""

WORDS: Final = "words"
"""Name for no embedder."""


class Pair(msgspec.Struct, frozen=True):
    """Two statements in the order they are made, and the relation that a careful reader sees."""

    id: str
    lang: str
    kind: Literal["keep", "replace", "contradict"]
    old: str
    new: str
    form: str = ""
    split: str = ""


def fate(pair: Pair, embedder: Embedder | None) -> Fate:
    """Return what becomes of the old statement of a pair."""
    with scratch_store(embedder) as store:
        first = store.remember(1, pair.old, WRITTEN_US)
        second = store.remember(2, pair.new, WRITTEN_US + LATER_US)
    if second.action == "skipped":
        return "skipped"
    if second.replaced_id == first.id:
        return "replaced"
    return "named" if any(each.id == first.id for each in second.conflicts) else "kept"


def counted(pairs: Sequence[Pair], fates: Sequence[Fate]) -> list[list[Cell]]:
    """Return a row for each kind, and one for each of its languages and forms."""
    rows: list[list[Cell]] = []
    for kind in WANTED:
        members = [(pair, found) for pair, found in zip(pairs, fates, strict=True) if pair.kind == kind]
        if members:
            rows.append(_row(kind, kind, [found for _, found in members]))
        labels = sorted({label for pair, _ in members for label in _labels(pair)}, key=lambda it: (it.count(" "), it))
        rows += [
            _row(f"  {each}", kind, [found for pair, found in members if each in _labels(pair)]) for each in labels
        ]
    return rows


def _labels(pair: Pair) -> tuple[str, ...]:
    return (pair.lang, f"{pair.lang} {pair.form}") if pair.form else (pair.lang,)


def _row(name: str, kind: str, fates: Sequence[Fate]) -> list[Cell]:
    counts, size = Counter(fates), len(fates)
    stays = (counts["kept"] + counts["named"]) / size
    return [name, size, *(counts[each] for each in FATES), counts[WANTED[kind]] / size, stays]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changes", description="The fate of old statements.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "report"))
    parser.add_argument("--embedder", default=registry.DEFAULT, help=f"{WORDS} for none")
    parser.add_argument("--misses", action="store_true", help="print the pairs that came out otherwise")
    given = parser.parse_args(argv)
    embedder = None if given.embedder == WORDS else registry.create(given.embedder)
    pairs = lines_of(given.data, Pair, given.split)
    fates = [fate(pair, embedder) for pair in pairs]
    say(table(f"old statements: {given.data.name}", HEADINGS, counted(pairs, fates)))
    for pair, found in zip(pairs, fates, strict=True) if given.misses else ():
        if found != WANTED[pair.kind]:
            say(f"{pair.kind}: {found} ({pair.lang} {pair.form}, {pair.id})\n    {pair.old}\n    {pair.new}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
