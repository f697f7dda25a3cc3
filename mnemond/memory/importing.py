"""Memories of other programs: remembered as any other, except that none takes the place of one that is here."""

from __future__ import annotations

from typing import cast

import msgspec

from mnemond.memory.draft import WriteContext, WriteRules
from mnemond.memory.remember import Prepared, decide
from mnemond.model.changes import ChangeSet, Vector
from mnemond.model.outcomes import RememberResult
from mnemond.store.operations import Proposal, View


def propose_import(prepared: Prepared, identity: WriteContext, rules: WriteRules, source: str) -> Proposal:
    """Propose the write of a memory; `source` is noted with it, so that it is imported once. One that says what a
    memory says already is none; one that contradicts another stands beside it."""

    def decided(view: View) -> ChangeSet:
        reached = decide(prepared, identity, rules, view.snapshot, view.similarity)
        if cast("RememberResult", reached.outcome).action == "replaced":
            beside = msgspec.structs.replace(
                prepared,
                draft=msgspec.structs.replace(prepared.draft, no_diff=True),
                reading=msgspec.structs.replace(prepared.reading, side=None),
            )
            reached = decide(beside, identity, rules, view.snapshot, view.similarity)
        outcome = cast("RememberResult", reached.outcome)
        made = outcome.id if outcome.action == "added" else None
        return msgspec.structs.replace(reached, operation="", imported=((source, made),))

    return identity.proposal("remember", decided, cast("Vector | None", prepared.vector))
