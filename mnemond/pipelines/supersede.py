"""supersede: somebody says that one memory takes the place of another."""

from __future__ import annotations

from functools import partial

import msgspec

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.model.changes import ChangeSet, RetireInsight
from mnemond.model.insight import Insight, Scope
from mnemond.model.outcomes import Superseded
from mnemond.pipelines.active_row import Find, active_row
from mnemond.pipelines.any_row import any_row
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.pairing import parted
from mnemond.pipelines.successor import last_successor
from mnemond.store.proposal import Proposal, View


class Supersede(msgspec.Struct, frozen=True, kw_only=True):
    """What is out of date, and what stands in its place."""

    old_id: str
    new_id: str
    scope: Scope = Scope()


def propose(supersede: Supersede, identity: Identity, find: Find) -> Proposal:
    """The write that retires a memory in favour of another. Everything is checked under the writer."""
    return identity.proposal(
        method="supersede",
        decide=partial(_decide, supersede, identity, find),
    )


def _decide(supersede: Supersede, identity: Identity, find: Find, view: View) -> ChangeSet:
    new = active_row(view, find, supersede.new_id, supersede.scope).insight
    named = any_row(view.connection, supersede.old_id, supersede.scope)
    old = last_successor(view.connection, named)
    _refuse_unfit(named, old, new)
    retired = RetireInsight(old.id, "superseded", successor=new.id, invalid_at=new.valid_from or new.created_at)
    return identity.change_set(
        method="supersede",
        changes=(*parted(view.snapshot, old), retired),
        outcome=Superseded(
            new.id, identity.op_id, superseded_id=old.id, instead_of=None if old.id == named.id else named.id
        ),
        detail=f"superseded by {new.id}",
        subject=old.id,
    )


def _refuse_unfit(named: Insight, old: Insight, new: Insight) -> None:
    if named.id == new.id:
        raise invalid([FieldProblem("new_id", f"new_id is the old memory itself, {new.id}; name another")])
    if old.id == new.id:
        raise invalid([FieldProblem("old_id", f"{new.id} stands in the place of {named.id} already")])
    if old.status != "active":
        raise MnemonError(
            NOT_FOUND,
            f"memory {old.id} is not active: it is {old.status}",
            hint=f"there is nothing to supersede; `mnemonctl restore {old.id}` brings it back",
            outcome="rejected",
        )
    if lost := readers_lost(old.scope, new.scope):
        raise invalid(
            [FieldProblem("new_id", f"{new.id} is for {lost} alone; others who see {old.id} would lose it")],
            hint="remember the new one for everybody the old one is for, or forget the old one",
        )


def readers_lost(old: Scope, new: Scope) -> str:
    """Whom alone `new` is for, where somebody sees `old` and would not see `new`; "" when nobody loses anything."""
    pairs = (
        ("user", old.user_id, new.user_id),
        ("session", old.session_id, new.session_id),
        ("agent", old.agent_id, new.agent_id),
    )
    return ", ".join(f"{kind} {theirs!a}" for kind, before, theirs in pairs if theirs not in (None, before))
