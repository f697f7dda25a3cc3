"""The rows around a memory that is about to be written: before, after, near and like it, and those that share a name.

Rows are usually stored in the order of their times; then a query about time reads only rows near the moment and costs
no more in a large store than in a small one. Where it cannot be settled nearby, or rows are out of order, `Timeline`
returns None and all rows are read.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, Mask, Rows, top
from mnemond.index.columns import chain_of
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.model.memory import Insight, parse_rfc3339
from mnemond.model.query import Filter

NEARBY = 128
"""Rows read on either side: several times what any query needs, so that a few hidden ones do not matter."""


class Timeline:
    """The rows of one snapshot around one moment. `mask`: which of them may be seen, None when all may."""

    def __init__(self, created_us: npt.NDArray[np.int64], ordered: bool, mask: Mask | None, at_us: int) -> None:
        self._created = created_us
        self._ordered = ordered
        self._mask = mask
        self._at_us = at_us
        self._place = int(np.searchsorted(created_us, at_us, side="right")) if ordered else 0

    def newest(self, k: int) -> Rows | None:
        """Return the k newest rows not later than the moment, newest first, of equal times the one stored later."""
        if not self._ordered:
            return None
        rows = self._before()
        return None if len(rows) < k and self._place > NEARBY else rows[::-1][:k]

    def last_of(self, column: npt.NDArray[np.int32], value: int) -> int | None:
        """Return the newest row whose `column` has that value, if certainly no row is later than the moment."""
        if not self._ordered or self._place < len(self._created):
            return None
        rows = self._before()
        found = rows[column[rows] == value]
        return int(found[-1]) if len(found) else None

    def latest(self, most: int) -> list[int] | None:
        """Return the `most` rows nearest in time, if certainly no row is later than the moment: nearest first, of equal
        distances those stored later."""
        if not self._ordered or self._place < len(self._created):
            return None
        rows = self._before()
        return rows[: -most - 1 : -1].tolist() if len(rows) >= most else None

    def around(self, most: int) -> Rows | None:
        """Return rows that certainly include the `most` nearest in time, of equal distances those stored later."""
        if not self._ordered:
            return None
        before = self._before()
        if self._place == len(self._created) and len(before) >= most:
            return before[len(before) - most :]  # of equal distances those stored later come first: they are the last
        after = self._visible(self._place, min(len(self._created), self._place + NEARBY))
        if len(before) < most and self._place > NEARBY:
            return None
        if len(self._created) - self._place > NEARBY:
            edge = int(self._created[self._place + NEARBY]) - self._at_us
            near = int(np.count_nonzero(self._created[after] - self._at_us < edge))
            near += int(np.count_nonzero(self._at_us - self._created[before] < edge))
            if near < most:
                return None  # a row behind `after` may be nearer than some of these
        return np.concatenate((before, after))

    def _before(self) -> Rows:
        return self._visible(max(0, self._place - NEARBY), self._place)

    def _visible(self, start: int, end: int) -> Rows:
        return np.arange(start, end) if self._mask is None else self._mask[start:end].nonzero()[0] + start


class Neighbourhood:
    """The neighbourhood of one new memory, restricted to the rows its readers may see and to rows not in `excluded`."""

    def __init__(
        self,
        snapshot: Snapshot,
        newcomer: Insight,
        similarity: Cosines | None,
        excluded: Collection[int] = (),
    ) -> None:
        """`similarity`: cosine of every row with the new memory; None when it has no vector."""
        self._snapshot = snapshot
        self._at_us = parse_rfc3339(newcomer.created_at)
        self._chain = snapshot.parts.table.names.chains.find(chain_of(newcomer))
        self._similarity = similarity
        self._mask = snapshot.visible(Filter(scope=newcomer.scope))
        if excluded:
            self._mask = np.ones(snapshot.rows, dtype=np.bool_) if self._mask is None else self._mask.copy()
            self._mask[list(excluded)] = False
        self._timeline = Timeline(snapshot.columns.created_us, snapshot.parts.ordered, self._mask, self._at_us)

    @property
    def documents(self) -> int:
        """Rows in scope, the new memory included."""
        return 1 + (self._snapshot.rows if self._mask is None else int(np.count_nonzero(self._mask)))

    def backbone(self) -> tuple[str | None, str | None]:
        """Return the ids right before and after the new memory in its chain; of equal times by order of storing."""
        if self._chain is None:
            return None, None
        columns = self._snapshot.columns
        if (last := self._timeline.last_of(columns.chain, self._chain)) is not None:
            return self._snapshot.insight(last).id, None
        rows = self._seen(np.flatnonzero(columns.chain == self._chain))
        times = columns.created_us[rows]
        before, after = self._newest(rows[times <= self._at_us], 1), rows[times > self._at_us]
        oldest = after[np.lexsort((after, columns.created_us[after]))[:1]].tolist()
        return self._first_id(before), self._first_id(oldest)

    def _first_id(self, rows: list[int]) -> str | None:
        return self._snapshot.insight(rows[0]).id if rows else None

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """Return the k rows nearest in time as (id, distance in µs), nearest first, of equal ones the newer row."""
        created, insights = self._snapshot.columns.created_us, self._snapshot.parts.insights
        most = k + len(excluding)
        latest = self._timeline.latest(most)
        if latest is not None:
            far = (self._at_us - created[latest]).tolist()
            near = [(insights[row].id, each) for row, each in zip(latest, far, strict=True) if each <= within_us]
            return [each for each in near if each[0] not in excluding][:k]
        rows = self._timeline.around(most)
        if rows is None:
            rows = self._seen(np.arange(len(created)))
        distances = np.abs(created[rows] - self._at_us)
        near = distances <= within_us
        rows, distances = rows[near], distances[near]
        if most < len(rows):
            nearest = distances <= np.partition(distances, most)[most]
            rows, distances = rows[nearest], distances[nearest]
        order = np.lexsort((-rows, distances))[:most]
        found = zip(rows[order].tolist(), distances[order].tolist(), strict=True)
        return [(it, far) for row, far in found if (it := insights[row].id) not in excluding][:k]

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """Return how many rows name an entity, the new memory included, and the k newest of the others."""
        insights, ordered = self._snapshot.parts.insights, self._snapshot.parts.ordered
        if self._mask is None and ordered:
            count, last = self._snapshot.last_holders(canonical, k)
            return 1 + count, [insights[row].id for row in reversed(last)]
        _, listed = self._snapshot.last_holders(canonical, self._snapshot.rows)
        rows = self._seen(np.array(listed, dtype=np.int64))
        newest = rows[: -k - 1 : -1].tolist() if ordered else self._newest(rows, k)
        return 1 + len(rows), [insights[row].id for row in newest]

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """Return the k newest rows that are not newer than the new memory, newest first, each with the begin of its
        event in microseconds, None if it has none."""
        found = self._timeline.newest(k)
        if found is None:
            found = np.array(
                self._newest(self._seen(np.flatnonzero(self._snapshot.columns.created_us <= self._at_us)), k),
                dtype=np.int64,
            )
        every = self._snapshot.parts.insights
        insights = [every[row] for row in found.tolist()]
        return [(each, None if each.event_start is None else parse_rfc3339(each.event_start)) for each in insights]

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """Return the k rows whose cosine is at least that as (id, cosine), best first, of equal ones the newer row."""
        return self.between(at_least, math.inf, k)

    def between(self, at_least: float, below: float, k: int) -> list[tuple[str, float]]:
        """Return the k rows whose cosine lies in [at_least, below), best first, of equal ones the newer row."""
        if self._similarity is None:
            return []
        found = self._similarity.best_between(at_least, below, k, self._mask)
        return [(self._snapshot.insight(row).id, cosine) for row, cosine in found]

    def by_words(self, likeness: Floats, at_least: float, k: int) -> list[tuple[str, float]]:
        """Return the k rows with the largest `Snapshot.likeness` as (id, share), best first."""
        rows = self._seen((likeness >= at_least).nonzero()[0])
        return [(self._snapshot.insight(row).id, min(1.0, share)) for row, share in top(rows, likeness[rows], k)]

    def _seen(self, rows: Rows) -> Rows:
        return rows if self._mask is None else rows[self._mask[rows]]

    def _newest(self, rows: Rows, k: int) -> list[int]:
        if k < 1:
            return []
        times = self._snapshot.columns.created_us[rows]
        if len(rows) > k:
            kept = times >= np.partition(times, len(rows) - k)[len(rows) - k]
            rows, times = rows[kept], times[kept]
        newest: list[int] = rows[np.lexsort((rows, times))[::-1][:k]].tolist()
        return newest
