"""Methods about relations: list, add, close; and timeline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import msgspec

from mnemond.api.requests import Identities, moment_of, scope_of, submitted
from mnemond.api.store_access import OpenStores
from mnemond.api.types_relations import (
    RelationsAddParams,
    RelationsCloseParams,
    RelationsListParams,
    RelationsListResult,
    TimelineEvent,
    TimelineParams,
    TimelineResult,
)
from mnemond.clock import Clock
from mnemond.errors import FieldProblem, invalid
from mnemond.memory.draft import clean_text, problems_of, with_op_id
from mnemond.memory.relations import (
    Names,
    Point,
    RelationToAdd,
    RelationToClose,
    name_problems,
    named_entity,
    propose_addition,
    propose_closing,
    type_problems,
)
from mnemond.memory.relations_seen import seen
from mnemond.model.answers import NamingMemory
from mnemond.model.memory import Scope, format_us
from mnemond.model.outcomes import RelationResult
from mnemond.model.relations import Origin, Relationship, RelationshipView, TogetherView, When, holds, split_type
from mnemond.store import relations
from mnemond.store.connection import Connection
from mnemond.text.dates import begin_of, only_date
from mnemond.text.resources import regex
from mnemond.wire.dispatch import Call, handles

_PART_OF_YEAR = regex(r"(?P<year>\d{4})(?:-(?P<month>0[1-9]|1[0-2]))?")


class RelationHandlers:
    """relations.list, relations.add, relations.close, timeline."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock

    @handles("relations.list", in_task=True)
    async def list(self, call: Call, params: RelationsListParams) -> RelationsListResult:
        """Return relations of a time. Raises MnemonError: INVALID_PARAMS, NOT_FOUND for an unknown name."""
        problems = [] if params.type is None else type_problems(params.type)
        if params.together and params.of is None:
            problems.append(FieldProblem("together", "together needs a name: of which thing or person"))
        now = format_us(self._clock.now_us())
        when = when_of(params.as_of, params.known_at, now, problems, history=params.history)
        warm = await self._open_stores.use(params.store)
        return warm.marked(await warm.store.read(partial(_listed, params=params, when=when, now=now)))

    @handles("relations.add", in_task=True)
    async def add(self, call: Call, params: RelationsAddParams) -> RelationResult:
        """Note a relation. Raises MnemonError: INVALID_PARAMS, NOT_FOUND for an unknown memory."""
        problems = type_problems(params.type)
        problems += [*name_problems("source", params.source), *name_problems("target", params.target)]
        now_us = self._clock.now_us()
        since = point_of("since", params.since, problems, now_us)
        until = point_of("until", params.until, problems, now_us)
        if since is not None and until is not None and since.at >= until.at:
            problems.append(FieldProblem("until", "until is not after since"))
        problems += secrets("target", params.source, params.target)
        if problems := with_op_id(problems, params.op_id):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        wanted = RelationToAdd(
            source=params.source, type=params.type, target=params.target, since=since, until=until,
            literal=params.literal, memory_id=params.memory_id, origin=_origin(call), user=params.user_id,
        )  # fmt: skip
        return await submitted(warm, propose_addition(wanted, self._identities.of(warm, params)), RelationResult)

    @handles("relations.close", in_task=True)
    async def close(self, call: Call, params: RelationsCloseParams) -> RelationResult:
        """End a relation. Raises MnemonError: INVALID_PARAMS, NOT_FOUND if none holds."""
        problems = [] if params.type is None else type_problems(params.type)
        if (params.id is None) == (params.source is None or params.type is None):
            problems.append(FieldProblem("id", "give the id of a relation, or its source and type"))
        at = point_of("at", params.at, problems, self._clock.now_us())
        if problems := with_op_id(problems, params.op_id):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        wanted = RelationToClose(
            id=params.id, source=params.source or "", type=params.type or "", target=params.target or "",
            at=at, memory_id=params.memory_id, origin=_origin(call), user=params.user_id,
        )  # fmt: skip
        return await submitted(warm, propose_closing(wanted, self._identities.of(warm, params)), RelationResult)

    @handles("timeline", in_task=True)
    async def timeline(self, call: Call, params: TimelineParams) -> TimelineResult:
        """Return what is known of a thing in the order of time. Raises MnemonError(NOT_FOUND) for an unknown name."""
        problems: list[FieldProblem] = []
        now = format_us(self._clock.now_us())
        when = when_of(params.as_of, params.known_at, now, problems, history=params.as_of is None)
        warm = await self._open_stores.use(params.store)
        return warm.marked(await warm.store.read(partial(_timeline, params=params, when=when)))


def _origin(call: Call) -> Origin:
    return "user" if call.at_terminal else "host"


def secrets(field: str, *texts: str) -> list[FieldProblem]:
    """Names and values are kept as they are, so a text with a secret is refused."""
    if any(clean_text(each, allow_secret=False)[1] for each in texts):
        return [FieldProblem(field, "a name or a value looks like a secret, which is not kept")]
    return [problem for each in texts for problem in problems_of({"content": each})]


def point_of(field: str, value: str | None, problems: list[FieldProblem], now_us: int) -> Point | None:
    """Return a time as it was given and how exact it is: a day, 2024-03, 2024, yesterday, or a timestamp."""
    if value is None:
        return None
    if part := _PART_OF_YEAR.fullmatch(value):
        return Point(
            f"{part['year']}-{part['month'] or '01'}-01T00:00:00.000000Z", "month" if part["month"] else "year"
        )
    if (named := only_date(value, now_us)) is not None:
        return Point(*begin_of(named))
    found = moment_of(field, value, problems, now_us)
    return None if found is None else Point(format_us(found))


def when_of(
    as_of: str | None, known_at: str | None, now: str, problems: list[FieldProblem], *, history: bool = False
) -> When:
    """Return the times of a question. Raises MnemonError(INVALID_PARAMS) for these and earlier `problems`."""
    event, belief = moment_of("as_of", as_of, problems), moment_of("known_at", known_at, problems)
    if as_of is not None and history:
        problems.append(FieldProblem("as_of", "as_of asks about one time, history about all: give one of them"))
    if problems:
        raise invalid(problems)
    known = None if belief is None else format_us(belief)
    if event is not None:
        return When(format_us(event), known)
    return When(None if history else known or now, known)


def _listed(connection: Connection, params: RelationsListParams, when: When, now: str) -> RelationsListResult:
    found = relations.roots(connection)
    ids = None if params.of is None else found.members(named_entity(connection, params.of, scope_of(params)))
    scope = scope_of(params)
    rows = [it for it in seen(connection, ids, when.known_at, scope) if holds(it, when)]
    if params.type is not None:
        kind, slot = split_type(params.type)
        rows = [it for it in rows if it.type == kind and it.slot == slot]
    if params.target is not None:
        target = Names(connection, params.user_id).find(params.target)
        root, value = None if target is None else found.of(target), params.target.casefold()
        rows = [it for it in rows if it.thing == ("", value) or (it.target_id and found.of(it.target_id) == root)]
    return RelationsListResult(
        relations=with_evidence(connection, rows[: params.limit], now, scope, when.known_at), total=len(rows),
        as_of=when.as_of, known_at=when.known_at,
        together=_together(connection, params, ids, When(when.as_of if params.as_of else None, when.known_at)),
    )  # fmt: skip


def _together(
    connection: Connection, params: RelationsListParams, ids: Collection[str] | None, when: When
) -> list[TogetherView]:
    if not params.together or ids is None:
        return []
    scope = scope_of(params)
    stated = seen(connection, ids, when.known_at, scope)
    return relations.together(connection, ids, stated, params.limit, scope, when)


def with_evidence(
    connection: Connection, rows: list[Relationship], now: str, scope: Scope, known_at: str | None = None
) -> list[RelationshipView]:
    """Return relations as they are shown, each with the statements in `scope` that it rests on."""
    evidence = relations.evidence_for(connection, rows, scope, known_at)
    return [
        msgspec.structs.replace(view, evidence=evidence[view.id])
        for view in relations.views(connection, rows, now, scope)
    ]


def _timeline(connection: Connection, params: TimelineParams, when: When) -> TimelineResult:
    scope, found = scope_of(params), relations.roots(connection)
    root = named_entity(connection, params.name, scope)
    members = found.members(root)
    rows = seen(connection, members, when.known_at, scope)
    memories = relations.memories_naming(connection, members, when.known_at, scope) if params.memories else []
    events = events_of(connection, rows, memories, when, scope)
    name = relations.shown_names(connection, [root], scope, found).get(root, params.name)
    return TimelineResult(name=name, events=events[-params.limit :], total=len(events))


def events_of(
    connection: Connection, rows: list[Relationship], memories: Sequence[NamingMemory], when: When, scope: Scope
) -> list[TimelineEvent]:
    """Return what happened until `when.as_of`, in the order of time; of one time in that of the texts."""
    events = [event for view in relations.views(connection, rows, scope=scope) for event in _events(view)]
    events += [TimelineEvent(it.created_at, "exact", "memory", it.id, it.content) for it in memories]
    events = [it for it in events if when.as_of is None or it.at is None or it.at <= when.as_of]
    return sorted(events, key=lambda it: (it.at or "", it.what, it.text, it.id))


def _events(view: RelationshipView) -> list[TimelineEvent]:
    text = f"{view.source} {view.type} {view.target}"
    began = TimelineEvent(view.valid_from, view.granularity, "began", view.first_id, text)
    if view.invalid_at is None:
        return [began]
    return [began, TimelineEvent(view.invalid_at, view.end_granularity, "ended", view.first_id, text)]
