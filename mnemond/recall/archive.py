"""Retired memories: pages of them from the database, and archives, an index of active and retired rows of a store.

`as_of` and similar filters are answered from an archive. The main index has active rows only. An archive is built on
demand and updated on the next demand after a write, by the difference of the two generations. Active rows come from the
store's snapshot with their links, retired ones from its database without. A purge drops every archive.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
import trio

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.columns import PREFIX_LENGTH, ends_us, event_us, valid_us
from mnemond.index.edges import EdgeArrays
from mnemond.index.filters import metadata_of, was_known
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.history import any_row
from mnemond.model.answers import RetiredResult, RetiredView, insight_view
from mnemond.model.changes import AddInsight, Change, PurgeInsight, PutInsight, Vector
from mnemond.model.memory import Insight, Scope, is_same_project, parse_rfc3339
from mnemond.model.query import Filter, Span, holds
from mnemond.store import insights
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store
from mnemond.text.entities import canonical_name
from mnemond.text.tokens import fold

# ---------------------------------------------------------------- pages, and a filter for one memory


def retired(connection: Connection, wanted: Filter, limit: int, before: str | None, here: str = "") -> RetiredResult:
    """Return up to `limit` visible memories that left recall, the last to leave first; only of `wanted.status` if set.

    `before`: the id, or its beginning, of the last memory of the page before. Raises MnemonError(NOT_FOUND) if that one
    did not leave recall, and the errors of `page_start`. `here`: the project that is asked from.
    """
    start = None if before is None else _position(connection, before)
    found: list[tuple[Insight, str]] = []
    while len(found) <= limit:
        rows = insights.retired(connection, wanted, limit + 1, start)
        found += [row for row in rows if _admits(wanted, row[0])]
        if len(rows) <= limit:
            break
        start = rows[-1][1], rows[-1][0].id
    shown = [_retired_view(it, retired_at, here) for it, retired_at in found[:limit]]
    return RetiredResult(retired=shown, next=shown[-1].id if len(found) > limit else None)


def page_start(connection: Connection, named: str) -> Insight:
    """Return the memory, active or retired, after which a page continues. It is not shown, so its scope is irrelevant.

    Raises MnemonError(INVALID_PARAMS) for too short a beginning, NOT_FOUND, or AMBIGUOUS with the first matches.
    """
    if len(named) < PREFIX_LENGTH:
        sentence = f"before has {len(named)} characters; it needs {PREFIX_LENGTH}, as the beginning of any id does"
        raise invalid([FieldProblem("before", sentence)])
    return any_row(connection, named, Scope())


def _retired_view(it: Insight, retired_at: str, here: str) -> RetiredView:
    assert it.status != "active", "it has a time when it left recall"  # noqa: S101
    return RetiredView(
        **msgspec.structs.asdict(insight_view(it, here)),
        status=it.status,
        superseded_by=it.superseded_by,
        retired_at=retired_at,
    )


def _admits(wanted: Filter, it: Insight) -> bool:
    return admits(msgspec.structs.replace(wanted, status=wanted.status or it.status), it)


def _position(connection: Connection, named: str) -> tuple[str, str]:
    start = page_start(connection, named).id
    moment = insights.retired_at(connection, start)
    if moment is None:
        raise MnemonError(
            NOT_FOUND,
            f"memory {start} is not out of recall, so no page of those that are goes on after it",
            hint="list again from the start",
            outcome="rejected",
        )
    return moment, start


# A `Filter` for one memory outside of the index: the same rules as `index/filters.py` has for columns


def admits(wanted: Filter, it: Insight) -> bool:
    """Return True if a filter admits a memory."""
    return (
        _has_attributes(wanted, it)
        and _in_scope(wanted, it)
        and _is_valid(wanted, it)
        and _in_time(wanted, it)
        and _has_tags(wanted, it)
        and (wanted.metadata is None or holds(wanted.metadata, metadata_of(it.metadata)))
    )


def _has_attributes(wanted: Filter, it: Insight) -> bool:
    required = (wanted.category, wanted.source, wanted.channel, wanted.stated_intent)
    given = (it.category, it.source, it.channel, it.intent)
    return (
        all(value in (None, own) for value, own in zip(required, given, strict=True))
        and it.importance >= wanted.min_importance
        and not it.quarantined
    )


def _in_scope(wanted: Filter, it: Insight) -> bool:
    scope, its = wanted.scope, it.scope
    if scope.project is not None and not _of_project(wanted, scope.project, its.project):
        return False
    pairs = ((scope.user_id, its.user_id), (scope.session_id, its.session_id), (scope.agent_id, its.agent_id))
    if scope.session_id is None and its.session_id is not None and not wanted.all_sessions:
        return False
    return all(named is None or own == named or (own is None and not wanted.strict_scope) for named, own in pairs)


def _of_project(wanted: Filter, project: str, its: str | None) -> bool:
    if its is None:
        return not (project and (wanted.strict_project or wanted.strict_scope))
    return bool(project) and is_same_project(its, project)


def _is_valid(wanted: Filter, it: Insight) -> bool:
    if wanted.status is not None:
        status_matches = it.status == wanted.status
    else:
        status_matches = it.status != "forgotten" if wanted.historic else it.status == "active"
    created = parse_rfc3339(it.created_at)
    start, end = valid_us(it, created), ends_us(it)
    if wanted.known_at_us is not None:
        known_at, as_of = wanted.known_at_us, wanted.as_of_us
        if not status_matches or created > known_at or (as_of is not None and start > as_of):
            return False
        return (as_of is None or as_of < end) if it.status == "active" else was_known(it, known_at, as_of)
    if wanted.as_of_us is not None:
        return status_matches and start <= wanted.as_of_us and (wanted.include_invalid or wanted.as_of_us < end)
    now = wanted.now_us
    if wanted.include_invalid or now is None or wanted.status not in (None, "active"):
        return status_matches
    clock = max(now, wanted.clock_us or now)
    return status_matches and now < end and (start <= now or (start <= created and start <= clock))


def _in_time(wanted: Filter, it: Insight) -> bool:
    created = parse_rfc3339(it.created_at)
    made = (created, created)
    event = event_us(it)
    return (
        _overlaps(made, wanted.created)
        and _overlaps(event, wanted.event)
        and (_overlaps(made, wanted.window) or _overlaps(event, wanted.window))
    )


def _overlaps(times: tuple[int, int], span: Span | None) -> bool:
    if span is None:
        return True
    start, end = times
    since, until = span.since_us, span.until_us
    return start <= end and (since is None or end >= since) and (until is None or start < until)


def _has_tags(wanted: Filter, it: Insight) -> bool:
    tags = set(map(fold, it.tags))
    return (
        all(fold(tag) in tags for tag in wanted.tags_all)
        and (not wanted.tags_any or any(fold(tag) in tags for tag in wanted.tags_any))
        and (wanted.entity is None or canonical_name(wanted.entity) in set(map(canonical_name, it.entities)))
    )


KEPT = 2
"""Archives in memory, of the stores used last: each is as large as an index of all rows."""

AT_ONCE = 2
"""Archives to build concurrently: each occupies a processor. Requests for an existing archive do not wait."""

PAGE = 500
"""Retired rows to read at once: about 10 ms, in which writes wait."""

REBUILT_SHARE = 0.3
"""Share of changed rows above which rebuilding an index is faster than updating it."""

Row = tuple[Insight, Vector | None]


# ---------------------------------------------------------------- archives


class Archives:
    """Archives by store. Use it from the thread of the event loop only."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Archive] = OrderedDict()
        self._locks: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)  # one build per store at a time
        self._threads = trio.CapacityLimiter(AT_ONCE)
        self._purges = 0

    async def of(self, store: Store) -> Snapshot:
        """Return all rows of a store as a snapshot; the store's own if all are active.

        Raises MnemonError if the database cannot be read.
        """
        async with self._locks[store.name]:
            archive = self._kept.pop(store.name, None) or Archive()
            purges = self._purges
            snapshot = await archive.update(store, self._threads)
            if purges == self._purges:  # else it may contain purged rows: return it, but do not keep it
                self._kept[store.name] = archive
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return snapshot

    def clear(self) -> None:
        """Drop all archives after a purge."""
        self._purges += 1
        self._kept.clear()


class _StoreState(NamedTuple):
    """State of a store between two writes: its index, its embedder, and the time of each retirement by id."""

    snapshot: Snapshot
    embedder: EmbedderRecord | None
    retirements: Mapping[str, str]


class Archive:
    """Archive of one store. Calls of `update` must not overlap; after an error the archive is unusable."""

    def __init__(self) -> None:
        self._index: MemoryIndex | None = None
        self._of: weakref.ref[Snapshot] | None = None
        self._retirements: Mapping[str, str] = {}
        """Time of retirement of the retired rows in the index, by id."""

    async def update(self, store: Store, threads: trio.CapacityLimiter) -> Snapshot:
        """Apply the writes since the last call, in one of `threads`; return the snapshot (see `Archives.of`)."""
        current = store.snapshot
        if self._of is None or self._of() is not current:
            state = await store.read(
                lambda found: _StoreState(store.snapshot, store.embedder, insights.retirements(found))
            )
            current = state.snapshot
            if self._index is not None and self._index.made_by != current.made_by:
                self._index = None
            had = {} if self._index is None else self._retirements
            missing = [name for name, since in state.retirements.items() if had.get(name) != since]
            fresh = await _read(store, missing, state.embedder)
            await trio.to_thread.run_sync(self._rebuild, state, fresh, limiter=threads)
            self._retirements = state.retirements
            self._of = weakref.ref(current)
        return current if self._index is None else self._index.snapshot

    def _rebuild(self, state: _StoreState, fresh: Mapping[str, Row]) -> None:
        """Make the index contain the active and retired rows of a state (blocking)."""
        if not state.retirements:
            self._index = None
            return
        snapshot = state.snapshot
        old = None if self._index is None else self._index.snapshot
        rows = {row[0].id: row for row in _live(snapshot)}
        for name in state.retirements:
            row = fresh.get(name) or (None if old is None else _row(old, name))
            if row is not None:  # else purged meanwhile
                rows[name] = row
        changes = None if old is None else _changes(old, rows)
        if self._index is None or changes is None:
            self._index = MemoryIndex.build(rows.values(), (), snapshot.dimension, made_by=snapshot.made_by)
        else:
            self._index.relink(_NO_EDGES)
            self._index.stage(changes)
        self._index.relink(_linked(snapshot, self._index))
        self._index.publish()


async def _read(store: Store, names: Sequence[str], embedder: EmbedderRecord | None) -> dict[str, Row]:
    """Read rows of a database in pages, between which writes go on; rows purged meanwhile are missing."""
    found: dict[str, Row] = {}
    for start in range(0, len(names), PAGE):
        load = partial(insights.load, ids=names[start : start + PAGE], embedder=embedder)
        found |= {row[0].id: row for row in await store.read(load)}
    return found


_NO_EDGES = EdgeArrays(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.float32)
)


def _live(snapshot: Snapshot) -> Iterator[Row]:
    """Yield the active rows in order of storage."""
    for row in np.flatnonzero(snapshot.alive()).tolist():
        yield snapshot.insight(row), snapshot.stored_vector(row)


def _row(snapshot: Snapshot, name: str) -> Row | None:
    number = snapshot.row_of(name)
    return None if number is None else (snapshot.insight(number), snapshot.stored_vector(number))


def _changes(before: Snapshot, rows: Mapping[str, Row]) -> Sequence[Change] | None:
    """Return the changes from an archive to `rows`; None if rebuilding is faster."""
    live = [(row, before.insight(row)) for row in np.flatnonzero(before.alive()).tolist()]
    had = {insight.id: (row, insight) for row, insight in live}
    changes: list[Change] = [PurgeInsight(gone) for gone in had if gone not in rows]
    for name, (insight, vector) in rows.items():
        if name not in had:
            changes.append(AddInsight(insight, vector))
            continue
        row, old = had[name]
        if old.status != insight.status or not _same(before.stored_vector(row), vector):
            changes += [PurgeInsight(name), AddInsight(insight, vector)]
        elif old is not insight and old != insight:
            changes.append(PutInsight(insight))
    return None if len(changes) > REBUILT_SHARE * len(rows) else changes


def _same(one: Vector | None, other: Vector | None) -> bool:
    """Compare bytes, in a fifth of the time of numpy; all vectors of an index have the same type."""
    return one is other if one is None or other is None else one.tobytes() == other.tobytes()


def _linked(snapshot: Snapshot, index: MemoryIndex) -> EdgeArrays:
    """Return the edges of a snapshot with row numbers of an archive."""
    found, rows = snapshot.edges(), index.table.rows
    numbers = np.array([rows.get(snapshot.insight(row).id, 0) for row in range(snapshot.rows)], dtype=np.int64)
    return found._replace(source=numbers[found.source], target=numbers[found.target])
