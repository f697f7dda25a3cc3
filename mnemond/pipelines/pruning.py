"""The pruning that nobody asks for: what is beyond the capacity of a store, and what has faded away (spec 13).

A write prunes a few memories by itself where it makes a store too large (`pipelines.capacity`); this is for the rest,
and stops where it would take too much at once: a clock that jumped, or a setting that was mistyped, looks like that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Change, RetireInsight
from mnemond.model.policy import LifecyclePolicy
from mnemond.model.timestamp import DAY_US
from mnemond.pipelines.capacity import immune, importances, keeps_company, weakest
from mnemond.pipelines.pairing import parted
from mnemond.rank.decay import DECAY, ISOLATED_WEIGHT
from mnemond.rank.tie_order import Scores

BRAKE: Final = 0.05
"""Share of a store that one run prunes at most without being told to (spec 13, clock rules)."""


class Candidates(msgspec.Struct, frozen=True):
    """Memories to prune, in the order they go. `faded`: those that go whatever the size of the store. `used_us`: when
    each was used last."""

    ids: tuple[str, ...]
    faded: frozenset[str]
    used_us: dict[str, int | None]


def most_at_once(live: int) -> int:
    """Of a store with so many live memories a run takes no more than these; one it may always take."""
    return max(1, math.floor(live * BRAKE))


def candidates(snapshot: Snapshot, lifecycle: LifecyclePolicy, now_us: int) -> Candidates:
    """What a prune would take at `now_us`; nothing immune, nor the older of a pair. Not for the event loop."""
    faded = _faded(snapshot, lifecycle, now_us)
    excess = _excess(snapshot, lifecycle) - len(faded)
    ids = list(faded)
    known = frozenset(faded)
    if excess > 0:
        for row in weakest(snapshot, lifecycle, importances(snapshot, now_us), math.inf):
            it = snapshot.insight(row)
            if it.id not in known and not keeps_company(snapshot, it):
                ids.append(it.id)
                excess -= 1
                if not excess:
                    break
    return Candidates(tuple(ids), known, {each: _used_us(snapshot, each) for each in ids})


def _used_us(snapshot: Snapshot, insight_id: str) -> int | None:
    """When a live memory was used last, or made; None when it is not live."""
    row = snapshot.row_of(insight_id)
    return None if row is None else int(snapshot.accessed_us[row])


def _excess(snapshot: Snapshot, lifecycle: LifecyclePolicy) -> int:
    return max(0, snapshot.live - lifecycle.max_insights) if lifecycle.max_insights > 0 else 0


def _faded(snapshot: Snapshot, lifecycle: LifecyclePolicy, now_us: int) -> list[str]:
    """What no link keeps any more, the most faded first (S2, probability pruning)."""
    cap, pruning = lifecycle.max_insights, lifecycle.pruning
    if not pruning.enabled or cap <= 0 or snapshot.live <= pruning.fullness * cap:
        return []
    scores = prune_scores(snapshot, now_us)
    rows = np.flatnonzero(snapshot.alive() & ~immune(snapshot, lifecycle) & (scores < pruning.threshold))
    ordered = rows[np.lexsort((rows, scores[rows]))].tolist()
    return [it.id for row in ordered if not keeps_company(snapshot, it := snapshot.insight(row))]


def prune_scores(snapshot: Snapshot, now_us: int) -> Scores:
    """PS of every row, shape (rows,): its heaviest link to a live memory times how little it has faded (spec 7.6).

    The same as `rank.decay.prune_score` row by row. Ages count from the last use; those of dead rows mean nothing.
    """
    strongest = np.full(snapshot.rows, -1.0)
    owners, links = snapshot.fan(range(snapshot.rows))
    np.maximum.at(strongest, owners, links["weight"].astype(np.float64))
    strongest[strongest < 0.0] = ISOLATED_WEIGHT
    boosts = np.array([snapshot.insight(row).boost_days for row in range(snapshot.rows)], dtype=np.float64)
    ages = np.maximum(0.0, (now_us - snapshot.accessed_us) / DAY_US - boosts)
    with np.errstate(over="ignore"):  # what is infinitely old has faded to nothing
        left: Scores = (1.0 - DECAY.floor) / (1.0 + np.exp((ages - DECAY.midpoint_days) / DECAY.steepness_days))
    return strongest * left


def retired(snapshot: Snapshot, ids: Sequence[str], planned: Candidates, lifecycle: LifecyclePolicy) -> list[Change]:
    """The changes that prune these of what was planned, as far as it is still right: they are live, not immune, and
    were not used since; those that have not faded, while the store is too large."""
    spared = immune(snapshot, lifecycle)
    excess = _excess(snapshot, lifecycle)
    changes: list[Change] = []
    for each in ids:
        row = snapshot.row_of(each)
        if row is None or spared[row] or _used_us(snapshot, each) != planned.used_us[each]:
            continue
        it = snapshot.insight(row)
        if keeps_company(snapshot, it) or (each not in planned.faded and excess <= 0):
            continue
        changes += [*parted(snapshot, it), RetireInsight(each, "pruned")]
        excess -= 1
    return changes
