"""cues.missing and cues.apply: cues for memories that were stored without any, for an agent to write."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import CuedMemory, CuesApplyParams, CuesMissingParams, CuesMissingResult, MemoryCues
from mnemond.clock import Clock
from mnemond.errors import FieldProblem, invalid
from mnemond.memory.cues import CuesToApply, propose_cues
from mnemond.memory.draft import Draft, clean, problems_of, with_op_id
from mnemond.model.outcomes import CuesApplied
from mnemond.model.query import Filter
from mnemond.wire.deferred import in_thread
from mnemond.wire.dispatch import Call, handles


class CuesHandlers:
    """Lists memories without cues, read in a thread, and applies cues; the backfill embeds them afterwards."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock

    @handles("cues.missing")
    async def missing(self, call: Call, params: CuesMissingParams) -> CuesMissingResult:
        """Return the most important memories without cues."""
        warm = await self._open_stores.use(params.store)
        wanted = Filter(scope=scope_of(params), all_sessions=params.session_id is None, now_us=self._clock.now_us())
        return await in_thread(_missing, warm, wanted, params.limit, abandon_on_cancel=True, limiter=warm.threads)

    @handles("cues.apply")
    async def apply(self, call: Call, params: CuesApplyParams) -> CuesApplied:
        """Give memories their cues. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        if problems := _problems(params.memories):
            raise invalid(with_op_id(problems, params.op_id), hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        cues: dict[str, tuple[str, ...]] = {}
        redacted: set[str] = set()
        for each in params.memories:
            if each.cues:
                tidy, kinds = clean(Draft(content="", cues=each.cues, allow_secret=params.allow_secret))
                cues[each.id] = tuple(tidy.cues)
                redacted.update(kinds)
        wanted = CuesToApply(cues=cues, redacted=tuple(sorted(redacted)), scope=scope_of(params))
        done = await submitted(warm, propose_cues(wanted, self._identities.of(warm, params), one_active), CuesApplied)
        if done.changed and warm.on_missing_vector is not None:
            warm.on_missing_vector(warm.store.name)
        return done


def _problems(memories: Sequence[MemoryCues]) -> list[FieldProblem]:
    found = [(at, each) for at, memory in enumerate(memories) for each in problems_of({"cues": memory.cues})]
    return [FieldProblem(f"memories[{at}].{each.field}", f"memories[{at}].{each.message}") for at, each in found]


def _missing(warm: OpenStore, wanted: Filter, limit: int) -> CuesMissingResult:
    snapshot = warm.store.snapshot
    visible = snapshot.visible(wanted)
    lacking = (snapshot.alive() if visible is None else visible) & (snapshot.columns.cues == 0)
    rows = np.flatnonzero(lacking)
    best = rows[snapshot.best(snapshot.columns.importance[rows].astype(np.float32), limit, rows)]
    found = [snapshot.insight(row) for row in best.tolist()]
    memories = [CuedMemory(it.id, it.content, it.category, []) for it in found]
    return warm.marked(CuesMissingResult(memories=memories, left=len(rows) - len(memories), store=warm.store.name))
