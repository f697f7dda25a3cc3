"""The record by which devices tell each other of one thing, and what each device knows of it (docs/sync.md).

A thing has a kind and a key. Of two records of it that with the greater stamp holds, or that with the stronger state;
of a memory, each group of fields. So the result depends neither on the order of records nor on how often they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from mnemond.model.memory import EdgeType, format_us
from mnemond.model.relations import Granularity, LinkKind, Origin, PointKind

Kind = Literal["memory", "edge", "relation", "name", "use", "passage", "links"]
"""links: types of links that a memory of another device is to get, which only this device knows."""

State = Literal["kept", "gone", "cut", "purged", "withheld"]
"""gone: removed, forgotten or taken back. cut, of an exchange: a purge took a part of it; where that purge was not
carried out, all of it goes. purged, of a name: with a memory without which that device has it nowhere. withheld: it
stays on this device."""

FOR_GOOD: Final[tuple[State, ...]] = ("cut", "purged")
"""States of an exchange that every device has to know, also one that exchanges none."""

RANKS: Final[Mapping[Kind, Mapping[State, int]]] = {
    "memory": {"purged": 1},
    "passage": {"withheld": 1, "cut": 1, "purged": 2},
}
"""States that hold against every stamp of a state of less rank, by kind. All others have rank 0."""

OWNED: Final[Kind] = "use"
"""The kind of which one device alone, which ends the key, changes each thing."""

MAX_RESTAMPED: Final = 100
"""Stamps of one thing that were ahead of the clock and are kept, the newest: each group has one at most at a time."""

AHEAD_US: Final = 86_400 * 1_000_000
"""Microseconds that a stamp may be ahead of this device's clock. One that was further ahead would win for good."""

V = TypeVar("V")


def stamp_of(us: int, device: str) -> str:
    """Return the stamp of a change at a time, in microseconds, on a device; stamps are in the order of their text."""
    return f"{us:016x}-{device}"


def time_of(stamp: str) -> int:
    """Return the time of a stamp in microseconds."""
    return int(stamp[:16], 16)


def is_ahead(stamp: str, now_us: int) -> bool:
    return time_of(stamp) > now_us + AHEAD_US


def not_ahead(time: str | None, now_us: int) -> str | None:
    """Return a time, or in the place of one that is more than AHEAD_US ahead of the clock that of now."""
    return format_us(now_us) if time is not None and time > format_us(now_us + AHEAD_US) else time


class Record(msgspec.Struct, Generic[V], frozen=True, kw_only=True, omit_defaults=True):
    """What a device says of a thing. `value`: None unless it is kept. `restamped`: stamps that were ahead of the clock,
    in the place of which others came."""

    kind: Kind
    key: str
    stamp: str
    state: State = "kept"
    value: V | None = None
    restamped: list[str] = []

    @property
    def owner(self) -> str:
        """The device that alone changes it, of an OWNED kind."""
        return self.key.rpartition(" ")[2]


class EdgeValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link that was made by hand. Key: source, target and type, with spaces."""

    weight: float
    metadata: str
    created_by: str


class Name(NamedTuple):
    """A row of entities as devices name it: `canonical` and `sense` are its key, `name` and `kind` count if it is new.
    An alias has no kind."""

    name: str
    canonical: str
    kind: str
    sense: str = ""

    @property
    def node(self) -> tuple[str, str]:
        return self.canonical, self.sense


class RelationValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement (`model.relations.Statement`) with names for its rows. Key: a hash. `at`: of the event; `created_at`:
    when it was noted first; `memory`: the memory that says so."""

    source: Name
    type: str
    slot: str
    target: Name | None
    value: str | None
    kind: PointKind
    at: str
    granularity: Granularity
    origin: Origin
    strength: float
    quote: str
    created_at: str
    memory: str | None


class NameValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision about a pair of names, or an alias. Key: a hash. same: `other` is a name of `one`; alias: so is a name
    that may have no row. `by`: what decided, as `triggered_by` of its operation."""

    decision: LinkKind
    one: Name
    other: Name
    by: str
    created_at: str


class UseValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a device used a memory, when it did last, and how often it was judged as useful or misleading. Key:
    memory and device, with a space."""

    uses: int
    last: str | None
    useful: int
    misled: int


class MemoryDigest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a device knows of a memory: by group the stamp and a hash of the fields, which the memory itself has.
    `past`: stamps of texts that were there before. `of`: the memory whose text was changed elsewhere at the same time,
    if this one keeps the other text."""

    groups: dict[str, tuple[str, str]] = {}
    past: list[str] = []
    of: str | None = None


class Known(Record[V], Generic[V], frozen=True, kw_only=True, omit_defaults=True):
    """What a device knows of a thing: of a memory a digest, of an exchange no value. `here`: the store has it. It has
    not while a memory that it is about is not there, or while a decision contradicts it. `counted`: the part of uses
    that the counts of the memory here have."""

    here: bool = False
    counted: UseValue | None = None


class SyncedRow(NamedTuple):
    """A change of what is known of a thing; None: it is removed. `publish`: the others do not know it yet."""

    kind: Kind
    key: str
    known: Known[Any] | None
    publish: bool


KNOWN: Final[Mapping[str, msgspec.json.Decoder[Any]]] = {
    "memory": msgspec.json.Decoder(MemoryDigest), "edge": msgspec.json.Decoder(EdgeValue),
    "relation": msgspec.json.Decoder(RelationValue), "name": msgspec.json.Decoder(NameValue),
    "use": msgspec.json.Decoder(UseValue), "passage": msgspec.json.Decoder(None),
    "links": msgspec.json.Decoder(frozenset[EdgeType]),
}  # fmt: skip
"""By kind what reads the value that a device knows of a thing."""


def is_later(one: Record[Any], than: Record[Any]) -> bool:
    """Return True if a record holds against another one of its thing. The device that owns a thing replaces a stamp of
    a clock that was ahead; of other things the greater stamp holds all the same, when its time has come."""
    ranks = RANKS.get(one.kind, {})
    if (rank := ranks.get(one.state, 0)) != (other := ranks.get(than.state, 0)):
        return rank > other
    if one.kind == OWNED and one.stamp in than.restamped:
        return False
    return one.stamp > than.stamp or (one.kind == OWNED and than.stamp in one.restamped)


def later_stamp(before: Known[Any] | None, us: int, device: str) -> str:
    """Return the stamp of a change on a device at a time in microseconds, later than what was known."""
    return stamp_of(us if before is None else max(us, time_of(before.stamp) + 1), device)


class Failure(msgspec.Struct, frozen=True):
    """Syncs that failed in a row: the label of the target, why the last one did, how many, and when (RFC 3339) the
    first and the last."""

    label: str
    why: str
    count: int
    since: str
    at: str
