"""The shapes in which a recall is answered: results with everything, short ones, or text for a prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from mnemond.errors import FieldProblem
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall import Recalled
from mnemond.model.recall_policy import TouchPolicy
from mnemond.pipelines.context import BUDGET, Frame, linearise, relations_among
from mnemond.pipelines.use import is_used
from mnemond.protocol.context import CompactHit, CompactResult, ContextParams, ContextResult
from mnemond.protocol.memories import RecallHit, RecallMeta, RecallParams, RecallResult

Answer: TypeAlias = RecallResult | CompactResult | ContextResult

MANY = 50
"""Results of which a context is made on the event loop: 2 ms. Their links are looked at one memory after another."""

WORK = 24_000
"""Limit times tokens of a context that is: 3 ms where all of the memories are long and in Chinese, each read until it
is clear that it does not fit."""


class Form(NamedTuple):
    """How a recall is to be answered. `budget` is None where no context is wanted; `nonce` is that of the context, and
    with `by_time` it goes by time."""

    basic: bool = False
    compact: bool = False
    budget: int | None = None
    nonce: str = ""
    by_time: bool = False

    def is_long(self, limit: int) -> bool:
        """Whether making the answer takes too long for the event loop."""
        return self.budget is not None and (limit > MANY or limit * self.budget > WORK)


def form_of(params: RecallParams | ContextParams, nonce: Callable[[], str]) -> Form:
    """The form that is asked for; a `nonce` is drawn if it is a context."""
    if isinstance(params, RecallParams) and not params.context:
        return Form(params.basic, params.compact)
    return Form(
        params.basic,
        budget=BUDGET if params.budget is None else params.budget,
        nonce=nonce(),
        by_time=params.order == "time",
    )


def form_problems(params: RecallParams) -> list[FieldProblem]:
    """What cannot be asked for at once."""
    found = []
    if params.compact and params.context:
        found.append(FieldProblem("compact", "compact and context exclude each other: a context has no results"))
    if params.budget is not None and not params.context:
        found.append(FieldProblem("budget", "budget is the size of a context; ask for context (--context) as well"))
    return found


def answer(warm: OpenStore, snapshot: Snapshot, found: Recalled, form: Form, meta: Callable[[], RecallMeta]) -> Answer:
    """What was found in `snapshot`, in the form that was asked for; `meta` is asked when it is ready."""
    if form.budget is not None:
        order = "WHEN" if form.by_time else found.intent
        return _context(snapshot, found, meta, Frame(warm.store.name, order, form.nonce, form.budget))
    hits = [views.recall_hit(hit, found.intent) for hit in found.hits]
    if form.compact:
        return CompactResult(results=[_short(hit) for hit in hits], meta=meta())
    return RecallResult(results=hits, meta=meta())


def used_of(found: Recalled, answered: Answer, touch: TouchPolicy) -> list[str]:
    """Ids of the memories of an answer whose use counts: what speaks for them, not what fills it up (spec 11.8)."""
    used = [hit.insight.id for hit in found.hits if is_used(hit.score, hit.via, hit.confidence, touch)]
    if not isinstance(answered, ContextResult):
        return used
    shown = set(answered.ids)
    return [insight_id for insight_id in used if insight_id in shown]


def _context(snapshot: Snapshot, found: Recalled, meta: Callable[[], RecallMeta], frame: Frame) -> ContextResult:
    made = linearise(found.hits, frame, relations_among(snapshot, [hit.insight for hit in found.hits]))
    return ContextResult(
        text=made.text, shown=len(made.shown), omitted=made.omitted, tokens=made.tokens, nonce=frame.nonce,
        ids=list(made.shown), meta=meta(),
    )  # fmt: skip


def _short(hit: RecallHit) -> CompactHit:
    it = hit.insight
    return CompactHit(
        it.id, it.content, it.category, it.importance, hit.intent, hit.via, hit.confidence, round(hit.score, 3)
    )
