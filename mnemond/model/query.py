"""Queries of recall: conditions on metadata (with the operators of Mem0), filters, questions and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, assert_never, get_args

import msgspec

from mnemond.model.answers import Explanation, FormerState, PathStep, RecallMeta, Signals
from mnemond.model.memory import Insight, Scope, Status

Scalar = str | int | float | bool | None


class Compare(msgspec.Struct, frozen=True, tag="compare"):
    """Comparison of the value of `key` with `value` by one of `OPERATORS`."""

    key: str
    operator: str
    value: Scalar | tuple[Scalar, ...] = None


class AllOf(msgspec.Struct, frozen=True, tag="all"):
    """All of `parts` hold; true if there are none."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True, tag="any"):
    """At least one of `parts` holds."""

    parts: tuple[Condition, ...]


class NoneOf(msgspec.Struct, frozen=True, tag="none"):
    """None of `parts` holds."""

    parts: tuple[Condition, ...]


Condition = Compare | AllOf | AnyOf | NoneOf


def holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Return True if metadata satisfy a condition. A missing key counts as null."""
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
    """Compare as JSON values: true differs from 1, and 1 equals 1.0."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, list):
        return isinstance(value, tuple) and len(found) == len(value) and all(map(_equal, found, value))
    return found == value


def _among(found: object, values: object) -> bool:
    """Return True if `found`, or an element of it if it is a list, is among the values."""
    accepted = values if isinstance(values, tuple) else (values,)
    elements = found if isinstance(found, list) else [found]
    return any(_equal(element, value) for element in elements for value in accepted)


def _ordered(compare: Callable[[int], bool]) -> Callable[[object, object], bool]:
    """Compare numbers with numbers and texts with texts (hence RFC 3339 times in UTC); anything else does not match."""

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
    """Return True if a text contains the value as a part, or a list as an element."""
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
"""Functions of the stored and the requested value, by operator. `*`: any value but null."""

LIST_OPERATORS: Sequence[str] = ("in", "nin")
"""Operators whose value is a list."""


# Questions and results of recall.

Confidence = Literal["low", "medium", "high"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
"""The lowest first."""

Intent = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
INTENTS: tuple[str, ...] = get_args(Intent)
"""Kinds of questions."""

ANCHORS: frozenset[str] = frozenset({"keyword", "vector", "recency", "entity"})
"""Signals that provide the starting memories of a recall."""

Mode = Literal["none", "beam", "ppr", "probabilistic"]
MODES: tuple[str, ...] = get_args(Mode)
"""Traversals of links from the anchors."""

Order = Literal["score", "time"]

ProfileName = Literal["mnemond", "mnemon", "mnemosyne", "mem0"]
PROFILES: tuple[str, ...] = get_args(ProfileName)
"""Rankings: the default, and faithful reimplementations of three published designs."""


class Span(msgspec.Struct, frozen=True):
    """Span of time in microseconds since the epoch, `until_us` exclusive. None: open on that side."""

    since_us: int | None = None
    until_us: int | None = None


class Filter(msgspec.Struct, frozen=True):
    """Conditions on the rows that a read may return. Applied before the cut to a top-k.

    Scope: a row is visible iff, for each of user, session and agent given, the row's value equals it or is None (with
    `strict_scope` only if it equals it); rows with a session are hidden from readers that give none, unless
    `all_sessions`. With a project, rows of no other project are visible: those of the same (`is_same_project`) and,
    without `strict_project`, those of none; with the project "" the latter alone.

    A row must have the given `category`, `source`, `channel` and `stated_intent` (that of the extracted fact); all of
    `tags_all` and one of `tags_any` (ignoring case); `entity` in any spelling or alias; at least `min_importance`; a
    creation within `created`; an event that overlaps `event`; either of both for `window`; the `status`; and metadata
    that satisfy `metadata`.

    Validity is checked at `now_us`, the reader's time; None: not checked. A row is valid from its `valid_from`, else
    its creation, until its `invalid_at` or `expires_at`, or until it was retired without either. A row with neither of
    the three dates is also valid for readers of an earlier `now_us`, once `clock_us` (None: `now_us`) has reached its
    creation. `as_of_us` checks at that time instead, and strictly; `include_invalid` skips the check. Both include
    retired rows, but not forgotten ones. Quarantined rows are always excluded. `known_at_us`: only rows that were made
    by then and had not left recall then, with the end that was known then, whatever was learned since; their text is
    that of today.
    """

    category: str | None = None
    source: str | None = None
    scope: Scope = Scope()
    all_sessions: bool = False
    strict_scope: bool = False
    strict_project: bool = False
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
    known_at_us: int | None = None

    @property
    def historic(self) -> bool:
        """Return True if retired rows are requested, which only an archive has."""
        timed = self.as_of_us is not None or self.known_at_us is not None
        return timed or self.include_invalid or self.status not in (None, "active")


ResultKind = Literal["memory", "passage"]
"""A result is a memory, or an exchange of a session as it was said."""


class Query(msgspec.Struct, frozen=True):
    """One question.

    `anchors`: the signals to use; None: those of the profile. `intent` None: classified from the words. Relative dates
    are resolved at `now_us` (microseconds); None: not resolved. `min_confidence` leaves out results below it, unless
    nothing is weighed. `mode` None: that of the profile. `seed` of a
    probabilistic walk; None: derived from the words. `explain`: add the parts of the score to each result. `rerank`:
    score the best results again, word by word. `here`: the id of the project that is asked from; results of others
    come after those that are as good. `budget`: tokens in which the results are to be shown; None: no limit. `kind`:
    only memories, or only passages of sessions; None: both. `sure`: leave out what is not, see
    `result_order.sure_hits`.
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
    min_confidence: Confidence = "low"
    here: str = ""
    budget: int | None = None
    kind: ResultKind | None = None
    sure: bool = False

    @property
    def considered(self) -> int:
        """The number of results of which the answer is chosen: with `sure` some may be left out."""
        return 2 * self.limit if self.sure else self.limit


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result: the insight, its final score, and the signals that found it.

    `path`: the links that led to it. `also`: other memories of the same text, or of another of the `wordings` of this
    statement, represented by this one. `first_score`: the score before reranking, if it was reranked. `contradicts`:
    other results that this one may contradict. `former`: it holds no longer. `session`: of a passage, where it is from;
    "" for a memory.
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
    wordings: int = 1
    contradicts: tuple[str, ...] = ()
    former: FormerState | None = None
    session: str = ""


class Window(msgspec.Struct, frozen=True):
    """Span of time named by a question, in microseconds, the end exclusive. `hard`: other memories were excluded."""

    start_us: int
    end_us: int
    hard: bool


class Recalled(msgspec.Struct, frozen=True):
    """Results of a query, in display order. The caller sets `took_ms` and `store` of `meta`.

    `embed_error`: why the embedder was unavailable, so that only keywords were used. `here`: that of the query.
    """

    hits: tuple[Hit, ...]
    meta: RecallMeta
    embed_error: str | None = None
    here: str = ""
