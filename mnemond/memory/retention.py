"""The capacity prune: a store above its cap lets go of what matters least, never of what was just written (spec 13)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.settings import Config, LifecycleSettings, TouchSettings
from mnemond.index.arrays import Mask, Scores
from mnemond.index.pagerank import pagerank
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import parted, partner_of
from mnemond.memory.decay import DECAY, ISOLATED_WEIGHT
from mnemond.memory.draft import WriteContext
from mnemond.model.answers import GcCandidate, GcFlagged
from mnemond.model.changes import Change, ChangeSet, CountUse, PurgeInsight, PutInsight, RetireInsight, SetImportance
from mnemond.model.memory import DAY_US, Insight, Scope, effective_importances, format_us, parse_rfc3339
from mnemond.model.outcomes import GcDone, GcKept, Outcome, Used
from mnemond.model.query import Confidence, Filter
from mnemond.store import insights
from mnemond.store.edges import Metric
from mnemond.store.operations import Proposal, View
from mnemond.text.quality import quality_warnings
from mnemond.text.secrets import redact


def prune(
    snapshot: Snapshot, adding: int, lifecycle: LifecycleSettings, now_us: int, spare: frozenset[str]
) -> list[Change]:
    """Retire the least important rows that are not immune, at most `prune_batch`, as many as are too many.

    Their importance is worked out for `now_us`: the stored one is as old as the last write that touched it. `spare`
    are ids that this operation changes otherwise. Of equal ones the oldest goes first. When all are immune, none.
    """
    excess = snapshot.live + adding - lifecycle.max_insights
    if lifecycle.max_insights <= 0 or excess <= 0:
        return []
    changes: list[Change] = []
    left = min(excess, lifecycle.prune_batch)
    for row in least_important(snapshot, lifecycle, now_us):
        insight = snapshot.insight(row)
        if insight.id in spare or keeps_company(snapshot, insight):
            continue
        changes += [*parted(snapshot, insight), RetireInsight(insight.id, "pruned")]
        left -= 1
        if not left:
            break
    return changes


def least_important(snapshot: Snapshot, lifecycle: LifecycleSettings, now_us: int) -> list[int]:
    """Live rows that are not immune by importance, use or pin, the least important first, of equal ones the oldest."""
    return weakest(snapshot, lifecycle, importances(snapshot, now_us), math.inf)


def weakest(
    snapshot: Snapshot,
    lifecycle: LifecycleSettings,
    values: npt.NDArray[np.float64],
    below: float,
    seen: Mask | None = None,
) -> list[int]:
    """Of these rows the ones whose value lies below a threshold. `values` and `seen` (rows that count at all, None: all
    live ones) have shape (rows,)."""
    wanted = ~immune(snapshot, lifecycle) & (values < below) & (snapshot.alive() if seen is None else seen)
    rows = np.flatnonzero(wanted)
    found: list[int] = rows[np.lexsort((rows, snapshot.columns.created_us[rows], values[rows]))].tolist()
    return found


def importances(snapshot: Snapshot, now_us: int) -> npt.NDArray[np.float64]:
    """Effective importance of every row at `now_us`, shape (rows,)."""
    return effective_importances(
        snapshot.columns.importance,
        snapshot.columns.accesses,
        (now_us - snapshot.columns.accessed_us) / DAY_US,
        snapshot.columns.degree,
    )


def immune(snapshot: Snapshot, lifecycle: LifecycleSettings) -> npt.NDArray[np.bool_]:
    """Which rows no prune takes for what they are: important, often used, or pinned; shape (rows,)."""
    found: npt.NDArray[np.bool_] = (
        (snapshot.columns.importance >= lifecycle.immune_importance)
        | (snapshot.columns.accesses >= lifecycle.immune_access)
        | (snapshot.columns.pinned != 0)
    )
    return found


def keeps_company(snapshot: Snapshot, insight: Insight) -> bool:
    """Whether it is the older of a pair, which stays for the younger's sake."""
    partner = partner_of(snapshot, insight)
    return partner is not None and (insight.created_at, insight.id) < (partner.created_at, partner.id)


# gc: which memories matter least by now, and what is done about them: kept, let go of, or removed (spec 13).


KEPT_ACCESSES = 3
"""Uses that keeping a memory counts for: enough to make it immune (spec 13)."""

PURGED_AT_ONCE = 100
"""Rows a purge removes at once. Writes wait meanwhile: in a store of 20,000 memories 0.9 s for removing them, and as
long again or twice for writing the file anew."""


class Bounds(msgspec.Struct, frozen=True):
    """Which memories gc looks at: those of less effective importance than `threshold`, at most `limit` of them."""

    threshold: float
    limit: int
    scope: Scope = Scope()


class Flagged(NamedTuple):
    """A memory whose text may have to be written again, and when it was made."""

    shown: GcFlagged
    created_at: str


def weak(
    snapshot: Snapshot, bounds: Bounds, lifecycle: LifecycleSettings, now_us: int
) -> tuple[list[GcCandidate], int]:
    """The least important memories, least first, and how many there are in all. Nothing immune is among them.

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
    """Live rows that a scope admits; of nobody in particular, all."""
    mask = snapshot.visible(_everything(scope))
    return list(range(snapshot.rows)) if mask is None else mask.nonzero()[0].tolist()


def review(snapshot: Snapshot, rows: Iterable[int]) -> list[Flagged]:
    """Of these rows the ones whose texts may grow stale, say too little, or give a secret away.

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
    """Most warnings first, of equally many the more important, then the newer."""
    newest = sorted(flagged, key=lambda each: (each.created_at, each.shown.id), reverse=True)
    shown = (each.shown for each in newest)
    return sorted(shown, key=lambda each: (-len(each.quality_warnings), -each.importance))


# ------------------------------------------------------------------ writes


def propose_keep(insight_id: str, lifecycle: LifecycleSettings, identity: WriteContext) -> Proposal:
    """The write that makes gc leave a memory alone. Refused when it is not active any more."""
    return identity.proposal("gc", partial(_keep, insight_id, lifecycle, identity))


def _keep(insight_id: str, lifecycle: LifecycleSettings, identity: WriteContext, view: View) -> ChangeSet:
    it = insights.read(view.connection, insight_id) or Insight(insight_id, "", identity.now, identity.now)
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
        effective_importance=0.0,  # the store works it out
        immune=is_immune,
        op_id=identity.op_id,
        replayed=False,
    )
    return _change_set(identity, (PutInsight(kept),), outcome, "gc-keep", insight_id, "access+3")


def propose_apply(bounds: Bounds, lifecycle: LifecycleSettings, identity: WriteContext) -> Proposal:
    """The write that takes out of recall what `weak` lists by then, as one operation."""
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
    return _change_set(identity, tuple(changes), outcome, "gc", None, detail)


def propose_purge(days: int, identity: WriteContext) -> Proposal:
    """The write that removes rows that left recall longer than `days` ago, the longest ago first, so many at most that
    other writes need not wait long."""
    return identity.proposal("gc", partial(_purge, days, identity))


def _purge(days: int, identity: WriteContext, view: View) -> ChangeSet:
    moment = format_us(max(0, identity.now_us - int(days * DAY_US)))
    ids = insights.retired_before(view.connection, moment, PURGED_AT_ONCE)
    left = insights.count_retired_before(view.connection, moment) - len(ids)
    outcome = GcDone("purged", len(ids), ids, left=left, op_id=identity.op_id, replayed=False)
    changes = tuple(PurgeInsight(each) for each in ids)
    return _change_set(identity, changes, outcome, "gc", None, f"older_than_days={days} purged={len(ids)}")


def _change_set(
    identity: WriteContext,
    changes: tuple[Change, ...],
    outcome: Outcome,
    operation: str,
    subject: str | None,
    detail: str,
) -> ChangeSet:
    return identity.change_set(
        method="gc",
        changes=changes,
        outcome=outcome,
        detail=detail,
        operation=operation,
        subject=subject,
    )


# The decay refresh: stored effective importance follows the time that passes (spec 7.14, 13).
#
# What ranks or prunes works the importance out for itself (docs/decisions/0008); the stored one is for whoever looks
# at a row. So a row is written anew only where it would read otherwise: a memory of importance .5 twice a day, one
# that has faded hardly ever, and each no more than a hundred times until it is nearly gone.


DECAY_REFRESH_TOLERANCE: Final = 0.005
"""How far a stored value may be from the true one: half of the last digit people are shown."""

DECAY_REFRESH_DIGITS: Final = 6
"""Decimals that are stored, as by every other write."""


def stale(snapshot: Snapshot, now_us: int, tolerance: float = DECAY_REFRESH_TOLERANCE) -> list[str]:
    """Ids of the live memories whose stored importance is further than `tolerance` from that at `now_us`, in the order
    of their rows. Takes a microsecond a row: not for the event loop."""
    rows = np.flatnonzero(snapshot.alive())
    stored = np.array([snapshot.insight(row).effective_importance for row in rows.tolist()], dtype=np.float64)
    true = np.round(importances(snapshot, now_us)[rows], DECAY_REFRESH_DIGITS)
    return [snapshot.insight(row).id for row in rows[np.abs(true - stored) > tolerance].tolist()]


def refreshed(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[SetImportance]:
    """What these memories' importance is at `now_us`, of those that are live and say otherwise."""
    rows = [row for each in ids if (row := snapshot.row_of(each)) is not None]
    if not rows:
        return []
    values = np.round(importances(snapshot, now_us)[rows], DECAY_REFRESH_DIGITS).tolist()
    found = [(snapshot.insight(row), value) for row, value in zip(rows, values, strict=True)]
    return [SetImportance(it.id, value) for it, value in found if it.effective_importance != value]


# Expiry: a memory whose time is over leaves the store as it left recall before, with a line in its history (spec 13).
#
# No read shows it from the moment on that it names, so this may come late.


def expired(snapshot: Snapshot, now_us: int) -> list[str]:
    """Ids of the live memories that expire at `now_us` or before, those first that expired first. Takes some tenths of
    a microsecond a row: not for the event loop."""
    found: list[tuple[int, str]] = []
    for row in np.flatnonzero(snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if it.expires_at is not None and (at := parse_rfc3339(it.expires_at)) <= now_us:
            found.append((at, it.id))
    return [each for _, each in sorted(found)]


def retired_expiry(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[Change]:
    """The changes that let them go, of those that are live and still to expire."""
    leaving = [it for each in ids if (it := _due(snapshot, each, now_us)) is not None]
    going = {it.id for it in leaving}
    changes: list[Change] = []
    for it in leaving:
        freed = [each for each in parted(snapshot, it) if isinstance(each, PutInsight)]
        changes += [each for each in freed if each.insight.id not in going]
        changes.append(RetireInsight(it.id, "expired"))
    return changes


def _due(snapshot: Snapshot, insight_id: str, now_us: int) -> Insight | None:
    row = snapshot.row_of(insight_id)
    it = None if row is None else snapshot.insight(row)
    is_due = it is not None and it.expires_at is not None and parse_rfc3339(it.expires_at) <= now_us
    return it if is_due else None


# How central every memory of a store is (spec 7.7, 13), and what of that has to be written down.


GRAPH_METRICS_DIGITS: Final = 9
"""Decimals of a PageRank: where its rounds end (spec 7.7)."""

GRAPH_METRICS_TOLERANCE: Final = 0.01
"""Part of a PageRank by which it may differ from the one written down: every write moves all of them a little."""


class Difference(NamedTuple):
    """Rows to write, and memories whose row has to go."""

    put: list[Metric]
    remove: list[str]


def measured(snapshot: Snapshot) -> list[Metric]:
    """Every live memory's metrics. Takes some ten microseconds a row: not for the event loop."""
    mass = np.round(pagerank(snapshot).mass, GRAPH_METRICS_DIGITS)
    return [
        Metric(snapshot.insight(row).id, float(mass[row]), int(snapshot.columns.degree[row]))
        for row in np.flatnonzero(snapshot.alive()).tolist()
    ]


def difference(snapshot: Snapshot, written: Iterable[Metric]) -> Difference:
    """What has to be written down beside what is. Not for the event loop."""
    known = {each.insight_id: each for each in written}
    wanted = measured(snapshot)
    put = [each for each in wanted if not _is_close(each, known.get(each.insight_id))]
    return Difference(put, sorted(known.keys() - {each.insight_id for each in wanted}))


def _is_close(one: Metric, other: Metric | None) -> bool:
    return (
        other is not None
        and one.degree == other.degree
        and math.isclose(
            one.pagerank, other.pagerank, rel_tol=GRAPH_METRICS_TOLERANCE, abs_tol=10**-GRAPH_METRICS_DIGITS
        )
    )


# The pruning that nobody asks for: what is beyond the capacity of a store, and what has faded away (spec 13).
#
# A write prunes a few memories by itself where it makes a store too large (`pipelines.capacity`); this is for the
# rest, and stops where it would take too much at once: a clock that jumped, or a setting that was mistyped, looks
# like that.


BRAKE: Final = 0.05
"""Share of a store that one run prunes at most without being told to (spec 13, clock rules)."""


PRUNING_FULLNESS: Final = 0.9
"""Share of `lifecycle.max_insights` from which faded memories are pruned (Mnemosyne, probability pruning)."""


class Candidates(msgspec.Struct, frozen=True):
    """Memories to prune, in the order they go. `faded`: those that go whatever the size of the store. `used_us`: when
    each was used last."""

    ids: tuple[str, ...]
    faded: frozenset[str]
    used_us: dict[str, int | None]


def most_at_once(live: int) -> int:
    """Of a store with so many live memories a run takes no more than these; one it may always take."""
    return max(1, math.floor(live * BRAKE))


def candidates(snapshot: Snapshot, config: Config, now_us: int) -> Candidates:
    """What a prune would take at `now_us`; nothing immune, nor the older of a pair. Not for the event loop."""
    lifecycle, faded = config.lifecycle, _faded(snapshot, config, now_us)
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
    return None if row is None else int(snapshot.columns.accessed_us[row])


def _excess(snapshot: Snapshot, lifecycle: LifecycleSettings) -> int:
    return max(0, snapshot.live - lifecycle.max_insights) if lifecycle.max_insights > 0 else 0


def _faded(snapshot: Snapshot, config: Config, now_us: int) -> list[str]:
    """What no link keeps any more, the most faded first (S2, probability pruning)."""
    cap, pruning = config.lifecycle.max_insights, config.pruning
    if not pruning.enabled or cap <= 0 or snapshot.live <= PRUNING_FULLNESS * cap:
        return []
    scores = prune_scores(snapshot, now_us)
    rows = np.flatnonzero(snapshot.alive() & ~immune(snapshot, config.lifecycle) & (scores < pruning.threshold))
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
    ages = np.maximum(0.0, (now_us - snapshot.columns.accessed_us) / DAY_US - boosts)
    with np.errstate(over="ignore"):  # what is infinitely old has faded to nothing
        left: Scores = (1.0 - DECAY.floor) / (1.0 + np.exp((ages - DECAY.midpoint_days) / DECAY.steepness_days))
    return strongest * left


def retired_pruning(
    snapshot: Snapshot, ids: Sequence[str], planned: Candidates, lifecycle: LifecycleSettings
) -> list[Change]:
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


# Counting that memories were recalled: what is read often lasts longer (spec 11.8).


RECENCY: Final = ("recency",)
"""How a result was found that fills up an answer: nothing but its age speaks for it."""


def is_used(score: float, via: tuple[str, ...], confidence: Confidence, touch: TouchSettings = TouchSettings()) -> bool:  # noqa: B008 - frozen
    """Whether a result counts as used. One that hardly anything speaks for does not: three uses make a memory immune,
    and whatever a store has is found by something (the score of the published ranking says that itself)."""
    if touch.policy == "never" or score < touch.min_score:
        return False
    return touch.policy == "any" or (via != RECENCY and confidence != "low")


def propose(times: Mapping[str, int], identity: WriteContext) -> ChangeSet:
    """The write that counts them all; memories that are gone meanwhile are left alone."""
    changes = tuple(CountUse(insight_id, many, identity.now) for insight_id, many in times.items())
    return identity.change_set(
        method="recall", changes=changes, outcome=Used(op_id=identity.op_id), operation="", subject=None, detail=""
    )
