"""Resolutions of conflicts between memories, and reviews: pairs that wait for a decision while both stay in recall, and
texts that are no memory and wait for a person's decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mnemond.model.memory import Scope

Resolution = Literal["DUPLICATE", "SUPERSEDE", "MERGE", "COEXIST", "LINK", "KEEP", "DROP"]
"""The relation of two memories: they say the same; the newer holds instead of the older; both are one statement with
details; both hold; both hold, and they are linked as a review proposes. Of a text that is no memory: it becomes one, or
it is dropped."""

RESOLUTIONS: Final[tuple[Resolution, ...]] = ("DUPLICATE", "SUPERSEDE", "MERGE", "COEXIST", "LINK", "KEEP", "DROP")

OF_TEXTS: Final[tuple[Resolution, ...]] = ("KEEP", "DROP")
"""Decisions on a text that is no memory, and on nothing else."""

Action = Literal["CREATE", "UPDATE", "DELETE", "MERGE", "NONE"]
"""The effect of a resolution: a memory is made, takes the place of another, leaves recall, becomes one with another, or
nothing changes."""

ReviewKind = Literal["conflict", "merge", "link", "names"]
"""The question about two memories: which holds, whether they are one statement, or whether they belong together; or
whether two names are of one thing, whose rows then stand for the memories. The last two leave no memory in doubt."""

_OF_PAIRS: Final[tuple[Resolution, ...]] = ("SUPERSEDE", "MERGE", "DUPLICATE", "COEXIST")

ACCEPTED: Final[Mapping[ReviewKind, tuple[Resolution, ...]]] = {
    "conflict": _OF_PAIRS, "merge": _OF_PAIRS, "link": ("LINK", "COEXIST"), "names": ("MERGE", "COEXIST"),
}  # fmt: skip
"""The decisions that are an answer to each question."""

EXPIRES_DAYS: Final = 14
"""Days after which a review ends with the safe answer: both memories stay, and a text that is no memory is dropped."""

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


class ReopenReview(msgspec.Struct, frozen=True, tag=True):
    """The decision on a review is taken back: it waits again."""

    id: int


ReviewChange = OpenReview | CloseReview | ReopenReview


class Decidable(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for a decision. The last three are None while it does."""

    id: int
    created_at: str
    resolved_at: str | None = None
    resolution: Resolution | None = None
    by: str | None = None


class Review(Decidable, frozen=True, kw_only=True):
    """A stored review."""

    asked: OpenReview


class HeldText(msgspec.Struct, frozen=True, tag=True):
    """A text of a conversation that orders a program to store something. It is no memory. `scope`: for whom a memory of
    it would be; `said_at`: RFC 3339."""

    content: str
    said_at: str
    conversation_id: str | None = None
    scope: Scope = Scope()


class HeldReview(Decidable, frozen=True, kw_only=True):
    """A stored text, "" once it is gone."""

    held: HeldText
