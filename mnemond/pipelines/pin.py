"""pin: a memory that is never pruned and never replaced by itself, until it is unpinned."""

from __future__ import annotations

from functools import partial

import msgspec

from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Pinned
from mnemond.pipelines.active_row import Find, active_row
from mnemond.pipelines.identity import Identity
from mnemond.store.proposal import Proposal, View


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """Which memory, and whether it is to be pinned from now on."""

    id: str
    pinned: bool
    scope: Scope = Scope()


def propose(pin: Pin, identity: Identity, find: Find) -> Proposal:
    """The write that pins or unpins an active memory. One that is so already stays as it is."""
    return identity.proposal(
        method="pin",
        decide=partial(_decide, pin, identity, find),
    )


def _decide(pin: Pin, identity: Identity, find: Find, view: View) -> ChangeSet:
    it = active_row(view, find, pin.id, pin.scope).insight
    changed = it.pinned != pin.pinned
    return identity.change_set(
        method="pin",
        changes=(PutInsight(msgspec.structs.replace(it, pinned=pin.pinned)),) if changed else (),
        outcome=Pinned(it.id, identity.op_id, pinned=pin.pinned, changed=changed),
        detail="pinned" if pin.pinned else "unpinned",
        operation="pin" if pin.pinned else "unpin",
        subject=it.id,
    )
