"""The method that finds memories by their words."""

from __future__ import annotations

from collections.abc import Mapping

from mnemond.errors import invalid
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.model.insight import CATEGORIES, Scope
from mnemond.model.recall import Filter
from mnemond.pipelines.fields import choice_problems
from mnemond.pipelines.search import Match, search
from mnemond.protocol.search import SearchHit, SearchParams
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler


class SearchHandlers:
    """search."""

    def __init__(self, door: StoreDoor) -> None:
        self._door = door

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "search": self.search,
        }

    def search(self, call: Call, params: SearchParams) -> object:
        """Find memories by their words. Raises MnemonError(INVALID_PARAMS)."""
        if params.category is not None and (problems := choice_problems("category", params.category, CATEGORIES)):
            raise invalid(problems)
        return self._door.through(params.store, lambda warm: _found(warm, params))


def _found(warm: OpenStore, params: SearchParams) -> list[SearchHit]:
    wanted = Filter(
        category=params.category,
        source=params.source,
        scope=Scope(params.user_id, params.session_id, params.agent_id),
        all_sessions=params.all_sessions,
    )
    return [_hit(match) for match in search(warm.store.snapshot, params.query, wanted, params.limit)]


def _hit(match: Match) -> SearchHit:
    it = match.insight
    return SearchHit(it.id, it.content, it.category, it.importance, it.tags, round(match.score, 6))
