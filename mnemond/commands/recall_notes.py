"""What a reader of a recall has to know beside its results: how they are ordered, and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.commands.layout import day, fraction
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import RecallMeta, RecallResult

DOUBTED_BELOW = 0.45
"""Trust from which on nothing is said of it. At least a third of the best results are somebody else's below it, for
trust is never under .70 times their agreement (rank/agreement.py)."""

REASONS = {"short_query": "the question has fewer than three words"}
"""Why there was no second look, in words; another reason says itself."""


def notes(result: RecallResult) -> Iterator[str]:
    """A sentence for each."""
    meta = result.meta
    yield from _of_window(meta)
    if result.results and meta.trust < DOUBTED_BELOW:
        yield f"trust {fraction(meta.trust)}: much of this is not from whom the question names"
    if meta.rerank.reason is not None:
        yield f"no second look: {REASONS.get(meta.rerank.reason, one_line(meta.rerank.reason))}"
    scores = [hit.score for hit in result.results]
    if meta.intent == "WHY" and scores != sorted(scores, reverse=True):
        yield "causes stand before what they led to"


def _of_window(meta: RecallMeta) -> Iterator[str]:
    if meta.window is not None:
        only = "nothing else was looked at" if meta.window.hard else "other times count for less"
        yield f"asked about {day(meta.window.since)} to {day(meta.window.until)}; {only}"
