"""gc: which memories matter least by now, and what is done about them: kept, let go of, or removed (spec 13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Change, ChangeSet, PurgeInsight, PutInsight, RetireInsight
from mnemond.model.insight import Insight, Scope
from mnemond.model.outcomes import Collected, Outcome, Retained
from mnemond.model.policy import LifecyclePolicy
from mnemond.model.recall import Filter
from mnemond.model.timestamp import DAY_US, format_us
from mnemond.pipelines.capacity import importances, keeps_company, weakest
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.pairing import parted
from mnemond.store import insights
from mnemond.store.proposal import Proposal, View
from mnemond.text.quality import quality_warnings
from mnemond.text.secrets import redact

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


class Weak(msgspec.Struct, frozen=True):
    """A memory that matters little. `effective_importance` is that of now, `edge_count` its logical links."""

    insight: Insight
    effective_importance: float
    days_since_access: float
    edge_count: int


class Flagged(msgspec.Struct, frozen=True):
    """A memory whose text may have to be written again, and why. `content` is without its secrets."""

    insight: Insight
    content: str
    warnings: tuple[str, ...]


def weak(snapshot: Snapshot, bounds: Bounds, policy: LifecyclePolicy, now_us: int) -> tuple[list[Weak], int]:
    """The least important memories, least first, and how many there are in all. Nothing immune is among them.

    Takes a microsecond a row or two: not for the event loop.
    """
    values = importances(snapshot, now_us)
    rows = weakest(snapshot, policy, values, bounds.threshold, snapshot.visible(_everything(bounds.scope)))
    alone = [row for row in rows if not keeps_company(snapshot, snapshot.insight(row))]
    found = [
        Weak(
            snapshot.insight(row),
            round(float(values[row]), 6),
            round(max(0.0, (now_us - int(snapshot.accessed_us[row])) / DAY_US), 1),
            snapshot.link_count(row),
        )
        for row in alone[: bounds.limit]
    ]
    return found, len(alone)


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
    return [each for each in found if each.warnings]


def _flagged(it: Insight) -> Flagged:
    clean = redact(it.content)
    warnings = [warning.label for warning in quality_warnings(clean.text)]
    secrets = [f"holds what looks like a secret: {kind}" for kind in clean.kinds]
    return Flagged(it, clean.text, tuple(dict.fromkeys((*secrets, *warnings))))


def worst_first(flagged: Sequence[Flagged]) -> list[Flagged]:
    """Most warnings first, of equally many the more important, then the newer."""
    newest = sorted(flagged, key=lambda each: (each.insight.created_at, each.insight.id), reverse=True)
    return sorted(newest, key=lambda each: (-len(each.warnings), -each.insight.importance))


# ------------------------------------------------------------------ writes


def propose_keep(insight_id: str, policy: LifecyclePolicy, identity: Identity) -> Proposal:
    """The write that makes gc leave a memory alone. Refused when it is not active any more."""
    return identity.proposal("gc", partial(_keep, insight_id, policy, identity))


def _keep(insight_id: str, policy: LifecyclePolicy, identity: Identity, view: View) -> ChangeSet:
    it = insights.read(view.connection, insight_id) or Insight(insight_id, "", identity.now, identity.now)
    kept = msgspec.structs.replace(
        it,
        access_count=it.access_count + KEPT_ACCESSES,
        last_accessed_at=identity.now,
        updated_at=identity.now,
    )
    is_immune = kept.access_count >= policy.immune_access
    outcome = Retained(insight_id, identity.op_id, it.content, kept.access_count, immune=is_immune)
    return _change_set(identity, (PutInsight(kept),), outcome, "gc-keep", insight_id, "access+3")


def propose_apply(bounds: Bounds, policy: LifecyclePolicy, identity: Identity) -> Proposal:
    """The write that takes out of recall what `weak` lists by then, as one operation."""
    return identity.proposal("gc", partial(_apply, bounds, policy, identity))


def _apply(bounds: Bounds, policy: LifecyclePolicy, identity: Identity, view: View) -> ChangeSet:
    found, many = weak(view.snapshot, bounds, policy, identity.now_us)
    changes: list[Change] = []
    for each in found:
        changes += [*parted(view.snapshot, each.insight), RetireInsight(each.insight.id, "forgotten")]
    ids = tuple(each.insight.id for each in found)
    outcome = Collected(identity.op_id, ids, left=many - len(ids))
    detail = f"threshold={bounds.threshold} retired={len(ids)}"
    return _change_set(identity, tuple(changes), outcome, "gc", None, detail)


def propose_purge(days: int, identity: Identity) -> Proposal:
    """The write that removes rows that left recall longer than `days` ago, the longest ago first, so many at most that
    other writes need not wait long."""
    return identity.proposal("gc", partial(_purge, days, identity))


def _purge(days: int, identity: Identity, view: View) -> ChangeSet:
    moment = format_us(max(0, identity.now_us - int(days * DAY_US)))
    ids = tuple(insights.retired_before(view.connection, moment, PURGED_AT_ONCE))
    left = insights.count_retired_before(view.connection, moment) - len(ids)
    outcome = Collected(identity.op_id, ids, purged=True, left=left)
    changes = tuple(PurgeInsight(each) for each in ids)
    return _change_set(identity, changes, outcome, "gc", None, f"older_than_days={days} purged={len(ids)}")


def _change_set(
    identity: Identity,
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
