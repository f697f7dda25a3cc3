"""What is known of each row besides words, vector and links: the insight, its id, and the columns reads filter by."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mnemond.index.columns import CREATED, DTYPES, MENTIONS, Columns, ColumnViews
from mnemond.index.growing import Column, Dictionary
from mnemond.index.ledger import Ledger
from mnemond.index.validity import LONG_AGO_US, Extent, ends_us, event_us, valid_us
from mnemond.model.insight import STATUSES, Insight
from mnemond.model.timestamp import parse_rfc3339
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised
from mnemond.text.tokens import fold, index_terms

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
        self.categories, self.sources, self.entities = Dictionary(), Dictionary(), Dictionary()
        self.users, self.sessions, self.agents = Dictionary(), Dictionary(), Dictionary()
        self.chains, self.channels, self.intents, self.tags = Dictionary(), Dictionary(), Dictionary(), Dictionary()
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
        self._columns: Columns[Column] = Columns(*map(_empty, DTYPES))
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
        column: Column = getattr(self._columns, name)
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
        fewer._columns = Columns(*map(Column, of_rows + of_mentions + of_labels))
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


def forget_cached() -> None:
    """Let go of every remembered name, so that nothing of a purged memory stays."""
    _canonical.cache_clear()


@lru_cache(maxsize=REMEMBERED_NAMES)
def _canonical(name: str) -> str:
    return canonical_name(name)


def _accessed_us(insight: Insight, created_us: int) -> int:
    return created_us if insight.last_accessed_at is None else parse_rfc3339(insight.last_accessed_at)


def _empty(dtype: npt.DTypeLike) -> Column:
    return Column(np.zeros(0, dtype=dtype))
