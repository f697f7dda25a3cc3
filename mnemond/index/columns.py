"""The columns reads filter by: what the writer appends to, and what one generation of readers sees of it."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mnemond.index.growing import Column

Part = TypeVar("Part")


class Columns(NamedTuple, Generic[Part]):
    """Numbers of each row, shape (rows,); the mentions, one entity of one row each, have shape (mentions,), and the
    labels, one tag of one row each, have shape (labels,).

    `category` to `intent` are numbers in `Names`, 0 for None; `status` in `STATUS_CODES`. `accessed_us`: last access,
    else creation. `valid_us` to `event_end_us` as `validity` has them.
    """

    category: Part
    source: Part
    user: Part
    session: Part
    agent: Part
    chain: Part
    channel: Part
    intent: Part
    status: Part
    importance: Part
    created_us: Part
    accesses: Part
    accessed_us: Part
    pinned: Part
    degree: Part
    valid_us: Part
    ends_us: Part
    event_start_us: Part
    event_end_us: Part
    quarantined: Part
    mention_row: Part
    mention_entity: Part
    label_row: Part
    label_tag: Part


DTYPES = Columns(
    category=np.int32, source=np.int32, user=np.int32, session=np.int32, agent=np.int32, chain=np.int32,
    channel=np.int32, intent=np.int32, status=np.uint8, importance=np.int32, created_us=np.int64, accesses=np.int32,
    accessed_us=np.int64, pinned=np.uint8, degree=np.int32, valid_us=np.int64, ends_us=np.int64,
    event_start_us=np.int64, event_end_us=np.int64, quarantined=np.uint8, mention_row=np.int64,
    mention_entity=np.int32, label_row=np.int64, label_tag=np.int32,
)  # fmt: skip


class ColumnViews:
    """The columns as they are for the first rows, mentions and labels: an array each, made when it is asked for.

    A generation asks for a few of them. What is shared with the writer only grows behind these rows.
    """

    def __init__(self, columns: Columns[Column]) -> None:
        self._columns = columns
        self._rows = len(columns.created_us)
        self._mentions, self._labels = len(columns.mention_row), len(columns.label_row)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        column: Column = getattr(self._columns, name)
        length = self._mentions if name in _OF_MENTIONS else self._labels if name in _OF_LABELS else self._rows
        found = self.__dict__[name] = column.first(length)
        return found

    def all(self) -> Columns[npt.NDArray[Any]]:
        """Every one of them."""
        return Columns(*(getattr(self, name) for name in Columns._fields))


_OF_MENTIONS = frozenset({"mention_row", "mention_entity"})
_OF_LABELS = frozenset({"label_row", "label_tag"})

MENTIONS = Columns._fields.index("mention_row")
CREATED = Columns._fields.index("created_us")
