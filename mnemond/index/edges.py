"""Links between rows. One writer appends, readers of older generations see those of theirs.

Nearly every edge comes with a new row, so a row's links only ever grow at their end, by links to rows that are newer
than any reader's generation: readers recognise these by their number and leave them out. Nothing is copied for them.
Any other change gives a row a new list of links, in a new list of all rows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Rows
from mnemond.model.memory import EDGE_TYPES

EDGE_CODES = {name: code for code, name in enumerate(EDGE_TYPES)}
CAUSAL = EDGE_CODES["causal"]

LINK = np.dtype(
    [("row", np.int32), ("weight", np.float32), ("type", np.uint8), ("outgoing", np.uint8)],
    align=True,
)
"""One edge seen from one of its ends: the row at the other end, and `type` as a position in EDGE_TYPES."""

Links = npt.NDArray[np.void]
"""Shape (links,), dtype LINK, ordered by row, type, outgoing. Not to be written to."""

OUT, IN = 1, 0
"""Values of `outgoing`."""

OUTWARDS, INWARDS, BOTH = 1, 2, 3
"""Ways of a stored link: one edge, or two of the same weight that lead there and back."""

TURNED = (0, INWARDS, OUTWARDS, BOTH)
"""Ways as seen from the other end."""

STORED = np.dtype([("row", np.int32), ("weight", np.float32), ("type", np.uint8), ("ways", np.uint8)], align=True)
PACKED = struct.Struct("@ifBBxx")
"""The same twelve bytes, written one at a time."""
_PACK = PACKED.pack

NO_LINKS: Links = np.zeros(0, dtype=LINK)
_NO_STORED: npt.NDArray[np.void] = np.zeros(0, dtype=STORED)

Ends = list["bytearray | None"]
"""Of each row its stored links, as bytes of STORED; None, or nothing, for a row that has none."""


class EdgeArrays(NamedTuple):
    """Edges between rows, each part of shape (edges,): int64 rows, uint8 types, float32 weights."""

    source: Rows
    target: Rows
    kind: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]


class Adjacency:
    """The links of one generation: those among its first `rows` rows."""

    __slots__ = ("counts", "ends", "rows")

    def __init__(self, ends: Ends, rows: int, counts: tuple[int, ...] = (0,) * len(EDGE_TYPES)) -> None:
        """`counts`: logical links by type. Two rows are linked once per type, by causal links once per direction."""
        self.ends = ends
        self.rows = rows
        self.counts = counts

    @classmethod
    def build(cls, edges: EdgeArrays, rows: int) -> Adjacency:
        """Build from many edges at once; of edges with equal ends and type the largest weight counts."""
        edges = _distinct(edges)
        return cls(_ends(edges), rows, _logical_counts(edges))

    def stored(self, row: int) -> npt.NDArray[np.void]:
        """Return the stored links of `row`, dtype STORED, in no order."""
        ends = self.ends[row] if row < len(self.ends) else None
        if not ends:
            return _NO_STORED
        found: npt.NDArray[np.void] = np.frombuffer(bytes(ends), dtype=STORED)
        return found[found["row"] < self.rows]

    def listed(self, row: int) -> list[tuple[int, float, int, int]]:
        """Return the stored links of `row` as tuples, which takes less time for one row."""
        ends = self.ends[row] if row < len(self.ends) else None
        return [link for link in PACKED.iter_unpack(bytes(ends)) if link[0] < self.rows] if ends else []

    def fan(self, rows: Sequence[int]) -> tuple[Rows, npt.NDArray[np.void]]:
        """Return the links of several rows at once, for walks in either direction: the position in `rows` each belongs
        to, shape (links,), and the links, dtype STORED."""
        known = self.ends
        parts = [bytes(known[row] or b"") if row < len(known) else b"" for row in rows]
        links: npt.NDArray[np.void] = np.frombuffer(b"".join(parts), dtype=STORED)
        owners = np.repeat(np.arange(len(rows)), [len(part) // STORED.itemsize for part in parts])
        seen = links["row"] < self.rows
        return (owners, links) if seen.all() else (owners[seen], links[seen])

    def links(self, row: int) -> Links:
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

    def compacted(self, renumbered: Rows, rows: int) -> Adjacency:
        """Return the same links between new row numbers. No dead row may have links."""
        ends: Ends = [None] * rows
        for row in range(min(self.rows, len(self.ends))):
            stored = self.stored(row)
            if len(stored):
                stored = stored.copy()
                stored["row"] = renumbered[stored["row"]]
                ends[renumbered[row]] = bytearray(stored.tobytes())
        return Adjacency(ends, rows, self.counts)


def degrees_of(edges: EdgeArrays, rows: int) -> npt.NDArray[np.int32]:
    """Return how many pairs of neighbour and type each row has, shape (rows,)."""
    owners = np.concatenate([edges.source, edges.target])
    others = np.concatenate([edges.target, edges.source])
    kinds = np.tile(edges.kind.astype(np.int64), 2)
    apart = owners != others
    keys = _unique(((owners * rows + others) * len(EDGE_TYPES) + kinds)[apart])
    return np.bincount(keys // (rows * len(EDGE_TYPES)), minlength=rows).astype(np.int32)


def logical(links: Links) -> list[int]:
    """Return how many logical links of each type the edges of one row make up."""
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
    keys = _unique((low * rows + high) * len(EDGE_TYPES) + edges.kind.astype(np.int64))
    return tuple(np.bincount(keys % len(EDGE_TYPES), minlength=len(EDGE_TYPES)).tolist())


def _unique(keys: Rows) -> Rows:
    """Each number once, ascending: of hundreds of thousands in a third of the time of `np.unique`."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    found: Rows = ordered[first]
    return found


def _ends(edges: EdgeArrays) -> Ends:
    if not len(edges.source):
        return []
    one, other, weight, kind, ways = _paired(edges)
    stored = np.zeros(2 * len(one), dtype=STORED)
    stored["row"] = np.concatenate([other, one])
    stored["weight"] = np.tile(weight, 2)
    stored["type"] = np.tile(kind, 2)
    stored["ways"] = np.concatenate([ways, np.array(TURNED, dtype=np.uint8)[ways.astype(np.intp)]])
    owners = np.concatenate([one, other])
    order = np.argsort(owners, kind="stable")
    rows, starts = np.unique(owners[order], return_index=True)
    size, packed = STORED.itemsize, stored[order].tobytes()
    ends: Ends = [None] * (1 + int(rows[-1]))
    for row, (start, end) in zip(rows.tolist(), pairwise([*starts.tolist(), len(order)]), strict=True):
        ends[row] = bytearray(packed[start * size : end * size])
    return ends


def _paired(edges: EdgeArrays) -> tuple[npt.NDArray[np.generic], ...]:
    """One row, the other, weight, type and ways of each link, as seen from the first; equal edges make one link."""
    high, low = np.maximum(edges.source, edges.target), np.minimum(edges.source, edges.target)
    outwards = edges.source > edges.target
    order = np.lexsort((~outwards, edges.kind, low, high))
    high, low, kind, weight = high[order], low[order], edges.kind[order], edges.weight[order]
    ways = np.where(outwards[order], OUTWARDS, INWARDS).astype(np.uint8)
    twins = (high[1:] == high[:-1]) & (low[1:] == low[:-1]) & (kind[1:] == kind[:-1]) & (weight[1:] == weight[:-1])
    ways[np.append(twins, False)] = BOTH
    kept = np.append(True, ~twins)
    return high[kept], low[kept], weight[kept], kind[kept], ways[kept]


# Changes: from the links of one generation to those of the next.


NEW = -1
"""Degree before the operation of a row that it adds."""

_End = tuple[int, int, int]  # row at the other end, type, OUT or IN
_Link = tuple[int, int, int]  # the newer row, the older one, type

FirstLink = tuple[int, int, float, int]
"""One of the links that a new row comes with: the older row, type, weight, and ways as seen from the new row."""


class Editor:
    """Changes of one operation. Edges of a row to itself are ignored.

    `_first` holds the links that a new row comes with, each once, by that row. `_late` holds links that a new row
    gets one by one, each as the weights of its edges from the newer row and to it. Both are appended to the links of
    the other row, which need not be read. `_touched` holds all edges of a row that is changed in any other way. While
    there is anything in one of the others, `_first` is empty.
    """

    def __init__(self, base: Adjacency, first_new: int) -> None:
        """`first_new`: rows from there on have no links in `base`."""
        self._base = base
        self._first_new = first_new
        self._counts = list(base.counts)
        self._touched: dict[int, dict[_End, float]] = {}
        self._late: dict[_Link, list[float | None]] = {}
        self._first: dict[int, Sequence[FirstLink]] = {}

    def begin(self, newer: int, links: Sequence[FirstLink]) -> None:
        if self._touched or self._late or self._first:
            for older, kind, weight, ways in links:
                if ways & OUTWARDS:
                    self.put(newer, older, kind, weight)
                if ways & INWARDS:
                    self.put(older, newer, kind, weight)
            return
        self._first[newer] = links
        for _, kind, _, _ in links:
            self._counts[kind] += 1

    def put(self, source: int, target: int, kind: int, weight: float) -> None:
        """Add an edge, or give the existing one this weight."""
        if source > target:
            link, way = (source, target, kind), OUT
        elif source < target:
            link, way = (target, source, kind), IN
        else:
            return
        if self._first:
            self._postpone()
        if link[0] < self._first_new or (self._touched and not self._touched.keys().isdisjoint(link[:2])):
            here, there = self._ends(source), self._ends(target)
            if (target, kind, OUT) not in here:
                self._counts[kind] += kind == CAUSAL or (target, kind, IN) not in here
            here[target, kind, OUT] = there[source, kind, IN] = weight
            return
        weights = self._late.get(link)
        if weights is None:
            weights = self._late[link] = [None, None]
            self._counts[kind] += 1
        elif kind == CAUSAL and weights[way] is None:
            self._counts[kind] += 1
        weights[way] = weight

    def remove(self, source: int, target: int, kind: int) -> None:
        here, there = self._ends(source), self._ends(target)
        if here.pop((target, kind, OUT), None) is not None:
            del there[source, kind, IN]
            self._counts[kind] -= kind == CAUSAL or (target, kind, IN) not in here

    def isolate(self, row: int) -> None:
        for other, kind, direction in list(self._ends(row)):
            if direction == OUT:
                self.remove(row, other, kind)
            else:
                self.remove(other, row, kind)

    def move(self, row: int, to: int) -> None:
        for (other, kind, direction), weight in list(self._ends(row).items()):
            if direction == OUT:
                self.remove(row, other, kind)
                self.put(to, other, kind, weight)
            else:
                self.remove(other, row, kind)
                self.put(other, to, kind, weight)

    def degrees(self, before: npt.NDArray[np.int32]) -> dict[int, tuple[int, int]]:
        """Return, of each row whose edges were read, how many pairs of neighbour and type it had (`NEW` for a new row)
        and has now. `before`: the degrees of the older rows, shape (at least first_new,)."""
        now = self._degrees(before)
        rows = [*now]
        known = before[rows].tolist()
        first = self._first_new
        return {row: (was if row < first else NEW, now[row]) for row, was in zip(rows, known, strict=True)}

    def _degrees(self, before: npt.NDArray[np.int32]) -> dict[int, int]:
        found = {row: len({end[:2] for end in ends}) for row, ends in self._touched.items()}
        for newer, links in self._first.items():
            found[newer] = len(links)
            for older, _, _, _ in links:
                known = found.get(older)
                found[older] = 1 + (int(before[older]) if known is None else known)
        for newer, older, _ in self._late:
            for row in (newer, older):
                known = found.get(row)
                if known is None:
                    known = int(before[row]) if row < self._first_new else 0
                found[row] = known + 1
        return found

    def done(self, rows: int) -> Adjacency:
        """Return the changed links, of a generation with so many rows."""
        if not self._touched and not self._late and not self._first:
            return Adjacency(self._base.ends, rows, self._base.counts)
        ends = list(self._base.ends) if self._touched else self._base.ends
        ends.extend([None] * (rows - len(ends)))
        for row, edges in self._touched.items():
            ends[row] = _packed(edges)
        for row, links in self._first.items():
            _append(ends, row, b"".join([_PACK(older, weight, kind, ways) for older, kind, weight, ways in links]))
            for older, kind, weight, ways in links:
                _append(ends, older, _PACK(row, weight, kind, TURNED[ways]))
        for (newer, older, kind), (back, out) in self._late.items():
            for weight, ways in _ways(out, back):
                _append(ends, newer, _PACK(older, weight, kind, ways))
                _append(ends, older, _PACK(newer, weight, kind, TURNED[ways]))
        return Adjacency(ends, rows, tuple(self._counts))

    def _ends(self, row: int) -> dict[_End, float]:
        if self._first:
            self._postpone()
        if self._late:
            self._settle()
        ends = self._touched.get(row)
        if ends is None:
            links = self._base.links(row).tolist() if row < self._first_new else []
            ends = self._touched[row] = {(other, kind, way): weight for other, weight, kind, way in links}
        return ends

    def _postpone(self) -> None:
        """Turn first links into late ones, whose weights can be changed."""
        first, self._first = self._first, {}
        for newer, links in first.items():
            for older, kind, weight, ways in links:
                self._late[newer, older, kind] = [
                    weight if ways & INWARDS else None, weight if ways & OUTWARDS else None
                ]  # fmt: skip

    def _settle(self) -> None:
        """Turn late links into touched edges, which can be removed."""
        late, self._late = self._late, {}
        for (newer, older, kind), (back, out) in late.items():
            here, there = self._ends(newer), self._ends(older)
            if out is not None:
                here[older, kind, OUT] = there[newer, kind, IN] = out
            if back is not None:
                here[older, kind, IN] = there[newer, kind, OUT] = back


def _ways(out: float | None, back: float | None) -> list[tuple[float, int]]:
    """Weight and ways of the links that are stored for the two edges between two rows."""
    if out is not None and out == back:  # nearly always
        return [(out, BOTH)]
    stored = [] if out is None else [(out, OUTWARDS)]
    return stored if back is None else [*stored, (back, INWARDS)]


def _append(ends: Ends, row: int, stored: bytes) -> None:
    known = ends[row]
    if known is None:
        ends[row] = bytearray(stored)
    else:
        known += stored


def _packed(edges: dict[_End, float]) -> bytearray | None:
    links: dict[tuple[int, int], list[float | None]] = {}
    for (other, kind, way), weight in edges.items():
        links.setdefault((other, kind), [None, None])[way] = weight
    parts = [
        _PACK(other, weight, kind, ways)
        for (other, kind), (back, out) in sorted(links.items())
        for weight, ways in _ways(out, back)
    ]
    return bytearray(b"".join(parts)) if parts else None
