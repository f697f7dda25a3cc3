"""Small stores of what people said, and an embedder that knows which words mean nearly the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from mnemond.embed.embedder import Purpose
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight, Scope
from tests.index.worlds import DIMENSION, insight, unit

DAY_US = 86_400_000_000
HIDDEN = Scope(session_id="hidden")
"""Of rows that nobody sees who names no session."""

WORDS = ("redis", "cache", "alice", "bob", "when", "is", "now", "8", "SetOption", "may", "2023", "?", "库存", "deploys")
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
VECTORS = st.one_of(
    st.none(),
    st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any).map(lambda each: unit(*each)),
)


class WordKnower:
    """Knows the relatives it is told; a text is the sum of its known words, each an axis."""

    name = "word-knower"
    dimension = DIMENSION
    fingerprint = "sha256:word-knower"
    inline = True

    def __init__(self, axes: Sequence[str] = (), **relatives: tuple[tuple[str, float], ...]) -> None:
        self.axes = axes
        self.relatives = relatives
        self.weighed: dict[str, float] = {}

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        return [self.embed_weighed(text, lambda _: 1.0) for text in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""

    def related_terms(self, word: str) -> tuple[tuple[str, float], ...]:
        return self.relatives.get(word, ())

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        total = np.zeros(DIMENSION, dtype=np.float32)
        for word in text.lower().split():
            weight = self.weighed[word] = weight_of(word)
            if word in self.axes:
                total[self.axes.index(word)] += weight
        return unit(*total) if total.any() else None


def said(insight_id: str, content: str, at: int, source: str = "user", **fields: object) -> Insight:
    """What `source` said at that second of a conversation."""
    told = {"conversation_id": "talk", **fields}
    return insight(insight_id, content, at=at * 1_000_000, source=source, **told)


def store(insights: Iterable[Insight], vectors: Sequence[Vector | None] | None = None) -> Snapshot:
    """Rows in that order; without `vectors` none has one."""
    rows = list(insights)
    pairs = zip(rows, [None] * len(rows) if vectors is None else vectors, strict=True)
    return MemoryIndex.build(list(pairs), [], DIMENSION).snapshot


def ids(snapshot: Snapshot, rows: Iterable[int]) -> list[str]:
    """Whose rows these are."""
    return [snapshot.insight(int(row)).id for row in rows]
