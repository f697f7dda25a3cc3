"""restore: a retired memory is active again, and linked as if it were new."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec

from mnemond.errors import BUSY, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.model.changes import AddEdge, ChangeSet, RestoreInsight, Vector
from mnemond.model.insight import Insight, Scope
from mnemond.model.outcomes import Restored
from mnemond.pipelines.any_row import any_row
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.limits import Limits
from mnemond.pipelines.newcomer import as_newcomer
from mnemond.pipelines.relink import Relinking, relinked
from mnemond.pipelines.rereading import read_again
from mnemond.pipelines.returning import at_odds
from mnemond.pipelines.successor import last_successor
from mnemond.store import history, insights
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord
from mnemond.store.proposal import Proposal, View

RETIRING = frozenset({"DELETE", "SUPERSEDE", "MERGE", "PRUNE"})
"""What the history calls a memory's leaving recall (spec 4)."""

RECENT = 50
"""Newest entries of a memory's history among which its last retirement is: a retired one is not changed any more."""


class Restore(msgspec.Struct, frozen=True, kw_only=True):
    """Which memory. `force`: even though another stands in its place. `vector` belongs to `embedded_text`; with
    `embed_error` there is none."""

    id: str
    force: bool = False
    scope: Scope = Scope()
    embedded_text: str | None = None
    vector: object = None  # Vector | None
    embed_error: str | None = None


class Kept(NamedTuple):
    """A row as it is in the database, and the vector it has of the store's embedder."""

    insight: Insight
    vector: Vector | None


def kept(connection: Connection, id_or_prefix: str, scope: Scope, embedder: EmbedderRecord | None) -> Kept:
    """What is to be restored, before anything is embedded. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
    it = any_row(connection, id_or_prefix, scope)
    return Kept(it, None if embedder is None else insights.vector_of(connection, it.id, embedder))


def propose(restore: Restore, identity: Identity, limits: Limits) -> Proposal:
    """The write that brings a memory back. Everything is checked under the writer."""
    vector: Vector | None = restore.vector  # type: ignore[assignment]
    return identity.proposal(
        method="restore",
        decide=partial(_decide, restore, identity, limits),
        vector=vector,
    )


def _decide(restore: Restore, identity: Identity, limits: Limits, view: View) -> ChangeSet:
    retired = any_row(view.connection, restore.id, restore.scope)
    successor = _refuse_unfit(view, restore, retired)
    back = msgspec.structs.replace(
        retired, status="active", invalid_at=None, superseded_by=None, paired_with=None, updated_at=identity.now
    )
    told = () if successor is None else (successor.id,)
    reading = read_again(back, view.snapshot, limits.policy)
    links = relinked(view, Relinking(insight=back, newcomer=as_newcomer(back, reading)), limits.policy.graph)
    changes = (RestoreInsight(back, restore.vector), *links.changes, *_made_by_hand(view, retired))
    return identity.change_set(
        method="restore",
        changes=changes,
        outcome=Restored(
            back.id,
            identity.op_id,
            superseded_by=None if successor is None else successor.id,
            embedded=restore.vector is not None,
            edges_created=links.links,
            embed_error=restore.embed_error,
            conflicts=at_odds(view.snapshot, back, view.similarity, limits, identity.now_us, told),
        ),
        detail=f"it was {retired.status}",
        subject=back.id,
    )


def _refuse_unfit(view: View, restore: Restore, retired: Insight) -> Insight | None:
    """The active memory in its place, if there is one and that is no obstacle."""
    if retired.status == "active":
        raise MnemonError(
            NOT_FOUND,
            f"no retired memory {retired.id}: it is active",
            hint="there is nothing to restore",
            outcome="rejected",
        )
    if retired.content != restore.embedded_text:
        raise MnemonError(
            BUSY,
            f"memory {retired.id} was changed while it was being restored; nothing was written",
            hint="repeat in a moment",
            outcome="rejected",
        )
    last = last_successor(view.connection, retired)
    if last.id == retired.id or last.status != "active":
        return None
    if not restore.force:
        sentence = f"{last.id} stands in the place of {retired.id} and is active"
        raise invalid(
            [FieldProblem("id", f"{sentence}; with both, recall would show the old and the new")],
            hint=f"forget {last.id} first, or give force (--force) to have both",
        )
    return last


def _made_by_hand(view: View, retired: Insight) -> list[AddEdge]:
    """The links that somebody had made and its retirement removed, to memories that are still there.

    Those of a memory with a successor had moved there, and stay there.
    """
    if retired.superseded_by is not None:
        return []
    records = history.of_memory(view.connection, retired.id, RECENT)
    last = next((each for each in reversed(records) if each.operation_type in RETIRING), None)
    if last is None or last.before is None:
        return []
    found = []
    for edge in last.before.edges:
        other = edge.target_id if edge.source_id == retired.id else edge.source_id
        if edge.created_by != "auto" and view.snapshot.row_of(other) is not None:
            found.append(AddEdge(edge))
    return found
