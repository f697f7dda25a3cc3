"""The method that finds memories by their words."""

from __future__ import annotations

from collections.abc import Mapping

import trio

from mnemond.clock import Clock
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.filters import filter_of, is_long_question, is_slow
from mnemond.handlers.turns import Turns
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall import Filter
from mnemond.pipelines.search import Match, search
from mnemond.protocol.search import SearchHit, SearchParams
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler


class SearchHandlers:
    """search."""

    def __init__(self, door: StoreDoor, clock: Clock) -> None:
        self._door = door
        self._clock = clock
        self._threads, self._turns = trio.CapacityLimiter(1), Turns(1)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "search": self.search,
        }

    def search(self, call: Call, params: SearchParams) -> object:
        """Find memories by their words. Raises MnemonError(INVALID_PARAMS)."""
        wanted = filter_of(params, self._clock.now_us())
        return self._door.through(params.store, lambda warm: self._search(call, warm, params, wanted))

    def _search(self, call: Call, warm: OpenStore, params: SearchParams, wanted: Filter) -> object:
        snapshot = warm.store.snapshot
        if wanted.historic or is_slow(wanted, snapshot) or is_long_question(params.query):
            return self._searched_aside(call, warm, params, wanted)
        return _found(snapshot, params, wanted, params.limit or warm.reading.limit)

    async def _searched_aside(
        self, call: Call, warm: OpenStore, params: SearchParams, wanted: Filter
    ) -> list[SearchHit]:
        snapshot = await warm.archives.of(warm.store) if wanted.historic else warm.store.snapshot
        limit = params.limit or warm.reading.limit
        async with self._turns.of(call):
            return await trio.to_thread.run_sync(_found, snapshot, params, wanted, limit, limiter=self._threads)


def _found(snapshot: Snapshot, params: SearchParams, wanted: Filter, limit: int) -> list[SearchHit]:
    return [_hit(match) for match in search(snapshot, params.query, wanted, limit)]


def _hit(match: Match) -> SearchHit:
    it = match.insight
    return SearchHit(it.id, it.content, it.category, it.importance, it.tags, round(match.score, 6))
