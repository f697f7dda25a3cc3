"""Direction of causal links, for pairs of notes whose cause and effect are known.

    python -m benchmarks.causes --data FILE [--split tune|report] [--misses]

FILE has a line {"id", "lang", "a", "b", "direction", "split"} for each pair; `direction` is "a->b" (a is the cause),
"b->a" or "none". For each language: how many pairs with a cause get the right link, the reversed one or none, and how
many of the others get a link in vain. `a` is stored first, then `b` through the edge builder.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.bench_files import lines_of
from benchmarks.report import Cell, say, table
from mnemond.config.writing import GraphSettings
from mnemond.memory.edge_builders import NewMemory, build_causal
from mnemond.model.memory import Insight
from mnemond.text.similarity import token_set

NONE: Final = "none"
OUTCOMES: Final = ("right", "reversed", "missing", "in vain", "right: no link")
HEADINGS: Final = ("", "pairs", *OUTCOMES, "share right")


class Pair(msgspec.Struct, frozen=True):
    """Two notes, `a` stored first, and what is known about them."""

    id: str
    lang: str
    a: str
    b: str
    direction: str
    split: str = "tune"


class OneRow:
    """A store of one memory, as the edge builders see it."""

    documents = 2

    def __init__(self, content: str) -> None:
        self._row = Insight("a", "", "", content=content)

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """Return the memory, without a time of its event."""
        rows: list[tuple[Insight, int | None]] = [(self._row, None)]
        return rows[:k]

    def backbone(self) -> tuple[str | None, str | None]:
        """Return no neighbours in the conversation."""
        return None, None

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """Return nothing."""
        return []

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """Return nothing."""
        return 1, []

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """Return nothing."""
        return []


def linked(pair: Pair) -> str:
    """Return the direction of the link that the edge builder makes for a pair, or `NONE`."""
    new = NewMemory("b", pair.b, 0, token_set(pair.b), ())
    relations = build_causal(new, OneRow(pair.a), GraphSettings())
    if not relations:
        return NONE
    return "a->b" if relations[0].there is None else "b->a"


def outcome(pair: Pair, found: str) -> str:
    """Return one of `OUTCOMES`."""
    if pair.direction == NONE:
        return "right: no link" if found == NONE else "in vain"
    if found == NONE:
        return "missing"
    return "right" if found == pair.direction else "reversed"


def counted(pairs: Sequence[Pair], outcomes: Sequence[str]) -> list[list[Cell]]:
    """Return a row for each language and one for all. The share is that of the pairs with a cause."""
    languages = sorted({pair.lang for pair in pairs})
    rows: list[list[Cell]] = []
    for name in (*languages, "all"):
        kept = Counter(found for pair, found in zip(pairs, outcomes, strict=True) if name in (pair.lang, "all"))
        causal = kept["right"] + kept["reversed"] + kept["missing"]
        share = kept["right"] / causal if causal else None
        rows.append([name, kept.total(), *(kept[each] for each in OUTCOMES), share])
    return rows


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(description="Direction of causal links for pairs of notes.")
    parser.add_argument("--data", type=Path, required=True, help="lines of JSON, one a pair")
    parser.add_argument("--split", choices=("tune", "report"), help="only the pairs of this half")
    parser.add_argument("--misses", action="store_true", help="print each pair that is not right")
    options = parser.parse_args(argv)
    pairs = lines_of(options.data, Pair, options.split)
    links = [linked(pair) for pair in pairs]
    outcomes = [outcome(pair, link) for pair, link in zip(pairs, links, strict=True)]
    say(table(f"causal links: {options.data.name}", HEADINGS, counted(pairs, outcomes)))
    if options.misses:
        for pair, link, result in zip(pairs, links, outcomes, strict=True):
            if not result.startswith("right"):
                say(
                    f"{result} ({pair.lang}, {pair.id}): {pair.direction}, got {link}\n    a: {pair.a}\n    b: {pair.b}"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
