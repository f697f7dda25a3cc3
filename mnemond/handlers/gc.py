"""The method about what matters least: listed, kept, reviewed, let go of, or removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec
import trio

from mnemond.clock import Clock
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.lookup import one_active
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Collected, Retained
from mnemond.pipelines import gc
from mnemond.protocol.gc import GcCandidate, GcDone, GcFlagged, GcKept, GcParams, GcResult, GcReview
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.backups import holding

REVIEWED_AT_ONCE = 200
"""Rows reviewed before the thread lets go, so that a client that leaves is not served to the end."""

THREADS = 1
"""Listings and reviews at once; more of them would only fight the event loop for the interpreter."""


class GcHandlers:
    """gc."""

    def __init__(self, door: StoreDoor, identities: Identities, clock: Clock) -> None:
        self._door = door
        self._identities = identities
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "gc": self.gc,
        }

    def gc(self, call: Call, params: GcParams) -> object:
        """List, or do one thing. Raises MnemonError(INVALID_PARAMS) when several are asked for at once."""
        wanted = [name for name in ("keep", "review", "apply", "purge_deleted") if _is_asked(params, name)]
        if len(wanted) > 1:
            sentence = f"{' and '.join(wanted)} are different things; ask for one"
            raise invalid([FieldProblem(wanted[1], sentence)], hint="call gc once for each")
        use = {"keep": self._keep, "review": self._review, "apply": self._apply, "purge_deleted": self._purge}
        chosen = use[wanted[0]] if wanted else self._list
        return self._door.through(params.store, lambda warm: chosen(warm, params))

    async def _list(self, warm: OpenStore, params: GcParams) -> GcResult:
        policy = warm.policy.lifecycle
        snapshot = warm.store.snapshot
        found, many = await trio.to_thread.run_sync(
            gc.weak, snapshot, _bounds(params), policy, self._clock.now_us(), limiter=self._threads
        )
        return warm.marked(
            GcResult(
                total_insights=snapshot.live,
                threshold=params.threshold,
                candidates_found=many,
                candidates=[_candidate(each) for each in found],
                max_insights=policy.max_insights,
                actions={
                    "purge": f"mnemonctl gc --threshold {params.threshold:g} --limit {params.limit} --apply --yes",
                    "keep": "mnemonctl gc --keep ID",
                },
            )
        )

    async def _review(self, warm: OpenStore, params: GcParams) -> GcReview:
        snapshot = warm.store.snapshot
        rows = gc.visible_rows(snapshot, _bounds(params).scope)
        flagged: list[gc.Flagged] = []
        for start in range(0, len(rows), REVIEWED_AT_ONCE):
            part = rows[start : start + REVIEWED_AT_ONCE]
            flagged += await trio.to_thread.run_sync(gc.review, snapshot, part, limiter=self._threads)
        shown = gc.worst_first(flagged)[: params.limit]
        return warm.marked(
            GcReview(
                review_results=[
                    GcFlagged(each.insight.id, each.content, each.insight.importance, list(each.warnings))
                    for each in shown
                ],
                total_flagged=len(flagged),
                actions={"update": "mnemonctl update ID --content TEXT", "forget": "mnemonctl forget ID"},
            )
        )

    def _keep(self, warm: OpenStore, params: GcParams) -> object:
        """A repeat of one that was carried out is for the writer, which knows its op_id."""
        insight_id = params.keep or ""
        try:
            insight_id = one_active(warm.store.snapshot, insight_id).id
        except MnemonError:
            if params.op_id is None:
                raise
        identity = self._identities.of(warm, params)
        return submitted(warm, gc.propose_keep(insight_id, warm.policy.lifecycle, identity), kept_result)

    def _apply(self, warm: OpenStore, params: GcParams) -> object:
        identity = self._identities.of(warm, params)
        return submitted(warm, gc.propose_apply(_bounds(params), warm.policy.lifecycle, identity), done_result)

    async def _purge(self, warm: OpenStore, params: GcParams) -> object:
        identity = self._identities.of(warm, params)
        proposal = gc.propose_purge(params.purge_deleted or 0, identity)
        done = cast("GcDone", await settle(submitted(warm, proposal, done_result)))
        if not done.ids:
            return done
        names = await trio.to_thread.run_sync(holding, warm.store.path, done.ids)
        return msgspec.structs.replace(done, backups=tuple(names))


def _is_asked(params: GcParams, name: str) -> bool:
    value: object = getattr(params, name)
    return value is not None and value is not False


def _bounds(params: GcParams) -> gc.Bounds:
    return gc.Bounds(params.threshold, params.limit, scope_of(params))


def _candidate(weak: gc.Weak) -> GcCandidate:
    it = weak.insight
    return GcCandidate(
        id=it.id,
        content=it.content,
        category=it.category,
        importance=it.importance,
        access_count=it.access_count,
        effective_importance=weak.effective_importance,
        days_since_access=weak.days_since_access,
        edge_count=weak.edge_count,
        immune=False,
    )


def kept_result(warm: OpenStore, outcome: Retained) -> GcKept:
    """The reply to keeping a memory."""
    return GcKept(
        status="retained",
        id=outcome.id,
        content=outcome.content,
        new_access=outcome.access_count,
        effective_importance=outcome.effective_importance,
        immune=outcome.immune,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )


def done_result(warm: OpenStore, outcome: Collected) -> GcDone:
    """The reply to letting go of memories, or removing them."""
    return GcDone(
        status="purged" if outcome.purged else "retired",
        count=len(outcome.ids),
        ids=list(outcome.ids),
        left=outcome.left,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
