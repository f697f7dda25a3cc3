"""feedback: count that a memory was useful, or that it misled; and what that changes in the order of results.

One that was useful for a prompt learns it as a cue (docs/decisions/0042)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

import msgspec

from mnemond.memory.cues import with_learned
from mnemond.memory.history import Find, active_row
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.memory import Insight, Scope
from mnemond.model.outcomes import FeedbackResult
from mnemond.model.query import Hit
from mnemond.store.operations import Proposal, View

DOUBT: Final = 2
"""Judgements that are assumed of either half before the first (Laplace's rule of succession): one alone moves a third
of the way."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The memory, what it was, and the prompt it was that for, if it is known."""

    id: str
    verdict: Literal["useful", "misled"]
    prompt: str = ""
    scope: Scope = Scope()


def propose_judgement(judgement: Judgement, identity: WriteContext, find: Find) -> Proposal:
    """Propose to count a judgement of an active memory."""
    return identity.proposal("feedback", partial(_decide, judgement, identity, find))


def _decide(judgement: Judgement, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    it = active_row(view, find, judgement.id, judgement.scope).insight
    useful = judgement.verdict == "useful"
    learned = with_learned(it, judgement.prompt) if useful else None
    cues = it.cues if learned is None else learned
    # `updated_at` stays: the memory says the same.
    judged = msgspec.structs.replace(it, useful=it.useful + useful, misled=it.misled + (not useful), cues=cues)
    return identity.change_set(
        method="feedback",
        changes=(PutInsight(judged),),
        outcome=FeedbackResult(
            id=it.id, verdict=judgement.verdict, useful=judged.useful, misled=judged.misled, op_id=identity.op_id,
            replayed=False, learned=learned is not None,
        ),
        detail=f"useful={judged.useful} misled={judged.misled}",
        operation=judgement.verdict,
        subject=it.id,
    )  # fmt: skip


def standing(it: Insight) -> float:
    """Return the balance of the judgements of a memory, in (−1, 1): 0 without any."""
    return (it.useful - it.misled) / (it.useful + it.misled + DOUBT)


def with_feedback(hits: Sequence[Hit], weight: float) -> list[Hit]:
    """Return `hits` with the scores score·(1 + weight·standing), at most 1, best first; equal ones keep their order."""
    changed = [
        msgspec.structs.replace(hit, score=min(1.0, hit.score * (1.0 + weight * standing(hit.insight)))) for hit in hits
    ]
    return sorted(changed, key=lambda hit: -hit.score)
