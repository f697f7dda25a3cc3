"""Links between rows, as a persistent structure: a change copies the few blocks it touches and shares all others."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.model.edge import EDGE_TYPES

BLOCK = 256
"""Rows a block. A write with five edges copies at most six blocks of pointers and the list of all blocks."""

LINK = np.dtype(
    [("row", np.int32), ("weight", np.float32), ("type", np.uint8), ("outgoing", np.uint8)],
    align=True,
)
"""One edge seen from one of its ends: the row at the other end, and `type` as a position in EDGE_TYPES."""

Links = npt.NDArray[np.void]
"""Shape (links,), dtype LINK, ordered by row, type, outgoing. Not to be written to."""

CAUSAL = EDGE_TYPES.index("causal")

OUT, IN = 1, 0
"""Values of `outgoing`."""

_End = tuple[int, int, int]  # row at the other end, type, OUT or IN

NO_LINKS: Links = np.zeros(0, dtype=LINK)

Block = tuple["Links | None", ...]


class EdgeArrays(NamedTuple):
    """Edges between rows, each part of shape (edges,): int64 rows, uint8 types, float32 weights."""

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]


class Adjacency:
    """The links of one snapshot. Immutable; `edit` makes the next one."""

    __slots__ = ("blocks", "counts")

    def __init__(self, blocks: tuple[Block | None, ...] = (), counts: tuple[int, ...] = (0,) * len(EDGE_TYPES)) -> None:
        """`counts`: logical links by type. Two rows are linked once a type, a causal link once a direction."""
        self.blocks = blocks
        self.counts = counts

    def links(self, row: int) -> Links:
        """Every edge of `row`, in both directions."""
        block, place = divmod(row, BLOCK)
        found = self.blocks[block] if block < len(self.blocks) else None
        links = found[place] if found is not None else None
        return NO_LINKS if links is None else links

    def edit(self, first_new: int) -> Editor:
        """A private copy that can be changed; this one stays as it is. Rows from `first_new` on have no links here."""
        return Editor(self, first_new)

    @classmethod
    def build(cls, edges: EdgeArrays) -> Adjacency:
        """From many edges at once; of edges with equal ends and type the largest weight counts."""
        edges = _distinct(edges)
        return cls(_blocks(edges), _logical_counts(edges))

    def compacted(self, renumbered: npt.NDArray[np.int64]) -> Adjacency:
        """The same links between new row numbers, in the same order. No dead row may have links."""
        every = [
            (number * BLOCK + place, links)
            for number, block in enumerate(self.blocks)
            if block is not None
            for place, links in enumerate(block)
            if links is not None
        ]
        sizes = [len(links) for _, links in every]
        owners = np.repeat(np.array([row for row, _ in every], dtype=np.int64), sizes)
        links = np.concatenate([links for _, links in every]) if every else NO_LINKS
        out = links["outgoing"] == 1
        links = links[out]
        edges = EdgeArrays(renumbered[owners[out]], renumbered[links["row"]], links["type"], links["weight"])
        return Adjacency(_blocks(edges), self.counts)


class Editor:
    """Changes on the way to the next `Adjacency`. Edges of a row to itself say nothing and are ignored.

    `_touched` holds all edges of a row, `_late` only those to rows this edit brings: they stand behind all others, so
    the old ones of a well-connected neighbour need not be read and written again.
    """

    def __init__(self, base: Adjacency, first_new: int) -> None:
        self._base = base
        self._first_new = first_new
        self._counts = list(base.counts)
        self._touched: dict[int, dict[_End, float]] = {}
        self._late: dict[int, dict[_End, float]] = {}

    def put(self, source: int, target: int, kind: int, weight: float) -> None:
        """Add an edge, or give the one that is there this weight."""
        if source == target:
            return
        here, there = self._ends_with(source, target), self._ends_with(target, source)
        if (target, kind, OUT) not in here:
            self._counts[kind] += kind == CAUSAL or (target, kind, IN) not in here
        here[target, kind, OUT] = there[source, kind, IN] = weight

    def remove(self, source: int, target: int, kind: int) -> None:
        """Take an edge away, if it is there."""
        here, there = self._ends(source), self._ends(target)
        if here.pop((target, kind, OUT), None) is not None:
            del there[source, kind, IN]
            self._counts[kind] -= kind == CAUSAL or (target, kind, IN) not in here

    def isolate(self, row: int) -> None:
        """Take every edge of `row` away."""
        for other, kind, direction in list(self._ends(row)):
            if direction == OUT:
                self.remove(row, other, kind)
            else:
                self.remove(other, row, kind)

    def move(self, row: int, to: int) -> None:
        """Give every edge of `row` to the row `to`."""
        for (other, kind, direction), weight in list(self._ends(row).items()):
            if direction == OUT:
                self.remove(row, other, kind)
                self.put(to, other, kind, weight)
            else:
                self.remove(other, row, kind)
                self.put(other, to, kind, weight)

    def degrees(self, before: npt.NDArray[np.int32]) -> dict[int, int]:
        """Of each row whose edges were looked at: how many pairs of neighbour and type it has (spec 4, rules).

        `before`: what it was for each row that was there, shape (at least first_new,).
        """
        found = {row: len({end[:2] for end in ends}) for row, ends in self._touched.items()}
        for row, ends in self._late.items():
            found[row] = int(before[row]) + len({end[:2] for end in ends})
        return found

    def done(self) -> Adjacency:
        """The changed links; the one they came from itself when nothing changed."""
        frozen = {row: _frozen(ends) for row, ends in self._touched.items()} | self._lengthened()
        if not frozen:
            return self._base
        changed: dict[int, list[Links | None]] = {}
        for row, links in frozen.items():
            number, place = divmod(row, BLOCK)
            if number not in changed:
                changed[number] = self._copied(number)
            changed[number][place] = links
        blocks = list(self._base.blocks)
        blocks += [None] * (1 + max(changed) - len(blocks))
        for number, block in changed.items():
            blocks[number] = tuple(block)
        return Adjacency(tuple(blocks), tuple(self._counts))

    def _lengthened(self) -> dict[int, Links]:
        """Rows that only got edges to new rows: what they had, and these behind it."""
        flat = [
            (other, weight, kind, way)
            for ends in self._late.values()
            for (other, kind, way), weight in sorted(ends.items())
        ]
        new = np.array(flat, dtype=LINK)
        found: dict[int, Links] = {}
        start = 0
        for row, ends in self._late.items():
            end = start + len(ends)
            old = self._base.links(row)
            # Not np.concatenate: of arrays with fields it works out their common type anew, which takes longer.
            found[row] = longer = np.empty(len(old) + len(ends), dtype=LINK)
            longer[: len(old)] = old
            longer[len(old) :] = new[start:end]
            start = end
        return found

    def _ends_with(self, row: int, other: int) -> dict[_End, float]:
        """The edges of a row, or, where that is enough, only those to new rows."""
        if row in self._touched or row >= self._first_new or other < self._first_new:
            return self._ends(row)
        return self._late.setdefault(row, {})

    def _ends(self, row: int) -> dict[_End, float]:
        ends = self._touched.get(row)
        if ends is None:
            links = self._base.links(row).tolist()
            ends = {(other, kind, way): weight for other, weight, kind, way in links}
            self._touched[row] = ends = ends | self._late.pop(row, {})
        return ends

    def _copied(self, number: int) -> list[Links | None]:
        block = self._base.blocks[number] if number < len(self._base.blocks) else None
        return [None] * BLOCK if block is None else list(block)


def _frozen(ends: dict[_End, float]) -> Links | None:
    if not ends:
        return None
    return np.array([(other, weight, kind, way) for (other, kind, way), weight in sorted(ends.items())], dtype=LINK)


def degrees_of(edges: EdgeArrays, rows: int) -> npt.NDArray[np.int32]:
    """How many pairs of neighbour and type each row has, shape (rows,)."""
    owners = np.concatenate([edges.source, edges.target])
    others = np.concatenate([edges.target, edges.source])
    kinds = np.tile(edges.kind.astype(np.int64), 2)
    apart = owners != others
    keys = np.unique(((owners * rows + others) * len(EDGE_TYPES) + kinds)[apart])
    return np.bincount(keys // (rows * len(EDGE_TYPES)), minlength=rows).astype(np.int32)


def logical(links: Links) -> list[int]:
    """How many logical links of each type one row's edges make up."""
    counts = []
    for kind in range(len(EDGE_TYPES)):
        rows = links["row"][links["type"] == kind]
        counts.append(len(rows) if kind == CAUSAL else len(np.unique(rows)))
    return counts


def _distinct(edges: EdgeArrays) -> EdgeArrays:
    """Without edges of a row to itself and with the largest weight of equal ones, ordered by source, target, type."""
    order = np.lexsort((-edges.weight, edges.kind, edges.target, edges.source))
    order = order[edges.source[order] != edges.target[order]]
    source, target, kind = edges.source[order], edges.target[order], edges.kind[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(source) != 0) | (np.diff(target) != 0) | (kind[1:] != kind[:-1])
    return EdgeArrays(source[first], target[first], kind[first], edges.weight[order][first])


def _logical_counts(edges: EdgeArrays) -> tuple[int, ...]:
    swap = (edges.kind != CAUSAL) & (edges.source > edges.target)
    low = np.where(swap, edges.target, edges.source)
    high = np.where(swap, edges.source, edges.target)
    pairs = np.unique(np.stack([low, high, edges.kind.astype(np.int64)]), axis=1)
    return tuple(np.bincount(pairs[2], minlength=len(EDGE_TYPES)).tolist())


def _blocks(edges: EdgeArrays) -> tuple[Block | None, ...]:
    """Every edge at both of its ends. The links of all rows lie in one array; a row has a view of its part."""
    links = np.zeros(2 * len(edges.source), dtype=LINK)
    links["row"] = np.concatenate([edges.target, edges.source])
    links["weight"] = np.tile(edges.weight, 2)
    links["type"] = np.tile(edges.kind, 2)
    links["outgoing"][: len(edges.source)] = 1
    owners = np.concatenate([edges.source, edges.target])
    order = np.lexsort((links["outgoing"], links["type"], links["row"], owners))
    links, owners = links[order], owners[order]
    rows, starts = np.unique(owners, return_index=True)
    blocks: dict[int, list[Links | None]] = {}
    for row, part in zip(rows.tolist(), _parts(links, starts.tolist()), strict=True):
        blocks.setdefault(row // BLOCK, [None] * BLOCK)[row % BLOCK] = part
    return tuple(tuple(blocks[number]) if number in blocks else None for number in range(1 + max(blocks, default=-1)))


def _parts(links: Links, starts: list[int]) -> Iterable[Links]:
    return (links[start:end] for start, end in pairwise([*starts, len(links)]))
