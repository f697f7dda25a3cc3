"""Decisions for pairs of sentences whose relation is known: repetition, refinement, contradiction or neither.

    python -m benchmarks.pairs --data DIR/pairs.jsonl [--embedder NAME …] [--literal]

For words alone and for each embedder: how many of each group get which action, the cosines of each group, and every
pair that should not have got what it got. `benchmarks.resolver` says what the resolver makes of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.diff_paths import DiffPath, paths, prepared
from benchmarks.report import Cell, percentile, say, table
from mnemond.embed import registry
from mnemond.embed.calibration import unrelated_pairs
from mnemond.memory.diff import LITERAL, SAFEGUARDS, Side, Verdict
from mnemond.model.changes import Vector
from mnemond.text.similarity import token_set

ENTAILMENT, PARAPHRASE, EQUIVALENT = "entailment", "paraphrase", "equivalent (score ≥ 4.5)"
CONTRADICTION, REFINEMENT, NEUTRAL = "contradiction", "refinement (one holds the other)", "neutral"
SIMILAR, UNRELATED, RANDOM = "similar (score 2 to 4.5)", "unrelated (score < 2)", "random"

GROUPS = (ENTAILMENT, PARAPHRASE, EQUIVALENT, CONTRADICTION, REFINEMENT, NEUTRAL, SIMILAR, UNRELATED, RANDOM)
"""In the order they are printed."""

OUTCOMES = ("DUPLICATE", "CONFLICT", "UPDATE", "held back", "ADD")
"""Skipped; the old one replaced; the same; both stay, though the table would not have it; both stay."""

LISTED = frozenset(
    {
        *((group, "DUPLICATE") for group in (CONTRADICTION, REFINEMENT, NEUTRAL, UNRELATED, RANDOM)),
        *((group, outcome) for group in (UNRELATED, RANDOM) for outcome in ("CONFLICT", "UPDATE")),
    }
)
"""Wrong decisions: such pairs are printed."""

RANDOM_PAIRS = 4000
PERCENTILES = (0.01, 0.05, 0.25, 0.50, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class Pair:
    """Two sentences, the older first, and what is known about them."""

    old: str
    new: str
    group: str


@dataclass(frozen=True)
class Judged:
    """A pair and the verdict on it."""

    pair: Pair
    verdict: Verdict

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return "held back" if self.verdict.held_back else self.verdict.action


def group_of(label: str, score: float | None, old: str, new: str) -> str:
    """The group of a line of the file. A neutral pair in which one sentence has all words of the other refines it."""
    if label in (ENTAILMENT, PARAPHRASE, CONTRADICTION):
        return label
    if label == "sts":
        graded = score or 0.0
        return EQUIVALENT if graded >= 4.5 else SIMILAR if graded >= 2 else UNRELATED
    olds, news = token_set(old), token_set(new)
    return REFINEMENT if olds <= news or news <= olds else NEUTRAL


def load_pairs(path: Path) -> list[Pair]:
    """Every pair of the file, and `RANDOM_PAIRS` of its first sentences put together at random."""
    with path.open(encoding="utf-8") as lines:
        entries = [entry for entry in map(json.loads, lines) if entry["type"] == "pair"]
    pairs = [Pair(e["a"], e["b"], group_of(e["label"], e.get("score"), e["a"], e["b"])) for e in entries]
    texts = sorted({pair.old for pair in pairs})
    drawn = unrelated_pairs(len(texts), RANDOM_PAIRS)
    return pairs + [Pair(texts[left], texts[right], RANDOM) for left, right in drawn]


def judged(path: DiffPath, pairs: Sequence[Pair], sides: dict[str, Side]) -> list[Judged]:
    """The verdict on every pair."""
    texts = list(sides)
    vectors: dict[str, Vector | None] = dict(zip(texts, path.vectors(texts), strict=True))
    return [
        Judged(pair, path.verdict(sides[pair.old], sides[pair.new], vectors[pair.old], vectors[pair.new]))
        for pair in pairs
    ]


def actions(results: Sequence[Judged]) -> list[list[Cell]]:
    """A row for each group that has pairs: how many there are and how many got which outcome."""
    counts = Counter((result.pair.group, result.outcome) for result in results)
    sizes = Counter(result.pair.group for result in results)
    return [
        [group, sizes[group], *(counts[group, outcome] for outcome in OUTCOMES)] for group in GROUPS if sizes[group]
    ]


def cosines(results: Sequence[Judged]) -> list[list[Cell]]:
    """A row for each group: percentiles of its cosines, and how well they tell entailment from it (area under the
    curve); nothing when there are no vectors."""
    found: dict[str, list[float]] = {group: [] for group in GROUPS}
    for result in results:
        if result.verdict.cosine is not None:
            found[result.pair.group].append(result.verdict.cosine)
    return [
        [group, len(values), *(percentile(values, share) for share in PERCENTILES), max(values), _area(found, values)]
        for group, values in found.items()
        if values
    ]


def _area(found: dict[str, list[float]], others: Sequence[float]) -> float | None:
    return area_under_curve(found[ENTAILMENT], others) if found[ENTAILMENT] else None


def area_under_curve(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of `higher` lies above one of `lower`, equal ones counting half; neither may be empty."""
    ranks: dict[float, float] = {}
    merged = sorted([*higher, *lower])
    start = 0
    while start < len(merged):
        end = start
        while end < len(merged) and merged[end] == merged[start]:
            end += 1
        ranks[merged[start]] = (start + 1 + end) / 2
        start = end
    total = sum(ranks[value] for value in higher)
    return (total - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower))


def report(path: DiffPath, results: Sequence[Judged]) -> None:
    """The tables of one path, and every pair of `LISTED`."""
    say(
        table(
            f"actions: {path.name} (override {path.rules.cosines.override:.3f})",
            ("", "pairs", *OUTCOMES),
            actions(results),
        )
    )
    if rows := cosines(results):
        heads = ("", "pairs", *(f"p{round(share * 100)}" for share in PERCENTILES), "max", "AUC")
        say(table(f"cosines: {path.name}", heads, rows))
    for result in results:
        pair = result.pair
        if (pair.group, result.outcome) in LISTED:
            say(f"{result.outcome} ({pair.group}): {result.verdict.reason}\n    {pair.old}\n    {pair.new}")


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(description="What becomes of pairs of sentences whose relation is known.")
    parser.add_argument("--data", type=Path, required=True, help="pairs.jsonl")
    parser.add_argument("--embedder", nargs="*", default=list(registry.NAMES), choices=registry.NAMES)
    parser.add_argument("--literal", action="store_true", help="the decision table to the letter")
    options = parser.parse_args(argv)
    pairs = load_pairs(options.data)
    sides = {text: prepared(text) for pair in pairs for text in (pair.old, pair.new)}
    for path in paths(options.embedder, LITERAL if options.literal else SAFEGUARDS):
        report(path, judged(path, pairs, sides))
    return 0


if __name__ == "__main__":
    sys.exit(main())
