"""Which rows stand right before and right after a row in its conversation, whoever spoke them.

One writer, readers of older generations: a row that is appended at the end of its conversation is noted in place, and
readers tell it by its number, which is not below theirs. Every other change copies the column it is made in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import GrowableArray, Interner
from mnemond.index.bm25 import SelectionRows
from mnemond.model.memory import Insight, parse_rfc3339

NOBODY = -1
"""Stands where there is no row."""


class Neighbours(NamedTuple):
    """Of each row the one before and the one after it, shape (rows,), int32; `NOBODY`, or a row that is newer than the
    reader's generation, where there is none. `of`: the number of its conversation, 0 for none."""

    of: npt.NDArray[np.int32]
    before: npt.NDArray[np.int32]
    after: npt.NDArray[np.int32]

    def talk(self, rows: int) -> float:
        """Share of the first `rows` that belong to a conversation, 0..1; 0 where there is none."""
        return np.count_nonzero(self.of[:rows]) / max(1, rows)


class Conversations:
    """The writer's side. Rows of a conversation are in the order of their times, of equal ones as they were stored."""

    def __init__(self) -> None:
        self._names = Interner()
        self._of = GrowableArray(np.zeros(0, dtype=np.int32))
        self._created = GrowableArray(np.zeros(0, dtype=np.int64))
        self._before = GrowableArray(np.zeros(0, dtype=np.int32))
        self._after = GrowableArray(np.zeros(0, dtype=np.int32))
        self._last: dict[int, int] = {}

    def append(self, insight: Insight) -> None:
        """Append one row."""
        row = len(self._of.view())
        number = self._names.encode(conversation_of(insight))
        created = parse_rfc3339(insight.created_at)
        self._of.append(number)
        self._created.append(created)
        self._before.append(NOBODY)
        self._after.append(NOBODY)
        if number:
            self._enter(row, number, created)

    def _enter(self, row: int, number: int, created: int) -> None:
        last = self._last.get(number, NOBODY)
        times, before = self._created.view(), self._before.view()
        following = NOBODY
        while last != NOBODY and times[last] > created:
            following, last = last, int(before[last])
        self._before.put(row, last)
        self._after.put(row, following)
        if following == NOBODY:
            self._last[number] = row
            if last != NOBODY:
                self._after.put(last, row)
            return
        self._before = self._before.patched([following], [row])
        if last != NOBODY:
            self._after = self._after.patched([last], [row])

    def extend(self, insights: Sequence[Insight]) -> None:
        """Fill an empty one."""
        self._of.extend(self._names.encode_all([conversation_of(insight) for insight in insights]))
        self._created.extend(np.array([parse_rfc3339(insight.created_at) for insight in insights], dtype=np.int64))
        self._chain()

    def leave(self, rows: Sequence[int]) -> None:
        """Take rows out; the ones on either side of them become neighbours."""
        before, after = self._before.view().copy(), self._after.view().copy()
        for row in rows:
            number = int(self._of.view()[row])
            if not number:
                continue
            one, other = int(before[row]), int(after[row])
            if one != NOBODY:
                after[one] = other
            if other != NOBODY:
                before[other] = one
            else:
                self._last[number] = one
            before[row] = after[row] = NOBODY
        self._before, self._after = GrowableArray(before), GrowableArray(after)

    def neighbours(self) -> Neighbours:
        """The rows appended so far."""
        return Neighbours(self._of.view(), self._before.view(), self._after.view())

    def compacted(self, kept: SelectionRows) -> Conversations:
        """The rows `kept`, in that order. Rows that are left out have left before."""
        fewer = Conversations()
        fewer._names = self._names
        fewer._of = GrowableArray(self._of.view()[kept])
        fewer._created = GrowableArray(self._created.view()[kept])
        fewer._chain()
        return fewer

    def _chain(self) -> None:
        """Work out every neighbour anew."""
        of, rows = self._of.view(), len(self._of.view())
        order = np.lexsort((np.arange(rows), self._created.view(), of))
        order = order[of[order] > 0]
        together = of[order][1:] == of[order][:-1]
        earlier, later = order[:-1][together], order[1:][together]
        before, after = np.full(rows, NOBODY, dtype=np.int32), np.full(rows, NOBODY, dtype=np.int32)
        before[later], after[earlier] = earlier, later
        self._before, self._after = GrowableArray(before), GrowableArray(after)
        ends = order[np.append(~together, True)] if len(order) else order
        self._last = dict(zip(of[ends].tolist(), ends.tolist(), strict=True))


def conversation_of(insight: Insight) -> str | None:
    """What groups the rows of a conversation, whoever spoke (spec 13): the conversation, else the session."""
    return insight.conversation_id or insight.scope.session_id
