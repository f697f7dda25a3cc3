"""Traversal by chance (S2): from a few starts along links that are taken the more likely the heavier and fresher.

Chance is a function of a seed alone, so that a walk can be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import msgspec
import numpy as np

from mnemond.config.settings import TraversalSettings
from mnemond.index.arrays import Mask, Rows, Scores
from mnemond.index.selection import best_in_order, best_rows
from mnemond.index.snapshot import Snapshot
from mnemond.recall.beam import min_max
from mnemond.text.similarity import normalised

Vigour = Callable[[Rows], tuple[Scores, Scores]]
"""Of some rows the retention τ at their effective age, in [0, 1], and their boost in days; shapes (rows,)."""

SEED_BYTES = 8
"""Of the SHA-256 of a question (spec 11.3)."""

_FRACTION_BITS = 53
"""Bits a draw has: as many as a float between 1/2 and 1."""


MAX_BOOST_DAYS = 30.0
"""Δ_max: the boost in days that doubles the probability of a link."""

MAX_DRAWS = 1000
"""Draws of one walk: a row with thousands of links must not hold up other requests."""


class Offer(NamedTuple):
    """A row that a walk came by from another: how likely it was to be taken, the number drawn, and whether it was."""

    row: int
    origin: int
    probability: float
    draw: float

    @property
    def taken(self) -> bool:
        """A draw is below 1, so what is certain is always taken."""
        return self.draw < self.probability


class Visit(NamedTuple):
    """A row that was taken. `origin` is None for a start; `signal` is what is left of 1 after the links to here."""

    row: int
    origin: int | None
    probability: float
    signal: float


class Walk(NamedTuple):
    """`visits` in the order rows were taken, `offers` in that of the draws, one each. `complete` is false where the
    walk ended because no more draws are allowed."""

    visits: tuple[Visit, ...]
    offers: tuple[Offer, ...]
    complete: bool

    def path(self, row: int) -> tuple[int, ...]:
        """The rows from a start to one that was visited, both included. ValueError for any other row."""
        origins = {visit.row: visit.origin for visit in self.visits}
        if row not in origins:
            raise ValueError(f"row {row} was not visited")
        rows = [row]
        while (origin := origins[rows[-1]]) is not None:
            rows.append(origin)
        return tuple(reversed(rows))


def seed_of(question: str) -> int:
    """The seed of a question, in [0, 2^53), which every JSON reader holds exactly: the first bits of the SHA-256 of its
    normalised text."""
    return int.from_bytes(hashlib.sha256(normalised(question).encode()).digest()[:SEED_BYTES], "big") >> 11


def draws_of(seed: int) -> Iterator[float]:
    """Numbers in [0, 1), evenly spread, the same ones for the same seed: hashes of the seed and 0, 1, 2 …

    OverflowError when the seed is not in [0, 2^64).
    """
    start = hashlib.sha256(seed.to_bytes(SEED_BYTES, "big"))
    for number in count():
        drawn = start.copy()
        drawn.update(number.to_bytes(8, "big"))
        yield (int.from_bytes(drawn.digest()[:8], "big") >> (64 - _FRACTION_BITS)) / 2**_FRACTION_BITS


def selection_probability(
    weight: Scores, retention: Scores, boost_days: Scores, signal: Scores, exploration_factor: float
) -> Scores:
    """How likely a link is to be followed, in [0, 1], shape (links,): μ·w·τ·(1 + boost/Δ_max)·signal (spec 7.17).

    S2 adds the boost in days, which makes everything certain; here it is a part of the largest possible one.
    """
    boost = 1.0 + boost_days / MAX_BOOST_DAYS
    return np.clip(exploration_factor * weight * retention * boost * signal, 0.0, 1.0)


def walk(
    snapshot: Snapshot,
    starts: Sequence[int],
    draws: Iterator[float],
    vigour: Vigour,
    settings: TraversalSettings,
    mask: Mask | None = None,
    max_draws: int = MAX_DRAWS,
) -> Walk:
    """Rows visited from `starts`, at most `max_nodes` of them, starts included, a row once.

    Starts take turns; in a turn one goes on, depth first, until it has taken a row. From a row its neighbours are met
    by falling probability, then id, each with one draw; one that was refused may be met again from elsewhere. `mask`:
    rows that may be visited, None for all.
    """
    return _Walker(snapshot, draws, vigour, settings, mask, max_draws).run(starts)


class _Neighbours(NamedTuple):
    """Those of one row, the likeliest first, and what the signal is after each."""

    origin: int
    offers: Iterator[tuple[int, float, float]]


class _Walker:
    def __init__(
        self,
        snapshot: Snapshot,
        draws: Iterator[float],
        vigour: Vigour,
        settings: TraversalSettings,
        mask: Mask | None,
        max_draws: int,
    ) -> None:
        self._snapshot = snapshot
        self._draws = draws
        self._vigour = vigour
        self._settings = settings
        self._mask = mask
        self._max_draws = max_draws
        self._visits: dict[int, Visit] = {}
        self._offers: list[Offer] = []

    def run(self, starts: Sequence[int]) -> Walk:
        stacks: list[list[_Neighbours]] = []
        for start in starts:
            if self._room() and start not in self._visits:
                self._visits[start] = Visit(start, None, 1.0, 1.0)
                stacks.append([self._neighbours(start, 1.0)])
        while stacks and self._room() and self._may_draw():
            stacks = [stack for stack in stacks if self._turn(stack)]
        cut_short = bool(stacks) and self._room() and not self._may_draw()
        return Walk(tuple(self._visits.values()), tuple(self._offers), complete=not cut_short)

    def _turn(self, stack: list[_Neighbours]) -> bool:
        """Go on until a row is taken; whether there may be more to come."""
        while stack and self._room():
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

    def _room(self) -> bool:
        return len(self._visits) < self._settings.max_nodes

    def _may_draw(self) -> bool:
        return len(self._offers) < self._max_draws

    def _neighbours(self, row: int, signal: float) -> _Neighbours:
        """Each neighbour once, by the heaviest of its links."""
        _, links = self._snapshot.fan([row])
        rows, group = np.unique(links["row"].astype(np.int64), return_inverse=True)
        weights = np.zeros(len(rows))
        np.maximum.at(weights, group, links["weight"])
        if self._mask is not None:
            rows, weights = rows[self._mask[rows]], weights[self._mask[rows]]
        signals = signal * np.minimum(weights, self._settings.signal_decay)
        retention, boost_days = self._vigour(rows)
        chances = selection_probability(
            weights, retention, boost_days, np.full(len(rows), signal), self._settings.exploration_factor
        )
        met = best_in_order(self._snapshot, rows, chances, self._max_draws + 1)  # one more, to tell it is cut
        return _Neighbours(
            row, iter(list(zip(rows[met].tolist(), chances[met].tolist(), signals[met].tolist(), strict=True)))
        )


# Traversal by personalised PageRank: a walk that keeps coming back to the anchors, to the best ones most often.
#
# Exact where no more rows can be reached than are expanded; else near the anchors, where nearly all of the walk is.


WEIGHT_BITS = 23
"""Bits a weight is told apart by when the links of a row are sorted: float32 has no more of them next to 1."""

_HEAVIEST = 2**WEIGHT_BITS - 1


class LocalPageRankPolicy(msgspec.Struct, frozen=True):
    """Personalised PageRank near the anchors. `damping` .5 is what HippoRAG is reimplemented with (spec 11.3).

    `expanded`: rows whose links are followed, anchors included; a walk that reaches any other row starts anew. With
    300 of them ten thousand rows are walked in about a millisecond (performance §5). Half of what a round moves is
    what the one before moved, so `rounds` is where `tolerance` is reached.
    """

    damping: float = 0.5
    tolerance: float = 1e-7
    rounds: int = 24
    expanded: int = 300


class Spread(NamedTuple):
    """`rows` ascending, anchors included; `mass` of the walk there, summing to 1; `scores`, the same from 0 to 1."""

    rows: Rows
    mass: Scores
    scores: Scores


class _Links(NamedTuple):
    """Links of the expanded rows, the heaviest of each pair, each part of shape (links,): the position of the expanded
    row they leave from, the row they lead to, and which share of the walks at the one goes there."""

    place: Rows
    row: Rows
    share: Scores


def personalised_pagerank(
    snapshot: Snapshot,
    anchors: Rows,
    scores: Scores,
    mask: Mask | None = None,
    policy: LocalPageRankPolicy | None = None,
) -> Spread:
    """Where a walk from `anchors` (different rows, shape (anchors,)) spends its time; it begins at each as often as its
    score, at least 0, says, at all alike when none is above 0.

    `mask`: rows that may be walked through, None for all. More anchors than may be expanded: the best ones count, of
    equal ones those with the smaller ids.
    """
    policy = policy or LocalPageRankPolicy()
    if not len(anchors):
        return Spread(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    starts = np.asarray(scores, dtype=np.float64)
    kept = np.sort(best_rows(snapshot, anchors, starts, policy.expanded))
    anchors, starts = anchors[kept], starts[kept]
    total = float(starts.sum())
    starts = starts / total if total > 0.0 else np.full(len(anchors), 1.0 / len(anchors))
    expanded, links = _expand(snapshot, anchors, starts, mask, policy)
    at_start = np.zeros(len(expanded))
    at_start[: len(anchors)] = starts
    walks = _settled(expanded, links, at_start, snapshot.rows, policy)
    mass = policy.damping * _arriving(links.row, links.share * walks[links.place], snapshot.rows)
    mass[expanded] = walks
    rows = mass.nonzero()[0]
    reached = mass[rows] / mass[rows].sum()
    return Spread(rows, reached, min_max(reached))


def _expand(
    snapshot: Snapshot, anchors: Rows, starts: Scores, mask: Mask | None, policy: LocalPageRankPolicy
) -> tuple[Rows, _Links]:
    """The rows that are expanded, anchors first, and their links: ring by ring, those first that most walks reach."""
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
        ring = np.sort(ring[best_rows(snapshot, ring, arriving[ring], room)])
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


def _settled(expanded: Rows, links: _Links, at_start: Scores, rows: int, policy: LocalPageRankPolicy) -> Scores:
    """How much of the walk is at each expanded row, shape (expanded,). What leaves for any other row starts anew."""
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
    """The sum of what arrives at each place, shape (places,)."""
    sums: Scores = np.bincount(at, weights=mass, minlength=places).astype(np.float64, copy=False)
    return sums
