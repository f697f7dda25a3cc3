"""Rows around a moment, found by looking only near it: possible where rows were stored in the order of their times.

That is the usual case, and there no question about time costs more in a large store than in a small one. Where a
question cannot be settled nearby, or rows are out of order, the answer is None and all rows have to be looked at.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.selection import Rows

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

    def newest(self, k: int) -> Rows | None:
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

    def around(self, most: int) -> Rows | None:
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

    def _is_far(self, before: Rows, after: Rows, most: int) -> bool:
        """Whether the rows behind those looked at are farther away than the `most` nearest of them."""
        edge = int(self._created[self._place + NEARBY]) - self._at_us
        near = int(np.count_nonzero(self._created[after] - self._at_us < edge))
        near += int(np.count_nonzero(self._at_us - self._created[before] < edge))
        return near >= most

    def _before(self) -> Rows:
        return self._visible(max(0, self._place - NEARBY), self._place)

    def _after(self) -> Rows:
        return self._visible(self._place, min(len(self._created), self._place + NEARBY))

    def _visible(self, start: int, end: int) -> Rows:
        return np.arange(start, end) if self._mask is None else self._mask[start:end].nonzero()[0] + start
