"""Counting that memories were recalled: what is read often lasts longer (spec 11.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mnemond.model.changes import ChangeSet, CountUse
from mnemond.model.outcomes import Used
from mnemond.model.recall import Confidence
from mnemond.model.recall_policy import TouchPolicy
from mnemond.pipelines.identity import Identity

RECENCY: Final = ("recency",)
"""How a result was found that fills up an answer: nothing but its age speaks for it."""


def is_used(score: float, via: tuple[str, ...], confidence: Confidence, touch: TouchPolicy = TouchPolicy()) -> bool:  # noqa: B008 - frozen
    """Whether a result counts as used. One that hardly anything speaks for does not: three uses make a memory immune,
    and whatever a store has is found by something (the score of the published ranking says that itself)."""
    if touch.policy == "never" or score < touch.min_score:
        return False
    return touch.policy == "any" or (via != RECENCY and confidence != "low")


def propose(times: Mapping[str, int], identity: Identity) -> ChangeSet:
    """The write that counts them all; memories that are gone meanwhile are left alone."""
    changes = tuple(CountUse(insight_id, many, identity.now) for insight_id, many in times.items())
    return identity.change_set(
        method="recall", changes=changes, outcome=Used(identity.op_id), operation="", subject=None, detail=""
    )
