"""Methods about pairs of memories that wait for a decision: reviews, resolve."""

from __future__ import annotations

from functools import partial

import msgspec
import trio

from mnemond.api.remember import embedding_of
from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import ResolveParams, ReviewedMemory, ReviewsParams, ReviewsResult, ReviewView
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.memory import reviews
from mnemond.memory.consolidation import pair_preview
from mnemond.memory.draft import clean, problems_of
from mnemond.model.memory import DAY_US, TextWithCues, format_us, parse_rfc3339
from mnemond.model.outcomes import ResolveResult
from mnemond.model.reviews import EXPIRES_DAYS, Review
from mnemond.store import insights
from mnemond.store import reviews as stored
from mnemond.store.connection import Connection
from mnemond.wire.dispatch import Call, handles


class ReviewHandlers:
    """reviews, resolve. A text is embedded before the write; the writer decides everything else."""

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._threads = trio.CapacityLimiter(1)

    @handles("reviews", in_task=True)
    async def reviews(self, call: Call, params: ReviewsParams) -> ReviewsResult:
        """Return pairs that wait, with the texts of both."""
        warm = await self._open_stores.use(params.store)
        found = await warm.store.read(partial(_listed, params=params))
        found = await trio.to_thread.run_sync(_with_previews, found, limiter=self._threads)
        links = await warm.store.read(stored.count_links)
        total = warm.store.pending_reviews
        return warm.marked(ReviewsResult(reviews=found, total=total, store=warm.store.name, links=links))

    @handles("resolve", in_task=True)
    async def resolve(self, call: Call, params: ResolveParams) -> ResolveResult:
        """Carry out a decision. Raises MnemonError: NOT_FOUND if there is no such review, or it was decided;
        INVALID_PARAMS for a text that cannot be stored, or for two that contradict each other and no text."""
        problems = [] if params.content is None else problems_of({"content": params.content})
        if params.content is not None and params.resolution != "MERGE":
            problems.append(FieldProblem("content", f"content is for a MERGE, not for {params.resolution}"))
        if problems:
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        given = None if params.content is None else clean(params.content, (), (), allow_secret=params.allow_secret)
        content = None if given is None else given.content
        embedding = await embedding_of(warm, await _text(warm, params, content))
        wish = reviews.Resolve(
            review=params.id,
            resolution=params.resolution,
            content=content,
            redacted=() if given is None else given.redacted,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
        )
        return await submitted(warm, reviews.propose_resolve(wish, identity, one_active, warm.rules), ResolveResult)


async def _text(warm: OpenStore, params: ResolveParams, content: str | None) -> TextWithCues | None:
    """Return the text to embed; None if none changes, or if it is not known: then the writer reports why, or answers a
    repeat."""
    review = await warm.store.read(lambda it: stored.read(it, params.id))
    try:
        asked = reviews.waiting(review, params.id).asked
        older, newer = one_active(warm.store.snapshot, asked.older), one_active(warm.store.snapshot, asked.newer)
    except MnemonError:
        return None
    return reviews.text_of(params.resolution, older, newer, content)


def _listed(connection: Connection, params: ReviewsParams) -> list[ReviewView]:
    return [_view(connection, each) for each in stored.pending(connection, params.limit, resolved=params.decided)]


def _with_previews(found: list[ReviewView]) -> list[ReviewView]:
    """Takes a millisecond for each merge that waits: for a thread."""
    return [msgspec.structs.replace(each, preview=_preview(each)) for each in found]


def _preview(it: ReviewView) -> str | None:
    """Return what a suggested merge would store, by the merge that `resolve` makes."""
    if it.resolved_at is not None or it.older.status != "active" or it.newer.status != "active":
        return None
    if it.suggestion == "DUPLICATE":
        return it.older.content
    return pair_preview(it.older.content, it.newer.content) if it.suggestion == "MERGE" else None


def _view(connection: Connection, review: Review) -> ReviewView:
    asked = review.asked
    return ReviewView(
        id=review.id,
        kind=asked.kind,
        suggestion=asked.suggestion,
        similarity=asked.similarity,
        reason=asked.reason,
        created_at=review.created_at,
        expires_at=format_us(parse_rfc3339(review.created_at) + EXPIRES_DAYS * DAY_US),
        older=_memory(connection, asked.older),
        newer=_memory(connection, asked.newer),
        resolved_at=review.resolved_at,
        resolution=review.resolution,
        by=review.by,
        link=asked.link,
    )


def _memory(connection: Connection, insight_id: str) -> ReviewedMemory:
    it = insights.read(connection, insight_id)
    if it is None:
        return ReviewedMemory(insight_id, "", "", "", "", None, pinned=False, status=None)
    return ReviewedMemory(
        it.id, it.content, it.category, it.created_at, it.source, it.conversation_id, pinned=it.pinned, status=it.status
    )
