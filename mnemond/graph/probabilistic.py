"""Traversal by chance (S2): from a few starts along links that are taken the more likely the heavier and fresher.

Chance is a function of a seed alone, so that a walk can be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from mnemond.graph.best_rows import Scores, best_in_order
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.recall_policy import WalkPolicy
from mnemond.text.similarity import normalised

Vigour = Callable[[Rows], tuple[Scores, Scores]]
"""Of some rows the retention τ at their effective age, in [0, 1], and their boost in days; shapes (rows,)."""

SEED_BYTES = 8
"""Of the SHA-256 of a question (spec 11.3)."""

_FRACTION_BITS = 53
"""Bits a draw has: as many as a float between 1/2 and 1."""


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
    weight: Scores, retention: Scores, boost_days: Scores, signal: Scores, policy: WalkPolicy
) -> Scores:
    """How likely a link is to be followed, in [0, 1], shape (links,): μ·w·τ·(1 + boost/Δ_max)·signal (spec 7.17).

    S2 adds the boost in days, which makes everything certain; here it is a part of the largest possible one.
    """
    boost = 1.0 + boost_days / policy.boost_max_days
    return np.clip(policy.exploration * weight * retention * boost * signal, 0.0, 1.0)


def walk(
    snapshot: Snapshot,
    starts: Sequence[int],
    draws: Iterator[float],
    vigour: Vigour,
    policy: WalkPolicy | None = None,
    mask: Mask | None = None,
) -> Walk:
    """Rows visited from `starts`, at most `max_nodes` of them, starts included, a row once.

    Starts take turns; in a turn one goes on, depth first, until it has taken a row. From a row its neighbours are met
    by falling probability, then id, each with one draw; one that was refused may be met again from elsewhere. `mask`:
    rows that may be visited, None for all.
    """
    return _Walker(snapshot, draws, vigour, policy or WalkPolicy(), mask).run(starts)


class _Neighbours(NamedTuple):
    """Those of one row, the likeliest first, and what the signal is after each."""

    origin: int
    offers: Iterator[tuple[int, float, float]]


class _Walker:
    def __init__(
        self, snapshot: Snapshot, draws: Iterator[float], vigour: Vigour, policy: WalkPolicy, mask: Mask | None
    ) -> None:
        self._snapshot = snapshot
        self._draws = draws
        self._vigour = vigour
        self._policy = policy
        self._mask = mask
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
        return len(self._visits) < self._policy.max_nodes

    def _may_draw(self) -> bool:
        return len(self._offers) < self._policy.max_draws

    def _neighbours(self, row: int, signal: float) -> _Neighbours:
        """Each neighbour once, by the heaviest of its links."""
        _, links = self._snapshot.fan([row])
        rows, group = np.unique(links["row"].astype(np.int64), return_inverse=True)
        weights = np.zeros(len(rows))
        np.maximum.at(weights, group, links["weight"])
        if self._mask is not None:
            rows, weights = rows[self._mask[rows]], weights[self._mask[rows]]
        signals = signal * np.minimum(weights, self._policy.signal_decay)
        retention, boost_days = self._vigour(rows)
        chances = selection_probability(weights, retention, boost_days, np.full(len(rows), signal), self._policy)
        met = best_in_order(self._snapshot, rows, chances, self._policy.max_draws + 1)  # one more, to tell it is cut
        return _Neighbours(
            row, iter(list(zip(rows[met].tolist(), chances[met].tolist(), signals[met].tolist(), strict=True)))
        )
