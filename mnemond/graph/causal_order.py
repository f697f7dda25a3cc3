"""Results of a question why, causes first (spec 11.7), and the chain of causes behind one of them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from mnemond.index.adjacency import CAUSAL, INWARDS, OUTWARDS
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall_policy import CausalOrderPolicy

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


def explanation(
    position: int, scores: Sequence[float], causes: Links, policy: CausalOrderPolicy | None = None
) -> tuple[int, ...]:
    """The result at `position`, its best cause, the best cause of that, and so on: at most `max_chain` causes, none
    twice. Of equal ones the one that comes first."""
    chain = [position]
    for _ in range((policy or CausalOrderPolicy()).max_chain):
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
