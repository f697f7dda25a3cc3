"""Conditions on the metadata of a memory: the operators of Mem0 (spec 2.3) as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, assert_never, get_args

import msgspec

from mnemond.model.answers import Explanation, PathStep, RecallMeta, Signals
from mnemond.model.memory import Insight, Scope, Status

Scalar = str | int | float | bool | None


class Compare(msgspec.Struct, frozen=True, tag="compare"):
    """`key` stands in relation `operator` (one of `OPERATORS`) to `value`."""

    key: str
    operator: str
    value: Scalar | tuple[Scalar, ...] = None


class AllOf(msgspec.Struct, frozen=True, tag="all"):
    """Every one of `parts` holds; of none, always."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True, tag="any"):
    """At least one of `parts` holds."""

    parts: tuple[Condition, ...]


class NoneOf(msgspec.Struct, frozen=True, tag="none"):
    """None of `parts` holds."""

    parts: tuple[Condition, ...]


Condition = Compare | AllOf | AnyOf | NoneOf


def holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Whether metadata satisfy a condition. A key that is not there is like one whose value is null."""
    match condition:
        case Compare(key, operator, value):
            return OPERATORS[operator](metadata.get(key), value)
        case AllOf(parts):
            return all(holds(part, metadata) for part in parts)
        case AnyOf(parts):
            return any(holds(part, metadata) for part in parts)
        case NoneOf(parts):
            return not any(holds(part, metadata) for part in parts)
        case _:
            assert_never(condition)


def _equal(found: object, value: object) -> bool:
    """As JSON has it: true is not 1, and 1 is 1.0."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, list):
        return isinstance(value, tuple) and len(found) == len(value) and all(map(_equal, found, value))
    return found == value


def _among(found: object, values: object) -> bool:
    """Of a list: whether one of its elements is among the values."""
    wanted = values if isinstance(values, tuple) else (values,)
    each = found if isinstance(found, list) else [found]
    return any(_equal(one, value) for one in each for value in wanted)


def _ordered(compare: Callable[[int], bool]) -> Callable[[object, object], bool]:
    """Numbers are compared with numbers and texts with texts (so RFC 3339 times in UTC are, too); nothing else is."""

    def ordered(found: object, value: object) -> bool:
        if isinstance(found, bool) or isinstance(value, bool):
            return False
        if isinstance(found, int | float) and isinstance(value, int | float):
            return compare((found > value) - (found < value))
        if isinstance(found, str) and isinstance(value, str):
            return compare((found > value) - (found < value))
        return False

    return ordered


def _contains(found: object, value: object) -> bool:
    """A text has it as a part, a list as an element."""
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_equal(one, value) for one in found)


def _contains_folded(found: object, value: object) -> bool:
    return _contains(_folded(found), _folded(value))


def _folded(value: object) -> object:
    if isinstance(value, str):
        return value.casefold()
    return [_folded(one) for one in value] if isinstance(value, list) else value


OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "eq": _equal,
    "ne": lambda found, value: not _equal(found, value),
    "in": _among,
    "nin": lambda found, value: not _among(found, value),
    "gt": _ordered(lambda order: order > 0),
    "gte": _ordered(lambda order: order >= 0),
    "lt": _ordered(lambda order: order < 0),
    "lte": _ordered(lambda order: order <= 0),
    "contains": _contains,
    "icontains": _contains_folded,
    "*": lambda found, value: found is not None,
}
"""Each by its name on the wire: what a memory has, and what is asked for. `*`: there is anything at all."""

LISTED: Sequence[str] = ("in", "nin")
"""Operators whose value is a list."""


# What a recall asks and what it finds, before it takes its shape on the wire.


Confidence = Literal["low", "medium", "high"]

Intent = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
INTENTS: tuple[str, ...] = get_args(Intent)
"""What kind of answer a question wants (spec 11.1)."""

ANCHORS: frozenset[str] = frozenset({"keyword", "vector", "recency", "entity"})
"""Every signal that can start a recall."""

Mode = Literal["none", "beam", "ppr", "probabilistic"]
MODES: tuple[str, ...] = get_args(Mode)
"""How links are followed from what was found (spec 11.3)."""

Order = Literal["score", "time"]

ProfileName = Literal["mnemond", "mnemon", "mnemosyne", "mem0"]
PROFILES: tuple[str, ...] = get_args(ProfileName)
"""Rankings: the one the measurements speak for, and those of three designs to the letter (spec 5)."""


class Span(msgspec.Struct, frozen=True):
    """A span of time in microseconds since the epoch, `until_us` exclusive. None: open on that side."""

    since_us: int | None = None
    until_us: int | None = None


class Filter(msgspec.Struct, frozen=True):
    """Which rows a read may see. Applied before anything is cut to a top-k.

    Scope: a row is visible iff, for each of user, session and agent given, the row's value equals it or is None (with
    `strict_scope` only if it equals it); rows with a session are hidden from readers that give none, unless
    `all_sessions`.

    What a row must be: of `category`, `source`, `channel` and `stated_intent` (that of the fact it was extracted as);
    with all of `tags_all` and one of `tags_any` (case does not matter); naming `entity` (under any of its spellings and
    aliases); of at least `min_importance`; made within `created`; speaking of an event that overlaps `event`; either of
    both for `window`; in the state `status`; with metadata that satisfy `metadata`.

    Validity is judged at `now_us`, the reader's own time; None: not judged. A row is valid from its `valid_from`, else
    its creation, until its `invalid_at` or `expires_at`, or until it was retired without either. One that says nothing
    of its validity but when it was made is valid for readers of an earlier `now_us` as well, once `clock_us` (None:
    `now_us`) has reached it. `as_of_us` judges at that time instead, and strictly; `include_invalid` does not mind what
    is not valid (any more). Both see retired rows, where there are any, but never what was forgotten. Quarantined rows
    are never seen.
    """

    category: str | None = None
    source: str | None = None
    scope: Scope = Scope()
    all_sessions: bool = False
    strict_scope: bool = False
    channel: str | None = None
    stated_intent: str | None = None
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    entity: str | None = None
    min_importance: int = 1
    created: Span | None = None
    event: Span | None = None
    window: Span | None = None
    status: Status | None = None
    metadata: Condition | None = None
    now_us: int | None = None
    clock_us: int | None = None
    as_of_us: int | None = None
    include_invalid: bool = False

    @property
    def historic(self) -> bool:
        """Whether it asks for rows that left recall, which only an archive has."""
        return self.as_of_us is not None or self.include_invalid or self.status not in (None, "active")


class Query(msgspec.Struct, frozen=True):
    """One question. `anchors` says which signals take part; None: those of the profile.

    `intent` is what the asker says it is; None: what its words say. Its dates are told from `now_us` (microseconds);
    None: it has none. `mode` None: what the profile does. `seed` is that of a probabilistic walk; None: what the
    question's words make it. `order`: results by score, or by time. `explain`: say of each result how it came about.
    `rerank`: a second look at the best, word by word.
    """

    text: str
    limit: int = 10
    filter: Filter = Filter()
    anchors: frozenset[str] | None = None
    intent: Intent | None = None
    now_us: int | None = None
    profile: ProfileName = "mnemond"
    mode: Mode | None = None
    seed: int | None = None
    order: Order = "score"
    explain: bool = False
    rerank: bool = False


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result: the insight, its final score, and which anchors found it.

    `path`: the links it was reached by. `also`: other memories of the very same text, which stand behind this one.
    `first_score`: the score before a second look, where there was one.
    """

    insight: Insight
    score: float
    confidence: Confidence
    via: tuple[str, ...]
    signals: Signals
    path: tuple[PathStep, ...] = ()
    also: tuple[str, ...] = ()
    explanation: Explanation | None = None
    first_score: float | None = None


class Window(msgspec.Struct, frozen=True):
    """The span of time a question names, in microseconds, the end exclusive. `hard`: nothing else was looked at."""

    start_us: int
    end_us: int
    hard: bool


class Recalled(msgspec.Struct, frozen=True):
    """Results of a query, in the order they are shown. In `meta`, `took_ms` and `store` are for the caller to fill.

    `embed_error`: why the embedder was not available, so that keywords answered alone.
    """

    hits: tuple[Hit, ...]
    meta: RecallMeta
    embed_error: str | None = None
