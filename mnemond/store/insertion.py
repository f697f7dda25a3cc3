"""Rows that are inserted many at a time: those that the operations of one batch bring to the same table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Final

Value = None | int | float | str | bytes
Row = Sequence[Value]

AT_ONCE: Final = (64, 8, 1)
"""Rows of one statement; each of these sizes is a statement to be kept. While a statement runs, the interpreter is
free for the event loop, and getting it back is what costs: 256 short statements a batch of 32 memories kept both
threads waiting for each other, and neither core was busy (docs/decisions/0026)."""


class NotKept(Exception):  # noqa: N818 - no error of anybody's: the batch is written once more, with savepoints
    """What an operation has to be taken back to was not kept."""


class Insertion:
    """Into which columns of which table rows go. `order`: tables that are referred to come before those that refer to
    them. `tail` follows the values."""

    def __init__(self, order: int, table: str, columns: Sequence[str], tail: str = "") -> None:
        self.order = order
        self._head = f"INSERT INTO {table}({', '.join(columns)}) VALUES"
        self._row = f"({', '.join('?' * len(columns))})"
        self._tail = tail
        self.one = self.statement(1)
        """The statement for one row."""

    @cache  # noqa: B019 - one each of a handful that live as long as the process
    def statement(self, rows: int) -> str:
        """The statement for so many rows."""
        return f"{self._head}{', '.join([self._row] * rows)}{self._tail}"


class Waiting:
    """Rows that are not inserted yet."""

    def __init__(self) -> None:
        self._rows: dict[Insertion, list[Row]] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, into: Insertion, rows: Sequence[Row]) -> None:
        """These come after those that wait for the same table."""
        self._rows.setdefault(into, []).extend(rows)

    def drop(self) -> None:
        """Forget them all."""
        self._rows.clear()

    def take(self) -> Iterator[tuple[str, list[Value]]]:
        """All of them, as statements with their values; none waits any more."""
        taken, self._rows = self._rows, {}
        for into in sorted(taken, key=lambda each: each.order):
            rows, begin = taken[into], 0
            for size in AT_ONCE:
                while len(rows) - begin >= size:
                    yield into.statement(size), list(chain.from_iterable(rows[begin : begin + size]))
                    begin += size
