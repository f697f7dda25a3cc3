"""Retention: capacity and probability pruning, gc, expiry, and refresh of the effective importances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.index.arrays import Mask, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import parted, partner_of
from mnemond.memory.decay import DECAY, ISOLATED_WEIGHT
from mnemond.memory.write import WriteContext
from mnemond.model.answers import GcCandidate, GcFlagged
from mnemond.model.changes import (
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RetireInsight,
    SetImportance,
)
from mnemond.model.memory import (
    DAY_US,
    EXTRACTED,
    Insight,
    Scope,
    effective_importances,
    format_us,
    parse_rfc3339,
)
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.model.query import Filter
from mnemond.store import insights
from mnemond.store.operations import Proposal, View
from mnemond.text.quality import quality_warnings
from mnemond.text.secrets import redact


def prune(
    snapshot: Snapshot, adding: int, lifecycle: LifecycleSettings, now_us: int, spare: frozenset[str]
) -> list[Change]:
    """Retire the first rows of `leaving`: the excess over the capacity, at most `prune_batch`.

    `spare` are ids that this operation changes otherwise.
    """
    excess = snapshot.live + adding - lifecycle.max_insights
    if lifecycle.max_insights <= 0 or excess <= 0:
        return []
    changes: list[Change] = []
    left = min(excess, lifecycle.prune_batch)
    for row in leaving(snapshot, lifecycle, now_us):
        insight = snapshot.insight(row)
        if insight.id in spare or keeps_company(snapshot, insight):
            continue
        changes += [*parted(snapshot, insight), RetireInsight(insight.id, "pruned")]
        left -= 1
        if not left:
            break
    return changes


def leaving(snapshot: Snapshot, lifecycle: LifecycleSettings, now_us: int) -> list[int]:
    """Return the live rows that are not immune in the order in which a full store prunes them: the least important
    first, ties by age, but every extracted memory before all notes by hand of its stated importance or a higher one.

    Importance is computed for `now_us`: the stored one is as old as the last write of the row.
    """
    rows = np.flatnonzero(snapshot.alive() & ~immune(snapshot, lifecycle))
    columns, own = snapshot.columns, importances(snapshot, now_us)[rows]
    stated, by_hand = columns.importance[rows], ~snapshot.of_channel(EXTRACTED)[rows]
    places = own.copy()
    for level in np.unique(stated[~by_hand]).tolist():
        outlived = own[by_hand & (stated >= level)]
        if outlived.size:
            these = ~by_hand & (stated == level)
            places[these] = np.minimum(places[these], outlived.min())
    found: list[int] = rows[np.lexsort((rows, columns.created_us[rows], own, by_hand, places))].tolist()
    return found


def weakest(
    snapshot: Snapshot,
    lifecycle: LifecycleSettings,
    values: npt.NDArray[np.float64],
    below: float,
    seen: Mask | None = None,
) -> list[int]:
    """Return the rows that are not immune with a value below a threshold, lowest first, ties by age.

    `values` and `seen` (candidate rows, None: all live ones) have shape (rows,).
    """
    wanted = ~immune(snapshot, lifecycle) & (values < below) & (snapshot.alive() if seen is None else seen)
    rows = np.flatnonzero(wanted)
    found: list[int] = rows[np.lexsort((rows, snapshot.columns.created_us[rows], values[rows]))].tolist()
    return found


def importances(snapshot: Snapshot, now_us: int) -> npt.NDArray[np.float64]:
    """Compute the effective importance of every row at `now_us`, shape (rows,)."""
    return effective_importances(
        snapshot.columns.importance,
        snapshot.columns.accesses,
        (now_us - snapshot.columns.accessed_us) / DAY_US,
        snapshot.columns.degree,
    )


def immune(snapshot: Snapshot, lifecycle: LifecycleSettings) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that are never pruned: important, often used, pinned, or rules that a person
    enforces; shape (rows,)."""
    found: npt.NDArray[np.bool_] = (
        (snapshot.columns.importance >= lifecycle.immune_importance)
        | (snapshot.columns.accesses >= lifecycle.immune_access)
        | (snapshot.columns.pinned != 0)
    )
    for it in snapshot.with_triggers():
        if it.is_enforced and (row := snapshot.row_of(it.id)) is not None:
            found[row] = True
    return found


def keeps_company(snapshot: Snapshot, insight: Insight) -> bool:
    """Return True for the older memory of a pair, which is kept for the younger's sake."""
    partner = partner_of(snapshot, insight)
    return partner is not None and (insight.created_at, insight.id) < (partner.created_at, partner.id)


# gc: list the least important memories, and keep, retire or purge them.


KEPT_ACCESSES = 3
"""Uses counted for keeping a memory: enough to make it immune."""

PURGED_AT_ONCE = 100
"""Rows a purge removes at once. Writes wait meanwhile: in a store of 20,000 memories 0.9 s for removing them, and as
long again or twice for rewriting the file."""


class Bounds(msgspec.Struct, frozen=True):
    """Memories that gc considers: at most `limit` with an effective importance below `threshold`."""

    threshold: float
    limit: int
    scope: Scope = Scope()


class Flagged(NamedTuple):
    """A memory whose text may need rewriting, and its creation time."""

    shown: GcFlagged
    created_at: str


def weak(
    snapshot: Snapshot, bounds: Bounds, lifecycle: LifecycleSettings, now_us: int
) -> tuple[list[GcCandidate], int]:
    """Return the least important memories that are not immune, least first, and their total number.

    Takes a microsecond a row or two: not for the event loop.
    """
    values = importances(snapshot, now_us)
    rows = weakest(snapshot, lifecycle, values, bounds.threshold, snapshot.visible(_everything(bounds.scope)))
    alone = [row for row in rows if not keeps_company(snapshot, snapshot.insight(row))]
    return [_candidate(snapshot, row, float(values[row]), now_us) for row in alone[: bounds.limit]], len(alone)


def _candidate(snapshot: Snapshot, row: int, value: float, now_us: int) -> GcCandidate:
    it = snapshot.insight(row)
    return GcCandidate(
        id=it.id,
        content=it.content,
        category=it.category,
        importance=it.importance,
        access_count=it.access_count,
        effective_importance=round(value, 6),
        days_since_access=round(max(0.0, (now_us - int(snapshot.columns.accessed_us[row])) / DAY_US), 1),
        edge_count=snapshot.link_count(row),
        immune=False,
    )


def _everything(scope: Scope) -> Filter:
    return Filter(scope=scope, all_sessions=scope.session_id is None)


def visible_rows(snapshot: Snapshot, scope: Scope) -> list[int]:
    """Return the live rows that a scope admits."""
    mask = snapshot.visible(_everything(scope))
    return list(range(snapshot.rows)) if mask is None else mask.nonzero()[0].tolist()


def review(snapshot: Snapshot, rows: Iterable[int]) -> list[Flagged]:
    """Return the rows whose texts have quality warnings or contain secrets.

    Takes some tens of microseconds a row: not for the event loop, and not for many rows at once.
    """
    found = (_flagged(snapshot.insight(row)) for row in rows)
    return [each for each in found if each.shown.quality_warnings]


def _flagged(it: Insight) -> Flagged:
    clean = redact(it.content)
    warnings = [warning.label for warning in quality_warnings(clean.text)]
    secrets = [f"holds what looks like a secret: {kind}" for kind in clean.kinds]
    return Flagged(GcFlagged(it.id, clean.text, it.importance, [*dict.fromkeys([*secrets, *warnings])]), it.created_at)


def worst_first(flagged: Iterable[Flagged]) -> list[GcFlagged]:
    """Sort by number of warnings, then importance, then newest first."""
    newest = sorted(flagged, key=lambda each: (each.created_at, each.shown.id), reverse=True)
    shown = (each.shown for each in newest)
    return sorted(shown, key=lambda each: (-len(each.quality_warnings), -each.importance))


def propose_keep(insight_id: str, lifecycle: LifecycleSettings, identity: WriteContext) -> Proposal:
    """Propose to keep a memory out of gc. Refused when it is not active any more."""
    return identity.proposal("gc", partial(_keep, insight_id, lifecycle, identity))


def _keep(insight_id: str, lifecycle: LifecycleSettings, identity: WriteContext, view: View) -> ChangeSet:
    it = insights.read(view.connection, insight_id) or Insight(insight_id, identity.now, identity.now, content="")
    kept = msgspec.structs.replace(
        it,
        access_count=it.access_count + KEPT_ACCESSES,
        last_accessed_at=identity.now,
        updated_at=identity.now,
    )
    is_immune = kept.access_count >= lifecycle.immune_access
    outcome = GcKept(
        status="retained",
        id=insight_id,
        content=it.content,
        new_access=kept.access_count,
        effective_importance=0.0,  # computed by the store
        immune=is_immune,
        op_id=identity.op_id,
        replayed=False,
    )
    changes = (PutInsight(kept),)
    return identity.change_set("gc", changes, outcome, operation="gc-keep", subject=insight_id, detail="access+3")


def propose_apply(bounds: Bounds, lifecycle: LifecycleSettings, identity: WriteContext) -> Proposal:
    """Propose to retire the memories that `weak` returns by then, as one operation."""
    return identity.proposal("gc", partial(_apply, bounds, lifecycle, identity))


def _apply(bounds: Bounds, lifecycle: LifecycleSettings, identity: WriteContext, view: View) -> ChangeSet:
    found, many = weak(view.snapshot, bounds, lifecycle, identity.now_us)
    ids = [each.id for each in found]
    changes: list[Change] = []
    for row in map(view.snapshot.row_of, ids):
        assert row is not None, "it is in this snapshot"  # noqa: S101
        it = view.snapshot.insight(row)
        changes += [*parted(view.snapshot, it), RetireInsight(it.id, "forgotten")]
    outcome = GcDone("retired", len(ids), ids, left=many - len(ids), op_id=identity.op_id, replayed=False)
    detail = f"threshold={bounds.threshold} retired={len(ids)}"
    return identity.change_set("gc", tuple(changes), outcome, detail=detail)


def propose_purge(days: int, identity: WriteContext) -> Proposal:
    """Propose to remove rows retired more than `days` ago, the oldest first, at most PURGED_AT_ONCE."""
    return identity.proposal("gc", partial(_purge, days, identity))


def _purge(days: int, identity: WriteContext, view: View) -> ChangeSet:
    moment = format_us(max(0, identity.now_us - int(days * DAY_US)))
    ids = insights.retired_before(view.connection, moment, PURGED_AT_ONCE)
    left = insights.count_retired_before(view.connection, moment) - len(ids)
    outcome = GcDone("purged", len(ids), ids, left=left, op_id=identity.op_id, replayed=False)
    changes = tuple(PurgeInsight(each) for each in ids)
    return identity.change_set("gc", changes, outcome, detail=f"older_than_days={days} purged={len(ids)}")


# Decay refresh: update the stored effective importance as time passes.
#
# Ranking and pruning compute the importance themselves (docs/decisions/0008); the stored one is for display. So a row
# is rewritten only where it would read otherwise: a memory of importance .5 twice a day, a faded one hardly ever.


IMPORTANCE_TOLERANCE: Final = 0.005
"""Maximum error of a stored importance: half of the last displayed digit."""

IMPORTANCE_DIGITS: Final = 6
"""Stored decimals, as by every other write."""


def stale(snapshot: Snapshot, now_us: int, tolerance: float = IMPORTANCE_TOLERANCE) -> list[str]:
    """Return the ids of the live memories whose stored importance is off by more than `tolerance` at `now_us`, in row
    order. Takes a microsecond a row: not for the event loop."""
    rows = np.flatnonzero(snapshot.alive())
    stored = np.array([snapshot.insight(row).effective_importance for row in rows.tolist()], dtype=np.float64)
    true = np.round(importances(snapshot, now_us)[rows], IMPORTANCE_DIGITS)
    return [snapshot.insight(row).id for row in rows[np.abs(true - stored) > tolerance].tolist()]


def refreshed(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[SetImportance]:
    """Return the changes that correct the stored importance of these memories, where live and different."""
    rows = [row for each in ids if (row := snapshot.row_of(each)) is not None]
    if not rows:
        return []
    values = np.round(importances(snapshot, now_us)[rows], IMPORTANCE_DIGITS).tolist()
    found = [(snapshot.insight(row), value) for row, value in zip(rows, values, strict=True)]
    return [SetImportance(it.id, value) for it, value in found if it.effective_importance != value]


# Expiry. Reads leave expired memories out from the moment of expiry, so their retirement may come late.


def expired(snapshot: Snapshot, now_us: int) -> list[str]:
    """Return the ids of the live memories that expire at `now_us` or before, the earliest first, without rules that a
    person enforces. Takes some tenths of a microsecond a row: not for the event loop."""
    found: list[tuple[int, str]] = []
    for row in np.flatnonzero(snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if it.expires_at is not None and not it.is_enforced and (at := parse_rfc3339(it.expires_at)) <= now_us:
            found.append((at, it.id))
    return [each for _, each in sorted(found)]


def retire_expired(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[Change]:
    """Return the changes that retire these memories, where they are live and still due."""
    leaving = {it.id: it for each in ids if (it := _due(snapshot, each, now_us)) is not None}
    changes: list[Change] = []
    for it in leaving.values():
        unpaired = [each for each in parted(snapshot, it) if isinstance(each, PutInsight)]
        changes += [each for each in unpaired if each.insight.id not in leaving]
        changes.append(RetireInsight(it.id, "expired"))
    return changes


def _due(snapshot: Snapshot, insight_id: str, now_us: int) -> Insight | None:
    row = snapshot.row_of(insight_id)
    it = None if row is None else snapshot.insight(row)
    if it is None or it.is_enforced or it.expires_at is None:
        return None
    return it if parse_rfc3339(it.expires_at) <= now_us else None


# Background pruning: memories beyond the capacity of a store, and faded ones.
#
# A write prunes a few memories itself where it makes a store too large (`prune`); this is for the rest, and stops where
# it would take too much at once, as after a clock jump or a mistyped setting.


MAX_SHARE: Final = 0.05
"""Share of a store that one run prunes at most unless confirmed."""

PRUNING_FULLNESS: Final = 0.9
"""Share of `lifecycle.max_insights` from which faded memories are pruned (Mnemosyne, probability pruning)."""


class Candidates(msgspec.Struct, frozen=True):
    """Memories to prune, in order. `faded`: those to prune whatever the size of the store. `used_us`: the time of each
    one's last use."""

    ids: tuple[str, ...]
    faded: frozenset[str]
    used_us: dict[str, int | None]


def most_at_once(live: int) -> int:
    """Return the maximum number of memories a run prunes in a store of `live` memories; at least one."""
    return max(1, math.floor(live * MAX_SHARE))


def candidates(snapshot: Snapshot, config: Config, now_us: int) -> Candidates:
    """Return the memories to prune at `now_us`; nothing immune, nor the older of a pair. Not for the event loop."""
    lifecycle, faded = config.lifecycle, _faded(snapshot, config, now_us)
    excess = _excess(snapshot, lifecycle) - len(faded)
    ids = list(faded)
    known = frozenset(faded)
    if excess > 0:
        for row in leaving(snapshot, lifecycle, now_us):
            it = snapshot.insight(row)
            if it.id not in known and not keeps_company(snapshot, it):
                ids.append(it.id)
                excess -= 1
                if not excess:
                    break
    return Candidates(tuple(ids), known, {each: _used_us(snapshot, each) for each in ids})


def _used_us(snapshot: Snapshot, insight_id: str) -> int | None:
    """Return when a live memory was last used or created; None when it is not live."""
    row = snapshot.row_of(insight_id)
    return None if row is None else int(snapshot.columns.accessed_us[row])


def _excess(snapshot: Snapshot, lifecycle: LifecycleSettings) -> int:
    return max(0, snapshot.live - lifecycle.max_insights) if lifecycle.max_insights > 0 else 0


def _faded(snapshot: Snapshot, config: Config, now_us: int) -> list[str]:
    """Return the memories with a pruning score below the threshold, the lowest first (Mnemosyne, probability
    pruning)."""
    cap, pruning = config.lifecycle.max_insights, config.pruning
    if not pruning.enabled or cap <= 0 or snapshot.live <= PRUNING_FULLNESS * cap:
        return []
    scores = prune_scores(snapshot, now_us)
    rows = np.flatnonzero(snapshot.alive() & ~immune(snapshot, config.lifecycle) & (scores < pruning.threshold))
    ordered = rows[np.lexsort((rows, scores[rows]))].tolist()
    return [it.id for row in ordered if not keeps_company(snapshot, it := snapshot.insight(row))]


def prune_scores(snapshot: Snapshot, now_us: int) -> Scores:
    """Compute `decay.prune_score` of every row, shape (rows,). Ages count from the last use; values of dead rows are
    meaningless."""
    strongest = np.full(snapshot.rows, -1.0)
    owners, links = snapshot.fan(range(snapshot.rows))
    np.maximum.at(strongest, owners, links["weight"].astype(np.float64))
    strongest[strongest < 0.0] = ISOLATED_WEIGHT
    boosts = np.array([snapshot.insight(row).boost_days for row in range(snapshot.rows)], dtype=np.float64)
    ages = np.maximum(0.0, (now_us - snapshot.columns.accessed_us) / DAY_US - boosts)
    with np.errstate(over="ignore"):  # infinite age gives 0
        left: Scores = (1.0 - DECAY.floor) / (1.0 + np.exp((ages - DECAY.midpoint_days) / DECAY.steepness_days))
    return strongest * left


def retire_pruned(
    snapshot: Snapshot, ids: Sequence[str], planned: Candidates, lifecycle: LifecycleSettings
) -> list[Change]:
    """Return the changes that prune these planned memories, where still due: live, not immune and not used since;
    those that have not faded, while the store is too large."""
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
