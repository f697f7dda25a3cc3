"""The insights of all rows, as a persistent list: a changed row copies its block, and snapshots keep the old one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mnemond.model.insight import Insight

BLOCK = 256
"""Rows a block. A write that changes five rows copies at most five blocks of pointers and the list of all blocks."""


class Ledger:
    """Append in place, behind every reader; change rows through `patched`, which leaves this one as it is.

    Only the newest ledger may be appended to.
    """

    __slots__ = ("_blocks", "_used")

    def __init__(self, insights: Iterable[Insight] = ()) -> None:
        self._blocks: list[list[Insight]] = []
        self._used = 0
        self.extend(list(insights))

    def __len__(self) -> int:
        return self._used

    def __getitem__(self, row: int) -> Insight:
        return self._blocks[row // BLOCK][row % BLOCK]

    def extend(self, insights: Sequence[Insight]) -> None:
        """Append a row for each."""
        place = 0
        while place < len(insights):
            if self._used % BLOCK == 0:
                self._blocks.append([])
            room = BLOCK - self._used % BLOCK
            part = insights[place : place + room]
            self._blocks[-1].extend(part)
            self._used += len(part)
            place += len(part)

    def patched(self, changes: Mapping[int, Insight]) -> Ledger:
        """The same rows with some of them replaced."""
        if not changes:
            return self
        later = Ledger()
        later._blocks, later._used = list(self._blocks), self._used
        copied: set[int] = set()
        for row, insight in changes.items():
            number, place = divmod(row, BLOCK)
            if number not in copied:
                later._blocks[number] = list(later._blocks[number])
                copied.add(number)
            later._blocks[number][place] = insight
        return later
