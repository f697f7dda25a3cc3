"""The rows right before and right after a row in its conversation.

One writer, readers of older generations: a row that is appended at the end of its conversation is noted in place, and
readers recognise it by its number, which is not below theirs. Every other change copies the column it is made in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import GrowableArray, Interner, Rows
from mnemond.model.memory import Insight, parse_rfc3339

NO_ROW = -1


class Neighbours(NamedTuple):
    """Of each row the one before and the one after it, shape (rows,), int32; where there is none, `NO_ROW` or a row
    newer than the reader's generation. `of`: the number of its conversation, 0 for none."""

    of: npt.NDArray[np.int32]
    before: npt.NDArray[np.int32]
    after: npt.NDArray[np.int32]

    def talk(self, rows: int) -> float:
        """Return the share of the first `rows` that belong to a conversation, 0..1; 0 if there is no row."""
        return np.count_nonzero(self.of[:rows]) / max(1, rows)


class Conversations:
    """The writer's side. Rows of a conversation are ordered by creation time, of equal times by row."""

    def __init__(self) -> None:
        self._names = Interner()
        self._of = GrowableArray.empty(np.int32)
        self._created = GrowableArray.empty(np.int64)
        self._before = GrowableArray.empty(np.int32)
        self._after = GrowableArray.empty(np.int32)
        self._last: dict[int, int] = {}

    def append(self, insight: Insight) -> None:
        row = len(self._of)
        number = self._names.encode(conversation_of(insight))
        created = parse_rfc3339(insight.created_at)
        self._of.append(number)
        self._created.append(created)
        self._before.append(NO_ROW)
        self._after.append(NO_ROW)
        if number:
            self._enter(row, number, created)

    def _enter(self, row: int, number: int, created: int) -> None:
        last = self._last.get(number, NO_ROW)
        times, before, after = self._created.view(), self._before.view(), self._after.view()
        following = NO_ROW
        while last != NO_ROW and times[last] > created:
            following, last = last, int(before[last])
        before[row], after[row] = last, following  # in place: the row is new to every reader
        if following == NO_ROW:
            self._last[number] = row
            if last != NO_ROW:
                after[last] = row
            return
        self._before = self._before.patched([following], [row])
        if last != NO_ROW:
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
            previous, following = int(before[row]), int(after[row])
            if previous != NO_ROW:
                after[previous] = following
            if following != NO_ROW:
                before[following] = previous
            else:
                self._last[number] = previous
            before[row] = after[row] = NO_ROW
        self._before, self._after = GrowableArray(before), GrowableArray(after)

    def neighbours(self) -> Neighbours:
        return Neighbours(self._of.view(), self._before.view(), self._after.view())

    def compacted(self, kept: Rows) -> Conversations:
        fewer = Conversations()
        fewer._names = self._names
        fewer._of = GrowableArray(self._of.view()[kept])
        fewer._created = GrowableArray(self._created.view()[kept])
        fewer._chain()
        return fewer

    def _chain(self) -> None:
        of, rows = self._of.view(), len(self._of)
        order = np.lexsort((np.arange(rows), self._created.view(), of))
        order = order[of[order] > 0]
        together = of[order][1:] == of[order][:-1]
        earlier, later = order[:-1][together], order[1:][together]
        before, after = np.full(rows, NO_ROW, dtype=np.int32), np.full(rows, NO_ROW, dtype=np.int32)
        before[later], after[earlier] = earlier, later
        self._before, self._after = GrowableArray(before), GrowableArray(after)
        ends = order[np.append(~together, True)] if len(order) else order
        self._last = dict(zip(of[ends].tolist(), ends.tolist(), strict=True))


def conversation_of(insight: Insight) -> str | None:
    """Return the group of rows a memory belongs to, whatever its source: the conversation, else the session."""
    return insight.conversation_id or insight.scope.session_id
