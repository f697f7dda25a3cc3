"""Methods that change memories and links: update, merge, forget, pin, supersede, restore, link, unlink, related."""

from __future__ import annotations

from functools import partial
from typing import cast

import msgspec

from mnemond.api.remember import LONG_TEXT, Embedding, embedding_of, similarity_with
from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import (
    LinkParams,
    MergeParams,
    RelatedParams,
    RestoreParams,
    SupersedeParams,
    UnlinkParams,
    UpdateParams,
)
from mnemond.api.types_memories import ForgetParams, PinParams
from mnemond.clock import Clock
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.memory import history, revise, update
from mnemond.memory import links as linking
from mnemond.memory.draft import clean_text, problems_of, with_op_id
from mnemond.memory.history import admits, hidden
from mnemond.memory.links import maker_of, metadata_problems, related, stored_metadata
from mnemond.memory.write import WriteContext
from mnemond.model.answers import RelatedMemory
from mnemond.model.changes import Vector
from mnemond.model.memory import Edge, TextWithCues
from mnemond.model.outcomes import (
    ForgetResult,
    LinkResult,
    MergeResult,
    PinResult,
    RestoreResult,
    SupersedeResult,
    UnlinkResult,
    UpdateResult,
)
from mnemond.model.query import Filter
from mnemond.store.backups import copies_holding
from mnemond.store.connection import Connection
from mnemond.store.operations import View
from mnemond.wire.deferred import in_task, in_thread
from mnemond.wire.dispatch import Call, handles

HOST = "host:link"
"""`triggered_by` of a link made by a tool on its own."""


class ChangeHandlers:
    """Handlers of changes. Texts are embedded before the write; the writer decides everything else."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock

    @staticmethod
    def problems(fields: dict[str, object]) -> list[FieldProblem]:
        """Return the problems of the well-typed fields of a request that also has ill-typed ones."""
        return problems_of(fields, update.STORED_NAMES)

    @handles("update")
    async def update(self, call: Call, params: UpdateParams) -> UpdateResult:
        """Change fields of a memory. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        fields = msgspec.structs.asdict(params)
        if problems := update.problems(fields):
            raise invalid(with_op_id(problems, params.op_id), hint="nothing was written")
        values, redacted = update.new_values(fields, allow_secret=params.allow_secret)
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params, call=call)
        embedding = await embedding_of(warm, _updated_text(warm, params.id, values))
        wish = update.Update(
            id=params.id,
            values=values,
            redacted=redacted,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
        )
        return await submitted(warm, update.propose(wish, identity, one_active, warm.rules), UpdateResult)

    @handles("merge")
    async def merge(self, call: Call, params: MergeParams) -> MergeResult:
        """Merge two memories. Raises MnemonError(INVALID_PARAMS) for an invalid text."""
        if params.content is not None and (problems := problems_of({"content": params.content})):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params, call=call)
        content, redacted = clean_text(params.content, allow_secret=params.allow_secret)
        embedding = await embedding_of(warm, await _merged_text(warm, params, content))
        wish = revise.Merge(
            id=params.id,
            other_id=params.other_id,
            into=params.into,
            content=content,
            redacted=redacted,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
            dry_run=params.dry_run,
        )
        if params.dry_run:
            return await in_task(warm.store.read, partial(_would_merge, wish=wish, identity=identity, warm=warm))
        return await submitted(warm, revise.propose_merge(wish, identity, one_active, warm.rules), MergeResult)

    @handles("forget")
    async def forget(self, call: Call, params: ForgetParams) -> ForgetResult:
        """Take a memory out of recall, or purge it. Raises MnemonError(NOT_FOUND)."""
        warm = await self._open_stores.use(params.store)
        wanted = revise.Forget(id=params.id, purge=params.purge, scope=scope_of(params))
        proposal = revise.propose_forget(wanted, self._identities.of(warm, params, call=call), one_active)
        done = await submitted(warm, proposal, ForgetResult)
        return await _with_backups(warm, done) if params.purge else done

    @handles("pin")
    async def pin(self, call: Call, params: PinParams) -> PinResult:
        """Pin or unpin one memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        warm = await self._open_stores.use(params.store)
        wanted = revise.Pin(id=params.id, pinned=not params.unpin, scope=scope_of(params))
        proposal = revise.propose_pin(wanted, self._identities.of(warm, params), one_active)
        return await submitted(warm, proposal, PinResult)

    @handles("supersede")
    async def supersede(self, call: Call, params: SupersedeParams) -> SupersedeResult:
        """Replace one memory by another. Raises MnemonError: NOT_FOUND, AMBIGUOUS, INVALID_PARAMS."""
        warm = await self._open_stores.use(params.store)
        wanted = revise.Supersede(old_id=params.old_id, new_id=params.new_id, scope=scope_of(params))
        proposal = revise.propose_supersede(wanted, self._identities.of(warm, params, call=call), one_active)
        return await submitted(warm, proposal, SupersedeResult)

    @handles("restore")
    async def restore(self, call: Call, params: RestoreParams) -> RestoreResult:
        """Restore a retired memory. Raises MnemonError if there is none, or if its successor is active."""
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params, call=call)
        found = await in_task(warm.store.read, partial(_find_retired, params=params, warm=warm))
        if found is None or found.vector is not None or found.insight.status == "active":
            embedding = Embedding(None) if found is None else Embedding(found.insight.text, found.vector)
        else:
            embedding = await embedding_of(warm, found.insight.text)
        wanted = history.Restore(
            id=params.id,
            force=params.force,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
        )
        return await submitted(warm, history.propose(wanted, identity, warm.rules), RestoreResult)

    @handles("link")
    async def link(self, call: Call, params: LinkParams) -> LinkResult:
        """Link two memories. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        wanted = _wanted(params)
        warm = await self._open_stores.use(params.store)
        by = HOST if wanted.edge.created_by == "host" else None
        proposal = linking.propose_link(wanted, self._identities.of(warm, params, by), one_active)
        return await submitted(warm, proposal, LinkResult)

    @handles("unlink")
    async def unlink(self, call: Call, params: UnlinkParams) -> UnlinkResult:
        """Remove links. Raises MnemonError(NOT_FOUND) if there is none."""
        warm = await self._open_stores.use(params.store)
        wanted = linking.Unlink(
            source_id=params.source_id, target_id=params.target_id, edge_type=params.type, scope=scope_of(params)
        )
        proposal = linking.propose_unlink(wanted, self._identities.of(warm, params), one_active)
        return await submitted(warm, proposal, UnlinkResult)

    @handles("related")
    async def related(self, call: Call, params: RelatedParams) -> list[RelatedMemory]:
        """Return the memories around one. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        return _related(await self._open_stores.use(params.store), params, self._clock.now_us())


def _updated_text(warm: OpenStore, insight_id: str, values: update.NewValues) -> TextWithCues | None:
    """Return what a memory is embedded as after an update; None if that stays, or if it is missing: then the writer
    reports that, or answers a repeat."""
    if "content" not in values and "cues" not in values:
        return None
    try:
        return update.text_after(one_active(warm.store.snapshot, insight_id), values)
    except MnemonError:
        return None


async def _merged_text(warm: OpenStore, params: MergeParams, content: str | None) -> TextWithCues | None:
    """Return the merged memory's `content`, unless it is given, and cues; None if a memory is missing: then the writer
    reports that, or answers a repeat."""
    snapshot = warm.store.snapshot
    try:
        found = one_active(snapshot, params.id), one_active(snapshot, params.other_id)
    except MnemonError:
        return None
    if content is None and sum(len(it.content) for it in found) <= LONG_TEXT:
        content = revise.text_of(*found)
    elif content is None:  # at worst 3 µs a character
        content = await in_thread(revise.text_of, *found, abandon_on_cancel=True, limiter=warm.threads)
    return TextWithCues(content, revise.merged_cues(*found))


def _would_merge(connection: Connection, wish: revise.Merge, identity: WriteContext, warm: OpenStore) -> MergeResult:
    """Return the result of a merge without writing it."""
    snapshot = warm.store.snapshot
    view = View(snapshot, similarity_with(warm, snapshot, cast("Vector | None", wish.vector)), connection)
    return cast("MergeResult", revise.propose_merge(wish, identity, one_active, warm.rules).decide(view).outcome)


async def _with_backups(warm: OpenStore, done: ForgetResult) -> ForgetResult:
    """Add to the result of a purge the files that may still hold the memory."""
    names = await in_thread(copies_holding, warm.store.path, [done.id])
    if not names:
        return done
    message = f"{done.message}; files of the data directory that may still hold it: {', '.join(names)}"
    return msgspec.structs.replace(done, backups=tuple(names), message=message)


def _wanted(params: LinkParams) -> linking.LinkRequest:
    problems = metadata_problems(params.metadata, params.sub_type, params.created_by)
    problems += linking.direction_problems(
        params.type, bidirectional=params.bidirectional, allow_cycle=params.allow_cycle
    )
    if problems:
        raise invalid(problems, hint="nothing was written")
    made_by = maker_of(params.metadata, params.created_by)
    metadata, too_large = stored_metadata(params.metadata, params.sub_type, made_by, allow_secret=params.allow_secret)
    if too_large:
        raise invalid(too_large, hint="nothing was written")
    return linking.LinkRequest(
        edge=Edge(params.source_id, params.target_id, params.type, params.weight, metadata.text, made_by),
        bidirectional=params.bidirectional,
        allow_cycle=params.allow_cycle,
        redacted=metadata.redacted,
        scope=scope_of(params),
    )


def _related(warm: OpenStore, params: RelatedParams, now_us: int) -> list[RelatedMemory]:
    snapshot = warm.store.snapshot
    start = one_active(snapshot, params.id)
    row, scope = snapshot.row_of(start.id), scope_of(params)
    if row is None or not admits(scope, start):
        raise hidden(params.id)
    wanted = Filter(scope=scope, all_sessions=params.all_sessions, now_us=now_us)
    return related(snapshot, row, wanted, params.edge, params.depth, params.limit)


def _find_retired(connection: Connection, params: RestoreParams, warm: OpenStore) -> history.Kept | None:
    """Return the memory to restore, or None: then the writer reports the error, or answers a repeat."""
    try:
        return history.kept(connection, params.id, scope_of(params), warm.store.embedder)
    except MnemonError:
        return None
