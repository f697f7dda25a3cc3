"""What ranking asks of the text of each row, worked out once when the row comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.document import Document
from mnemond.index.growing import Column
from mnemond.index.selection import Rows


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
        self._own = Column(np.zeros(0, dtype=np.float32))
        self._asking = Column(np.zeros(0, dtype=np.float32))
        self._dated = Column(np.zeros(0, dtype=np.uint8))
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

    def compacted(self, kept: Rows) -> Passages:
        """The rows `kept`, in that order."""
        fewer = Passages()
        of: list[Any] = [Column(column.view()[kept]) for column in (self._own, self._asking, self._dated)]
        fewer._own, fewer._asking, fewer._dated = of
        fewer._orders = [self._orders[row] for row in kept.tolist()]
        return fewer
