"""Rows around a moment, found by looking only near it: possible where rows were stored in the order of their times.

That is the usual case, and there no question about time costs more in a large store than in a small one. Where a
question cannot be settled nearby, or rows are out of order, the answer is None and all rows have to be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from mnemond.index.bm25 import PostingsFloats, SelectionRows, top
from mnemond.index.columns import chain_of
from mnemond.index.snapshot import Snapshot, SnapshotMask
from mnemond.index.vectors import Cosines
from mnemond.model.memory import Insight, parse_rfc3339
from mnemond.model.query import Filter

NEARBY = 128
"""Rows looked at on either side: several times what any question wants, so that a few hidden ones do not matter."""


class Timeline:
    """The rows of one snapshot around one moment. `mask`: which of them may be seen, None when all may."""

    def __init__(
        self, created_us: npt.NDArray[np.int64], ordered: bool, mask: npt.NDArray[np.bool_] | None, at_us: int
    ) -> None:
        self._created = created_us
        self._ordered = ordered
        self._mask = mask
        self._at_us = at_us
        self._place = int(np.searchsorted(created_us, at_us, side="right")) if ordered else 0

    def newest(self, k: int) -> SelectionRows | None:
        """The k newest rows not later than the moment, newest first, of equal times the one stored later."""
        if not self._ordered:
            return None
        rows = self._before()
        return None if len(rows) < k and self._place > NEARBY else rows[::-1][:k]

    def last_of(self, column: npt.NDArray[np.int32], value: int) -> int | None:
        """The newest row whose `column` has that value, where certainly no row is later than the moment."""
        if not self._ordered or self._place < len(self._created):
            return None
        rows = self._before()
        found = rows[column[rows] == value]
        return int(found[-1]) if len(found) else None

    def latest(self, most: int) -> list[int] | None:
        """The `most` nearest in time where certainly no row is later than the moment: nearest first, of equal
        distances those stored later."""
        if not self._ordered or self._place < len(self._created):
            return None
        rows = self._before()
        return rows[: -most - 1 : -1].tolist() if len(rows) >= most else None

    def around(self, most: int) -> SelectionRows | None:
        """Rows among which the `most` nearest in time certainly are, of equal distances those stored later."""
        if not self._ordered:
            return None
        before = self._before()
        if self._place == len(self._created) and len(before) >= most:
            return before[len(before) - most :]  # of equal distances those stored later come first: they are the last
        after = self._after()
        if len(before) < most and self._place > NEARBY:
            return None
        if len(self._created) - self._place > NEARBY and not self._is_far(before, after, most):
            return None
        return np.concatenate((before, after))

    def _is_far(self, before: SelectionRows, after: SelectionRows, most: int) -> bool:
        """Whether the rows behind those looked at are farther away than the `most` nearest of them."""
        edge = int(self._created[self._place + NEARBY]) - self._at_us
        near = int(np.count_nonzero(self._created[after] - self._at_us < edge))
        near += int(np.count_nonzero(self._at_us - self._created[before] < edge))
        return near >= most

    def _before(self) -> SelectionRows:
        return self._visible(max(0, self._place - NEARBY), self._place)

    def _after(self) -> SelectionRows:
        return self._visible(self._place, min(len(self._created), self._place + NEARBY))

    def _visible(self, start: int, end: int) -> SelectionRows:
        return np.arange(start, end) if self._mask is None else self._mask[start:end].nonzero()[0] + start


# What surrounds a memory that is about to be written: rows before, after, near and like it, and who shares a name.


class Vicinity:
    """Answers about one newcomer, restricted to the rows its readers may see and to rows not in `excluded`."""

    def __init__(
        self,
        snapshot: Snapshot,
        newcomer: Insight,
        similarity: Cosines | None,
        excluded: Collection[int] = (),
    ) -> None:
        """`similarity`: cosine of every row with the newcomer; None when it has no vector."""
        self._snapshot = snapshot
        self._at_us = parse_rfc3339(newcomer.created_at)
        self._chain = snapshot.parts.table.names.chains.find(chain_of(newcomer))
        self._similarity = similarity
        self._mask = _without(snapshot, snapshot.visible(Filter(scope=newcomer.scope)), excluded)
        parts = snapshot.parts
        self._timeline = Timeline(parts.columns.created_us, parts.ordered, self._mask, self._at_us)

    @property
    def documents(self) -> int:
        """Rows in scope, the newcomer included."""
        return 1 + (self._snapshot.rows if self._mask is None else int(np.count_nonzero(self._mask)))

    def backbone(self) -> tuple[str | None, str | None]:
        """Ids right before and right after the newcomer in its chain; of equal times the one stored later is later."""
        if self._chain is None:
            return None, None
        columns = self._snapshot.parts.columns
        if (last := self._timeline.last_of(columns.chain, self._chain)) is not None:
            return self._id(last), None
        rows = self._seen(np.flatnonzero(columns.chain == self._chain))
        times = columns.created_us[rows]
        before, after = rows[times <= self._at_us], rows[times > self._at_us]
        return self._last(before), self._first(after)

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """The k rows nearest in time: (id, distance in microseconds), nearest first, of equal ones the newer row."""
        created = self._snapshot.parts.columns.created_us
        most = k + len(excluding)
        latest = self._timeline.latest(most)
        if latest is not None:
            far = (self._at_us - created[latest]).tolist()
            insights = self._snapshot.parts.insights
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
        found = [(self._id(row), far) for row, far in zip(rows[order].tolist(), distances[order].tolist(), strict=True)]
        return [each for each in found if each[0] not in excluding][:k]

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """How many rows name an entity, the newcomer included, and the k newest of the others."""
        insights = self._snapshot.parts.insights
        if self._mask is None and self._snapshot.parts.ordered:
            count, last = self._snapshot.last_holders(canonical, k)
            return 1 + count, [insights[row].id for row in reversed(last)]
        _, listed = self._snapshot.last_holders(canonical, self._snapshot.rows)
        rows = self._seen(np.array(listed, dtype=np.int64))
        newest = rows[: -k - 1 : -1].tolist() if self._snapshot.parts.ordered else self._newest(rows, k)
        return 1 + len(rows), [insights[row].id for row in newest]

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """The k newest rows that are not newer than the newcomer, newest first, each with when its event was."""
        found = self._timeline.newest(k)
        if found is None:
            rows = self._seen(np.flatnonzero(self._snapshot.parts.columns.created_us <= self._at_us))
            found = np.array(self._newest(rows, k), dtype=np.int64)
        every = self._snapshot.parts.insights
        insights = [every[row] for row in found.tolist()]
        return [(each, None if each.event_start is None else event_us(each)) for each in insights]

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """The k rows whose cosine is at least that: (id, cosine), best first, of equal ones the newer row."""
        return self.between(at_least, math.inf, k)

    def between(self, at_least: float, below: float, k: int) -> list[tuple[str, float]]:
        """The k rows whose cosine lies in [at_least, below), best first, of equal ones the newer row."""
        if self._similarity is None:
            return []
        found = self._similarity.best_between(at_least, below, k, self._mask)
        return [(self._id(row), cosine) for row, cosine in found]

    def by_words(self, likeness: PostingsFloats, at_least: float, k: int) -> list[tuple[str, float]]:
        """The k rows that are most like it in words, by what Snapshot.likeness says: (id, share), best first."""
        rows = self._seen((likeness >= at_least).nonzero()[0])
        return [(self._id(row), min(1.0, share)) for row, share in top(rows, likeness[rows], k)]

    def _seen(self, rows: npt.NDArray[np.int64]) -> SelectionRows:
        return rows if self._mask is None else rows[self._mask[rows]]

    def _newest(self, rows: SelectionRows, k: int) -> list[int]:
        if k < 1:
            return []
        times = self._snapshot.parts.columns.created_us[rows]
        if len(rows) > k:
            kept = times >= np.partition(times, len(rows) - k)[len(rows) - k]
            rows, times = rows[kept], times[kept]
        newest: list[int] = rows[np.lexsort((rows, times))[::-1][:k]].tolist()
        return newest

    def _last(self, rows: SelectionRows) -> str | None:
        found = self._newest(rows, 1)
        return self._id(found[0]) if found else None

    def _first(self, rows: SelectionRows) -> str | None:
        if not len(rows):
            return None
        times = self._snapshot.parts.columns.created_us[rows]
        return self._id(int(rows[np.lexsort((rows, times))[0]]))

    def _id(self, row: int) -> str:
        return self._snapshot.insight(row).id


def event_us(insight: Insight) -> int | None:
    """When what a memory speaks of was, in microseconds; None when it does not say."""
    return None if insight.event_start is None else parse_rfc3339(insight.event_start)


def _without(snapshot: Snapshot, mask: SnapshotMask | None, excluded: Collection[int]) -> SnapshotMask | None:
    if not excluded:
        return mask
    fewer: SnapshotMask = np.ones(snapshot.rows, dtype=np.bool_) if mask is None else mask.copy()
    fewer[list(excluded)] = False
    return fewer
