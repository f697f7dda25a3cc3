"""Causal links of results: causes that join them, causes before their effects, and the chain of causes behind one."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mnemond.index.arrays import Mask
from mnemond.index.edges import CAUSAL, INWARDS, OUTWARDS
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep, Signals, six
from mnemond.model.query import Hit

MAX_CHAIN = 5
"""Causes in the chain behind one result."""

EXPLAINED = 3
"""Results at the top whose causes join the results."""

MAX_JOINING = 3
"""Causes that join the results of one question."""

Links = Sequence[Sequence[int]]
"""For each position, the positions of its effects (or of its causes)."""


class Causes(NamedTuple):
    """Causal links among results: positions of the effects and of the causes of each, ascending."""

    effects: tuple[tuple[int, ...], ...]
    causes: tuple[tuple[int, ...], ...]


def causal_pairs(snapshot: Snapshot, rows: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return the causal links between `rows`, of any sub_type ("prevents" counts too): positions of cause and effect →
    weight."""
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
    """Return `causal_pairs` by position."""
    effects: list[list[int]] = [[] for _ in rows]
    causes: list[list[int]] = [[] for _ in rows]
    for cause, effect in sorted(causal_pairs(snapshot, rows)):
        effects[cause].append(effect)
        causes[effect].append(cause)
    return Causes(tuple(map(tuple, effects)), tuple(map(tuple, causes)))


def with_causes(snapshot: Snapshot, hits: Sequence[Hit], visible: Mask | None, limit: int) -> tuple[Hit, ...]:
    """Add the visible causes, one link away, of the first `EXPLAINED` hits (best first), each before what it explains.

    At most `MAX_JOINING`, those of better hits first, then of heavier links. A full answer loses as many of its last
    hits as causes join, at most half of `limit`. A cause has the score of its effect.
    """
    room = min(MAX_JOINING, max(limit - len(hits), limit // 2))
    texts = set(snapshot.text_hashes(known)) if (known := _rows(snapshot, hits)) else set()
    joining: list[tuple[Hit, ...]] = []
    for hit, row in zip(hits[:EXPLAINED], known, strict=False):
        causes: list[Hit] = []
        for cause, weight in _causes_of(snapshot, row, visible):
            (text,) = snapshot.text_hashes([cause])
            if room and text not in texts:
                texts.add(text)
                room -= 1
                causes.append(_as_hit(snapshot, cause, hit, weight))
        joining.append(tuple(causes))
    count = sum(map(len, joining))
    if not count:
        return tuple(hits)
    kept = hits[: limit - count]
    joining += [()] * (len(kept) - len(joining))
    return tuple(each for hit, causes in zip(kept, joining, strict=False) for each in (*causes, hit))


def _rows(snapshot: Snapshot, hits: Sequence[Hit]) -> list[int]:
    """Return the rows of hits; empty if one is retired, as retired memories have no links."""
    rows = [snapshot.row_of(hit.insight.id) for hit in hits]
    known = [row for row in rows if row is not None]
    return known if len(known) == len(rows) else []


def _causes_of(snapshot: Snapshot, row: int, visible: Mask | None) -> list[tuple[int, float]]:
    """Return (row, weight) of each visible cause one link away, heaviest link first, then by id."""
    _, links = snapshot.fan([row])
    inwards = links[(links["type"] == CAUSAL) & ((links["ways"] & INWARDS) != 0)]
    if visible is not None:
        inwards = inwards[visible[inwards["row"].astype(np.int64)]]
    found = [(int(each["row"]), float(each["weight"])) for each in inwards]
    return sorted(found, key=lambda each: (-each[1], snapshot.insight(each[0]).id))


def _as_hit(snapshot: Snapshot, cause: int, effect: Hit, weight: float) -> Hit:
    return Hit(
        snapshot.insight(cause),
        effect.score,
        "low" if effect.confidence == "low" else "medium",
        ("causal",),
        Signals(keyword=0.0, entity=0.0, similarity=0.0, graph=six(min(1.0, weight))),
        (PathStep(effect.insight.id, "causal", round(weight, 6)),),
    )


def causal_order(scores: Sequence[float], times_us: Sequence[int | None], effects: Links) -> list[int]:
    """Return the positions of the results, every cause before its effects, else the better ones first.

    Results that cause each other in a cycle stay together, placed by the best of them, and ordered by the times of
    their events (None last), then scores. Equal ones keep their order.
    """
    cycles = _components(effects)
    of = {position: number for number, cycle in enumerate(cycles) for position in cycle}
    following = [{of[effect] for position in cycle for effect in effects[position]} - {number}
                 for number, cycle in enumerate(cycles)]  # fmt: skip
    waiting_for = [0] * len(cycles)
    for others in following:
        for other in others:
            waiting_for[other] += 1
    rank = [(-max(scores[position] for position in cycle), min(cycle)) for cycle in cycles]
    ready = [(*rank[number], number) for number, waits in enumerate(waiting_for) if not waits]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        number = heapq.heappop(ready)[-1]
        ordered += sorted(cycles[number], key=lambda position: _moment(position, scores, times_us))
        for other in following[number]:
            waiting_for[other] -= 1
            if not waiting_for[other]:
                heapq.heappush(ready, (*rank[other], other))
    return ordered


def explanation(position: int, scores: Sequence[float], causes: Links, max_chain: int = MAX_CHAIN) -> tuple[int, ...]:
    """Return the result at `position`, its best cause, the best cause of that, and so on: at most `max_chain` causes,
    none twice. Of equal ones the first."""
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


def _components(effects: Links) -> list[list[int]]:
    """Return the strongly connected components (Tarjan 1972), without recursion: a chain of a thousand is too deep."""
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
                    found.append(_pop_component(here, open_, is_open))
            elif following not in order:
                order[following] = low[following] = len(order)
                open_.append(following)
                is_open.add(following)
                path.append((following, iter(effects[following])))
            elif following in is_open:
                low[here] = min(low[here], order[following])
    return found


def _pop_component(first: int, open_: list[int], is_open: set[int]) -> list[int]:
    cycle = [open_.pop()]
    while cycle[-1] != first:
        cycle.append(open_.pop())
    is_open.difference_update(cycle)
    return cycle
