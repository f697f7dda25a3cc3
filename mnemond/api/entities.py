"""Methods about people and things by their names: entity.list, show, merge, split, not_same, alias."""

from __future__ import annotations

from functools import partial

from mnemond.api.relations import events_of, secrets, when_of, with_evidence
from mnemond.api.requests import Identities, is_person, scope_of, submitted
from mnemond.api.store_access import OpenStores
from mnemond.api.types_entities import (
    MAX_ALIASES,
    MAX_LISTED_ALIASES,
    MAX_PART,
    EntityAliasParams,
    EntityLine,
    EntityListParams,
    EntityListResult,
    EntityMergeParams,
    EntityNotSameParams,
    EntityPage,
    EntityShowParams,
    EntitySplitParams,
)
from mnemond.clock import Clock
from mnemond.errors import FieldProblem, invalid
from mnemond.memory import entity_pages
from mnemond.memory.draft import with_op_id
from mnemond.memory.entities import Decision, NameDecision, preview, propose_names
from mnemond.memory.relations import name_problems, named_entity
from mnemond.memory.reviews import names_visible
from mnemond.model.memory import format_us
from mnemond.model.outcomes import EntityResult
from mnemond.model.relations import When
from mnemond.store import relations, reviews
from mnemond.store.connection import Connection
from mnemond.wire.dispatch import Call, handles

Decided = EntityMergeParams | EntitySplitParams | EntityNotSameParams | EntityAliasParams


class EntityHandlers:
    """entity.list, show, merge, split, not_same, alias."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock

    @handles("entity.list", in_task=True)
    async def list(self, call: Call, params: EntityListParams) -> EntityListResult:
        """Return people and things."""
        warm = await self._open_stores.use(params.store)
        return warm.marked(await warm.store.read(partial(_listed, params=params)))

    @handles("entity.show", in_task=True)
    async def show(self, call: Call, params: EntityShowParams) -> EntityPage:
        """Return the page of a person or a thing. Raises MnemonError: INVALID_PARAMS; NOT_FOUND for an unknown name;
        AMBIGUOUS with the names of several."""
        problems: list[FieldProblem] = []
        now = format_us(self._clock.now_us())
        when = when_of(params.as_of, params.known_at, now, problems)
        warm = await self._open_stores.use(params.store)
        return warm.marked(await warm.store.read(partial(_page, params=params, when=when, now=now)))

    @handles("entity.merge", in_task=True)
    async def merge(self, call: Call, params: EntityMergeParams) -> EntityResult:
        """Join two names, or ask for it. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, AMBIGUOUS."""
        return await self._decided("merge", call, params)

    @handles("entity.split", in_task=True)
    async def split(self, call: Call, params: EntitySplitParams) -> EntityResult:
        """Separate two names. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, AMBIGUOUS."""
        return await self._decided("split", call, params)

    @handles("entity.not_same", in_task=True)
    async def not_same(self, call: Call, params: EntityNotSameParams) -> EntityResult:
        """Note that two names are of two things. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, AMBIGUOUS."""
        return await self._decided("not-same", call, params)

    @handles("entity.alias", in_task=True)
    async def alias(self, call: Call, params: EntityAliasParams) -> EntityResult:
        """Note another name. Raises MnemonError: INVALID_PARAMS, NOT_FOUND, AMBIGUOUS."""
        return await self._decided("alias", call, params)

    async def _decided(self, decision: Decision, call: Call, params: Decided) -> EntityResult:
        problems = [*name_problems("name", params.name), *name_problems("other", params.other)]
        if decision == "alias":
            problems += secrets("other", params.other)
        if problems := with_op_id(problems, params.op_id):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        wanted = NameDecision(
            decision=decision, name=params.name, other=params.other, scope=scope_of(params),
            propose=decision == "merge" and not is_person(call),
        )  # fmt: skip
        identity = self._identities.of(warm, params, call=call)
        if isinstance(params, EntityMergeParams) and params.dry_run:
            return warm.marked(await warm.store.read(partial(preview, wanted=wanted, identity=identity)))
        return await submitted(warm, propose_names(wanted, identity), EntityResult)


def _listed(connection: Connection, params: EntityListParams) -> EntityListResult:
    scope = scope_of(params)
    found = entity_pages.listed(connection, scope, params.type, params.query, params.limit)
    return EntityListResult(
        entities=[
            EntityLine(it.name, it.kind, it.aliases[:MAX_LISTED_ALIASES], it.memories, it.relations, len(it.aliases))
            for it in found.shown
        ],
        total=found.total,
        types=found.kinds,
        proposed=sum(names_visible(connection, it.asked, scope) for it in reviews.pending_names(connection)),
    )


def _page(connection: Connection, params: EntityShowParams, when: When, now: str) -> EntityPage:
    found, scope = relations.roots(connection), scope_of(params)
    root = named_entity(connection, params.name, scope)
    members = found.members(root)
    it = entity_pages.known(connection, members, scope)
    at = when.as_of or now
    rows = entity_pages.rows_at(connection, members, when, at, scope)
    memories = relations.memories_naming(connection, members, when.known_at, scope)
    summary = entity_pages.summary_of(memories)
    apart = entity_pages.apart_from(connection, root, found, scope)
    events = events_of(connection, [*rows.now, *rows.before, *rows.later], memories, when, scope)
    return EntityPage(
        name=it.name,
        type=it.kind,
        aliases=it.aliases[:MAX_ALIASES],
        total_aliases=len(it.aliases),
        not_same=apart[:MAX_ALIASES],
        total_not_same=len(apart),
        proposed=entity_pages.proposed_for(connection, root, found, scope),
        now=with_evidence(connection, rows.now[:MAX_PART], at, scope, when.known_at),
        before=with_evidence(connection, rows.before[:MAX_PART], at, scope, when.known_at),
        later=with_evidence(connection, rows.later[:MAX_PART], at, scope, when.known_at),
        events=events[-params.limit :],
        total_events=len(events),
        memories=memories[: -params.limit - 1 : -1],
        total_memories=len(memories),
        summary=summary,
        as_of=when.as_of if params.as_of is not None or params.known_at is not None else None,
        known_at=when.known_at,
    )
