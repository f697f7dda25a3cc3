"""The columns reads filter by: what the writer appends to, and what one generation of readers sees of it."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import GrowableArray, Interner, Ledger
from mnemond.index.bm25 import SelectionRows
from mnemond.model.memory import STATUSES, Insight, parse_rfc3339
from mnemond.text.caches import text_cache
from mnemond.text.entities import canonical_name
from mnemond.text.features import inner_terms, question_share
from mnemond.text.similarity import normalised
from mnemond.text.tokens import fold, index_terms

Part = TypeVar("Part")


class Columns(NamedTuple, Generic[Part]):
    """Numbers of each row, shape (rows,); the mentions, one entity of one row each, have shape (mentions,), and the
    labels, one tag of one row each, have shape (labels,).

    `category` to `intent` are numbers in `Names`, 0 for None; `status` in `STATUS_CODES`. `accessed_us`: last access,
    else creation. `valid_us` to `event_end_us` as `validity` has them.
    """

    category: Part
    source: Part
    user: Part
    session: Part
    agent: Part
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
    mention_row: Part
    mention_entity: Part
    label_row: Part
    label_tag: Part


DTYPES = Columns(
    category=np.int32, source=np.int32, user=np.int32, session=np.int32, agent=np.int32, chain=np.int32,
    channel=np.int32, intent=np.int32, status=np.uint8, importance=np.int32, created_us=np.int64, accesses=np.int32,
    accessed_us=np.int64, pinned=np.uint8, degree=np.int32, valid_us=np.int64, ends_us=np.int64,
    event_start_us=np.int64, event_end_us=np.int64, quarantined=np.uint8, mention_row=np.int64,
    mention_entity=np.int32, label_row=np.int64, label_tag=np.int32,
)  # fmt: skip


class ColumnViews:
    """The columns as they are for the first rows, mentions and labels: an array each, made when it is asked for.

    A generation asks for a few of them. What is shared with the writer only grows behind these rows.
    """

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
        """Every one of them."""
        return Columns(*(getattr(self, name) for name in Columns._fields))


_OF_MENTIONS = frozenset({"mention_row", "mention_entity"})
_OF_LABELS = frozenset({"label_row", "label_tag"})

MENTIONS = Columns._fields.index("mention_row")
CREATED = Columns._fields.index("created_us")


# What the index knows of the words of a memory.


OPENING: Final = 120
OPENING_SHARE: Final = 0.5
"""The first characters of the first line may be its title: each of its terms counts for so much more
(docs/decisions/0015-two-stage-ranking.md)."""

DATED: Final = "\x1f"
"""Begins the terms of the day a memory was made on, so that nobody finds by chance what was only said then."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Document(NamedTuple):
    """`counts`: how often each term counts; `length`: all terms with their repeats, `own` those of the content alone.

    `breadth`: how many different ones the content has. `order`: a number for each term of the content in its order,
    as bytes of uint32. `asking`: share of the content that asks. `dated`: whether the content speaks of a date.
    """

    counts: dict[str, float]
    length: int
    own: int
    breadth: int
    order: bytes
    asking: float
    dated: bool


def document_of(insight: Insight) -> Document:
    """Terms of the content, the names inside it, its tags and entities, and the day it was made on.

    A name or a tag found nowhere in the content must still find the memory.
    """
    text = insight.content
    content = index_terms(text)
    breadth = len(set(content))
    inner = inner_terms(text)
    named = index_terms("\n".join((*insight.tags, *insight.entities))) if insight.tags or insight.entities else []
    day = day_terms(insight.created_at[:10])
    counts: dict[str, float] = {}
    for term in (*content, *inner, *named, *day):
        counts[term] = counts.get(term, 0) + 1
    for term in content[: _of_first_line(text, len(content))]:
        counts[term] += OPENING_SHARE
    own = len(content) + len(inner)
    order = array("I", [hash(term) & LARGEST_NUMBER for term in content]).tobytes()
    dated = insight.event_start is not None
    return Document(counts, own + len(named) + len(day), own, breadth, order, question_share(text), dated)


def _of_first_line(text: str, terms: int) -> int:
    """How many of the terms of a text may be its title."""
    line = text.lstrip()[:OPENING].split("\n", 1)[0]
    return terms if len(line) == len(text) else len(index_terms(line))


def numbered(term: str) -> int:
    """A number below 2³² for a term, the same as long as this process lives."""
    return hash(term) & LARGEST_NUMBER


LARGEST_NUMBER: Final = 0xFFFFFFFF
"""Of a term."""


@text_cache(maxsize=4096)
def day_terms(day: str) -> tuple[str, ...]:
    """Terms of a day given as "2023-05-08": its number, month, year and weekday; none for what is no day."""
    try:
        year, month, number = (int(part) for part in day.split("-"))
        weekday = WEEKDAYS[_weekday(year, month, number)]
        words = index_terms(f"{number} {MONTHS[month - 1]} {year} {weekday}")
    except (ValueError, IndexError):
        return ()
    return tuple(DATED + word for word in words)


def _weekday(year: int, month: int, day: int) -> int:
    """0 for Monday (Sakamoto 1993, Gregorian calendar)."""
    year -= month < 3
    return (
        year + year // 4 - year // 100 + year // 400 + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1] + day - 1
    ) % 7


# What ranking asks of the text of each row, worked out once when the row comes.


class PassageColumns(NamedTuple):
    """`own`: terms of the content of each row, `asking`: the share of it that asks, `dated`: 1 where it speaks of a
    date; shape (rows,). `orders`: the terms of each row in order, as `Document.order`; newer rows may stand behind."""

    own: npt.NDArray[np.float32]
    asking: npt.NDArray[np.float32]
    dated: npt.NDArray[np.uint8]
    orders: Sequence[bytes]

    def order(self, rows: Sequence[int]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The terms of several rows one behind the other, and how many each has."""
        parts = [self.orders[row] for row in rows]
        sizes = np.array(list(map(len, parts)), dtype=np.int64) // np.dtype(np.uint32).itemsize
        return np.frombuffer(b"".join(parts), dtype=np.uint32), sizes


class Passages:
    """The writer's side."""

    def __init__(self) -> None:
        self._own = GrowableArray(np.zeros(0, dtype=np.float32))
        self._asking = GrowableArray(np.zeros(0, dtype=np.float32))
        self._dated = GrowableArray(np.zeros(0, dtype=np.uint8))
        self._orders: list[bytes] = []

    def append(self, document: Document) -> None:
        """Append one row."""
        self._own.append(document.own)
        self._asking.append(document.asking)
        self._dated.append(document.dated)
        self._orders.append(document.order)

    def extend(self, documents: Iterable[Document]) -> None:
        """Append a row for each."""
        for document in documents:
            self.append(document)

    def view(self) -> PassageColumns:
        """The rows appended so far."""
        return PassageColumns(self._own.view(), self._asking.view(), self._dated.view(), self._orders)

    def compacted(self, kept: SelectionRows) -> Passages:
        """The rows `kept`, in that order."""
        fewer = Passages()
        of: list[Any] = [GrowableArray(column.view()[kept]) for column in (self._own, self._asking, self._dated)]
        fewer._own, fewer._asking, fewer._dated = of
        fewer._orders = [self._orders[row] for row in kept.tolist()]
        return fewer


# Since when and until when rows are valid, and when what they speak of happened, in microseconds since the epoch.


LONG_AGO_US = -(2**63)
"""Before any time there is."""

FOREVER_US = 2**63 - 1
"""After any time there is."""

NO_EVENT = (FOREVER_US, LONG_AGO_US)
"""Of a row that speaks of no time: overlaps nothing."""

I64 = npt.NDArray[Any]


def valid_us(insight: Insight, created_us: int) -> int:
    """When a memory begins to be valid: as it says, else when it was made."""
    start = insight.valid_from
    return created_us if start is None or start == insight.created_at else parse_rfc3339(start)


def ends_us(insight: Insight) -> int:
    """When it is not valid any more: as it says, else, if it was retired, since then (its last change)."""
    if insight.invalid_at is None and insight.expires_at is None and insight.status == "active":
        return FOREVER_US
    times = [insight.invalid_at, insight.expires_at]
    if insight.status != "active" and insight.invalid_at is None:
        times.append(insight.updated_at)
    return min(parse_rfc3339(time) for time in times if time is not None)


def event_us(insight: Insight) -> tuple[int, int]:
    """First and last microsecond of what it speaks of, `NO_EVENT` when that has no time. Where only one is told, or the
    last lies before the first, both are the first that is."""
    start, end = insight.event_start or insight.event_end, insight.event_end or insight.event_start
    if start is None or end is None:
        return NO_EVENT
    first = parse_rfc3339(start)
    return first, max(first, parse_rfc3339(end))


def time_us(insight: Insight) -> int:
    """When what a memory speaks of began, else when it was made, in microseconds."""
    event = event_us(insight)
    return parse_rfc3339(insight.created_at) if event == NO_EVENT else event[0]


class Extent(NamedTuple):
    """What no row of a table goes beyond, so that a rule that concerns no row costs nothing.

    `latest_us`: no row begins to be valid later; `latest_stated_us`: nor does any of those later that begin after they
    were made. `earliest_end_us`: all are valid until then. `quarantined`, `retired`: whether any row is.
    """

    latest_us: int = LONG_AGO_US
    latest_stated_us: int = LONG_AGO_US
    earliest_end_us: int = FOREVER_US
    quarantined: bool = False
    retired: bool = False

    def with_row(self, insight: Insight, created: int, valid: int, ends: int) -> Extent:
        """The same with one row more, whose times are given in microseconds."""
        return Extent(
            max(self.latest_us, valid),
            max(self.latest_stated_us, valid) if valid > created else self.latest_stated_us,
            min(self.earliest_end_us, ends),
            self.quarantined or insight.quarantined,
            self.retired or insight.status != "active",
        )

    def with_rows(self, created: I64, valid: I64, ends: I64, quarantined: I64, status: I64) -> Extent:
        """The same with many rows more, each argument a column of shape (rows,); status 0 is active."""
        if not len(created):
            return self
        stated = valid[valid > created]
        return Extent(
            max(self.latest_us, int(valid.max())),
            max(self.latest_stated_us, int(stated.max()) if len(stated) else LONG_AGO_US),
            min(self.earliest_end_us, int(ends.min())),
            self.quarantined or bool(quarantined.any()),
            self.retired or bool(status.any()),
        )


# What is known of each row besides words, vector and links: the insight, its id, and the columns reads filter by.


PREFIX = 6
"""Characters of the shortest id prefix that can be looked up."""

STATUS_CODES = {name: code for code, name in enumerate(STATUSES)}
"""Numbers of states in columns; 0 is active."""

REMEMBERED_NAMES = 16_384
"""Spellings whose canonical name is remembered: the same few name most memories of a store."""


class Names:
    """Numbers for the words in columns. They only grow and outlive a renumbering of rows: a number once given stays.

    `spellings`: the first spelling of each entity, at the number of its canonical name.
    """

    def __init__(self) -> None:
        self.categories, self.sources, self.entities = Interner(), Interner(), Interner()
        self.users, self.sessions, self.agents = Interner(), Interner(), Interner()
        self.chains, self.channels, self.intents, self.tags = Interner(), Interner(), Interner(), Interner()
        self.spellings: list[str] = [""]
        self.speakers: dict[str, tuple[int, ...]] = {}
        """Numbers of the sources whose name has an index term."""

    def source(self, name: str) -> int:
        """The number of a source."""
        known = len(self.sources)
        code = self.sources.encode(name)
        if code == known:
            for term in set(index_terms(name)):
                self.speakers[term] = (*self.speakers.get(term, ()), code)
        return code

    def entity(self, canonical: str, spelling: str) -> int:
        """The number of an entity, whatever its spelling."""
        code = self.entities.encode(canonical)
        if code == len(self.spellings):
            self.spellings.append(spelling)
        return code


def chain_of(insight: Insight) -> tuple[str, str | None]:
    """What a memory's temporal backbone is keyed on (spec 8): who said it, and in which conversation or session."""
    return insight.source, insight.conversation_id or insight.scope.session_id


class Table:
    """One writer appends and patches rows; readers see the first n of them as they were, through `Columns`."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.insights = Ledger()
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
        """Rows that name each entity, by its number, ascending, dead ones included. Copies are handed out, which numpy
        takes as they lie: while it had hold of the array itself, the writer could not append."""
        self.ordered = True
        """Whether no row is older than one stored before it."""
        self.extent = Extent()
        self._columns: Columns[GrowableArray] = Columns(*map(_empty, DTYPES))
        self._degrees_shown = True
        """Whether a reader may have the column of degrees, which then is copied before it is changed."""
        self._newest_us = LONG_AGO_US

    def append(self, insight: Insight) -> None:
        """Append one row."""
        names, columns, scope = self.names, self._columns, insight.scope
        row = len(self.insights)
        created = parse_rfc3339(insight.created_at)
        columns.category.append(names.categories.encode(insight.category))
        columns.source.append(names.source(insight.source))
        columns.user.append(names.users.encode(scope.user_id))
        columns.session.append(names.sessions.encode(scope.session_id))
        columns.agent.append(names.agents.encode(scope.agent_id))
        columns.chain.append(names.chains.encode(chain_of(insight)))
        columns.importance.append(insight.importance)
        columns.created_us.append(created)
        self._note_order(created)
        columns.accesses.append(insight.access_count)
        columns.accessed_us.append(_accessed_us(insight, created))
        columns.pinned.append(insight.pinned)
        columns.degree.append(0)
        self._append_states(insight, created)
        for canonical, spelling in _spelled(insight):
            code = names.entity(canonical, spelling)
            columns.mention_row.append(row)
            columns.mention_entity.append(code)
            self._hold(code, row)
        for tag in _folded_tags(insight):
            columns.label_row.append(row)
            columns.label_tag.append(names.tags.encode(tag))
        self.insights.extend([insight])
        self._register(insight, row)

    def _append_states(self, insight: Insight, created: int) -> None:
        names, columns = self.names, self._columns
        columns.channel.append(names.channels.encode(insight.channel))
        columns.intent.append(names.intents.encode(insight.intent))
        columns.status.append(STATUS_CODES[insight.status])
        valid, ends = valid_us(insight, created), ends_us(insight)
        columns.valid_us.append(valid)
        columns.ends_us.append(ends)
        start, end = event_us(insight)
        columns.event_start_us.append(start)
        columns.event_end_us.append(end)
        columns.quarantined.append(insight.quarantined)
        self.extent = self.extent.with_row(insight, created, valid, ends)

    def extend(self, insights: Sequence[Insight]) -> None:
        """Append a row for each insight, in order; of many, in less time than one by one."""
        names, columns = self.names, self._columns
        start = len(self.insights)
        columns.category.extend(names.categories.encode_all([insight.category for insight in insights]))
        columns.source.extend(np.array([names.source(insight.source) for insight in insights], dtype=np.int32))
        columns.user.extend(names.users.encode_all([insight.scope.user_id for insight in insights]))
        columns.session.extend(names.sessions.encode_all([insight.scope.session_id for insight in insights]))
        columns.agent.extend(names.agents.encode_all([insight.scope.agent_id for insight in insights]))
        columns.chain.extend(names.chains.encode_all([chain_of(insight) for insight in insights]))
        columns.importance.extend(np.array([insight.importance for insight in insights], dtype=np.int32))
        created = [parse_rfc3339(insight.created_at) for insight in insights]
        columns.created_us.extend(np.array(created, dtype=np.int64))
        for each in created:
            self._note_order(each)
        columns.accesses.extend(np.array([insight.access_count for insight in insights], dtype=np.int32))
        accessed = map(_accessed_us, insights, created)
        columns.accessed_us.extend(np.fromiter(accessed, dtype=np.int64, count=len(insights)))
        columns.pinned.extend(np.array([insight.pinned for insight in insights], dtype=np.uint8))
        columns.degree.extend(np.zeros(len(insights), dtype=np.int32))
        self._extend_states(insights, np.array(created, dtype=np.int64))
        self._mention(start, insights)
        self._label(start, insights)
        self.insights.extend(insights)
        for row, insight in enumerate(insights, start):
            self._register(insight, row)

    def _extend_states(self, insights: Sequence[Insight], created: npt.NDArray[np.int64]) -> None:
        names, columns = self.names, self._columns
        columns.channel.extend(names.channels.encode_all([insight.channel for insight in insights]))
        columns.intent.extend(names.intents.encode_all([insight.intent for insight in insights]))
        status = np.array([STATUS_CODES[insight.status] for insight in insights], dtype=np.uint8)
        valid = np.array(list(map(valid_us, insights, created.tolist())), dtype=np.int64)
        ends = np.array(list(map(ends_us, insights)), dtype=np.int64)
        events = np.array(list(map(event_us, insights)), dtype=np.int64).reshape(-1, 2)
        quarantined = np.array([insight.quarantined for insight in insights], dtype=np.uint8)
        columns.status.extend(status)
        columns.valid_us.extend(valid)
        columns.ends_us.extend(ends)
        columns.event_start_us.extend(events[:, 0])
        columns.event_end_us.extend(events[:, 1])
        columns.quarantined.extend(quarantined)
        self.extent = self.extent.with_rows(created, valid, ends, quarantined, status)

    def _note_order(self, created_us: int) -> None:
        self.ordered = self.ordered and created_us >= self._newest_us
        self._newest_us = created_us if self.ordered else self._newest_us

    def _register(self, insight: Insight, row: int) -> None:
        before = self.rows.get(insight.id)
        if before is None:
            prefix = insight.id[:PREFIX]
            self.prefixes[prefix] = (*self.prefixes.get(prefix, ()), row)
        else:
            self.earlier[row] = before
        self.rows[insight.id] = row
        twin = hash(normalised(insight.content))
        self.hashes.append(twin)
        self.twins[twin] = (*self.twins.get(twin, ()), row)

    def _mention(self, start: int, insights: Sequence[Insight]) -> None:
        """Note every entity once a row, whatever its spelling."""
        rows: list[int] = []
        codes: list[int] = []
        for row, insight in enumerate(insights, start):
            for canonical, spelling in _spelled(insight):
                rows.append(row)
                codes.append(self.names.entity(canonical, spelling))
                self._hold(codes[-1], row)
        self._columns.mention_row.extend(np.array(rows, dtype=np.int64))
        self._columns.mention_entity.extend(np.array(codes, dtype=np.int32))

    def _hold(self, code: int, row: int) -> None:
        while len(self.holders) <= code:
            self.holders.append(array("q"))
        self.holders[code].append(row)

    def last_holders(self, canonical: str, rows: int, k: int) -> tuple[int, array[int]]:
        """How many of the first `rows` rows name an entity, and a copy of the last k of these, ascending."""
        code = self.names.entities.find(canonical)
        known = array("q") if code is None or code >= len(self.holders) else self.holders[code]
        count = bisect_left(known, rows)
        return count, known[max(0, count - k) : count]

    def _label(self, start: int, insights: Sequence[Insight]) -> None:
        """Note every tag once a row, whatever its case."""
        labels = [(row, tag) for row, insight in enumerate(insights, start) for tag in _folded_tags(insight)]
        self._columns.label_row.extend(np.array([row for row, _ in labels], dtype=np.int64))
        self._columns.label_tag.extend(self.names.tags.encode_all([tag for _, tag in labels]))

    def patch(self, changes: Mapping[int, Insight]) -> None:
        """Give rows new insights that differ in nothing a row is found by, except use and pin."""
        if not changes:
            return
        self.insights = self.insights.patched(changes)
        rows = list(changes)
        created = self._columns.created_us.view()
        insights = list(changes.values())
        values: dict[str, list[int]] = {
            "accesses": [insight.access_count for insight in insights],
            "accessed_us": [_accessed_us(insight, int(created[row])) for row, insight in changes.items()],
            "pinned": [int(insight.pinned) for insight in insights],
        }
        for name, new in values.items():
            self._set(name, rows, new)

    def set_degrees(self, degrees: Mapping[int, int]) -> None:
        """Note how many pairs of neighbour and type rows have now, for whoever asks again before `shown`."""
        if degrees and self._degrees_shown:
            self._columns = self._columns._replace(degree=self._columns.degree.patched([], []))
            self._degrees_shown = False
        if degrees:
            self._columns.degree.put_all(list(degrees), list(degrees.values()))

    def shown(self) -> None:
        """Readers have what there is now."""
        self._degrees_shown = True

    def degrees(self) -> npt.NDArray[np.int32]:
        """How many pairs of neighbour and type rows have, shape (rows,)."""
        return self._columns.degree.view()

    def _set(self, name: str, rows: list[int], values: list[int]) -> None:
        column: GrowableArray = getattr(self._columns, name)
        places = np.array(rows, dtype=np.int64)
        if column.view()[places].tolist() != values:
            self._columns = self._columns._replace(**{name: column.patched(places, values)})

    def columns(self) -> ColumnViews:
        """The rows appended so far."""
        return ColumnViews(self._columns)

    def compacted(self, kept: npt.NDArray[np.int64], renumbered: npt.NDArray[np.int64]) -> Table:
        """The rows `kept`, in that order, under the same names; `renumbered[row]` is a kept row's new number."""
        old = self.columns().all()
        alive = np.zeros(len(renumbered), dtype=np.bool_)
        alive[kept] = True
        mentions, labels = alive[old.mention_row], alive[old.label_row]
        fewer = Table(self.names)
        of_rows = [column[kept] for column in old[:MENTIONS]]
        of_mentions = [renumbered[old.mention_row[mentions]], old.mention_entity[mentions]]
        of_labels = [renumbered[old.label_row[labels]], old.label_tag[labels]]
        fewer._columns = Columns(*map(GrowableArray, of_rows + of_mentions + of_labels))
        states = Columns(*of_rows, *of_mentions, *of_labels)
        fewer.extent = Extent().with_rows(
            states.created_us, states.valid_us, states.ends_us, states.quarantined, states.status
        )
        for created_us in of_rows[CREATED].tolist():
            fewer._note_order(created_us)
        for code, row in zip(states.mention_entity.tolist(), states.mention_row.tolist(), strict=True):
            fewer._hold(code, row)
        fewer.insights = Ledger(self.insights[row] for row in kept.tolist())
        for row in range(len(kept)):
            fewer._register(fewer.insights[row], row)
        return fewer


def _spelled(insight: Insight) -> list[tuple[str, str]]:
    """Canonical name and first spelling of each entity, in order."""
    if not insight.entities:
        return []
    spelled = {_canonical(entity): entity for entity in reversed(insight.entities)}
    return list(reversed(spelled.items()))


def _folded_tags(insight: Insight) -> Iterable[str]:
    return dict.fromkeys(map(folded_tag, insight.tags)) if insight.tags else ()


def folded_tag(tag: str) -> str:
    """What equality of tags means: case does not matter."""
    return fold(tag)


@text_cache(maxsize=REMEMBERED_NAMES)
def _canonical(name: str) -> str:
    return canonical_name(name)


def _accessed_us(insight: Insight, created_us: int) -> int:
    return created_us if insight.last_accessed_at is None else parse_rfc3339(insight.last_accessed_at)


def _empty(dtype: npt.DTypeLike) -> GrowableArray:
    return GrowableArray(np.zeros(0, dtype=dtype))
