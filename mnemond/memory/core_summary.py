"""The core summary of a user as a write: a new version, checked against the memories that are there in its turn."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

import msgspec

from mnemond.index.snapshot import Snapshot
from mnemond.memory.relations import Names
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.core import (
    BY_HAND,
    RULES,
    CoreBody,
    CoreLine,
    CoreSource,
    CoreSummary,
    PutCore,
    digest,
    ids_of,
    joined,
)
from mnemond.model.memory import Insight
from mnemond.model.outcomes import CoreResult
from mnemond.store import core_summaries, relations
from mnemond.store.operations import Proposal, View
from mnemond.text.tokens import word_count

OPERATION: Final = "core"
"""Operation of the lines in the log."""


class Draft(CoreBody, frozen=True, kw_only=True):
    """A version that is not stored yet, of a user. `text`: of a model, "" for that of the lines."""

    user: str | None


def entity_of(user: str | None) -> str:
    """Return the id of the row of a user; None: of the user of memories without a user id."""
    return relations.user_id(user or relations.DEFAULT_USER)


def source_of(it: Insight) -> CoreSource:
    """Return a memory as the source of a line."""
    return CoreSource(it.id, digest(it.content))


def holds(line: CoreLine, snapshot: Snapshot) -> bool:
    """Return True if every source of a line is active and has the text that it had."""
    for source in line.sources:
        row = snapshot.row_of(source.id)
        if row is None:
            return False
        it = snapshot.insight(row)
        if it.quarantined or digest(it.content) != source.digest:
            return False
    return True


def propose(draft: Draft, identity: WriteContext, method: Literal["core.update", "core.set", "jobs"]) -> Proposal:
    """Propose a version. Lines whose sources changed since are left out; nothing is written if it would say the same as
    the current one."""
    return identity.proposal(method, partial(_decide, draft, identity, method))


def _decide(draft: Draft, identity: WriteContext, method: str, view: View) -> ChangeSet:
    connection = view.connection
    lines = tuple(line for line in draft.lines if holds(line, view.snapshot))
    whole = len(lines) == len(draft.lines)
    by_model = whole and draft.text != ""
    generator = BY_HAND if draft.generator == BY_HAND else draft.generator if by_model else RULES
    text = draft.text if by_model else joined(lines)
    user = Names(connection, draft.user)
    entity = user.of("user")
    before = core_summaries.current(connection, [entity]).get(entity)
    scored = {source for line in lines for source in (each.id for each in line.sources)}
    put = PutCore(
        entity_id=entity, text=text, lines=lines, scores=tuple(each for each in draft.scores if each.id in scored),
        generator=generator, reason=draft.reason, upto=draft.upto,
    )  # fmt: skip
    same = before is not None and (before.text, before.lines, before.generator) == (put.text, put.lines, generator)
    newest = core_summaries.versions(connection, entity, 1)
    outcome = CoreResult(
        status="unchanged" if same else "set" if generator == BY_HAND else "made",
        user=draft.user or relations.DEFAULT_USER,
        version=before.version if before is not None and same else newest[0].version + 1 if newest else 1,
        words=0 if not lines else word_count(text),
        memories=len(ids_of(lines)),
        generator=generator,
        reason=draft.reason,
        op_id=identity.op_id,
        replayed=False,
    )
    detail = f"{generator} words={outcome.words} memories={outcome.memories}"
    if same:
        return identity.change_set(method, (), outcome, operation="")
    change_set = identity.change_set(method, (), outcome, operation=OPERATION, detail=detail)
    return msgspec.structs.replace(change_set, knowledge=(*user.added, put))


def is_due(current: CoreSummary | None, new: int, every: int) -> bool:
    """Return True if the job makes a new version after so many `new` memories: not in the place of one that a person
    gave, unless a purge left nothing of it."""
    return (current is None or current.generator != BY_HAND or not current.lines) and new >= every
