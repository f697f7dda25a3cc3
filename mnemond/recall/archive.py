"""What a store knew at any time: an index of its active rows and of all that left recall, for `as_of` and the like.

The index of a store knows its active rows alone. An archive is a second one, made when somebody asks for it and brought
up to date when somebody asks again after a write: what changed between two generations is told by comparing them, so
only that is read and indexed. Active rows come from the store's snapshot with all their links; retired ones come from
its database, and have none. A purge takes every archive away.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import trio

from mnemond.index.edges import EdgeArrays
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight, Change, PurgeInsight, PutInsight, Vector
from mnemond.model.memory import Insight
from mnemond.store import insights
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store

KEPT = 2
"""Archives at once, of the stores asked last: each takes the memory of another index, of its store and what left it."""

AT_ONCE = 2
"""Archives that are made at once: each takes a processor for as long as it lasts. Who asks for one that is made already
waits for none of them."""

PAGE = 500
"""Retired rows read at once: about 10 ms, for which writes wait."""

REBUILT_SHARE = 0.3
"""Part of its rows that may be new: beyond it, an index is built in less time than it is changed."""

Row = tuple[Insight, Vector | None]


class Archives:
    """Of each store asked for, the newest archive. For the event loop's thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Archive] = OrderedDict()
        self._locks: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)  # of one store, one is made at a time
        self._threads = trio.CapacityLimiter(AT_ONCE)
        self._purges = 0

    async def of(self, store: Store) -> Snapshot:
        """Every row of a store that was not purged, as a snapshot; the store's own when all of them are active.

        Raises MnemonError when the database cannot be read.
        """
        async with self._locks[store.name]:
            archive = self._kept.pop(store.name, None) or Archive()
            purges = self._purges
            snapshot = await archive.up_to_date(store, self._threads)
            if purges == self._purges:  # else it may have what was purged meanwhile; this one answer was asked before
                self._kept[store.name] = archive
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return snapshot

    def forget(self) -> None:
        """Let go of all: nothing of a purged memory may stay."""
        self._purges += 1
        self._kept.clear()


class _Seen(NamedTuple):
    """A store between two batches of writes: its index, its embedder, and since when each retired row is."""

    snapshot: Snapshot
    embedder: EmbedderRecord | None
    retirements: Mapping[str, str]


class Archive:
    """Of one store. `up_to_date` is called once at a time; after it raised, the archive is of no use any more."""

    def __init__(self) -> None:
        self._index: MemoryIndex | None = None
        self._of: weakref.ref[Snapshot] | None = None
        self._retirements: Mapping[str, str] = {}
        """Since when each row of the index that left recall did."""

    async def up_to_date(self, store: Store, threads: trio.CapacityLimiter) -> Snapshot:
        """See `Archives.of`; the work is done in one of `threads`."""
        current = store.snapshot
        if self._of is None or self._of() is not current:
            seen = await store.read(lambda found: _Seen(store.snapshot, store.embedder, insights.retirements(found)))
            current = seen.snapshot
            if self._index is not None and self._index.made_by != current.made_by:
                self._index = None
            had = {} if self._index is None else self._retirements
            missing = [name for name, since in seen.retirements.items() if had.get(name) != since]
            fresh = await _read(store, missing, seen.embedder)
            await trio.to_thread.run_sync(self._follow, seen, fresh, limiter=threads)
            self._retirements = seen.retirements
            self._of = weakref.ref(current)
        return current if self._index is None else self._index.snapshot

    def _follow(self, seen: _Seen, fresh: Mapping[str, Row]) -> None:
        """Make the index one of the rows of a snapshot and of the retired ones (blocking)."""
        if not seen.retirements:
            self._index = None
            return
        snapshot = seen.snapshot
        old = None if self._index is None else self._index.snapshot
        rows = {row[0].id: row for row in _live(snapshot)}
        for name in seen.retirements:
            row = fresh.get(name) or (None if old is None else _row(old, name))
            if row is not None:  # else it was purged since
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
    """Rows of a database, a page at a time: writes go on in between. Those that were purged meanwhile are left out."""
    found: dict[str, Row] = {}
    for start in range(0, len(names), PAGE):
        load = partial(insights.load, ids=names[start : start + PAGE], embedder=embedder)
        found |= {row[0].id: row for row in await store.read(load)}
    return found


_NO_EDGES = EdgeArrays(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.float32)
)


def _live(snapshot: Snapshot) -> Iterator[Row]:
    """The active rows, in the order they were stored."""
    for row in np.flatnonzero(snapshot.alive()).tolist():
        yield snapshot.insight(row), snapshot.vector(row)


def _row(snapshot: Snapshot, name: str) -> Row | None:
    number = snapshot.row_of(name)
    return None if number is None else (snapshot.insight(number), snapshot.vector(number))


def _changes(before: Snapshot, rows: Mapping[str, Row]) -> Sequence[Change] | None:
    """What makes of an archive one of `rows`; None when to build it anew takes less time."""
    live = [(row, before.insight(row)) for row in np.flatnonzero(before.alive()).tolist()]
    had = {insight.id: (row, insight) for row, insight in live}
    changes: list[Change] = [PurgeInsight(gone) for gone in had if gone not in rows]
    for name, (insight, vector) in rows.items():
        if name not in had:
            changes.append(AddInsight(insight, vector))
            continue
        row, old = had[name]
        if old.status != insight.status or not _same(before.vector(row), vector):
            changes += [PurgeInsight(name), AddInsight(insight, vector)]
        elif old is not insight and old != insight:
            changes.append(PutInsight(insight))
    return None if len(changes) > REBUILT_SHARE * len(rows) else changes


def _same(one: Vector | None, other: Vector | None) -> bool:
    """Byte for byte, which takes a fifth of the time of numpy's comparison; rows of an index are all of one type."""
    return one is other if one is None or other is None else one.tobytes() == other.tobytes()


def _linked(snapshot: Snapshot, index: MemoryIndex) -> EdgeArrays:
    """The edges of a snapshot between the rows of an archive."""
    found, rows = snapshot.edges(), index.table.rows
    numbers = np.array([rows.get(snapshot.insight(row).id, 0) for row in range(snapshot.rows)], dtype=np.int64)
    return found._replace(source=numbers[found.source], target=numbers[found.target])
