"""consolidate as a method: clusters with previews, questions that are asked once, and reviews that show the merge."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.knowledge import KnowledgeHandlers
from mnemond.api.reviews import ReviewHandlers
from mnemond.api.types_changes import ResolveParams, ReviewsParams
from mnemond.api.types_knowledge import ConsolidateParams
from mnemond.api.types_memories import RememberParams
from tests.api.factories import CALL, Bench, bench

INDEX = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven"
EACH = "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven"
MORE = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven; it takes long"


async def said(over: Bench, *texts: str) -> KnowledgeHandlers:
    for text in texts:
        await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
    return KnowledgeHandlers(over.open_stores, over.identities)


async def test_clusters_are_shown_and_asked_about(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await said(over, INDEX, EACH, MORE, "The office is in Berlin")
        dry = await handlers.consolidate(CALL, ConsolidateParams(dry_run=True))
        assert (dry.found, dry.pairs, dry.proposed, dry.dry_run) == (1, 2, 2, True)
        assert [each.review for each in dry.clusters[0].members] == [None, None]
        asked = await handlers.consolidate(CALL, ConsolidateParams())
        [cluster] = asked.clusters
        assert [(each.content, each.review, each.suggestion) for each in cluster.members] == [
            (EACH, 1, "DUPLICATE"), (MORE, 2, "MERGE")
        ]  # fmt: skip
        assert (cluster.content, asked.proposed) == (INDEX, 2)
        assert "it takes long" in cluster.preview
        again = await handlers.consolidate(CALL, ConsolidateParams(limit=1))
        assert (again.proposed, again.pairs) == (0, 2)


async def test_a_review_shows_the_text_that_a_merge_stores(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await said(over, INDEX, MORE, EACH)
        await handlers.consolidate(CALL, ConsolidateParams())
        deciding = ReviewHandlers(over.open_stores, over.identities)
        first, second = (await deciding.reviews(CALL, ReviewsParams())).reviews
        assert (second.suggestion, second.preview) == ("DUPLICATE", INDEX)
        done = await deciding.resolve(CALL, ResolveParams(id=first.id, resolution="MERGE"))
        assert done.content == first.preview
        [decided] = (await deciding.reviews(CALL, ReviewsParams(decided=True))).reviews
        assert decided.preview is None
        await deciding.resolve(CALL, ResolveParams(id=second.id, resolution="COEXIST"))
        assert (await handlers.consolidate(CALL, ConsolidateParams())).found == 0


async def test_a_contradiction_has_no_preview(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        for place in ("Berlin", "Munich"):
            await over.remembering.remember(CALL, RememberParams(content=f"The office is in {place}"))
        deciding = ReviewHandlers(over.open_stores, over.identities)
        [it] = (await deciding.reviews(CALL, ReviewsParams())).reviews
        assert (it.kind, it.preview) == ("conflict", None)
