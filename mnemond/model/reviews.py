"""Resolutions of conflicts between memories, and reviews: pairs that wait for a decision while both stay in recall."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Resolution = Literal["DUPLICATE", "SUPERSEDE", "MERGE", "COEXIST", "LINK"]
"""The relation of two memories: they say the same; the newer holds instead of the older; both are one statement with
details; both hold; both hold, and they are linked as a review proposes."""

RESOLUTIONS: Final[tuple[Resolution, ...]] = ("DUPLICATE", "SUPERSEDE", "MERGE", "COEXIST", "LINK")

Action = Literal["CREATE", "UPDATE", "DELETE", "MERGE", "NONE"]
"""The effect of a resolution: a memory is made, takes the place of another, leaves recall, becomes one with another, or
nothing changes."""

ReviewKind = Literal["conflict", "merge", "link"]
"""The question about two memories: which holds, whether they are one statement, or whether they belong together. The
last leaves neither in doubt."""

EXPIRES_DAYS: Final = 14
"""Days after which a review ends with the safe answer: both memories stay."""

BY_EXPIRY: Final = "system:reviews"
"""`by` of a review that ended because it was too old, or one of too many."""


class ProposedLink(msgspec.Struct, frozen=True):
    """A link that a review of the kind "link" proposes. `source`: the id of the cause, or of either memory."""

    edge_type: Literal["causal", "entity"]
    source: str
    sub_type: str


class OpenReview(msgspec.Struct, frozen=True, tag=True):
    """Ask which of two memories holds. `newer` is the later statement; `suggestion` is not carried out. `reason` and
    the rest hold no text of either memory, so that it is kept in one place only."""

    kind: ReviewKind
    older: str
    newer: str
    suggestion: Resolution
    similarity: float
    reason: str
    link: ProposedLink | None = None


class CloseReview(msgspec.Struct, frozen=True, tag=True):
    """The review was decided by this operation. `by`: what decided, as `triggered_by` of an operation."""

    id: int
    resolution: Resolution
    by: str


class Review(msgspec.Struct, frozen=True):
    """A stored review. The last three are None while it is pending."""

    id: int
    asked: OpenReview
    created_at: str
    resolved_at: str | None = None
    resolution: Resolution | None = None
    by: str | None = None
