"""Methods about people and things by their names: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api.types_relations import AsOf, KnownAt, Thing, TimelineEvent
from mnemond.model.answers import NamingMemory
from mnemond.model.memory import EntityType
from mnemond.model.outcomes import EntityResult, Result
from mnemond.model.relations import RelationshipView
from mnemond.wire.params import Access, Limit, Name, ScopedWriteParams, ScopeParams, about, method

MAX_PART: Final = 200
"""Relations, and events, on one page, each."""

MAX_ALIASES: Final = 50
"""Other names, and names that are not of it, on one page, each: one of thousands is of no use."""

MAX_LISTED_ALIASES: Final = 10
"""Other names of one thing in a list."""


class EntityLine(msgspec.Struct, frozen=True):
    """A person or a thing: the name that it goes by, its type, some of its other names, and how many active memories
    and relations name it. `total_aliases` counts all of its other names."""

    name: str
    type: str
    aliases: list[str]
    memories: int
    relations: int
    total_aliases: int = 0


class EntityListResult(Result, frozen=True, kw_only=True):
    """Things, those that most memories name first. `total`: how many there are, of which `entities` has the first;
    `types`: how many of each type. `proposed`: pairs of names that may be one, which wait for a decision."""

    entities: list[EntityLine]
    total: int
    types: dict[str, int]
    proposed: int


class EntityListParams(ScopeParams, frozen=True, kw_only=True):
    type: Annotated[EntityType | None, about("of this type")] = None
    query: Annotated[Name | None, about("that have this in a name or an alias", metavar="TEXT")] = None
    limit: Annotated[Limit, about("how many at most", "-n")] = 50


ENTITY_LIST = method(
    "entity.list", EntityListParams, EntityListResult, Access.READ,
    "List the people and things that memories and relations name.",
)  # fmt: skip


class EntityPage(Result, frozen=True, kw_only=True):
    """All that is known of a person or a thing. `aliases`: its other names; `not_same`: names that were decided not to
    be it; `proposed`: names that may be it, by the numbers of their reviews. Relations, at the time asked about, with
    their evidence: those that hold `now`, that were `before`, the last one first, and that begin `later`. `events`: the
    last ones in the order of time; `memories`: the newest first; `summary`: the newest summary of memories that names
    it, null if there is none. Totals count what is not shown as well."""

    name: str
    type: str
    aliases: list[str]
    not_same: list[str]
    proposed: dict[str, str]
    now: list[RelationshipView]
    before: list[RelationshipView]
    later: list[RelationshipView]
    events: list[TimelineEvent]
    total_events: int
    memories: list[NamingMemory]
    total_memories: int
    total_aliases: int = 0
    total_not_same: int = 0
    summary: NamingMemory | None
    as_of: str | None
    known_at: str | None


class EntityShowParams(ScopeParams, frozen=True, kw_only=True):
    name: Annotated[Name, about("of which person or thing, by any of its names")]
    as_of: AsOf = None
    known_at: KnownAt = None
    limit: Annotated[Annotated[int, Meta(ge=1, le=MAX_PART)], about("memories and events at most", "-n")] = 10


ENTITY_SHOW = method(
    "entity.show", EntityShowParams, EntityPage, Access.READ,
    "Show all that is known of a person or a thing on one page.", positional=("name",),
)  # fmt: skip


class EntityMergeParams(ScopedWriteParams, frozen=True, kw_only=True):
    """`other` becomes a name of `name`. Of a person at a terminal it is done; of a tool it becomes a review, which
    waits for a decision."""

    name: Annotated[Thing, about("the name that it goes by")]
    other: Annotated[Thing, about("another name of it")]
    dry_run: Annotated[bool, about("show what would be joined, and write nothing")] = False


ENTITY_MERGE = method(
    "entity.merge", EntityMergeParams, EntityResult, Access.WRITE,
    "Decide that two names are of one thing. Nothing is deleted.", positional=("name", "other"),
)  # fmt: skip


class EntitySplitParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Two names that were joined are two things again, which is remembered; an alias is no name of it any more."""

    name: Annotated[Thing, about("one of the names")]
    other: Annotated[Thing, about("the name, or the alias, that is not of it")]


ENTITY_SPLIT = method(
    "entity.split", EntitySplitParams, EntityResult, Access.WRITE, "Separate two names that were joined.",
    positional=("name", "other"),
)  # fmt: skip


class EntityNotSameParams(ScopedWriteParams, frozen=True, kw_only=True):
    """It is remembered for good: the two are not proposed to be joined, and no merge joins them."""

    name: Annotated[Thing, about("one of the names")]
    other: Annotated[Thing, about("the name of another thing")]


ENTITY_NOT_SAME = method(
    "entity.not_same", EntityNotSameParams, EntityResult, Access.WRITE, "Decide that two names are of two things.",
    positional=("name", "other"),
)  # fmt: skip


class EntityAliasParams(ScopedWriteParams, frozen=True, kw_only=True):
    """A name that is of a thing already is no alias of another: those are joined with `entity.merge`."""

    name: Annotated[Thing, about("the thing, by any of its names")]
    other: Annotated[Thing, about("another name of it", metavar="ALIAS")]


ENTITY_ALIAS = method(
    "entity.alias", EntityAliasParams, EntityResult, Access.WRITE, "Give a person or a thing another name.",
    positional=("name", "other"),
)  # fmt: skip
