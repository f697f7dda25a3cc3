"""Methods about what waits for a decision, pairs of memories and texts that are none: reviews, resolve."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import msgspec
import trio

from mnemond.api.remember import embedding_of, prepared_draft
from mnemond.api.requests import Identities, is_person, one_active, only_by_person, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import (
    HeldTextView,
    ResolveParams,
    ReviewedMemory,
    ReviewsParams,
    ReviewsResult,
    ReviewView,
)
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.extract.orders import is_instruction
from mnemond.memory import reviews
from mnemond.memory.consolidation import pair_preview
from mnemond.memory.draft import Draft, clean_text, problems_of
from mnemond.memory.held_texts import REASON, propose_drop, propose_keep, refuse_unasked
from mnemond.memory.history import meets
from mnemond.model.memory import DAY_US, Scope, TextWithCues, format_us, parse_rfc3339
from mnemond.model.outcomes import ResolveResult
from mnemond.model.reviews import EXPIRES_DAYS, Decidable, HeldReview, Review
from mnemond.store import held_texts, insights, relations
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
        """Return pairs that wait, with the texts of both, and texts that are no memory."""
        warm = await self._open_stores.use(params.store)
        result = await warm.store.read(partial(_listed, params=params, store=warm.store.name))
        found = await trio.to_thread.run_sync(_with_previews, result.reviews, limiter=self._threads)
        return warm.marked(msgspec.structs.replace(result, reviews=found))

    @handles("resolve", in_task=True)
    async def resolve(self, call: Call, params: ResolveParams) -> ResolveResult:
        """Carry out a decision. Raises MnemonError: NOT_FOUND if there is no such review, or it was decided;
        INVALID_PARAMS for a text that cannot be stored, for two that contradict each other and no text, and for what
        only a person at a terminal may decide: that a text which gives orders is stored."""
        problems = [] if params.content is None else problems_of({"content": params.content})
        if params.content is not None and params.resolution not in ("MERGE", "KEEP"):
            problems.append(FieldProblem("content", f"content is for a MERGE or a KEEP, not for {params.resolution}"))
        if problems:
            raise invalid(problems, hint="nothing was written")
        if params.content is not None and is_instruction(params.content) and not is_person(call):
            sentence = "content gives orders to a program, and such is taken from a person at a terminal only"
            raise invalid([FieldProblem("content", sentence)], hint="nothing was written; say what is true instead")
        warm = await self._open_stores.use(params.store)
        held = await warm.store.read(lambda it: held_texts.read(it, params.id))
        if held is not None:
            if not meets(scope_of(params), held.held.scope):
                raise reviews.unknown(params.id)
            return await self._resolve_text(call, warm, params, held)
        identity = self._identities.of(warm, params, call=call)
        content, redacted = clean_text(params.content, allow_secret=params.allow_secret)
        embedding = await embedding_of(warm, await _text(warm, params, content))
        wish = reviews.Resolve(
            review=params.id,
            resolution=params.resolution,
            content=content,
            redacted=redacted,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
        )
        return await submitted(warm, reviews.propose_resolve(wish, identity, one_active, warm.rules), ResolveResult)

    async def _resolve_text(
        self, call: Call, warm: OpenStore, params: ResolveParams, held: HeldReview
    ) -> ResolveResult:
        """Keep a text as `remember` does by hand, or drop it."""
        refuse_unasked(held, params.resolution, params.content)
        identity = self._identities.of(warm, params, call=call)
        if params.resolution == "DROP":
            return await submitted(warm, propose_drop(held.id, identity), ResolveResult)
        only_by_person(call, "KEEP", f"mnemonctl resolve {held.id} --as KEEP")
        draft = Draft(
            content=held.held.content if params.content is None else params.content,
            conversation_id=held.held.conversation_id,
            scope=held.held.scope,
            created_at=held.held.said_at,
            allow_secret=params.allow_secret,
        )
        prepared = await trio.to_thread.run_sync(prepared_draft, warm, draft, identity.now_us, limiter=warm.threads)
        return await submitted(warm, propose_keep(held.id, prepared, identity, warm.rules), ResolveResult)


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


def _listed(connection: Connection, params: ReviewsParams, store: str) -> ReviewsResult:
    """Return what waits, or was decided, without previews. The counts are of what waits."""
    scope = scope_of(params)
    waiting = [it for it in stored.pending(connection, None) if reviews.visible(connection, it.asked, scope)]
    texts = [it for it in held_texts.listed(connection, None) if meets(scope, it.held.scope)]
    kinds = Counter(it.asked.kind for it in waiting)
    shown, shown_texts = waiting, texts
    if params.decided:
        most = params.limit if scope == Scope() else None
        decided = stored.pending(connection, most, resolved=True)
        shown = [it for it in decided if reviews.visible(connection, it.asked, scope)]
        shown_texts = [it for it in held_texts.listed(connection, most, resolved=True) if meets(scope, it.held.scope)]
    return ReviewsResult(
        reviews=[_view(connection, each) for each in shown[: params.limit]],
        total=len(waiting) - kinds["link"] - kinds["names"],
        store=store,
        links=kinds["link"],
        names=kinds["names"],
        texts=[_text_view(each) for each in shown_texts[: params.limit]],
        texts_total=len(texts),
    )


def _text_view(it: HeldReview) -> HeldTextView:
    held = it.held
    return HeldTextView(
        **_decision(it), reason=REASON, content=held.content, said_at=held.said_at,
        conversation_id=held.conversation_id, scope=held.scope,
    )  # fmt: skip


def _decision(it: Decidable) -> dict[str, Any]:
    """Return the fields of a view that are those of what is decided."""
    own = {name: getattr(it, name) for name in Decidable.__struct_fields__}
    return {**own, "expires_at": format_us(parse_rfc3339(it.created_at) + EXPIRES_DAYS * DAY_US)}


def _with_previews(found: list[ReviewView]) -> list[ReviewView]:
    """Takes a millisecond for each merge that waits: for a thread."""
    return [msgspec.structs.replace(each, preview=_preview(each)) for each in found]


def _preview(it: ReviewView) -> str | None:
    """Return what a suggested merge would store, by the merge that `resolve` makes."""
    if it.kind == "names" or it.resolved_at is not None or it.older.status != "active" or it.newer.status != "active":
        return None
    if it.suggestion == "DUPLICATE":
        return it.older.content
    return pair_preview(it.older.content, it.newer.content) if it.suggestion == "MERGE" else None


def _view(connection: Connection, review: Review) -> ReviewView:
    asked = review.asked
    shown = _entity if asked.kind == "names" else _memory
    return ReviewView(
        **_decision(review), kind=asked.kind, suggestion=asked.suggestion, similarity=asked.similarity,
        reason=asked.reason, older=shown(connection, asked.older), newer=shown(connection, asked.newer),
        link=asked.link,
    )  # fmt: skip


def _memory(connection: Connection, insight_id: str) -> ReviewedMemory:
    it = insights.read(connection, insight_id)
    if it is None:
        return ReviewedMemory(insight_id, "", "", "", "", None, pinned=False, status=None)
    return ReviewedMemory(
        it.id, it.content, it.category, it.created_at, it.source, it.conversation_id, pinned=it.pinned, status=it.status
    )


def _entity(connection: Connection, entity_id: str) -> ReviewedMemory:
    """Return the row of a name in the form of a memory: its name as the content, its type as the category."""
    it = relations.entity(connection, entity_id)
    name, kind = ("", "") if it is None else (it.name, it.kind)
    status = None if it is None else "active"
    return ReviewedMemory(entity_id, name, kind, "", "", None, pinned=False, status=status)
