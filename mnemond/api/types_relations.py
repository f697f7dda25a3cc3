"""Methods about relations, and the time of a thing: parameters and results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mnemond.model.outcomes import RelationResult, Result
from mnemond.model.relations import MAX_TYPE, MAX_VALUE, RelationshipView, TogetherView
from mnemond.wire.params import Access, IdOrPrefix, Limit, Name, ScopedWriteParams, ScopeParams, Time, about, method

RelationType = Annotated[str, Meta(min_length=1, max_length=MAX_TYPE, extra={"metavar": "TYPE"})]
Thing = Annotated[str, Meta(min_length=1, max_length=MAX_VALUE, extra={"metavar": "NAME"})]
AsOf = Annotated[Time | None, about("what held then (a day: as it began); now, or the time of known_at, unless given")]
KnownAt = Annotated[Time | None, about("what was known then, whatever was learned since (a day: as it began)")]


class RelationsListResult(Result, frozen=True):
    """Relations, those that began first at the top. `as_of` and `known_at`: the times asked about, null for all times
    and for what is known now. `total`: how many there are, of which `relations` has the first. `together`: names in
    the same memories, if they were requested."""

    relations: list[RelationshipView]
    total: int
    as_of: str | None
    known_at: str | None
    together: list[TogetherView] = msgspec.field(default_factory=list)


class RelationsListParams(ScopeParams, frozen=True, kw_only=True):
    of: Annotated[Name | None, about("of which thing or person, by any of its names")] = None
    type: Annotated[RelationType | None, about("relations of this type: works_at, uses, primary_editor …")] = None
    target: Annotated[Thing | None, about("to which thing or text", metavar="NAME")] = None
    as_of: AsOf = None
    known_at: KnownAt = None
    history: Annotated[bool, about("of all times, also what is over")] = False
    together: Annotated[bool, about("also names that stand in the same memories, with `of`")] = False
    limit: Annotated[Limit, about("how many at most", "-n")] = 100


RELATIONS_LIST = method(
    "relations.list", RelationsListParams, RelationsListResult, Access.READ,
    "List relations between people and things: what holds now, or at another time.",
)  # fmt: skip


class RelationsAddParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Without `since` the relation is seen to hold now, and may have begun at any time before."""

    source: Annotated[Thing, about("the person or thing")]
    type: Annotated[RelationType, about("the relation: works_at, uses, depends_on, primary_editor … or any other")]
    target: Annotated[Thing, about("what it is related to: a name, or a text")]
    since: Annotated[
        Time | None, about("when it began: a day, 2024-03, 2024, yesterday, or a time", metavar="DATE")
    ] = None
    until: Annotated[Time | None, about("when it ended", metavar="DATE")] = None
    literal: Annotated[bool | None, about('the target is a text such as "200 req/s", and no name')] = None
    memory_id: Annotated[IdOrPrefix | None, about("the memory that says so", option="--memory")] = None


RELATIONS_ADD = method(
    "relations.add", RelationsAddParams, RelationResult, Access.WRITE, "Note a relation, with its time.",
    positional=("source", "type", "target"),
)  # fmt: skip


class RelationsCloseParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Either the id of a relation, or source and type; without a target that which holds ends."""

    id: Annotated[IdOrPrefix | None, about("id of a relation, or a unique beginning of it")] = None
    source: Annotated[Thing | None, about("the person or thing")] = None
    type: Annotated[RelationType | None, about("the relation")] = None
    target: Annotated[Thing | None, about("what it is related to")] = None
    at: Annotated[Time | None, about("when it ended; now unless given", metavar="DATE")] = None
    memory_id: Annotated[IdOrPrefix | None, about("the memory that says so", option="--memory")] = None


RELATIONS_CLOSE = method(
    "relations.close", RelationsCloseParams, RelationResult, Access.WRITE,
    "End a relation; nothing takes its place, and what was stays known.",
)  # fmt: skip


class TimelineEvent(msgspec.Struct, frozen=True):
    """Something that happened. `at`: when, null for a relation that held since before anything is known; `what`: a
    relation began or ended (`id` is that of the relation), or a memory was noted (`id` is that of the memory)."""

    at: str | None
    granularity: str
    what: Literal["began", "ended", "memory"]
    id: str
    text: str


class TimelineResult(Result, frozen=True):
    """What is known of a thing in the order of time. `total`: how many events there are, of which the last are here."""

    name: str
    events: list[TimelineEvent]
    total: int


class TimelineParams(ScopeParams, frozen=True, kw_only=True):
    name: Annotated[Name, about("of which thing or person, by any of its names")]
    as_of: Annotated[Time | None, about("what had happened then; all unless given")] = None
    known_at: KnownAt = None
    memories: Annotated[bool, about("with the memories that name it")] = True
    limit: Annotated[Limit, about("how many at most, the last ones", "-n")] = 50


TIMELINE = method(
    "timeline", TimelineParams, TimelineResult, Access.READ,
    "Show what is known of a person or a thing in the order of time.", positional=("name",),
)  # fmt: skip
