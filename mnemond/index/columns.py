"""The columns reads filter by: the writer appends to them, and each generation of readers sees the first rows."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import GrowableArray, Interner, PersistentList, Rows
from mnemond.index.bm25 import Document
from mnemond.model.memory import STATUSES, Insight, parse_rfc3339
from mnemond.text.caches import text_cache
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised
from mnemond.text.tokens import fold, index_terms

PREFIX_LENGTH = 6
"""Characters of the shortest id prefix that can be looked up."""

STATUS_CODES = {name: code for code, name in enumerate(STATUSES)}
"""Numbers of states in columns; 0 is active."""

MAX_CACHED_NAMES = 16_384
"""Spellings whose canonical name is cached: the same few name most memories of a store."""

_canonical = text_cache(maxsize=MAX_CACHED_NAMES)(canonical_name)

Part = TypeVar("Part")


class Columns(NamedTuple, Generic[Part]):
    """Numbers of each row, shape (rows,); the mentions, one entity of one row each, have shape (mentions,), and the
    labels, one tag of one row each, have shape (labels,).

    `category` to `intent` are numbers in `Names`, 0 for None; `status` in `STATUS_CODES`. `accessed_us`: last access,
    else creation. `valid_us` to `event_end_us`: see the functions of these names. `length` to `dated`: see `Document`,
    as features of the text for ranking. `cues` and `triggers`: how many it has.
    """

    category: Part
    source: Part
    user: Part
    session: Part
    agent: Part
    project: Part
    chain: Part
    channel: Part
    intent: Part
    status: Part
    importance: Part
    created_us: Part
    accesses: Part
    accessed_us: Part
    pinned: Part
    degree: Part
    valid_us: Part
    ends_us: Part
    event_start_us: Part
    event_end_us: Part
    quarantined: Part
    length: Part
    breadth: Part
    own: Part
    asking: Part
    dated: Part
    cues: Part
    triggers: Part
    mention_row: Part
    mention_entity: Part
    label_row: Part
    label_tag: Part


DTYPES = Columns(
    category=np.int32, source=np.int32, user=np.int32, session=np.int32, agent=np.int32, project=np.int32,
    chain=np.int32, channel=np.int32, intent=np.int32, status=np.uint8, importance=np.int32, created_us=np.int64,
    accesses=np.int32, accessed_us=np.int64, pinned=np.uint8, degree=np.int32, valid_us=np.int64, ends_us=np.int64,
    event_start_us=np.int64, event_end_us=np.int64, quarantined=np.uint8, length=np.float32, breadth=np.float32,
    own=np.float32, asking=np.float32, dated=np.uint8, cues=np.uint8, triggers=np.uint8, mention_row=np.int64,
    mention_entity=np.int32, label_row=np.int64, label_tag=np.int32,
)  # fmt: skip

_OF_MENTIONS = frozenset({"mention_row", "mention_entity"})
_OF_LABELS = frozenset({"label_row", "label_tag"})
_MENTIONS = Columns._fields.index("mention_row")
_TIMES = [Columns._fields.index(name) for name in ("created_us", "valid_us", "ends_us")]


class ColumnViews:
    """The columns of one generation: an array each, made on first use, since a query needs only a few of them. The
    arrays shared with the writer only grow behind these rows."""

    def __init__(self, columns: Columns[GrowableArray]) -> None:
        self._columns = columns
        self._rows = len(columns.created_us)
        self._mentions, self._labels = len(columns.mention_row), len(columns.label_row)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        column: GrowableArray = getattr(self._columns, name)
        length = self._mentions if name in _OF_MENTIONS else self._labels if name in _OF_LABELS else self._rows
        found = self.__dict__[name] = column.first(length)
        return found

    def all(self) -> Columns[npt.NDArray[Any]]:
        return Columns(*(getattr(self, name) for name in Columns._fields))


# Times of a memory, in microseconds since the epoch: from when until when it is valid, and when its event was.


LONG_AGO_US = -(2**63)
"""Before any time there is."""

FOREVER_US = 2**63 - 1
"""After any time there is."""

NO_EVENT = (FOREVER_US, LONG_AGO_US)
"""Event of a row that mentions no time: overlaps nothing."""


def valid_us(insight: Insight, created_us: int) -> int:
    """Return the begin of validity: as stated, else the time of creation."""
    start = insight.valid_from
    return created_us if start is None or start == insight.created_at else parse_rfc3339(start)


def ends_us(insight: Insight) -> int:
    """Return the end of validity: as stated, else, of a retired memory, the time of its last change."""
    if insight.invalid_at is None and insight.expires_at is None and insight.status == "active":
        return FOREVER_US
    times = [insight.invalid_at, insight.expires_at]
    if insight.status != "active" and insight.invalid_at is None:
        times.append(insight.updated_at)
    return min(parse_rfc3339(time) for time in times if time is not None)


def event_us(insight: Insight) -> tuple[int, int]:
    """Return the first and last microsecond of the event a memory is about, `NO_EVENT` if it has no time. If only one
    of them is known, or the last lies before the first, both are the first known one."""
    start, end = insight.event_start or insight.event_end, insight.event_end or insight.event_start
    if start is None or end is None:
        return NO_EVENT
    first = parse_rfc3339(start)
    return first, max(first, parse_rfc3339(end))


def time_us(insight: Insight) -> int:
    """Return the begin of the event a memory is about, else its creation."""
    event = event_us(insight)
    return parse_rfc3339(insight.created_at) if event == NO_EVENT else event[0]


class Extent(NamedTuple):
    """Bounds that no row of a table exceeds, so that a rule that concerns no row costs nothing.

    `latest_us`: no row begins to be valid later; `latest_stated_us`: nor does any of those later that begin after their
    creation. `earliest_end_us`: all are valid until then. `quarantined`, `retired`: True if any row is.
    """

    latest_us: int = LONG_AGO_US
    latest_stated_us: int = LONG_AGO_US
    earliest_end_us: int = FOREVER_US
    quarantined: bool = False
    retired: bool = False

    def with_row(self, created: int, valid: int, ends: int, quarantined: bool, active: bool) -> Extent:
        return Extent(
            max(self.latest_us, valid),
            max(self.latest_stated_us, valid) if valid > created else self.latest_stated_us,
            min(self.earliest_end_us, ends),
            self.quarantined or quarantined,
            self.retired or not active,
        )


class Names:
    """Numbers for the words in columns. They only grow and outlive a renumbering of rows: a number once given stays.

    `spellings`: the first spelling of each entity, at the number of its canonical name. `speakers`: by index term, the
    numbers of the sources whose name contains it.
    """

    def __init__(self) -> None:
        self.categories, self.sources, self.entities = Interner(), Interner(), Interner()
        self.users, self.sessions, self.agents, self.projects = Interner(), Interner(), Interner(), Interner()
        self.chains, self.channels, self.intents, self.tags = Interner(), Interner(), Interner(), Interner()
        self.spellings: list[str] = [""]
        self.speakers: dict[str, tuple[int, ...]] = {}

    def source(self, name: str) -> int:
        known = len(self.sources)
        code = self.sources.encode(name)
        if code == known:
            for term in set(index_terms(name)):
                self.speakers[term] = (*self.speakers.get(term, ()), code)
        return code

    def entity(self, canonical: str, spelling: str) -> int:
        code = self.entities.encode(canonical)
        if code == len(self.spellings):
            self.spellings.append(spelling)
        return code


def chain_of(insight: Insight) -> tuple[str, str | None]:
    """Return the key of a memory's temporal backbone: its source, and its conversation or session."""
    return insight.source, insight.conversation_id or insight.scope.session_id


class Table:
    """Insight, id and columns of each row. One writer appends and patches; readers see the first n rows as they were,
    through `ColumnViews`."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.insights = PersistentList()
        self.orders: list[bytes] = []
        """The terms of each row in order, see `Document.order`."""
        self.rows: dict[str, int] = {}
        """The newest row of each id."""
        self.earlier: dict[int, int] = {}
        """For a row whose id was there before: the row it had then."""
        self.prefixes: dict[str, tuple[int, ...]] = {}
        self.twins: dict[int, tuple[int, ...]] = {}
        """Rows by the hash of their normalised text, dead ones included."""
        self.hashes: list[int] = []
        """That hash of each row."""
        self.holders: list[array[int]] = []
        """Rows that name each entity, by its number, ascending, dead ones included. Readers get copies, which numpy
        uses in place: while it holds the array itself, the writer cannot append."""
        self.ordered = True
        """False if any row is older than one stored before it."""
        self.extent = Extent()
        self.columns: Columns[GrowableArray] = Columns(*map(GrowableArray.empty, DTYPES))
        self._degrees_shown = True
        """True if a reader may have the column of degrees, which then is copied before it is changed."""
        self._newest_us = LONG_AGO_US

    def append(self, insight: Insight, document: Document) -> None:
        values = self._values(insight, document)
        for column, value in zip(self.columns, values, strict=False):
            column.append(value)
        self.insights.extend([insight])
        self.orders.append(document.order)
        self._enter(insight, len(self.insights) - 1, values)

    def extend(self, insights: Sequence[Insight], documents: Sequence[Document]) -> None:
        """Append a row for each insight, in order; of many, in less time than one by one."""
        start = len(self.insights)
        rows = list(map(self._values, insights, documents))
        for column, dtype, values in zip(self.columns, DTYPES, zip(*rows, strict=True), strict=False):
            column.extend(np.array(values, dtype=dtype))
        self.insights.extend(insights)
        self.orders += [document.order for document in documents]
        for row, insight in enumerate(insights, start):
            self._enter(insight, row, rows[row - start])

    def _values(self, insight: Insight, document: Document) -> tuple[int | float, ...]:
        names, scope, created = self.names, insight.scope, parse_rfc3339(insight.created_at)
        return (
            names.categories.encode(insight.category), names.source(insight.source), names.users.encode(scope.user_id),
            names.sessions.encode(scope.session_id), names.agents.encode(scope.agent_id),
            names.projects.encode(scope.project), names.chains.encode(chain_of(insight)),
            names.channels.encode(insight.channel), names.intents.encode(insight.intent), STATUS_CODES[insight.status],
            insight.importance, created, insight.access_count, _accessed_us(insight, created), insight.pinned, 0,
            valid_us(insight, created), ends_us(insight), *event_us(insight), insight.quarantined, document.length,
            document.breadth, document.own, document.asking, document.dated, len(insight.cues), len(insight.when),
        )  # fmt: skip

    def _enter(self, insight: Insight, row: int, values: tuple[int | float, ...]) -> None:
        names, columns = self.names, self.columns
        for canonical, spelling in _spelled(insight):
            code = names.entity(canonical, spelling)
            columns.mention_row.append(row)
            columns.mention_entity.append(code)
            self._hold(code, row)
        for tag in _folded_tags(insight):
            columns.label_row.append(row)
            columns.label_tag.append(names.tags.encode(tag))
        self._register(insight, row, *(int(values[at]) for at in _TIMES))

    def _register(self, insight: Insight, row: int, created: int, valid: int, ends: int) -> None:
        self.extent = self.extent.with_row(created, valid, ends, insight.quarantined, insight.status == "active")
        self.ordered = self.ordered and created >= self._newest_us
        self._newest_us = created
        before = self.rows.get(insight.id)
        if before is None:
            prefix = insight.id[:PREFIX_LENGTH]
            self.prefixes[prefix] = (*self.prefixes.get(prefix, ()), row)
        else:
            self.earlier[row] = before
        self.rows[insight.id] = row
        twin = hash(normalised(insight.content))
        self.hashes.append(twin)
        self.twins[twin] = (*self.twins.get(twin, ()), row)

    def _hold(self, code: int, row: int) -> None:
        while len(self.holders) <= code:
            self.holders.append(array("q"))
        self.holders[code].append(row)

    def last_holders(self, canonical: str, rows: int, k: int) -> tuple[int, array[int]]:
        """Return how many of the first `rows` rows name an entity, and a copy of the last k of these, ascending."""
        code = self.names.entities.find(canonical)
        known = array("q") if code is None or code >= len(self.holders) else self.holders[code]
        count = bisect_left(known, rows)
        return count, known[max(0, count - k) : count]

    def patch(self, changes: Mapping[int, Insight]) -> None:
        """Give rows new insights that differ in no field that rows are found by, except use and pin."""
        if not changes:
            return
        self.insights = self.insights.patched(changes)
        rows = np.array(list(changes), dtype=np.int64)
        created = self.columns.created_us.view()
        for name, values in (
            ("accesses", [insight.access_count for insight in changes.values()]),
            ("accessed_us", [_accessed_us(insight, int(created[row])) for row, insight in changes.items()]),
            ("pinned", [int(insight.pinned) for insight in changes.values()]),
        ):
            column: GrowableArray = getattr(self.columns, name)
            if column.view()[rows].tolist() != values:
                self.columns = self.columns._replace(**{name: column.patched(rows, values)})

    def set_degrees(self, degrees: Mapping[int, int]) -> None:
        """Set how many pairs of neighbour and type rows have, for readers of the next generation."""
        if degrees and self._degrees_shown:
            self.columns = self.columns._replace(degree=self.columns.degree.patched([], []))
            self._degrees_shown = False
        if degrees:
            self.columns.degree.view()[list(degrees)] = list(degrees.values())

    def mark_shown(self) -> None:
        self._degrees_shown = True

    def term_order(self, rows: Sequence[int]) -> tuple[npt.NDArray[np.uint32], Rows]:
        """Return the terms of several rows one behind the other, and how many each has."""
        parts = [self.orders[row] for row in rows]
        sizes = np.array(list(map(len, parts)), dtype=np.int64) // np.dtype(np.uint32).itemsize
        return np.frombuffer(b"".join(parts), dtype=np.uint32), sizes

    def views(self) -> ColumnViews:
        return ColumnViews(self.columns)

    def compacted(self, kept: Rows, renumbered: Rows) -> Table:
        """Return the rows `kept`, in that order, under the same names; `renumbered[row]` is a kept row's new number."""
        old = self.views().all()
        alive = np.zeros(len(renumbered), dtype=np.bool_)
        alive[kept] = True
        mentions, labels = alive[old.mention_row], alive[old.label_row]
        of_rows = [column[kept] for column in old[:_MENTIONS]]
        of_mentions = [renumbered[old.mention_row[mentions]], old.mention_entity[mentions]]
        of_labels = [renumbered[old.label_row[labels]], old.label_tag[labels]]
        new = Columns(*of_rows, *of_mentions, *of_labels)
        fewer = Table(self.names)
        fewer.columns = Columns(*map(GrowableArray, new))
        for code, row in zip(new.mention_entity.tolist(), new.mention_row.tolist(), strict=True):
            fewer._hold(code, row)
        fewer.insights = PersistentList(self.insights[row] for row in kept.tolist())
        fewer.orders = [self.orders[row] for row in kept.tolist()]
        times = zip(*(new[at].tolist() for at in _TIMES), strict=True)
        for row, (created, valid, ends) in enumerate(times):
            fewer._register(fewer.insights[row], row, created, valid, ends)
        return fewer


def _spelled(insight: Insight) -> list[tuple[str, str]]:
    """Canonical name and first spelling of each entity, in order."""
    if not insight.entities:
        return []
    spelled = {_canonical(entity): entity for entity in reversed(insight.entities)}
    return list(reversed(spelled.items()))


def _folded_tags(insight: Insight) -> Iterable[str]:
    """Each tag once; case does not matter."""
    return dict.fromkeys(map(fold, insight.tags)) if insight.tags else ()


def _accessed_us(insight: Insight, created_us: int) -> int:
    return created_us if insight.last_accessed_at is None else parse_rfc3339(insight.last_accessed_at)
