"""viz: memories and their links, chosen in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.recall import filter_of, within
from mnemond.api.requests import one_active
from mnemond.api.store_access import FairLimiter, OpenStores
from mnemond.api.types_viz import VizParams
from mnemond.clock import Clock
from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.jobs.graph_metrics import metrics_of
from mnemond.model.graph import Graph
from mnemond.model.memory import format_us
from mnemond.model.query import Filter
from mnemond.recall.graph_view import Wish, build, stated
from mnemond.store.edges import Metric, members_of
from mnemond.wire.dispatch import Call, handles

THREADS = 1
"""Pictures at once: one takes some tenths of a second of a processor."""


class VizHandlers:
    """viz."""

    def __init__(self, open_stores: OpenStores, clock: Clock, projects: Projects) -> None:
        self._open_stores = open_stores
        self._clock = clock
        self._projects = projects
        self._threads, self._turns = trio.CapacityLimiter(THREADS), FairLimiter(THREADS)

    @handles("viz", in_task=True)
    async def viz(self, call: Call, params: VizParams) -> Graph:
        """Return the picture of a store. Raises MnemonError: INVALID_PARAMS; NOT_FOUND or AMBIGUOUS for `around`."""
        now_us = self._clock.now_us()
        wanted = filter_of(params, now_us)
        if params.community is not None and wanted.historic:
            problem = "communities are those of the memories that are active now: leave as_of and known_at out"
            raise invalid([FieldProblem("community", problem)])
        warm = await self._open_stores.use(params.store)
        asked = await self._projects.asked(params, warm)
        wanted = within(wanted, asked, alone=True)
        snapshot = await warm.archives.of(warm.store) if wanted.historic else warm.store.snapshot
        among = None
        if params.community is not None:
            among = await warm.store.read(partial(members_of, community=params.community))
        metrics = await metrics_of(warm.store)
        make = partial(_picture, snapshot, wanted, params, among, metrics, warm.store.name, format_us(now_us))
        with await self._turns.slot(call):
            picture = await trio.to_thread.run_sync(make, limiter=self._threads)
        if not params.redact:
            ids = [it.id for it in picture.nodes]
            picture = msgspec.structs.replace(picture, relations=await warm.store.read(partial(stated, ids=ids)))
        return warm.marked(picture)


def _picture(
    snapshot: Snapshot,
    wanted: Filter,
    params: VizParams,
    among: Sequence[str] | None,
    metrics: Sequence[Metric],
    store: str,
    now: str,
) -> Graph:
    visible = snapshot.visible(wanted)
    mask = snapshot.alive() if visible is None else visible
    if among is not None:
        mask = mask & snapshot.marked(among)
    around = None
    if params.around is not None:
        around = snapshot.row_of(one_active(snapshot, params.around).id)
        if around is None or not mask[around]:
            raise MnemonError(
                NOT_FOUND,
                f"memory {params.around[:64]!a} does not fit the filters that were given",
                hint="leave them out, or draw the picture around another memory",
                outcome="rejected",
            )
    return build(snapshot, mask, metrics, Wish(params.limit, around, params.depth, params.redact), store, now)
