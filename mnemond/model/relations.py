"""Relations between named things in two times: what was stated, and the intervals that follow from it.

A statement is a point: "joined Acme in March" a start, "works at Acme" that it was seen to hold, "worked there until
2020" an end of something that held, "left Acme" an end. The intervals of a group follow from its points alone, in the
order of their times and not of their arrival: a point learned late takes its place, and one that is taken back leaves
what was before (docs/decisions/0048).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from mnemond.model.core import ExpireCore, PutCore

PointKind = Literal["start", "seen", "until", "end"]
Granularity = Literal["exact", "day", "week", "month", "quarter", "year", "seen"]
"""How exactly a time is known. `seen`: a statement of that time is the first to say so, it may have been so before."""

Origin = Literal["model", "host", "user"]

FUNCTIONAL: Final = frozenset({"works_at", "lives_in", "located_in", "reports_to", "named"})
"""Types of which a source has one value at a time."""

PRIMARY: Final = "primary"
"""Type of what is the first choice for a purpose, which is its slot: `primary_editor` is the slot "editor"."""

MAX_TYPE: Final = 40
"""Characters of a type or a slot."""

MAX_VALUE: Final = 200
"""Characters of a value that is no entity."""

MAX_QUOTE: Final = 300
"""Characters kept of the sentence that states a relation."""

EXPLICIT, INFERRED, TOGETHER = 0.9, 0.6, 0.5
"""Strength of a relation that was stated in so many words, that follows from others, and of two names that only occur
together."""

REPEATED: Final = 0.5
"""Share of the strength of a repeated statement that counts."""


def is_functional(kind: str, slot: str) -> bool:
    """Return True if a source has one value of the type, or of the slot, at a time."""
    return bool(slot) or kind in FUNCTIONAL


def split_type(kind: str) -> tuple[str, str]:
    """Return type and slot of a type as it is written: `primary_editor` is the slot `editor` of `primary`."""
    first, _, slot = kind.partition("_")
    return (first, slot) if first == PRIMARY and slot else (kind, "")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Where a point in the time of a relation comes from: the memory, None if it was given directly (`origin`: user,
    host), and its sentence. `kind`: start, seen (it held then), until or end; `at`: the time that it is of."""

    kind: PointKind
    at: str
    memory_id: str | None = None
    quote: str = ""
    origin: Origin = "host"


class Statement(Said, frozen=True, kw_only=True):
    """A point in the time of a relation. Either `target_id`, an entity, or `value`, a text, is what the source is
    related to. `at`: RFC 3339, UTC."""

    source_id: str
    type: str
    target_id: str | None = None
    value: str | None = None
    slot: str = ""
    granularity: Granularity = "exact"
    strength: float = EXPLICIT

    @property
    def thing(self) -> tuple[str, str]:
        """Key of the target or value; values that differ in case are equal."""
        return (self.target_id or "", (self.value or "").casefold())


class Evidence(Statement, frozen=True, kw_only=True):
    """A stored statement. It counts from `created_at` until `expired_at`, when it was taken back."""

    id: int
    created_at: str
    expired_at: str | None = None


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a relation, half-open; `valid_from` None: since before anything is known. A granularity says how
    exactly a time is known: exact, day, week, month, quarter, year, or seen (it was first said then)."""

    strength: float
    valid_from: str | None = None
    granularity: Granularity = "exact"
    invalid_at: str | None = None
    end_granularity: Granularity = "exact"


class Believed(Span, frozen=True, kw_only=True):
    """An interval as it was believed from `created_at` until `expired_at`. `invalidated_by`: `first_id` of the interval
    that took its place, None if it just ended."""

    id: str
    first_id: str
    type: str
    created_at: str
    invalidated_by: str | None = None
    expired_at: str | None = None


class Relationship(Believed, frozen=True, kw_only=True):
    """A stored interval of a source and its target, an entity or a text."""

    source_id: str
    target_id: str | None = None
    value: str | None = None
    slot: str = ""

    @property
    def thing(self) -> tuple[str, str]:
        """Key of the target or value."""
        return (self.target_id or "", (self.value or "").casefold())


class Interval(Span, frozen=True, kw_only=True):
    """An interval that follows from statements. `successor`: its place among the intervals of the group, if another
    value took its place. `evidence`: ids of the statements that it rests on."""

    target_id: str | None
    value: str | None
    evidence: list[int]
    successor: int | None = None

    @property
    def thing(self) -> tuple[str, str]:
        """Key of the target or value."""
        return (self.target_id or "", (self.value or "").casefold())


_ORDER: Final[dict[PointKind, int]] = {"until": 0, "end": 0, "start": 1, "seen": 2}
"""Of points of one time an end comes before what begins then."""


def group_key(it: Statement | Relationship) -> tuple[str, str, str, str, str]:
    """Return the key of the group in which a statement may close an interval: source and type for functional types,
    source, type and target for the others."""
    thing = ("", "") if is_functional(it.type, it.slot) else it.thing
    return (it.source_id, it.type, it.slot, *thing)


def intervals(points: Iterable[Evidence]) -> list[Interval]:
    """Return the intervals of one group, in order and disjoint. Ends that end nothing are left out."""
    found: list[Interval] = []
    for point in sorted(points, key=lambda it: (it.at, _ORDER[it.kind], it.created_at, it.id)):
        current = found[-1] if found and found[-1].invalid_at is None else None
        if current is not None and current.thing == point.thing:
            found[-1] = _more(current, point)
        elif point.kind in ("start", "seen") and _may_begin(point, current):
            _begin(current, point, found)
        elif point.kind == "until" and current is None:
            _past(point, found)
    return found


def _may_begin(point: Evidence, current: Interval | None) -> bool:
    """Return False for what a model read, where another value holds since the same moment or later."""
    return point.origin != "model" or current is None or current.valid_from is None or current.valid_from < point.at


def _more(current: Interval, point: Evidence) -> Interval:
    """Return the current interval with another point about it: it holds on, or ends."""
    evidence = [*current.evidence, point.id]
    if point.kind in ("start", "seen"):
        return replace(current, strength=repeated(current.strength, point.strength), evidence=evidence)
    # It began before: of one time ends come first.
    return replace(current, invalid_at=point.at, end_granularity=point.granularity, evidence=evidence)


def _begin(current: Interval | None, point: Evidence, found: list[Interval]) -> None:
    started: str | None = point.at
    granularity = point.granularity
    if point.kind == "seen":
        started, granularity = (point.at, "seen") if found else (None, "exact")
    if current is not None:
        if current.valid_from is not None and current.valid_from >= point.at:
            found.pop()  # said of the same moment: the later statement counts
        else:
            found[-1] = replace(
                current, invalid_at=point.at, end_granularity=granularity, successor=len(found),
                evidence=[*current.evidence, point.id],
            )  # fmt: skip
    found.append(_interval(point, valid_from=started, granularity=granularity))


def _interval(point: Evidence, **time: Any) -> Interval:  # noqa: ANN401 - fields of Span
    return Interval(target_id=point.target_id, value=point.value, strength=point.strength, evidence=[point.id], **time)


def _past(point: Evidence, found: list[Interval]) -> None:
    """Something that held until then, of which nothing else is known: since the last end, or since ever."""
    since = found[-1].invalid_at if found else None
    if since is None or since < point.at:
        granularity = "seen" if since else "exact"
        found.append(
            _interval(
                point, valid_from=since, granularity=granularity, invalid_at=point.at, end_granularity=point.granularity
            )
        )


def repeated(strength: float, new: float) -> float:
    """Return the strength after another statement of the same: 1 − (1 − s)(1 − .5·new)."""
    return 1.0 - (1.0 - strength) * (1.0 - REPEATED * new)


# Relations that are given with a memory.


MAX_GIVEN: Final = 20
"""Relations given with one memory, which is one thought."""

MAX_RELATION_TEXT: Final = 2 * MAX_VALUE + MAX_TYPE + 20
"""Characters of one that is written as a line: two names, a type, and what stands around them."""


class GivenRelation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A relation that the text of a memory states: `type` as works_at. `ended`: it held until the text was said."""

    subject: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_VALUE)]
    type: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TYPE)]
    object: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_VALUE)]
    ended: bool = False


# Relations as they are shown.


class StatedRelation(msgspec.Struct, frozen=True):
    """What is stated about two things, or of a thing and a text, by their names; `memory_id`: the memory that says
    so."""

    source: str
    type: str
    target: str
    memory_id: str | None = None


class EvidenceView(Said, frozen=True, kw_only=True):
    """A statement that an interval rests on, and when it was noted."""

    created_at: str


class RelationshipView(Believed, frozen=True, kw_only=True):
    """An interval of a relation. `target` is the name of an entity, or with `literal` a text. `status`: current, past,
    future; or withdrawn, if it is not believed any more."""

    source: str
    target: str
    literal: bool
    status: Literal["current", "past", "future", "withdrawn"] = "current"
    evidence: list[EvidenceView] = []


_KNOWN_CHARACTERS: Final = {"year": 4, "quarter": 7, "month": 7, "week": 10, "day": 10}
"""Characters of a timestamp that are known, by granularity."""


def time_text(at: str, granularity: str) -> str:
    """Return a time as exactly as it is known, at most to the day."""
    return at[: _KNOWN_CHARACTERS.get(granularity, 10)]


def span_text(it: RelationshipView) -> str:
    """Return the time of a relation in words; empty if nothing is known of it."""
    since = "" if it.valid_from is None else f"since {time_text(it.valid_from, it.granularity)}"
    if it.valid_from is not None and it.granularity == "seen":
        since += " or before"
    until = "" if it.invalid_at is None else f"until {time_text(it.invalid_at, it.end_granularity)}"
    return " ".join(filter(None, (since, until)))


def relation_text(it: RelationshipView) -> str:
    """Return a relation and its time in words. Names and values are as memories and hosts wrote them."""
    return " ".join(filter(None, (it.source, it.type, it.target, span_text(it))))


class TogetherView(msgspec.Struct, frozen=True):
    """A name that stands in the same memories as another, without a relation that is stated. `strength`: .5 for one
    memory, more with each other one. `memories`: how many; `memory_ids`: the newest of them."""

    name: str
    strength: float
    memories: int
    memory_ids: list[str]


def together_strength(memories: int) -> float:
    """Return the strength of two names that stand together in so many memories: 1 − (1 − .5)(1 − .5·.5)^(n − 1)."""
    return 1.0 - (1.0 - TOGETHER) * (1.0 - REPEATED * TOGETHER) ** (memories - 1)


def shown_type(it: Statement | Relationship) -> str:
    """Return a type as it is written, its slot included."""
    return f"{it.type}_{it.slot}" if it.slot else it.type


def status_of(it: Relationship, now: str) -> Literal["current", "past", "future", "withdrawn"]:
    """Return the status of an interval at a time (RFC 3339)."""
    if it.expired_at is not None:
        return "withdrawn"
    if it.invalid_at is not None and it.invalid_at <= now:
        return "past"
    return "future" if it.valid_from is not None and it.valid_from > now else "current"


# Times.


class When(NamedTuple):
    """The times of a question. `as_of`: of the event, None for any. `known_at`: of the belief, None for today's."""

    as_of: str | None = None
    known_at: str | None = None


def holds(it: Relationship, when: When) -> bool:
    """Return True if an interval is believed at `known_at` and holds at `as_of`."""
    if when.known_at is None:
        believed = it.expired_at is None
    else:
        believed = it.created_at <= when.known_at and (it.expired_at is None or it.expired_at > when.known_at)
    if not believed or when.as_of is None:
        return believed
    return (it.valid_from is None or it.valid_from <= when.as_of) and (
        it.invalid_at is None or it.invalid_at > when.as_of
    )


# Changes: parts of a ChangeSet.


class AddEvidence(msgspec.Struct, frozen=True, tag=True):
    """Note a statement. `created_at`: when it was noted on another device, None for the time of the operation."""

    statement: Statement
    created_at: str | None = None


class ExpireEvidence(msgspec.Struct, frozen=True, tag=True):
    """Take a statement back. It stays, for questions about what was known."""

    id: int


class AddEntity(msgspec.Struct, frozen=True, tag=True):
    """Add an entity that no memory names, unless there is one of its canonical name and sense."""

    id: str
    name: str
    canonical: str
    kind: str
    sense: str = ""


LinkKind = Literal["same", "not_same", "alias"]


class Naming(msgspec.Struct, frozen=True):
    """A decision about two entities, or an alias of one. `other`: an entity, or the canonical name of the alias
    `name`."""

    kind: LinkKind
    entity_id: str
    other: str
    name: str = ""


class AddLink(Naming, frozen=True, tag=True):
    """Decide about names. Refused as a no-op if it is decided like that already. `created_at`: as that of
    `AddEvidence`."""

    created_at: str | None = None


class ExpireLink(msgspec.Struct, frozen=True, tag=True):
    """Take such a decision back."""

    id: int


KnowledgeChange = AddEvidence | ExpireEvidence | AddEntity | AddLink | ExpireLink | PutCore | ExpireCore


class Link(Naming, frozen=True, kw_only=True):
    """A stored decision about two names."""

    id: int
    created_at: str
    expired_at: str | None = None


class Roots:
    """Which rows of entities are one thing: each row leads to the one it was merged into."""

    def __init__(self, parents: Iterable[tuple[str, str]]) -> None:
        self._parent = dict(parents)
        self._members: dict[str, list[str]] = {}
        for each in self._parent:
            self._members.setdefault(self.of(each), []).append(each)

    def of(self, entity_id: str) -> str:
        """Return the row that an entity was merged into, itself if it was not."""
        seen = {entity_id}
        while (above := self._parent.get(entity_id)) is not None and above not in seen:
            seen.add(above)
            entity_id = above
        return entity_id

    def above(self, entity_id: str) -> list[str]:
        """Return the rows that an entity leads to, the next first."""
        found: list[str] = []
        while (above := self._parent.get(entity_id)) is not None and above not in found:
            found.append(above)
            entity_id = above
        return found

    def below(self, entity_id: str) -> list[str]:
        """Return the rows that lead to an entity, itself first."""
        return [entity_id, *(each for each in self._parent if entity_id in self.above(each))]

    def members(self, entity_id: str) -> list[str]:
        """Return the rows of one thing, that which it goes by first."""
        root = self.of(entity_id)
        return [root, *self._members.get(root, ())]


def grouped(rows: Sequence[Evidence]) -> Iterator[list[Evidence]]:
    """Yield the statements of each group."""
    groups: dict[tuple[str, ...], list[Evidence]] = {}
    for each in rows:
        groups.setdefault(group_key(each), []).append(each)
    yield from groups.values()
