"""consolidate as a method: clusters with previews, questions that are asked once, and reviews that show the merge."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from mnemond.api.knowledge import KnowledgeHandlers
from mnemond.api.types_knowledge import CommunitiesParams, SummarizeParams
from mnemond.api.types_memories import ForgetParams, ListParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.job import Work
from mnemond.model.answers import ListResult
from tests.api.factories import CALL, Bench, bench

INDEX = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven"
EACH = "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven"
MORE = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven; it takes long"


class Measuring:
    """Runs the job that finds communities; counts its runs."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.runs = 0

    async def __call__(self, store: str) -> None:
        warm = await self.over.open_stores.use(store)
        identity = self.over.identities.own(store, "system:graph_metrics")
        work = Work("graph_metrics", warm.store, identity, 0, 0, 0.0, trio.CapacityLimiter(1))
        await GraphMetrics().run(work)
        self.runs += 1


async def said(over: Bench, *texts: str) -> KnowledgeHandlers:
    for text in texts:
        await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
    return KnowledgeHandlers(over.open_stores, over.identities, Measuring(over))


REDIS = (
    "Redis holds the sessions of the shop",
    "Redis restarts every night with the shop",
    "The shop reads Redis twice",
)
TEA = ("Ana drinks green tea at four", "Ana keeps green tea in the kitchen", "Green tea for Ana comes from Uji")


async def two_topics(over: Bench) -> KnowledgeHandlers:
    handlers = await said(over)
    for text, entity, user in [*((each, "Redis", None) for each in REDIS), *((each, "Ana", "ana") for each in TEA)]:
        params = RememberParams(content=text, entities=(entity,), user_id=user, no_diff=True)
        await over.remembering.remember(CALL, params)
    return handlers


async def test_communities_are_found_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await two_topics(over)
        found = await handlers.communities(CALL, CommunitiesParams())
        assert handlers._measure.runs == 1  # type: ignore[attr-defined]
        assert (found.total, found.outside) == (2, 0)
        assert [each.memories for each in found.communities] == [3, 3]
        assert {frozenset(it.content for it in each.examples) for each in found.communities} == {
            frozenset(REDIS), frozenset(TEA)
        }  # fmt: skip
        await handlers.communities(CALL, CommunitiesParams())
        assert handlers._measure.runs == 1  # type: ignore[attr-defined]
        await handlers.communities(CALL, CommunitiesParams(refresh=True))
        assert handlers._measure.runs == 2  # type: ignore[attr-defined]


async def test_a_user_is_shown_what_is_theirs_and_everybodys(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await two_topics(over)
        found = await handlers.communities(CALL, CommunitiesParams(user_id="bob", limit=1))
        [community] = found.communities
        assert {it.content for it in community.examples} == set(REDIS)
        assert (found.total, found.outside) == (1, 0)


async def test_the_memories_of_a_community_are_listed(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await two_topics(over)
        found = await handlers.communities(CALL, CommunitiesParams())
        number = next(each.number for each in found.communities if each.examples[0].content in REDIS)
        page = await over.reads.list(CALL, ListParams(community=number, limit=2))
        assert isinstance(page, ListResult)
        assert [each.content for each in page.insights] == [REDIS[2], REDIS[1]]
        rest = await over.reads.list(CALL, ListParams(community=number, limit=2, before=page.next))
        assert isinstance(rest, ListResult)
        assert [each.content for each in rest.insights] == [REDIS[0]]
        await over.changes.forget(CALL, ForgetParams(id=rest.insights[0].id))
        left = await over.reads.list(CALL, ListParams(community=number, user_id="bob"))
        assert isinstance(left, ListResult)
        assert len(left.insights) == 2
        none = await over.reads.list(CALL, ListParams(community=99))
        assert isinstance(none, ListResult)
        assert none.insights == []
        for wrong in (ListParams(community=1, retired=True), ListParams(community=1, as_of="2026-01-01T00:00:00Z")):
            with pytest.raises(MnemonError) as caught:
                await over.reads.list(CALL, wrong)
            assert caught.value.kind is INVALID_PARAMS


async def test_a_summary_is_stored_once_and_named_problems_refuse_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await said(over, INDEX, MORE, "The office is in Berlin", "The office is in Munich")
        page = await over.reads.list(CALL, ListParams())
        assert isinstance(page, ListResult)
        ids = [each.id for each in page.insights]
        wanted = SummarizeParams(ids=(ids[3], ids[2]), op_id="mine")
        first, again = await handlers.summarize(CALL, wanted), await handlers.summarize(CALL, wanted)
        assert (first.replayed, again.replayed, again.id) == (False, True, first.id)
        assert "it takes long" in first.content
        for wrong in ((ids[0], ids[1]), (ids[0], "ffffffff-9999")):
            with pytest.raises(MnemonError):
                await handlers.summarize(CALL, SummarizeParams(ids=wrong))
