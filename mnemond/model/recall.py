"""What a recall asks and what it finds, before it takes its shape on the wire."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.model.insight import Insight, Scope

Confidence = Literal["low", "medium", "high"]

ANCHORS: frozenset[str] = frozenset({"keyword", "vector"})
"""Every signal that can start a recall."""


class Filter(msgspec.Struct, frozen=True):
    """Which rows a read may see. Applied before anything is cut to a top-k.

    A row is visible iff, for each of user, session and agent given, the row's value equals it or is None; rows with a
    session are hidden from readers that give none, unless `all_sessions`.
    """

    category: str | None = None
    source: str | None = None
    scope: Scope = Scope()
    all_sessions: bool = False


class Query(msgspec.Struct, frozen=True):
    """One question. `anchors` says which signals take part (all of them unless an ablation is wanted)."""

    text: str
    limit: int = 10
    filter: Filter = Filter()
    anchors: frozenset[str] = ANCHORS


class Signals(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]; `graph` and `entity` are 0 until those anchors take part."""

    keyword: float
    entity: float
    similarity: float
    graph: float


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result: the insight, its final score, and which anchors found it."""

    insight: Insight
    score: float
    confidence: Confidence
    via: tuple[str, ...]
    signals: Signals


class Recalled(msgspec.Struct, frozen=True):
    """The answer to a query. Stage times in milliseconds, in the order they ran.

    `embed_error` says why the embedder could not be asked; keywords answered alone then.
    """

    hits: tuple[Hit, ...]
    anchor_count: int
    weights: dict[str, float]
    embedding: str | None
    hint: str | None
    stages_ms: dict[str, float]
    embed_error: str | None = None
