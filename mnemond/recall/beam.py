"""Traversal by a beam: from all anchors at once along the links that score best, each row with the path that led to it.

Nothing depends on the order links are stored in: of equal scores the smaller id goes first, and of equal ways to a
row the one from the better row of the depth before, then the one of the first type, then the heavier link.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.settings import TraversalSettings
from mnemond.index.arrays import Floats, Mask, Rows, Scores
from mnemond.index.edges import CAUSAL, INWARDS, OUTWARDS
from mnemond.index.selection import best_in_order, best_rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import EDGE_TYPES
from mnemond.model.query import Intent

# Results of a question why, causes first (spec 11.7), and the chain of causes behind one of them.


MAX_CHAIN = 5
"""Causes named behind one result."""

Links = Sequence[Sequence[int]]
"""Of each position, the positions of its effects (or of its causes)."""


class Causes(NamedTuple):
    """Causal links among results, by their positions: what each causes and what it is caused by, both ascending."""

    effects: tuple[tuple[int, ...], ...]
    causes: tuple[tuple[int, ...], ...]


def causal_pairs(snapshot: Snapshot, rows: Sequence[int]) -> dict[tuple[int, int], float]:
    """The causal links between different ones of `rows`, whatever their sub_type ("prevents" is a cause like any
    other): positions of a cause and its effect → the weight."""
    if not rows:
        return {}
    place, links = snapshot.fan(rows)
    position = {row: number for number, row in enumerate(rows)}
    causal = (links["type"] == CAUSAL).nonzero()[0]
    found: dict[tuple[int, int], float] = {}
    for here, (row, weight, _, ways) in zip(place[causal].tolist(), links[causal].tolist(), strict=True):
        there = position.get(row)
        if there is None:
            continue
        if ways & OUTWARDS:
            found[here, there] = weight
        if ways & INWARDS:
            found[there, here] = weight
    return found


def causal_links(snapshot: Snapshot, rows: Sequence[int]) -> Causes:
    """The same by position."""
    effects: list[list[int]] = [[] for _ in rows]
    causes: list[list[int]] = [[] for _ in rows]
    for cause, effect in sorted(causal_pairs(snapshot, rows)):
        effects[cause].append(effect)
        causes[effect].append(cause)
    return Causes(tuple(map(tuple, effects)), tuple(map(tuple, causes)))


def causal_order(scores: Sequence[float], times_us: Sequence[int | None], effects: Links) -> list[int]:
    """Positions of the results, every cause before its effects, else the better ones first.

    Results that cause each other in a circle stay together, in the order of their times (when what they tell of
    happened; None comes last), then scores; the best of them speaks for all. What is equal stays in its given order.
    """
    circles = _circles(effects)
    of = {position: number for number, circle in enumerate(circles) for position in circle}
    following = [{of[effect] for position in circle for effect in effects[position]} - {number}
                 for number, circle in enumerate(circles)]  # fmt: skip
    waiting_for = [0] * len(circles)
    for others in following:
        for other in others:
            waiting_for[other] += 1
    rank = [(-max(scores[position] for position in circle), min(circle)) for circle in circles]
    ready = [(*rank[number], number) for number, waits in enumerate(waiting_for) if not waits]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        number = heapq.heappop(ready)[-1]
        ordered += sorted(circles[number], key=lambda position: _moment(position, scores, times_us))
        for other in following[number]:
            waiting_for[other] -= 1
            if not waiting_for[other]:
                heapq.heappush(ready, (*rank[other], other))
    return ordered


def explanation(position: int, scores: Sequence[float], causes: Links, max_chain: int = MAX_CHAIN) -> tuple[int, ...]:
    """The result at `position`, its best cause, the best cause of that, and so on: at most `max_chain` causes, none
    twice. Of equal ones the one that comes first."""
    chain = [position]
    for _ in range(max_chain):
        further = [cause for cause in causes[chain[-1]] if cause not in chain]
        if not further:
            break
        chain.append(min(further, key=lambda cause: (-scores[cause], cause)))
    return tuple(chain)


def _moment(position: int, scores: Sequence[float], times_us: Sequence[int | None]) -> tuple[bool, int, float, int]:
    time = times_us[position]
    return (time is None, time or 0, -scores[position], position)


def _circles(effects: Links) -> list[list[int]]:
    """The strongly connected components (Tarjan 1972), without recursion: one of a thousand links would be too deep."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(effects)):
        if root in order:
            continue
        path = [(root, iter(effects[root]))]
        order[root] = low[root] = len(order)
        open_.append(root)
        is_open.add(root)
        while path:
            here, ahead = path[-1]
            following = next(ahead, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[here])
                if low[here] == order[here]:
                    found.append(_closed(here, open_, is_open))
            elif following not in order:
                order[following] = low[following] = len(order)
                open_.append(following)
                is_open.add(following)
                path.append((following, iter(effects[following])))
            elif following in is_open:
                low[here] = min(low[here], order[following])
    return found


def _closed(first: int, open_: list[int], is_open: set[int]) -> list[int]:
    """Take a component, which begins with `first`, off the open ones."""
    circle = [open_.pop()]
    while circle[-1] != first:
        circle.append(open_.pop())
    is_open.difference_update(circle)
    return circle


# What a path through the graph is worth: four ways to go from the score of a row to that of its neighbour (7.9).


class EdgeWeights(msgspec.Struct, frozen=True):
    """What an edge of each type is worth to an intent: φ, in [0, 1]."""

    causal: float
    temporal: float
    entity: float
    semantic: float

    def by_type(self) -> tuple[float, ...]:
        """In the order of EDGE_TYPES."""
        return tuple(float(getattr(self, name)) for name in EDGE_TYPES)


EDGE_WEIGHTS: dict[Intent, EdgeWeights] = {
    "WHY": EdgeWeights(causal=0.70, temporal=0.20, entity=0.05, semantic=0.05),
    "WHEN": EdgeWeights(causal=0.15, temporal=0.65, entity=0.10, semantic=0.10),
    "ENTITY": EdgeWeights(causal=0.10, temporal=0.05, entity=0.55, semantic=0.30),
    "GENERAL": EdgeWeights(causal=0.25, temporal=0.25, entity=0.25, semantic=0.25),
}
"""φ of mnemon, by intent."""


class BeamLimits(msgspec.Struct, frozen=True):
    """Rows kept a depth, depths, and rows reached in all, anchors included.

    `starts`: how many of the best anchors are followed, None for all. The others are results all the same.
    """

    width: int
    depth: int
    budget: int
    starts: int | None = None


BEAM_LIMITS: dict[Intent, BeamLimits] = {
    "WHY": BeamLimits(width=15, depth=5, budget=500),
    "WHEN": BeamLimits(width=10, depth=5, budget=400),
    "ENTITY": BeamLimits(width=10, depth=4, budget=400),
    "GENERAL": BeamLimits(width=10, depth=4, budget=500),
}
"""The limits of mnemon, by intent; the budget is shared by all anchors."""


def type_worth(weights: EdgeWeights, settings: TraversalSettings) -> Scores:
    """What an edge of weight 1 adds to a step, by position of its type in EDGE_TYPES, shape (types,).

    λ1·φ; of the largest φ for `activation`, which also shares the sum of λ1 and λ2 out between edge and cosine.
    """
    phi = np.array(weights.by_type(), dtype=np.float64)
    if settings.path_score == "activation":
        return phi * (settings.lambda1 / (float(phi.max()) or 1.0) / (settings.lambda1 + settings.lambda2))
    return phi * settings.lambda1


def cosine_worth(settings: TraversalSettings) -> float:
    """What a cosine of 1 adds to a step."""
    return (
        settings.lambda2 / (settings.lambda1 + settings.lambda2)
        if settings.path_score == "activation"
        else settings.lambda2
    )


def extended(totals: Scores, steps: Scores, settings: TraversalSettings) -> Scores:
    """S_v, shape (links,): the totals S_u of the rows the links leave from, each with the step of its link."""
    if settings.path_score == "magma":
        return settings.gamma * totals + np.exp(steps)
    return totals * steps if settings.path_score == "activation" else totals + steps


def path_scores(totals: Scores, hops: int, settings: TraversalSettings) -> Scores:
    """By what paths of `hops` links are compared: their totals; for `mean` those shared out among their rows."""
    return totals / (hops + 1) if settings.path_score == "mean" else totals


def min_max(scores: Scores) -> Scores:
    """From the smallest at 0 to the largest at 1, shape kept; all 1 when they are equal."""
    if not len(scores):
        return scores
    least = scores.min()
    spread = scores.max() - least
    return (scores - least) / spread if spread > 0.0 else np.ones_like(scores)


NOBODY = 0
"""The trail that every row has before it is reached: its score is below all others."""


class Paths(NamedTuple):
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
    trails: Paths

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
    path: TraversalSettings
    cosines: Floats | None = None
    mask: Mask | None = None


def search(snapshot: Snapshot, anchors: Rows, scores: Scores, beam: Beam) -> Reached:
    """Rows reached from `anchors` (different ones, shape (anchors,)) with `scores`, none of them NaN.

    Each depth follows every link of the rows it starts from, either way, and keeps for each row the best path, which
    never passes a row twice. The best rows are reached as far as the budget allows, and the best `width` of those that
    are new or have a better path than before are where the next depth starts.
    """
    return _Search(snapshot, beam).run(anchors, np.asarray(scores, dtype=np.float64))


class _Frontier(NamedTuple):
    """The rows a depth starts from, best first: their rows and trails, shape (front,), and the rows on the way to each,
    itself included, shape (front, depth)."""

    rows: Rows
    trails: Rows
    passed: npt.NDArray[np.int64]


class _Candidates(NamedTuple):
    """Links from the front, each part of shape (ways,) and of the type it has in `Trails`. `place`: from which row."""

    row: Rows
    place: Rows
    kind: npt.NDArray[np.uint8]
    weight: Floats
    total: Scores
    score: Scores

    def at(self, which: Rows) -> _Candidates:
        row, place, kind, weight, total, score = self
        return _Candidates(row[which], place[which], kind[which], weight[which], total[which], score[which])


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
            front = _Frontier(ways.row[kept], trails[kept], passed)
        rows = self._best.nonzero()[0]
        trail = self._best[rows].astype(np.int64)
        return Reached(rows, self._trails.score[trail], trail, _first(self._trails, self._made))

    def _start(self, anchors: Rows, scores: Scores) -> _Frontier:
        kept = best_in_order(self._snapshot, anchors, scores, self._left)
        rows, scores = anchors[kept], scores[kept]
        self._left -= len(rows)
        none = np.zeros(len(rows), dtype=np.int64)
        trails = self._record(
            _Candidates(rows, none, none.astype(np.uint8), none.astype(np.float32), scores, scores), none, 0
        )
        followed = slice(self._beam.limits.starts)
        return _Frontier(rows[followed], trails[followed], rows[followed, None])

    def _ways(self, front: _Frontier, hops: int) -> _Candidates:
        """For each row that has now been reached better than before, the best way to it; as many new rows as there is
        room for."""
        beam = self._beam
        place, links = self._snapshot.fan(front.rows.tolist())
        row, kind, weight = links["row"].astype(np.int64), links["type"], links["weight"]
        steps = self._worth.take(kind) * weight
        if beam.cosines is not None:
            steps += self._similarity * np.maximum(beam.cosines[row], 0.0)
        total = extended(self._trails.total[front.trails][place], steps, beam.path)
        ways = _Candidates(row, place, kind, weight, total, path_scores(total, hops, beam.path))
        before = self._best[row]
        better = ways.score > self._trails.score[before]
        if beam.mask is not None:
            better &= beam.mask[row]
        if self._left <= 0:
            better &= before != NOBODY
        found = better.nonzero()[0]
        found = self._admitted(ways, self._distinct(ways, self._simple(ways, front, found)))
        return ways.at(found)

    def _simple(self, ways: _Candidates, front: _Frontier, found: Rows) -> Rows:
        """Those of the ways `found` that do not come back to a row they have passed."""
        known = self._best[ways.row[found]] != NOBODY
        if not known.any():
            return found
        back = found[known]
        circles = (front.passed[ways.place[back]] == ways.row[back, None]).any(axis=1)
        known[known] = circles
        kept: Rows = found[~known]
        return kept

    def _distinct(self, ways: _Candidates, found: Rows) -> Rows:
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

    def _admitted(self, ways: _Candidates, found: Rows) -> Rows:
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

    def _record(self, ways: _Candidates, parents: Rows, hops: int) -> Rows:
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


def _first_of_equal(ways: _Candidates, found: Rows, mine: Rows) -> Rows:
    """Of positions in `found` of equally good ways to some rows, one a row: that of the best parent, type, weight."""
    of = found[mine]
    order = np.lexsort((-ways.weight[of], ways.kind[of], ways.place[of], ways.row[of]))
    row = ways.row[of[order]]
    first = np.ones(len(row), dtype=np.bool_)
    first[1:] = row[1:] != row[:-1]
    return mine[order[first]]


def _room(trails: int) -> Paths:
    """For so many trails, the first one nobody's."""
    made = Paths(
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


def _first(trails: Paths, count: int) -> Paths:
    row, parent, kind, weight, hops, total, score = trails
    return Paths(row[:count], parent[:count], kind[:count], weight[:count], hops[:count], total[:count], score[:count])
