"""Traversal by a beam: from all anchors at once along the links that score best, each row with the path that led to it.

Nothing depends on the order links are stored in: of equal scores the smaller id goes first, and of equal ways to a
row the one from the better row of the depth before, then the one of the first type, then the heavier link.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.graph.best_rows import Scores, best_in_order, best_rows
from mnemond.graph.path_score import cosine_worth, extended, path_scores, type_worth
from mnemond.index.postings import Floats
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.recall_policy import BeamLimits, EdgeWeights, PathPolicy

NOBODY = 0
"""The trail that every row has before it is reached: its score is below all others."""


class Trails(NamedTuple):
    """Every way by which a row was reached better than before, each part of shape (trails,); number 0 is nobody's.

    `parent` is the trail it goes on from, NOBODY for an anchor, whose `hops` are 0 and whose `kind` and `weight` mean
    nothing. `kind` is the position of the last link's type in EDGE_TYPES, `total` the S of spec 7.9. A trail never
    changes, so what it goes on from is what its score was made of.
    """

    row: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    weight: Floats
    hops: npt.NDArray[np.uint8]
    total: Scores
    score: Scores


class Hop(NamedTuple):
    """One link of a path: the row it left from, the position of its type in EDGE_TYPES, its weight."""

    row: int
    kind: int
    weight: float


class Reached(NamedTuple):
    """`rows` ascending, each once, anchors included; `scores` of their best paths, not yet on any scale, and which of
    `trails` these are; shapes (rows,)."""

    rows: Rows
    scores: Scores
    trail: Rows
    trails: Trails

    def path(self, position: int) -> tuple[Hop, ...]:
        """The links from an anchor to the row at `position`, in order; empty for one that is best as an anchor."""
        hops = []
        trail = int(self.trail[position])
        while (parent := int(self.trails.parent[trail])) != NOBODY:
            hops.append(
                Hop(int(self.trails.row[parent]), int(self.trails.kind[trail]), float(self.trails.weight[trail]))
            )
            trail = parent
        return tuple(reversed(hops))


class Beam(NamedTuple):
    """What a search goes by. `mask`: rows that may be reached, shape (rows,), None for all; `cosines` with the query,
    shape (rows,), 0 or less counting as unrelated, None without vectors."""

    limits: BeamLimits
    weights: EdgeWeights
    path: PathPolicy
    cosines: Floats | None = None
    mask: Mask | None = None


def search(snapshot: Snapshot, anchors: Rows, scores: Scores, beam: Beam) -> Reached:
    """Rows reached from `anchors` (different ones, shape (anchors,)) with `scores`, none of them NaN.

    Each depth follows every link of the rows it starts from, either way, and keeps for each row the best path, which
    never passes a row twice. The best rows are reached as far as the budget allows, and the best `width` of those that
    are new or have a better path than before are where the next depth starts.
    """
    return _Search(snapshot, beam).run(anchors, np.asarray(scores, dtype=np.float64))


class _Front(NamedTuple):
    """The rows a depth starts from, best first: their rows and trails, shape (front,), and the rows on the way to each,
    itself included, shape (front, depth)."""

    rows: Rows
    trails: Rows
    passed: npt.NDArray[np.int64]


class _Ways(NamedTuple):
    """Links from the front, each part of shape (ways,) and of the type it has in `Trails`. `place`: from which row."""

    row: Rows
    place: Rows
    kind: npt.NDArray[np.uint8]
    weight: Floats
    total: Scores
    score: Scores

    def at(self, which: Rows) -> _Ways:
        row, place, kind, weight, total, score = self
        return _Ways(row[which], place[which], kind[which], weight[which], total[which], score[which])


class _Search:
    """One search. `best`: the trail of each row so far; `mark`: room to find the best of several ways to it."""

    def __init__(self, snapshot: Snapshot, beam: Beam) -> None:
        self._snapshot = snapshot
        self._beam = beam
        self._worth = type_worth(beam.weights, beam.path)
        self._similarity = np.float64(cosine_worth(beam.path))  # as an array's type: cosines are narrower
        self._best = np.zeros(snapshot.rows, dtype=np.int32)
        self._mark = np.empty(snapshot.rows, dtype=np.int32)
        self._trails = _room(1 + beam.limits.budget * (beam.limits.depth + 1))
        self._made = 1
        self._left = beam.limits.budget

    def run(self, anchors: Rows, scores: Scores) -> Reached:
        limits = self._beam.limits
        front = self._start(anchors, scores)
        for hops in range(1, limits.depth + 1):
            if not len(front.rows):
                break
            ways = self._ways(front, hops)
            trails = self._record(ways, front.trails[ways.place], hops)
            kept = best_in_order(self._snapshot, ways.row, ways.score, limits.width)
            passed = np.concatenate((front.passed[ways.place[kept]], ways.row[kept, None]), axis=1)
            front = _Front(ways.row[kept], trails[kept], passed)
        rows = self._best.nonzero()[0]
        trail = self._best[rows].astype(np.int64)
        return Reached(rows, self._trails.score[trail], trail, _first(self._trails, self._made))

    def _start(self, anchors: Rows, scores: Scores) -> _Front:
        kept = best_in_order(self._snapshot, anchors, scores, self._left)
        rows, scores = anchors[kept], scores[kept]
        self._left -= len(rows)
        none = np.zeros(len(rows), dtype=np.int64)
        trails = self._record(
            _Ways(rows, none, none.astype(np.uint8), none.astype(np.float32), scores, scores), none, 0
        )
        followed = slice(self._beam.limits.starts)
        return _Front(rows[followed], trails[followed], rows[followed, None])

    def _ways(self, front: _Front, hops: int) -> _Ways:
        """For each row that has now been reached better than before, the best way to it; as many new rows as there is
        room for."""
        beam = self._beam
        place, links = self._snapshot.fan(front.rows.tolist())
        row, kind, weight = links["row"].astype(np.int64), links["type"], links["weight"]
        steps = self._worth.take(kind) * weight
        if beam.cosines is not None:
            steps += self._similarity * np.maximum(beam.cosines[row], 0.0)
        total = extended(self._trails.total[front.trails][place], steps, beam.path)
        ways = _Ways(row, place, kind, weight, total, path_scores(total, hops, beam.path))
        before = self._best[row]
        better = ways.score > self._trails.score[before]
        if beam.mask is not None:
            better &= beam.mask[row]
        if self._left <= 0:
            better &= before != NOBODY
        found = better.nonzero()[0]
        found = self._admitted(ways, self._distinct(ways, self._simple(ways, front, found)))
        return ways.at(found)

    def _simple(self, ways: _Ways, front: _Front, found: Rows) -> Rows:
        """Those of the ways `found` that do not come back to a row they have passed."""
        known = self._best[ways.row[found]] != NOBODY
        if not known.any():
            return found
        back = found[known]
        circles = (front.passed[ways.place[back]] == ways.row[back, None]).any(axis=1)
        known[known] = circles
        kept: Rows = found[~known]
        return kept

    def _distinct(self, ways: _Ways, found: Rows) -> Rows:
        """Those of the ways `found` that are the best to their rows, one a row."""
        row, score = ways.row[found], ways.score[found]
        order = score.argsort()
        self._mark[row[order]] = order  # of a row that is there twice the last one stays: one with its largest score
        best = self._mark[row]
        mine = (score == score[best]).nonzero()[0]
        chosen = (best == np.arange(len(row))).nonzero()[0]
        if len(mine) > len(chosen):
            chosen = _first_of_equal(ways, found, mine)
        best_of: Rows = found[chosen]
        return best_of

    def _admitted(self, ways: _Ways, found: Rows) -> Rows:
        """Without the worst of the new rows, where there are more than the budget has room for."""
        new = self._best[ways.row[found]] == NOBODY
        count = int(np.count_nonzero(new))
        if count <= self._left:
            self._left -= count
            return found
        places = new.nonzero()[0]
        chosen = best_rows(self._snapshot, ways.row[found[places]], ways.score[found[places]], self._left)
        self._left = 0
        new[places[chosen]] = False
        kept: Rows = found[~new]
        return kept

    def _record(self, ways: _Ways, parents: Rows, hops: int) -> Rows:
        """Give every row its new trail; the numbers of these."""
        made = self._made
        end = self._made = made + len(ways.row)
        trails = self._trails
        trails.row[made:end] = ways.row
        trails.parent[made:end] = parents
        trails.kind[made:end] = ways.kind
        trails.weight[made:end] = ways.weight
        trails.hops[made:end] = hops
        trails.total[made:end] = ways.total
        trails.score[made:end] = ways.score
        numbers = np.arange(made, end)
        self._best[ways.row] = numbers
        return numbers


def _first_of_equal(ways: _Ways, found: Rows, mine: Rows) -> Rows:
    """Of positions in `found` of equally good ways to some rows, one a row: that of the best parent, type, weight."""
    of = found[mine]
    order = np.lexsort((-ways.weight[of], ways.kind[of], ways.place[of], ways.row[of]))
    row = ways.row[of[order]]
    first = np.ones(len(row), dtype=np.bool_)
    first[1:] = row[1:] != row[:-1]
    return mine[order[first]]


def _room(trails: int) -> Trails:
    """For so many trails, the first one nobody's."""
    made = Trails(
        row=np.empty(trails, dtype=np.int64),
        parent=np.empty(trails, dtype=np.int64),
        kind=np.empty(trails, dtype=np.uint8),
        weight=np.empty(trails, dtype=np.float32),
        hops=np.empty(trails, dtype=np.uint8),
        total=np.empty(trails, dtype=np.float64),
        score=np.empty(trails, dtype=np.float64),
    )
    for part in made:
        part[0] = 0
    made.score[NOBODY] = -np.inf
    return made


def _first(trails: Trails, count: int) -> Trails:
    row, parent, kind, weight, hops, total, score = trails
    return Trails(row[:count], parent[:count], kind[:count], weight[:count], hops[:count], total[:count], score[:count])
