"""The ways a new memory can be compared with an old one: by words alone, or beside the vectors of an embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.report import say
from mnemond.config.writing import DiffSettings
from mnemond.embed import registry
from mnemond.embed.calibration import scaled, shipped
from mnemond.embed.embedder import Embedder
from mnemond.errors import MnemonError
from mnemond.memory.diff import DiffRules, Safeguards, Side, Verdict, cosine_thresholds, judge, side
from mnemond.model.changes import Vector
from mnemond.text.entities import extract

LEXICAL = "words alone"

BATCH = 64
"""Texts embedded at a time."""


@dataclass(frozen=True)
class DiffPath:
    """One way to compare; `embedder` is None for words alone."""

    name: str
    embedder: Embedder | None
    rules: DiffRules

    def vectors(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of `texts`, in order; all None where there is no embedder."""
        if self.embedder is None:
            return [None] * len(texts)
        found: list[Vector | None] = [None] * len(texts)
        shortest_first = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(texts), BATCH):
            places = shortest_first[start : start + BATCH]
            embedded = self.embedder.embed([texts[place] for place in places])
            for place, vector in zip(places, embedded, strict=True):
                found[place] = vector
        return found

    def verdict(self, old: Side, new: Side, old_vector: Vector | None, new_vector: Vector | None) -> Verdict:
        """Return the decision of the product."""
        return judge(old, new, cosine(old_vector, new_vector), self.rules)


def cosine(left: Vector | None, right: Vector | None) -> float | None:
    """The cosine of two vectors of length 1; None unless there are two."""
    return None if left is None or right is None else float(left @ right)


def prepared(text: str, given: Sequence[str] = ()) -> Side:
    """A text as the product sees it: its own entities beside the given ones, category general."""
    return side(text, "general", [entity.canonical for entity in extract(text, given)])


def paths(names: Iterable[str], safeguards: Safeguards) -> list[DiffPath]:
    """Words alone and each embedder that can be loaded; it says which cannot."""
    found = [DiffPath(LEXICAL, None, _rules("", float, safeguards))]
    for name in names:
        try:
            embedder = registry.create(name)
        except MnemonError as error:
            say(f"{name} is left out: {error}")
            continue
        scale = partial(scaled, calibration=shipped(name))
        found.append(DiffPath(name, embedder, _rules(name, scale, safeguards)))
    return found


def _rules(name: str, scale: Callable[[float], float], safeguards: Safeguards) -> DiffRules:
    settings = DiffSettings()
    return DiffRules(settings, cosine_thresholds(name, settings, scale, safeguards), safeguards)
