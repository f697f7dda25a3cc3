"""Graph traversal in every mode: beam, probabilistic walk (Mnemosyne), personalised PageRank (HippoRAG).

The random numbers of a walk depend on a seed alone, so that it can be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from typing import NamedTuple

import msgspec
import numpy as np

from mnemond.config.reading import TraversalSettings
from mnemond.index.arrays import Floats, Mask, Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep
from mnemond.model.memory import EDGE_TYPES
from mnemond.model.query import Mode
from mnemond.recall.beam import BEAM_LIMITS, EDGE_WEIGHTS, Beam, min_max, search
from mnemond.recall.profiles import Profile, newest_us, retention_and_boost
from mnemond.recall.result_order import RankingRequest
from mnemond.text.similarity import normalised


class Traversed(NamedTuple):
    """`rows` ascending, anchors included, and their `scores` in [0, 1]; shapes (rows,). `path` returns the path to the
    row at a position. `seed` and `draws` are those of a probabilistic walk."""

    rows: Rows
    scores: Scores
    path: Callable[[int], tuple[PathStep, ...]]
    seed: int | None = None
    draws: int = 0


def traverse(
    snapshot: Snapshot,
    request: RankingRequest,
    mode: Mode,
    anchors: Rows,
    scores: Scores,
    cosines: Floats | None,
    profile: Profile,
) -> Traversed:
    """Follow links from `anchors` (best first, distinct) to visible rows. `cosines`: of all rows, None without a
    vector."""
    match mode:
        case "beam":
            weights, limits = EDGE_WEIGHTS[request.intent], BEAM_LIMITS[request.intent]
            path, each = profile.settings.traversal, profile.each_anchor
            beam = Beam(limits, weights, path, cosines, request.visible, each)
            return _beam(snapshot, anchors, scores, beam)
        case "ppr":
            found = personalised_pagerank(snapshot, anchors, scores, request.visible)
            return Traversed(found.rows, found.scores, _no_path)
        case "probabilistic":
            return _walk(snapshot, request, anchors, profile)
        case "none":
            return Traversed(np.sort(anchors), np.ones(len(anchors)), _no_path)


def _no_path(position: int) -> tuple[PathStep, ...]:
    return ()


def _beam(snapshot: Snapshot, anchors: Rows, scores: Scores, beam: Beam) -> Traversed:
    reached = search(snapshot, anchors, scores, beam)

    def path(position: int) -> tuple[PathStep, ...]:
        return tuple(
            PathStep(snapshot.insight(hop.row).id, EDGE_TYPES[hop.kind], round(hop.weight, 6))
            for hop in reached.path(position)
        )

    return Traversed(reached.rows, min_max(reached.scores), path)


def _walk(snapshot: Snapshot, request: RankingRequest, anchors: Rows, profile: Profile) -> Traversed:
    """Walk from the best few anchors; fading memories are skipped more often."""
    query = request.query
    seed = seed_of(query.text) if query.seed is None else query.seed
    if not len(anchors):
        return Traversed(anchors, np.zeros(0), _no_path, seed)
    now_us = newest_us(snapshot, anchors) if query.now_us is None else query.now_us

    def strength(rows: Rows) -> tuple[Scores, Scores]:
        return retention_and_boost(snapshot, rows, now_us, profile.settings.temporal_decay)

    starts = anchors[: profile.settings.start_node.top_k].tolist()
    walked = walk(snapshot, starts, draws_of(seed), strength, profile.settings.traversal, request.visible)
    chances = {visit.row: visit.probability for visit in walked.visits}
    rows = np.array(sorted(chances), dtype=np.int64)

    def path(position: int) -> tuple[PathStep, ...]:
        return tuple(_heaviest(snapshot, *hop) for hop in pairwise(walked.path(int(rows[position]))))

    scores = np.array([min(1.0, chances[row]) for row in rows.tolist()], dtype=np.float64)
    return Traversed(rows, scores, path, seed, len(walked.offers))


def _heaviest(snapshot: Snapshot, here: int, there: int) -> PathStep:
    """Return the link between two rows that a walk uses."""
    links = snapshot.neighbours(here)
    links = links[links["row"] == there]
    best = links[np.lexsort((links["type"], -links["weight"]))[0]]
    return PathStep(snapshot.insight(here).id, EDGE_TYPES[best["type"]], round(float(best["weight"]), 6))


# Probabilistic walk


Strength = Callable[[Rows], tuple[Scores, Scores]]
"""Returns retention τ at the effective age, in [0, 1], and boost in days of some rows; shapes (rows,)."""

SEED_BYTES = 8
"""Bytes of the SHA-256 of a question that make a seed."""

_FRACTION_BITS = 53
"""Bits of a draw: those of a float between 1/2 and 1."""

MAX_BOOST_DAYS = 30.0
"""Δ_max: the boost in days that doubles the probability of a link."""

MAX_DRAWS = 1000
"""Draws of one walk: a row with thousands of links must not delay other requests."""


class Offer(NamedTuple):
    """A row that a walk may take from another: the probability of that, and the number drawn."""

    row: int
    origin: int
    probability: float
    draw: float

    @property
    def taken(self) -> bool:
        """Return True if the walk took the row. Draws are below 1, so a probability of 1 always wins."""
        return self.draw < self.probability


class Visit(NamedTuple):
    """A row of the walk. `origin` is None for a start; `signal` is 1 reduced by every link to here."""

    row: int
    origin: int | None
    probability: float
    signal: float


class Walk(NamedTuple):
    """`visits` in the order of the walk, `offers` in that of the draws, one each. `complete` is false if it hit the
    limit of draws."""

    visits: tuple[Visit, ...]
    offers: tuple[Offer, ...]
    complete: bool

    def path(self, row: int) -> tuple[int, ...]:
        """Return the rows from a start to a visited one, both included. ValueError for any other row."""
        origins = {visit.row: visit.origin for visit in self.visits}
        if row not in origins:
            raise ValueError(f"row {row} was not visited")
        rows = [row]
        while (origin := origins[rows[-1]]) is not None:
            rows.append(origin)
        return tuple(reversed(rows))


def seed_of(question: str) -> int:
    """Return the seed of a question in [0, 2^53), exact in every JSON reader: the first bits of the SHA-256 of its
    normalised text."""
    return int.from_bytes(hashlib.sha256(normalised(question).encode()).digest()[:SEED_BYTES], "big") >> 11


def draws_of(seed: int) -> Iterator[float]:
    """Yield uniform numbers in [0, 1) for a seed: hashes of it and 0, 1, 2 …

    Raises OverflowError if the seed is not in [0, 2^64).
    """
    start = hashlib.sha256(seed.to_bytes(SEED_BYTES, "big"))
    for number in count():
        drawn = start.copy()
        drawn.update(number.to_bytes(8, "big"))
        yield (int.from_bytes(drawn.digest()[:8], "big") >> (64 - _FRACTION_BITS)) / 2**_FRACTION_BITS


def selection_probability(
    weight: Scores, retention: Scores, boost_days: Scores, signal: Scores, exploration_factor: float
) -> Scores:
    """Return the probability of following a link, shape (links,): μ·w·τ·(1 + boost/Δ_max)·signal.

    Mnemosyne adds the boost in days, which makes every link certain; here it is relative to the largest one.
    """
    boost = 1.0 + boost_days / MAX_BOOST_DAYS
    return np.clip(exploration_factor * weight * retention * boost * signal, 0.0, 1.0)


def walk(
    snapshot: Snapshot,
    starts: Sequence[int],
    draws: Iterator[float],
    strength: Strength,
    settings: TraversalSettings,
    mask: Mask | None = None,
    max_draws: int = MAX_DRAWS,
) -> Walk:
    """Walk from `starts` to at most `max_nodes` rows, starts included.

    Starts take turns; each turn goes on, depth first, until it takes one row. Neighbours of a row are tried by falling
    probability, then id, with one draw each; a refused one may be tried again from another row. `mask`: rows to visit,
    None for all.
    """
    return _Walker(snapshot, draws, strength, settings, mask, max_draws).run(starts)


class _Neighbours(NamedTuple):
    """Neighbours of a row with probability and signal after each, likeliest first."""

    origin: int
    offers: Iterator[tuple[int, float, float]]


class _Walker:
    def __init__(
        self,
        snapshot: Snapshot,
        draws: Iterator[float],
        strength: Strength,
        settings: TraversalSettings,
        mask: Mask | None,
        max_draws: int,
    ) -> None:
        self._snapshot, self._draws, self._strength = snapshot, draws, strength
        self._settings, self._mask, self._max_draws = settings, mask, max_draws
        self._visits: dict[int, Visit] = {}
        self._offers: list[Offer] = []

    def run(self, starts: Sequence[int]) -> Walk:
        stacks: list[list[_Neighbours]] = []
        for start in starts:
            if self._has_room() and start not in self._visits:
                self._visits[start] = Visit(start, None, 1.0, 1.0)
                stacks.append([self._neighbours(start, 1.0)])
        while stacks and self._has_room() and self._may_draw():
            stacks = [stack for stack in stacks if self._turn(stack)]
        cut_short = bool(stacks) and self._has_room() and not self._may_draw()
        return Walk(tuple(self._visits.values()), tuple(self._offers), complete=not cut_short)

    def _turn(self, stack: list[_Neighbours]) -> bool:
        """Walk until a row is taken; return False at the end of this start."""
        while stack and self._has_room():
            origin, offers = stack[-1]
            found = next(offers, None)
            if found is None:
                stack.pop()
                continue
            row, probability, signal = found
            if row in self._visits:
                continue
            if not self._may_draw():
                return True
            offer = Offer(row, origin, probability, next(self._draws))
            self._offers.append(offer)
            if offer.taken:
                self._visits[row] = Visit(row, origin, probability, signal)
                stack.append(self._neighbours(row, signal))
                return True
        return bool(stack)

    def _has_room(self) -> bool:
        return len(self._visits) < self._settings.max_nodes

    def _may_draw(self) -> bool:
        return len(self._offers) < self._max_draws

    def _neighbours(self, row: int, signal: float) -> _Neighbours:
        """Return each neighbour once, with its heaviest link."""
        _, links = self._snapshot.fan([row])
        rows, group = np.unique(links["row"].astype(np.int64), return_inverse=True)
        weights = np.zeros(len(rows))
        np.maximum.at(weights, group, links["weight"])
        if self._mask is not None:
            rows, weights = rows[self._mask[rows]], weights[self._mask[rows]]
        signals = signal * np.minimum(weights, self._settings.signal_decay)
        retention, boost_days = self._strength(rows)
        chances = selection_probability(
            weights, retention, boost_days, np.full(len(rows), signal), self._settings.exploration_factor
        )
        best = self._snapshot.best_in_order(rows, chances, self._max_draws + 1)  # one more, to detect the limit
        offers = zip(rows[best].tolist(), chances[best].tolist(), signals[best].tolist(), strict=True)
        return _Neighbours(row, offers)


# Personalised PageRank: a walk that keeps returning to the anchors, to the best ones most often
#
# Exact if no more rows can be reached than are expanded; else restricted to rows near the anchors, which have nearly
# all of the mass.


WEIGHT_BITS = 23
"""Precision of weights when the links of a row are sorted: that of float32 next to 1."""

_HEAVIEST = 2**WEIGHT_BITS - 1


class LocalPageRankPolicy(msgspec.Struct, frozen=True):
    """Personalised PageRank near the anchors. `damping` .5 is that of HippoRAG.

    `expanded`: rows whose links are followed, anchors included; a walk that reaches any other row restarts. With 300 of
    them, ten thousand rows take about a millisecond. Each round moves half as much as the one before, so that `rounds`
    reach `tolerance`.
    """

    damping: float = 0.5
    tolerance: float = 1e-7
    rounds: int = 24
    expanded: int = 300


class PageRankScores(NamedTuple):
    """`rows` ascending, anchors included; `mass` of the walk, summing to 1; `scores`, the mass scaled to [0, 1]."""

    rows: Rows
    mass: Scores
    scores: Scores


class _Links(NamedTuple):
    """Links of the expanded rows, the heaviest of each pair, each part of shape (links,): position of the expanded row
    they leave from, row they lead to, share of the walks there that take the link."""

    place: Rows
    row: Rows
    share: Scores


def personalised_pagerank(
    snapshot: Snapshot,
    anchors: Rows,
    scores: Scores,
    mask: Mask | None = None,
    policy: LocalPageRankPolicy | None = None,
) -> PageRankScores:
    """Return the stationary distribution of a walk that restarts at `anchors` (distinct rows, shape (anchors,)) in
    proportion to their scores, at least 0; uniformly if all are 0.

    `mask`: rows that may be walked through, None for all. Of more anchors than may be expanded the best count, of equal
    ones those with the smaller ids.
    """
    policy = policy or LocalPageRankPolicy()
    if not len(anchors):
        return PageRankScores(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    starts = np.asarray(scores, dtype=np.float64)
    kept = np.sort(snapshot.best_rows(anchors, starts, policy.expanded))
    anchors, starts = anchors[kept], starts[kept]
    total = float(starts.sum())
    starts = starts / total if total > 0.0 else np.full(len(anchors), 1.0 / len(anchors))
    expanded, links = _expand(snapshot, anchors, starts, mask, policy)
    at_start = np.zeros(len(expanded))
    at_start[: len(anchors)] = starts
    walks = _iterate(expanded, links, at_start, snapshot.rows, policy)
    mass = policy.damping * _arriving(links.row, links.share * walks[links.place], snapshot.rows)
    mass[expanded] = walks
    rows = mass.nonzero()[0]
    reached = mass[rows] / mass[rows].sum()
    return PageRankScores(rows, reached, min_max(reached))


def _expand(
    snapshot: Snapshot, anchors: Rows, starts: Scores, mask: Mask | None, policy: LocalPageRankPolicy
) -> tuple[Rows, _Links]:
    """Return the expanded rows, anchors first, and their links: ring by ring, rows with most mass first."""
    known = np.zeros(snapshot.rows, dtype=np.bool_)
    expanded, ring, mass = anchors, anchors, starts
    found: list[_Links] = []
    known[anchors] = True
    while len(ring):
        links = _links(snapshot, ring, mask)
        found.append(_Links(links.place + (len(expanded) - len(ring)), links.row, links.share))
        room = policy.expanded - len(expanded)
        if room <= 0 or not len(links.row):
            break
        arriving = _arriving(links.row, links.share * mass[links.place], snapshot.rows)
        arriving[known] = 0.0
        ring = arriving.nonzero()[0]
        ring = np.sort(ring[snapshot.best_rows(ring, arriving[ring], room)])
        mass = arriving[ring] * policy.damping
        known[ring] = True
        expanded = np.concatenate((expanded, ring))
    return expanded, _Links(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _links(snapshot: Snapshot, ring: Rows, mask: Mask | None) -> _Links:
    place, links = snapshot.fan(ring.tolist())
    row = links["row"].astype(np.int64)
    if mask is not None:
        seen = mask[row]
        place, row, links = place[seen], row[seen], links[seen]
    row_bits = snapshot.rows.bit_length()
    weight = np.rint(links["weight"] * np.float64(_HEAVIEST)).astype(np.int64)
    keys = np.sort((((place << row_bits) | row) << WEIGHT_BITS) | weight)
    pairs = keys >> WEIGHT_BITS
    heaviest = (keys & _HEAVIEST) != 0
    heaviest[:-1] &= pairs[1:] != pairs[:-1]
    keys, pairs = keys[heaviest], pairs[heaviest]
    place, row = pairs >> row_bits, pairs & ((1 << row_bits) - 1)
    weights = (keys & _HEAVIEST).astype(np.float64)
    of_all = np.bincount(place, weights=weights, minlength=len(ring))
    return _Links(place, row, weights / of_all[place])


def _iterate(expanded: Rows, links: _Links, at_start: Scores, rows: int, policy: LocalPageRankPolicy) -> Scores:
    """Return the mass at each expanded row, shape (expanded,). Mass that leaves for other rows restarts."""
    number = np.full(rows, -1, dtype=np.int64)
    number[expanded] = np.arange(len(expanded))
    to = number[links.row]
    within = (to >= 0).nonzero()[0]
    to, place, share = to[within], links.place[within], links.share[within] * policy.damping
    mass = at_start
    for _ in range(policy.rounds):
        moved = _arriving(to, share * mass[place], len(mass))
        moved += (1.0 - float(moved.sum())) * at_start
        change = float(np.abs(moved - mass).sum())
        mass = moved
        if change < policy.tolerance:
            break
    return mass


def _arriving(at: Rows, mass: Scores, places: int) -> Scores:
    """Sum the mass that arrives at each place, shape (places,)."""
    sums: Scores = np.bincount(at, weights=mass, minlength=places).astype(np.float64, copy=False)
    return sums
