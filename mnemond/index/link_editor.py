"""The links of one generation on the way to those of the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mnemond.index.adjacency import BOTH, CAUSAL, IN, INWARDS, OUT, OUTWARDS, PACKED, Adjacency, Ends

NEW = -1
"""Stands for the degree of a row that was not there."""

_End = tuple[int, int, int]  # row at the other end, type, OUT or IN
_Link = tuple[int, int, int]  # the newer row, the older one, type

_PACK = PACKED.pack

Beginning = tuple[int, int, float, int]
"""A link that a new row begins with: the older row, type, weight, and ways as seen from the new row."""

TURNED = (0, INWARDS, OUTWARDS, BOTH)
"""Ways as seen from the other end."""


class Editor:
    """Changes of one operation. Edges of a row to itself say nothing and are ignored.

    `_first` holds the links that a new row begins with, each once, by that row. `_late` holds links that a new row
    brings one by one, each as the weights of its edges from the newer row and to it. Both are appended to what the
    other row has, which need not be read. `_touched` holds all edges of a row that is changed in any other way. While
    there is anything in one of the others, `_first` is empty.
    """

    def __init__(self, base: Adjacency, first_new: int) -> None:
        """`first_new`: rows from there on have no links in `base`."""
        self._base = base
        self._first_new = first_new
        self._counts = list(base.counts)
        self._touched: dict[int, dict[_End, float]] = {}
        self._late: dict[_Link, list[float | None]] = {}
        self._first: dict[int, Sequence[Beginning]] = {}

    def begin(self, newer: int, links: Sequence[Beginning]) -> None:
        """Give a new row its first links, to rows that were there before, each once a type."""
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
        """Add an edge, or give the one that is there this weight."""
        if source > target:
            link, way = (source, target, kind), OUT
        elif source < target:
            link, way = (target, source, kind), IN
        else:
            return
        if self._first:
            self._postpone()
        if link[0] < self._first_new or (self._touched and not self._touched.keys().isdisjoint(link[:2])):
            self._put(source, target, kind, weight)
            return
        weights = self._late.get(link)
        if weights is None:
            weights = self._late[link] = [None, None]
            self._counts[kind] += 1
        elif kind == CAUSAL and weights[way] is None:
            self._counts[kind] += 1
        weights[way] = weight

    def _put(self, source: int, target: int, kind: int, weight: float) -> None:
        here, there = self._ends(source), self._ends(target)
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

    def degrees(self, before: npt.NDArray[np.int32]) -> dict[int, tuple[int, int]]:
        """Of each row whose edges were looked at: how many pairs of neighbour and type (spec 4, rules) it had, `NEW`
        for a row that was not there, and has now.

        `before`: what it was for each row that was there, shape (at least first_new,).
        """
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
        """The changed links, of a generation with so many rows."""
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
            if out == back and out is not None:  # nearly all
                _append(ends, newer, _PACK(older, out, kind, BOTH))
                _append(ends, older, _PACK(newer, out, kind, BOTH))
                continue
            for weight, ways, turned in _ways(out, back):
                _append(ends, newer, _PACK(older, weight, kind, ways))
                _append(ends, older, _PACK(newer, weight, kind, turned))
        return Adjacency(ends, rows, tuple(self._counts))

    def _ends(self, row: int) -> dict[_End, float]:
        """All edges of a row, to be changed."""
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
        """First links become late ones, so that one may be given another weight."""
        first, self._first = self._first, {}
        for newer, links in first.items():
            for older, kind, weight, ways in links:
                self._late[newer, older, kind] = [
                    weight if ways & INWARDS else None, weight if ways & OUTWARDS else None
                ]  # fmt: skip

    def _settle(self) -> None:
        """Late links become edges like others, so that they can be changed."""
        late, self._late = self._late, {}
        for (newer, older, kind), (back, out) in late.items():
            here, there = self._ends(newer), self._ends(older)
            if out is not None:
                here[older, kind, OUT] = there[newer, kind, IN] = out
            if back is not None:
                here[older, kind, IN] = there[newer, kind, OUT] = back


def _ways(out: float | None, back: float | None) -> list[tuple[float, int, int]]:
    """Weight, and ways from either end, of what is stored for the two edges of a link."""
    if out is not None and out == back:
        return [(out, BOTH, BOTH)]
    stored = [] if out is None else [(out, OUTWARDS, INWARDS)]
    return stored if back is None else [*stored, (back, INWARDS, OUTWARDS)]


def _append(ends: Ends, row: int, stored: bytes) -> None:
    known = ends[row]
    if known is None:
        ends[row] = bytearray(stored)
    else:
        known += stored


def _packed(edges: dict[_End, float]) -> bytearray | None:
    """Edges of one row as they are kept."""
    links: dict[tuple[int, int], list[float | None]] = {}
    for (other, kind, way), weight in edges.items():
        links.setdefault((other, kind), [None, None])[way] = weight
    parts = [
        _PACK(other, weight, kind, ways)
        for (other, kind), (back, out) in sorted(links.items())
        for weight, ways, _ in _ways(out, back)
    ]
    return bytearray(b"".join(parts)) if parts else None
