"""Small stores with links and cosines given by hand, and questions to them in every mode and profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec
import numpy as np

from mnemond.embed.embedder import Purpose
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import Vector
from mnemond.model.memory import Edge, EdgeType, Insight
from mnemond.model.query import MODES, PROFILES, Query, Recalled
from mnemond.recall.profiles import Profile
from mnemond.recall.recall import recall

DIMENSION = 2
NOW_US = 1_710_936_000_000_000
"""2024-03-20T12:00:00Z, a Wednesday."""

DAY_US = 86_400_000_000

Link = tuple[str, str, EdgeType, float]
"""From, to, type and weight of one edge."""

EVERY_WAY = [(profile, mode) for profile in PROFILES for mode in MODES]


class Compass:
    """Every question points the same way; memories have the vectors that `world` gives them."""

    name = "compass"
    dimension = DIMENSION
    fingerprint = "sha256:compass"
    inline = True

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        return [np.array([1.0, 0.0], dtype=np.float32) for _ in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""


def leaning(cosine: float) -> Vector:
    """A vector with that cosine to every question."""
    return np.array([cosine, math.sqrt(1.0 - cosine * cosine)], dtype=np.float32)


def world(rows: Iterable[Insight], links: Iterable[Link] = (), cosines: Mapping[str, float] | None = None) -> Snapshot:
    """A store of memories in this order; those named in `cosines` have a vector."""
    near = cosines or {}
    built = [(row, leaning(near[row.id]) if row.id in near else None) for row in rows]
    edges = [Edge(source, target, kind, weight) for source, target, kind, weight in links]
    return MemoryIndex.build(built, edges, DIMENSION).snapshot


def ticks() -> Callable[[], float]:
    """A stopwatch that advances a second at each look."""
    seconds = count()
    return lambda: float(next(seconds))


def ask(snapshot: Snapshot, text: str, *, vectors: bool = False, **query: Any) -> Recalled:
    """The answer to a question; `vectors`: with its direction."""
    wanted = Query(text=text, **query)
    return recall(snapshot, wanted, Compass() if vectors else None, ticks())


def with_settings(profile: Profile, **sections: Any) -> Profile:
    """A ranking with other sections of `retrieval`."""
    return msgspec.structs.replace(profile, settings=msgspec.structs.replace(profile.settings, **sections))


def weights(found: Recalled) -> dict[str, float]:
    """Of the signals, by their names."""
    return dict(zip(("keyword", "entity", "similarity", "graph"), found.meta.weights, strict=True))


def ids(found: Recalled) -> list[str]:
    """Of the results, in their order."""
    return [hit.insight.id for hit in found.hits]


def days_ago(days: float) -> int:
    """Microseconds since the epoch, so many days before `NOW_US`."""
    return NOW_US - round(days * DAY_US)
