"""Cosines of what has nothing to do with each other, by embedder and language.

    python -m benchmarks.background --cache DIR [--embedders NAME,…]

Every note of the `tune` half of `pairs`, `names`, `causes` and `merges` of benchmarks/data is embedded as a question
and as a memory (108 German, 126 Chinese and 387 English ones); a question and a memory of different texts make a pair.
Prints the mean of the cosines of each pair of languages, and the spread within a language: the numbers of `BACKGROUNDS`
in mnemond/recall/default_profile.py. A cosine beyond the mean by three spreads is one of a thousand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.cached_embedder import cached
from benchmarks.report import Cell, say, table
from benchmarks.small_stores import DATA
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.arrays import Floats

FIELDS: Final = {"pairs": "old", "names": "text", "causes": "a", "merges": "old"}
"""Files, and the note that is taken of a line."""


def sentences(directory: Path = DATA) -> dict[str, list[str]]:
    """Read the notes by language, each once."""
    found: dict[str, dict[str, None]] = {}
    for name, field in FIELDS.items():
        for line in (directory / f"{name}.jsonl").read_text("utf-8").splitlines():
            it = json.loads(line)
            if it["split"] == "tune":
                found.setdefault(it["lang"], {})[it[field]] = None
    return {language: list(texts) for language, texts in sorted(found.items())}


def unrelated(embedder: Embedder, questions: Sequence[str], memories: Sequence[str]) -> Floats:
    """Return the cosines of all pairs of different texts, flat; a text without a vector has 0."""
    left = _matrix(embedder, embedder.embed(questions, purpose="query"))
    right = _matrix(embedder, embedder.embed(memories))
    same = np.array([[one == other for other in memories] for one in questions])
    cosines: Floats = (left @ right.T)[~same]
    return cosines


def _matrix(embedder: Embedder, vectors: Sequence[Floats | None]) -> Floats:
    return np.stack([np.zeros(embedder.dimension, np.float32) if each is None else each for each in vectors])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.background", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True, help="directory of embedded texts and copied weights")
    parser.add_argument("--embedders", default=",".join(registry.NAMES))
    options = parser.parse_args(arguments)
    texts = sentences()
    rows: list[list[Cell]] = []
    for name in options.embedders.split(","):
        embedder = cached(name, options.cache)
        for language, questions in texts.items():
            cosines = {other: unrelated(embedder, questions, memories) for other, memories in texts.items()}
            own = cosines[language]
            means = [float(each.mean()) for each in cosines.values()]
            rows.append([f"{name} {language}", len(questions), float(own.mean()), float(own.std()), *means])
    say(table("Unrelated questions and memories", ["", "notes", "mean", "spread", *(f"to {it}" for it in texts)], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
