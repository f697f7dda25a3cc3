"""Names of people, organisations and places that the extraction of entities finds in sentences.

    python -m benchmarks.names --data FILE [--split tune|report] [--misses]

Each line of FILE is {"id", "lang", "text", "names": [{"text", "type": "person|organization|place"}], "split"}.
Precision and recall by language count entities of these three types whose text and type are both the expected ones.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.bench_files import lines_of
from benchmarks.report import say
from mnemond.text.entities import extract

TYPES: Final = {"person": "person", "organization": "organization", "location": "place"}
"""Types of entities that count, and what the file calls them."""


class Name(msgspec.Struct, frozen=True):
    """A name of a sentence, as it is written there."""

    text: str
    type: str


class Line(msgspec.Struct, frozen=True):
    """A sentence and its names."""

    id: str
    lang: str
    text: str
    names: list[Name]
    split: str = ""


def names_of(text: str) -> frozenset[Name]:
    """The names that the extraction finds in `text`."""
    return frozenset(Name(each.name, TYPES[each.kind]) for each in extract(text) if each.kind in TYPES)


def rate(part: int, whole: int) -> str:
    """The share as three digits; "–" of nothing."""
    return f"{part / whole:.3f}" if whole else "–"


def measure(lines: Sequence[Line], *, misses: bool) -> None:
    """Print precision and recall by language and of all, and with `misses` every line that is not as expected."""
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for line in lines:
        wanted, got = frozenset(line.names), names_of(line.text)
        for group in (line.lang, "all"):
            right[group] += len(wanted & got)
            found[group] += len(got)
            expected[group] += len(wanted)
        if misses and wanted != got:
            missing = ", ".join(f"{each.text} ({each.type})" for each in wanted - got)
            wrong = ", ".join(f"{each.text} ({each.type})" for each in got - wanted)
            say(f"{line.id} {line.text} | missing: {missing or '–'} | wrong: {wrong or '–'}")
    for group in sorted(expected):
        say(
            f"{group}: precision {rate(right[group], found[group])}, recall {rate(right[group], expected[group])}"
            f" ({right[group]} right of {found[group]} found, {expected[group]} expected)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a file of JSON lines")
    parser.add_argument("--split", choices=("tune", "report"), help="only the lines of this half")
    parser.add_argument("--misses", action="store_true", help="print the lines that are not as expected")
    options = parser.parse_args()
    measure(lines_of(options.data, Line, options.split), misses=options.misses)


if __name__ == "__main__":
    main()
