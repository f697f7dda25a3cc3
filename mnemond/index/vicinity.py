"""What surrounds a memory that is about to be written: rows before, after, near and like it, and who shares a name."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from mnemond.index.cosines import Cosines
from mnemond.index.postings import Floats
from mnemond.index.selection import Rows, top
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.index.table import chain_of
from mnemond.index.timeline import Timeline
from mnemond.model.insight import Insight
from mnemond.model.recall import Filter
from mnemond.model.timestamp import parse_rfc3339


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

    def by_words(self, likeness: Floats, at_least: float, k: int) -> list[tuple[str, float]]:
        """The k rows that are most like it in words, by what Snapshot.likeness says: (id, share), best first."""
        rows = self._seen((likeness >= at_least).nonzero()[0])
        return [(self._id(row), min(1.0, share)) for row, share in top(rows, likeness[rows], k)]

    def _seen(self, rows: npt.NDArray[np.int64]) -> Rows:
        return rows if self._mask is None else rows[self._mask[rows]]

    def _newest(self, rows: Rows, k: int) -> list[int]:
        if k < 1:
            return []
        times = self._snapshot.parts.columns.created_us[rows]
        if len(rows) > k:
            kept = times >= np.partition(times, len(rows) - k)[len(rows) - k]
            rows, times = rows[kept], times[kept]
        newest: list[int] = rows[np.lexsort((rows, times))[::-1][:k]].tolist()
        return newest

    def _last(self, rows: Rows) -> str | None:
        found = self._newest(rows, 1)
        return self._id(found[0]) if found else None

    def _first(self, rows: Rows) -> str | None:
        if not len(rows):
            return None
        times = self._snapshot.parts.columns.created_us[rows]
        return self._id(int(rows[np.lexsort((rows, times))[0]]))

    def _id(self, row: int) -> str:
        return self._snapshot.insight(row).id


def event_us(insight: Insight) -> int | None:
    """When what a memory speaks of was, in microseconds; None when it does not say."""
    return None if insight.event_start is None else parse_rfc3339(insight.event_start)


def _without(snapshot: Snapshot, mask: Mask | None, excluded: Collection[int]) -> Mask | None:
    if not excluded:
        return mask
    fewer: Mask = np.ones(snapshot.rows, dtype=np.bool_) if mask is None else mask.copy()
    fewer[list(excluded)] = False
    return fewer
