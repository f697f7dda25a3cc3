"""Beam search: along the best-scoring links, from all anchors at once or from each of them, with the path to each row.

Widths, depths and weights by intent are those of mnemon. The result does not depend on the order of stored links: of
equal scores the smaller id goes first; of equal paths to a row the one from the better row of the previous depth, then
the first type, then the heavier link.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import TraversalSettings
from mnemond.index.arrays import Floats, Mask, Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import EDGE_TYPES
from mnemond.model.query import Intent

# Path scores: four formulas for the score of a neighbour


class EdgeWeights(msgspec.Struct, frozen=True):
    """Weight φ of each edge type for an intent, in [0, 1]."""

    causal: float
    temporal: float
    entity: float
    semantic: float

    def by_type(self) -> tuple[float, ...]:
        """Return the weights in the order of EDGE_TYPES."""
        return tuple(float(getattr(self, name)) for name in EDGE_TYPES)


EDGE_WEIGHTS: dict[Intent, EdgeWeights] = {
    "WHY": EdgeWeights(causal=0.70, temporal=0.20, entity=0.05, semantic=0.05),
    "WHEN": EdgeWeights(causal=0.15, temporal=0.65, entity=0.10, semantic=0.10),
    "ENTITY": EdgeWeights(causal=0.10, temporal=0.05, entity=0.55, semantic=0.30),
    "GENERAL": EdgeWeights(causal=0.25, temporal=0.25, entity=0.25, semantic=0.25),
}
"""φ of mnemon, by intent."""


class BeamLimits(msgspec.Struct, frozen=True):
    """Rows kept per depth, number of depths, and rows reached in all, anchors included.

    `starts`: number of the best anchors to follow, None for all. All anchors are results.
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
    """Return what an edge of weight 1 adds to a step, by position of its type in EDGE_TYPES, shape (types,).

    λ1·φ; for `activation` λ1/(λ1 + λ2)·φ/max(φ).
    """
    phi = np.array(weights.by_type(), dtype=np.float64)
    if settings.path_score == "activation":
        return phi * (settings.lambda1 / (float(phi.max()) or 1.0) / (settings.lambda1 + settings.lambda2))
    return phi * settings.lambda1


def cosine_worth(settings: TraversalSettings) -> float:
    """Return what a cosine of 1 adds to a step."""
    if settings.path_score == "activation":
        return settings.lambda2 / (settings.lambda1 + settings.lambda2)
    return settings.lambda2


def extended(totals: Scores, steps: Scores, settings: TraversalSettings) -> Scores:
    """Compute S_v, shape (links,), from the totals S_u of the rows the links leave from and the step of each link."""
    if settings.path_score == "magma":
        return settings.gamma * totals + np.exp(steps)
    return totals * steps if settings.path_score == "activation" else totals + steps


def path_scores(totals: Scores, hops: int, settings: TraversalSettings) -> Scores:
    """Return the scores that compare paths of `hops` links: their totals, for `mean` divided by the rows of a path."""
    return totals / (hops + 1) if settings.path_score == "mean" else totals


def min_max(scores: Scores) -> Scores:
    """Scale to [0, 1]; all 1 if they are equal."""
    if not len(scores):
        return scores
    least = scores.min()
    spread = scores.max() - least
    return (scores - least) / spread if spread > 0.0 else np.ones_like(scores)


# The search


NO_PATH = 0
"""The path of every row before it is reached, with a score below all others."""


class Paths(NamedTuple):
    """Every path that reached a row with a better score than before, each part of shape (paths or more,); number 0 is
    NO_PATH.

    `parent` is the path without the last link, NO_PATH for an anchor, whose `hops` are 0 and whose `kind` and `weight`
    are unused. `kind` is the position of the last link's type in EDGE_TYPES, `total` the S of the path. Paths never
    change, so a parent has the total that the score was computed from.
    """

    row: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    weight: Floats
    hops: npt.NDArray[np.uint8]
    total: Scores
    score: Scores


class Hop(NamedTuple):
    """One link of a path: the row it leaves from, the position of its type in EDGE_TYPES, its weight."""

    row: int
    kind: int
    weight: float


class Reached(NamedTuple):
    """`rows` ascending, each once, anchors included; unscaled `scores` of their best paths, and `best`, the numbers of
    these in `paths`; shapes (rows,)."""

    rows: Rows
    scores: Scores
    best: Rows
    paths: Paths

    def path(self, position: int) -> tuple[Hop, ...]:
        """Return the links from an anchor to the row at `position`, in order; empty if it is best as an anchor."""
        hops = []
        paths, number = self.paths, int(self.best[position])
        while (parent := int(paths.parent[number])) != NO_PATH:
            hops.append(Hop(int(paths.row[parent]), int(paths.kind[number]), float(paths.weight[number])))
            number = parent
        return tuple(reversed(hops))


class Beam(NamedTuple):
    """Parameters of a search. `mask`: rows that may be reached, shape (rows,), None for all; `cosines` with the query,
    shape (rows,), negative ones count as 0, None without vectors. `each_anchor`: search from each anchor with a
    frontier and visited rows of its own, as mnemon does."""

    limits: BeamLimits
    weights: EdgeWeights
    path: TraversalSettings
    cosines: Floats | None = None
    mask: Mask | None = None
    each_anchor: bool = False


def search(snapshot: Snapshot, anchors: Rows, scores: Scores, beam: Beam) -> Reached:
    """Search from `anchors` (distinct rows, shape (anchors,)) with `scores`, none of them NaN.

    Each depth follows every link of the frontier in both directions and keeps the best path to each row, without
    cycles. New rows are reached best first as the budget allows; the best `width` of the rows that are new or have a
    better path form the next frontier.

    With `each_anchor` the searches follow each other, best anchor first. Each follows a row once, from the best path of
    the depth that reaches it, but a path may also end at a row that was reached before, its own anchor included: so the
    best anchor is credited with the links between it and what it led to. Each row has the best score of all searches.
    The budget is shared; every anchor has its place in it before the first search starts.
    """
    return _Search(snapshot, beam).run(anchors, np.asarray(scores, dtype=np.float64))


class _Frontier(NamedTuple):
    """The rows a depth starts from, best first: their rows and paths, shape (frontier,), and the rows on the path to
    each, itself included, shape (frontier, depth)."""

    rows: Rows
    paths: Rows
    passed: Rows


class _Candidates(NamedTuple):
    """Links from the frontier, of shape (links,) and the types of `Paths`. `place`: position in the frontier."""

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
    """One search. `best`: the path of each row so far; `mark`: scratch space to find the best of several links."""

    def __init__(self, snapshot: Snapshot, beam: Beam) -> None:
        self._snapshot = snapshot
        self._beam = beam
        self._worth = type_worth(beam.weights, beam.path)
        self._similarity = np.float64(cosine_worth(beam.path))  # as an array's type: cosines are narrower
        self._best = np.zeros(snapshot.rows, dtype=np.int32)
        self._mark = np.empty(snapshot.rows, dtype=np.int32)
        self._paths = _allocate(1 + beam.limits.budget * (beam.limits.depth + 1))
        self._made = 1
        self._left = beam.limits.budget

    def run(self, anchors: Rows, scores: Scores) -> Reached:
        frontier = self._start(anchors, scores)
        if self._beam.each_anchor:
            self._follow_each(frontier)
        else:
            self._follow(frontier)
        rows = self._best.nonzero()[0]
        best = self._best[rows].astype(np.int64)
        return Reached(rows, self._paths.score[best], best, self._paths)

    def _follow_each(self, anchors: _Frontier) -> None:
        for place in range(len(anchors.rows)):
            one = slice(place, place + 1)
            self._follow_one(_Frontier(anchors.rows[one], anchors.paths[one], anchors.passed[one]))

    def _follow_one(self, frontier: _Frontier) -> None:
        """Follow one anchor to rows that this search has not visited, and score every row at the end of a link."""
        limits, mask = self._beam.limits, self._beam.mask
        visited = np.zeros(len(self._best), dtype=np.bool_)
        visited[frontier.rows] = True
        for hops in range(1, limits.depth + 1):
            if not len(frontier.rows):
                break
            links = self._links(frontier, hops)
            seen = np.arange(len(links.row)) if mask is None else mask[links.row].nonzero()[0]
            found = links.at(self._best_per_row(links, seen))
            new = (~visited[found.row]).nonzero()[0]
            new = new[self._snapshot.best_in_order(found.row[new], found.score[new], self._left)]
            self._left -= len(new)
            visited[found.row[new]] = True
            better = found.score > self._paths.score[self._best[found.row]]
            kept = visited[found.row].nonzero()[0]
            reached, better = found.at(kept), better[kept]
            paths = self._record(reached, frontier.paths[reached.place], hops)
            self._best[reached.row[better]] = paths[better]
            following = new[: limits.width]
            numbers = np.zeros(len(found.row), dtype=np.int64)
            numbers[kept] = paths
            frontier = _Frontier(found.row[following], numbers[following], found.row[following, None])

    def _follow(self, frontier: _Frontier) -> None:
        limits = self._beam.limits
        for hops in range(1, limits.depth + 1):
            if not len(frontier.rows):
                break
            found = self._candidates(frontier, hops)
            paths = self._record(found, frontier.paths[found.place], hops)
            self._best[found.row] = paths
            kept = self._snapshot.best_in_order(found.row, found.score, limits.width)
            passed = np.concatenate((frontier.passed[found.place[kept]], found.row[kept, None]), axis=1)
            frontier = _Frontier(found.row[kept], paths[kept], passed)

    def _start(self, anchors: Rows, scores: Scores) -> _Frontier:
        kept = self._snapshot.best_in_order(anchors, scores, self._left)
        rows, scores = anchors[kept], scores[kept]
        self._left -= len(rows)
        none = np.zeros(len(rows), dtype=np.int64)
        anchors_only = _Candidates(rows, none, none.astype(np.uint8), none.astype(np.float32), scores, scores)
        paths = self._record(anchors_only, none, 0)
        self._best[rows] = paths
        followed = slice(self._beam.limits.starts)
        return _Frontier(rows[followed], paths[followed], rows[followed, None])

    def _candidates(self, frontier: _Frontier, hops: int) -> _Candidates:
        """Return the best link to each row that now has a better path, with as many new rows as the budget allows."""
        beam = self._beam
        links = self._links(frontier, hops)
        before = self._best[links.row]
        better = links.score > self._paths.score[before]
        if beam.mask is not None:
            better &= beam.mask[links.row]
        if self._left <= 0:
            better &= before != NO_PATH
        found = better.nonzero()[0]
        found = self._without_cycles(links, frontier, found)
        found = self._within_budget(links, self._best_per_row(links, found))
        return links.at(found)

    def _links(self, frontier: _Frontier, hops: int) -> _Candidates:
        """Return every link from the frontier, scored."""
        beam = self._beam
        place, fan = self._snapshot.fan(frontier.rows.tolist())
        row, kind, weight = fan["row"].astype(np.int64), fan["type"], fan["weight"]
        steps = self._worth.take(kind) * weight
        if beam.cosines is not None:
            steps += self._similarity * np.maximum(beam.cosines[row], 0.0)
        total = extended(self._paths.total[frontier.paths][place], steps, beam.path)
        return _Candidates(row, place, kind, weight, total, path_scores(total, hops, beam.path))

    def _without_cycles(self, links: _Candidates, frontier: _Frontier, found: Rows) -> Rows:
        known = self._best[links.row[found]] != NO_PATH
        if not known.any():
            return found
        back = found[known]
        cycles = (frontier.passed[links.place[back]] == links.row[back, None]).any(axis=1)
        known[known] = cycles
        kept: Rows = found[~known]
        return kept

    def _best_per_row(self, links: _Candidates, found: Rows) -> Rows:
        """Return those of the links `found` that are the best to their rows, one a row."""
        row, score = links.row[found], links.score[found]
        order = score.argsort()
        self._mark[row[order]] = order  # a repeated row keeps the last one, with its largest score
        best = self._mark[row]
        mine = (score == score[best]).nonzero()[0]
        chosen = (best == np.arange(len(row))).nonzero()[0]
        if len(mine) > len(chosen):
            chosen = _first_of_equal(links, found, mine)
        best_of: Rows = found[chosen]
        return best_of

    def _within_budget(self, links: _Candidates, found: Rows) -> Rows:
        """Drop the worst of the new rows beyond the budget."""
        new = self._best[links.row[found]] == NO_PATH
        count = int(np.count_nonzero(new))
        if count <= self._left:
            self._left -= count
            return found
        places = new.nonzero()[0]
        chosen = self._snapshot.best_rows(links.row[found[places]], links.score[found[places]], self._left)
        self._left = 0
        new[places[chosen]] = False
        kept: Rows = found[~new]
        return kept

    def _record(self, links: _Candidates, parents: Rows, hops: int) -> Rows:
        """Store the new path of every row; return the numbers of the paths."""
        made = self._made
        end = self._made = made + len(links.row)
        if end > len(self._paths.row):
            grown = _allocate(2 * end)
            for name, old in self._paths._asdict().items():
                getattr(grown, name)[:made] = old[:made]
            self._paths = grown
        paths = self._paths
        paths.row[made:end] = links.row
        paths.parent[made:end] = parents
        paths.kind[made:end] = links.kind
        paths.weight[made:end] = links.weight
        paths.hops[made:end] = hops
        paths.total[made:end] = links.total
        paths.score[made:end] = links.score
        return np.arange(made, end)


def _first_of_equal(links: _Candidates, found: Rows, mine: Rows) -> Rows:
    """Choose one per row from positions in `found` of equally good links: by parent, then type, then weight."""
    of = found[mine]
    order = np.lexsort((-links.weight[of], links.kind[of], links.place[of], links.row[of]))
    row = links.row[of[order]]
    first = np.ones(len(row), dtype=np.bool_)
    first[1:] = row[1:] != row[:-1]
    return mine[order[first]]


def _allocate(paths: int) -> Paths:
    made = Paths(
        row=np.empty(paths, dtype=np.int64),
        parent=np.empty(paths, dtype=np.int64),
        kind=np.empty(paths, dtype=np.uint8),
        weight=np.empty(paths, dtype=np.float32),
        hops=np.empty(paths, dtype=np.uint8),
        total=np.empty(paths, dtype=np.float64),
        score=np.empty(paths, dtype=np.float64),
    )
    for part in made:
        part[0] = 0
    made.score[NO_PATH] = -np.inf
    return made
