"""Reviews that a second session ends: the user says again what one of the two memories says."""

from __future__ import annotations

import msgspec

from mnemond.memory.compare import Moment, kept_because, parted, partner_of, side_of
from mnemond.memory.diff import DiffRules, judge
from mnemond.memory.draft import Draft
from mnemond.memory.resolver import dated_apart
from mnemond.model.changes import Change, ChangeSet, PutInsight, RetireInsight
from mnemond.model.memory import Insight
from mnemond.model.outcomes import RememberResult
from mnemond.model.reviews import CloseReview, Resolution, Review
from mnemond.store import reviews, showings
from mnemond.store.operations import View

WITNESS = "user"
"""The source whose word counts: an agent may repeat what it was shown."""


def confirmed(reached: ChangeSet, draft: Draft, moment: Moment, rules: DiffRules, view: View) -> ChangeSet:
    """Return a decision that also ends the review of a memory that another session says again.

    If that is the newer memory of the pair, the older leaves recall, as superseded, if the newer would replace it had
    it been said as a correction. If it is the older one, both stay: the newer may be about another thing. The two
    sessions are independent if they are two conversations, the later of which was not shown the memory. Nothing pinned,
    nothing for other readers, no event of another day is retired.
    """
    outcome = reached.outcome
    if not isinstance(outcome, RememberResult) or outcome.action != "skipped" or outcome.id is None:
        return reached
    conversation = draft.conversation_id
    row = view.snapshot.row_of(outcome.id)
    if conversation is None or row is None or draft.source != WITNESS:
        return reached
    it = view.snapshot.insight(row)
    asked = reviews.pending_of(view.connection, it.id)
    if not asked or it.source != WITNESS or it.conversation_id in (None, conversation):
        return reached
    if showings.was_shown(view.connection, conversation, it.id):
        return reached
    for review in asked:
        reached = _ended(reached, review, it, moment, rules, view)
    return reached


def _ended(reached: ChangeSet, review: Review, it: Insight, moment: Moment, rules: DiffRules, view: View) -> ChangeSet:
    if review.asked.suggestion != "SUPERSEDE":
        return reached
    outcome = reached.outcome
    assert isinstance(outcome, RememberResult)  # noqa: S101 - it was skipped
    if review.asked.older == it.id:
        why = f"{outcome.reason}; two sessions say so, so review {review.id} ends and both stay"
        return _closed(reached, review, "COEXIST", msgspec.structs.replace(outcome, reason=why))
    row = view.snapshot.row_of(review.asked.older)
    older = None if row is None else view.snapshot.insight(row)
    if older is None or dated_apart(it, older) or kept_because(older, it.scope, moment) is not None:
        return reached
    if judge(side_of(older), msgspec.structs.replace(side_of(it), corrects=True), None, rules).action != "CONFLICT":
        return reached
    gone = RetireInsight(older.id, "superseded", successor=it.id, invalid_at=it.valid_from or it.created_at)
    why = f"{outcome.reason}; two sessions say so now, which decides review {review.id}"
    replacing = msgspec.structs.replace(outcome, reason=why, replaced_id=older.id, no_longer=older.content)
    reached = msgspec.structs.replace(
        reached,
        changes=(*_apart(reached, it, older, view), gone),
        detail=f"{reached.detail} replaced={older.id}",
    )
    return _closed(reached, review, "SUPERSEDE", replacing)


def _closed(reached: ChangeSet, review: Review, resolution: Resolution, outcome: RememberResult) -> ChangeSet:
    closing = CloseReview(review.id, resolution, reached.triggered_by)
    return msgspec.structs.replace(reached, outcome=outcome, reviews=(*reached.reviews, closing))


def _apart(reached: ChangeSet, it: Insight, other: Insight, view: View) -> list[Change]:
    """Return the changes so far, with the partner of the leaving memory unpaired; that may be `it`, which changes."""
    partner = partner_of(view.snapshot, other)
    if partner is None or partner.id != it.id:
        return [*reached.changes, *parted(view.snapshot, other)]
    return [
        msgspec.structs.replace(each, insight=msgspec.structs.replace(each.insight, paired_with=None))
        if isinstance(each, PutInsight) and each.insight.id == it.id and each.insight.paired_with == other.id
        else each
        for each in reached.changes
    ]
