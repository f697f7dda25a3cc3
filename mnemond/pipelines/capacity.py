"""The capacity prune: a store above its cap lets go of what matters least, never of what was just written (spec 13)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.changes import Change, RetireInsight
from mnemond.model.effective_importance import effective_importances
from mnemond.model.insight import Insight
from mnemond.model.policy import LifecyclePolicy
from mnemond.model.timestamp import DAY_US
from mnemond.pipelines.pairing import parted, partner_of


def prune(snapshot: Snapshot, adding: int, policy: LifecyclePolicy, now_us: int, spare: frozenset[str]) -> list[Change]:
    """Retire the least important rows that are not immune, at most `prune_batch`, as many as are too many.

    Their importance is worked out for `now_us`: the stored one is as old as the last write that touched it. `spare`
    are ids that this operation changes otherwise. Of equal ones the oldest goes first. When all are immune, none.
    """
    excess = snapshot.live + adding - policy.max_insights
    if policy.max_insights <= 0 or excess <= 0:
        return []
    changes: list[Change] = []
    left = min(excess, policy.prune_batch)
    for row in least_important(snapshot, policy, now_us):
        insight = snapshot.insight(row)
        if insight.id in spare or keeps_company(snapshot, insight):
            continue
        changes += [*parted(snapshot, insight), RetireInsight(insight.id, "pruned")]
        left -= 1
        if not left:
            break
    return changes


def least_important(snapshot: Snapshot, policy: LifecyclePolicy, now_us: int) -> list[int]:
    """Live rows that are not immune by importance, use or pin, the least important first, of equal ones the oldest."""
    return weakest(snapshot, policy, importances(snapshot, now_us), math.inf)


def weakest(
    snapshot: Snapshot, policy: LifecyclePolicy, values: npt.NDArray[np.float64], below: float, seen: Mask | None = None
) -> list[int]:
    """Of these rows the ones whose value lies below a threshold. `values` and `seen` (rows that count at all, None: all
    live ones) have shape (rows,)."""
    wanted = ~immune(snapshot, policy) & (values < below) & (snapshot.alive() if seen is None else seen)
    rows = np.flatnonzero(wanted)
    found: list[int] = rows[np.lexsort((rows, snapshot.created_us[rows], values[rows]))].tolist()
    return found


def importances(snapshot: Snapshot, now_us: int) -> npt.NDArray[np.float64]:
    """Effective importance of every row at `now_us`, shape (rows,)."""
    return effective_importances(
        snapshot.importance, snapshot.accesses, (now_us - snapshot.accessed_us) / DAY_US, snapshot.degrees
    )


def immune(snapshot: Snapshot, policy: LifecyclePolicy) -> npt.NDArray[np.bool_]:
    """Which rows no prune takes for what they are: important, often used, or pinned; shape (rows,)."""
    found: npt.NDArray[np.bool_] = (
        (snapshot.importance >= policy.immune_importance)
        | (snapshot.accesses >= policy.immune_access)
        | (snapshot.pinned != 0)
    )
    return found


def keeps_company(snapshot: Snapshot, insight: Insight) -> bool:
    """Whether it is the older of a pair, which stays for the younger's sake."""
    partner = partner_of(snapshot, insight)
    return partner is not None and (insight.created_at, insight.id) < (partner.created_at, partner.id)
