"""A question on its way to an answer: what is known before rows are ranked, and what a ranking hands back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mnemond.embed.embedder import Embedder
from mnemond.index.snapshot import Mask
from mnemond.model.changes import Vector
from mnemond.model.recall import Hit, Intent, Query, Window
from mnemond.rank.profiles import Profile
from mnemond.rank.rerank import SIGNALS

Lap = Callable[[str], None]
"""Notes the time since the last call, under a name."""

NO_WEIGHTS = dict.fromkeys(SIGNALS, 0.0)
"""Of an answer for which nothing was weighed."""


SPARSE_RESULTS = "sparse_results"
"""Hint of an answer with fewer results than half of what was asked for (spec 11.8)."""


class Sought(NamedTuple):
    """A question with everything that is known before rows are ranked."""

    query: Query
    intent: Intent
    window: Window | None
    vector: Vector | None
    embedder: Embedder | None
    visible: Mask | None

    def signals(self, profile: Profile) -> frozenset[str]:
        """Which take part."""
        return profile.anchors if self.query.anchors is None else self.query.anchors


class Found(NamedTuple):
    """What a profile makes of it: results best first, more of them than are wanted, and how they came about."""

    hits: list[Hit]
    weights: dict[str, float]
    anchors: int
    traversed: int = 0
    mode: str = "none"
    seed: int | None = None
    draws: int = 0
    trust: float = 1.0
