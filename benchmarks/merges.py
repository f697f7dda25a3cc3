"""Merging pairs of memories: how many keep every fact, and how many that contradict each other are stopped.

    python -m benchmarks.merges --data FILE [--split tune|report] [--misses]

A line of FILE: {"id", "lang", "old", "new", "contradicting", "facts": [...], "split"?}. A fact survives if the merged
text has it, without regard to case.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.bench_files import lines_of
from mnemond.memory.diff_frames import opposed
from mnemond.memory.merged_text import merged_text
from mnemond.text.tokens import fold


class Pair(msgspec.Struct, frozen=True):
    """Two memories of one thing, and what both say."""

    id: str
    lang: str
    old: str
    new: str
    contradicting: bool
    facts: tuple[str, ...]
    split: str = ""


class Tried(msgspec.Struct, frozen=True):
    """The result for one pair: `stopped`: it was refused; `missing`: facts that the merged text lacks."""

    pair: Pair
    stopped: bool
    text: str
    missing: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        return self.stopped if self.pair.contradicting else not self.stopped and not self.missing


def tried(pair: Pair) -> Tried:
    """Merge one pair."""
    text = merged_text(pair.new, pair.old).text
    missing = tuple(fact for fact in pair.facts if fold(fact) not in fold(text))
    return Tried(pair, opposed(pair.old, pair.new) is not None, text, missing)


def report(results: Sequence[Tried]) -> str:
    """Return a table of the right ones by language and kind."""
    lines = []
    for lang in ("all", *sorted({each.pair.lang for each in results})):
        for name, contradicting in (("all facts survive", False), ("contradiction stopped", True)):
            those = [
                each for each in results if lang in ("all", each.pair.lang) and each.pair.contradicting == contradicting
            ]
            right = sum(each.is_right for each in those)
            lines.append(f"{lang:4} {name:22} {right:3} of {len(those)}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the report; exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merges", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("tune", "report"))
    parser.add_argument("--misses", action="store_true", help="print the pairs that are not right")
    given = parser.parse_args(argv)
    results = [tried(pair) for pair in lines_of(given.data, Pair, given.split)]
    print(report(results))
    for each in results if given.misses else ():
        if not each.is_right:
            state = "stopped" if each.stopped else f"missing {list(each.missing)}: {each.text}"
            print(f"{each.pair.id}  {each.pair.old}  |  {each.pair.new}  ->  {state}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
