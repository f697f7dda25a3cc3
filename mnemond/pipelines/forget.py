"""forget: a memory leaves recall, and its row and history stay; purged, nothing of it stays but that it was there."""

from __future__ import annotations

from functools import partial

import msgspec

from mnemond.model.changes import ChangeSet, PurgeInsight, RetireInsight
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Forgotten
from mnemond.pipelines.active_row import Find, active_row
from mnemond.pipelines.any_row import any_row
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.pairing import parted
from mnemond.store import merges
from mnemond.store.proposal import Proposal, View


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """Which memory; `purge` takes retired ones as well, and their rows away."""

    id: str
    purge: bool = False
    scope: Scope = Scope()


def propose(forget: Forget, identity: Identity, find: Find) -> Proposal:
    """The write. Without `purge` it is refused when the memory is not active; `find` names memories."""
    return identity.proposal(
        method="forget",
        decide=partial(_decide, forget, identity, find),
    )


def _decide(forget: Forget, identity: Identity, find: Find, view: View) -> ChangeSet:
    if forget.purge:
        it = any_row(view.connection, forget.id, forget.scope)
    else:
        it = active_row(view, find, forget.id, forget.scope).insight
    leaving = PurgeInsight(it.id) if forget.purge else RetireInsight(it.id, "forgotten")
    return identity.change_set(
        method="forget",
        changes=(*parted(view.snapshot, it), leaving),
        outcome=Forgotten(
            it.id,
            identity.op_id,
            purged=forget.purge,
            merged_into=merges.kept_by(view.connection, it.id) if forget.purge else None,
        ),
        detail="purged" if forget.purge else "",
        subject=it.id,
    )
