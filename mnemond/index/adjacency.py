"""Links between rows. One writer appends, readers of older generations see what was there in theirs.

Nearly every edge comes with a new row, so a row's links only ever grow at their end, by links to rows that are newer
than any reader's generation: these are told by their number and left out. Nothing is copied for them. Any other change
gives a row a new list of links, in a new list of all rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.model.edge import EDGE_TYPES

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

NO_LINKS: Links = np.zeros(0, dtype=LINK)

OUTWARDS, INWARDS, BOTH = 1, 2, 3
"""Ways of a stored link: one edge, or two of the same weight that lead there and back."""

STORED = np.dtype([("row", np.int32), ("weight", np.float32), ("type", np.uint8), ("ways", np.uint8)], align=True)
PACKED = struct.Struct("@ifBBxx")
"""The same twelve bytes, written one at a time."""

Ends = list["bytearray | None"]
"""Of each row its stored links, as bytes of STORED; None, or nothing, for a row that has none."""


class EdgeArrays(NamedTuple):
    """Edges between rows, each part of shape (edges,): int64 rows, uint8 types, float32 weights."""

    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]


class Adjacency:
    """The links of one generation: those among its first `rows` rows."""

    __slots__ = ("counts", "ends", "rows")

    def __init__(self, ends: Ends, rows: int, counts: tuple[int, ...] = (0,) * len(EDGE_TYPES)) -> None:
        """`counts`: logical links by type. Two rows are linked once a type, a causal link once a direction."""
        self.ends = ends
        self.rows = rows
        self.counts = counts

    def stored(self, row: int) -> npt.NDArray[np.void]:
        """The links of `row` as they are kept, dtype STORED, in no order that means anything."""
        ends = self.ends[row] if row < len(self.ends) else None
        if not ends:
            return _NO_STORED
        found: npt.NDArray[np.void] = np.frombuffer(bytes(ends), dtype=STORED)
        return found[found["row"] < self.rows]

    def listed(self, row: int) -> list[tuple[int, float, int, int]]:
        """The same as tuples, which takes less time for the links of one row."""
        ends = self.ends[row] if row < len(self.ends) else None
        return [link for link in PACKED.iter_unpack(bytes(ends)) if link[0] < self.rows] if ends else []

    def fan(self, rows: Sequence[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.void]]:
        """The links of several rows at once: the position in `rows` each belongs to, shape (links,), and the links,
        dtype STORED. For whoever follows links whichever way they lead."""
        known = self.ends
        parts = [bytes(known[row] or b"") if row < len(known) else b"" for row in rows]
        links: npt.NDArray[np.void] = np.frombuffer(b"".join(parts), dtype=STORED)
        owners = np.repeat(np.arange(len(rows)), [len(part) // STORED.itemsize for part in parts])
        seen = links["row"] < self.rows
        return (owners, links) if seen.all() else (owners[seen], links[seen])

    def links(self, row: int) -> Links:
        """Every edge of `row`, in both directions."""
        stored = self.stored(row)
        if not len(stored):
            return NO_LINKS
        outwards, inwards = (stored[(stored["ways"] & way) != 0] for way in (OUTWARDS, INWARDS))
        links = np.empty(len(outwards) + len(inwards), dtype=LINK)
        for name in ("row", "weight", "type"):
            links[name][: len(outwards)] = outwards[name]
            links[name][len(outwards) :] = inwards[name]
        links["outgoing"] = IN
        links["outgoing"][: len(outwards)] = OUT
        return links[np.lexsort((links["outgoing"], links["type"], links["row"]))]

    @classmethod
    def build(cls, edges: EdgeArrays, rows: int) -> Adjacency:
        """From many edges at once; of edges with equal ends and type the largest weight counts."""
        edges = _distinct(edges)
        return cls(_ends(edges), rows, _logical_counts(edges))

    def compacted(self, renumbered: npt.NDArray[np.int64], rows: int) -> Adjacency:
        """The same links between new row numbers. No dead row may have links."""
        ends: Ends = [None] * rows
        for row in range(min(self.rows, len(self.ends))):
            stored = self.stored(row)
            if len(stored):
                stored = stored.copy()
                stored["row"] = renumbered[stored["row"]]
                ends[renumbered[row]] = bytearray(stored.tobytes())
        return Adjacency(ends, rows, self.counts)


_NO_STORED: npt.NDArray[np.void] = np.zeros(0, dtype=STORED)


def degrees_of(edges: EdgeArrays, rows: int) -> npt.NDArray[np.int32]:
    """How many pairs of neighbour and type each row has, shape (rows,)."""
    owners = np.concatenate([edges.source, edges.target])
    others = np.concatenate([edges.target, edges.source])
    kinds = np.tile(edges.kind.astype(np.int64), 2)
    apart = owners != others
    keys = _once(((owners * rows + others) * len(EDGE_TYPES) + kinds)[apart])
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
    rows = 1 + int(np.maximum(low, high).max(initial=0))
    keys = _once((low * rows + high) * len(EDGE_TYPES) + edges.kind.astype(np.int64))
    return tuple(np.bincount(keys % len(EDGE_TYPES), minlength=len(EDGE_TYPES)).tolist())


def _once(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Each number once, ascending: of hundreds of thousands in a third of the time of `np.unique`."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    found: npt.NDArray[np.int64] = ordered[first]
    return found


def _ends(edges: EdgeArrays) -> Ends:
    """Every link at both of its ends."""
    if not len(edges.source):
        return []
    one, other, weight, kind, ways = _paired(edges)
    stored = np.zeros(2 * len(one), dtype=STORED)
    stored["row"] = np.concatenate([other, one])
    stored["weight"] = np.tile(weight, 2)
    stored["type"] = np.tile(kind, 2)
    stored["ways"] = np.concatenate([ways, _turned(ways)])
    owners = np.concatenate([one, other])
    order = np.argsort(owners, kind="stable")
    rows, starts = np.unique(owners[order], return_index=True)
    ends: Ends = [None] * (1 + int(rows[-1]))
    for row, part in zip(rows.tolist(), _parts(stored[order].tobytes(), starts.tolist()), strict=True):
        ends[row] = part
    return ends


def _paired(edges: EdgeArrays) -> tuple[npt.NDArray[np.generic], ...]:
    """One row, the other, weight, type and ways of each link, seen from the one: two edges of one weight are one."""
    high, low = np.maximum(edges.source, edges.target), np.minimum(edges.source, edges.target)
    outwards = edges.source > edges.target
    order = np.lexsort((~outwards, edges.kind, low, high))
    high, low, kind, weight = high[order], low[order], edges.kind[order], edges.weight[order]
    ways = np.where(outwards[order], OUTWARDS, INWARDS).astype(np.uint8)
    twins = (high[1:] == high[:-1]) & (low[1:] == low[:-1]) & (kind[1:] == kind[:-1]) & (weight[1:] == weight[:-1])
    first = np.append(twins, False)
    ways[first] = BOTH
    kept = np.append(True, ~twins)
    return high[kept], low[kept], weight[kept], kind[kept], ways[kept]


def _turned(ways: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """The same ways seen from the other end."""
    return np.array([0, INWARDS, OUTWARDS, BOTH], dtype=np.uint8)[ways.astype(np.intp)]


def _parts(stored: bytes, starts: list[int]) -> Iterable[bytearray]:
    ends = [*starts, len(stored) // STORED.itemsize]
    return (bytearray(stored[start * STORED.itemsize : end * STORED.itemsize]) for start, end in pairwise(ends))
