"""Results of a recall in other shapes: short, or as text for a prompt."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.protocol.memories import Budget, QuestionParams, RecallMeta
from mnemond.protocol.types import Result


class CompactHit(msgspec.Struct, frozen=True, gc=False):
    """One result in short. `score` has three decimals; `matched_via` names the signal that found it, or "hybrid"."""

    id: str
    content: str
    category: str
    importance: int
    intent: str
    matched_via: str
    confidence: Literal["low", "medium", "high"]
    score: float


class CompactResult(Result, frozen=True, kw_only=True):
    """Results in short, best first."""

    results: list[CompactHit]
    meta: RecallMeta


class ContextParams(QuestionParams, frozen=True, kw_only=True):
    """`budget`: tokens, estimated, that the text takes at most (default 1200). `basic` as in recall."""

    budget: Budget | None = None
    basic: bool = False


class ContextResult(Result, frozen=True, kw_only=True):
    """A text for a prompt. What was recalled stands in it as data, fenced by two marks with `nonce` in them, which
    occurs nowhere between them; a sentence before the fence says so.

    `shown` and `omitted` count memories, `ids` are those shown in their order; `tokens` is the estimated size of
    `text`. It is larger than the budget only where the best memory, cut, is alone too large for it.
    """

    text: str
    shown: int
    omitted: int
    tokens: int
    nonce: str
    ids: list[str]
    meta: RecallMeta
