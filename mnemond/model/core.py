"""The core summary of a user: what is known of a person, in versions, each line with the memories that it rests on.

A version is never changed; the newest that was not taken back counts. A line is shown as long as all its sources are
active with the text that they had (docs/decisions/0053).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

RULES: Final = "rules"
"""`generator` of a version that lists memories under headings."""

BY_HAND: Final = "user"
"""`generator` of a version that was given as a text; the job does not replace it."""

NOTHING_KNOWN: Final = "N/A"
"""The text of a version without any memory."""

Section = Literal[
    "Preferences", "Decisions", "Recurring problems and fixes", "Tools and technologies", "Working style", "Facts", ""
]
"""Headings of a version by the rules, in this order; "" for lines of a text that was given."""

SECTIONS: Final[tuple[Section, ...]] = (
    "Preferences", "Decisions", "Recurring problems and fixes", "Tools and technologies", "Working style", "Facts",
)  # fmt: skip

_DIGEST_BYTES: Final = 8


def digest(content: str) -> str:
    """Return a digest of the text of a memory, by which a line knows if that changed."""
    return hashlib.blake2b(content.encode(), digest_size=_DIGEST_BYTES).hexdigest()


class CoreSource(msgspec.Struct, frozen=True, array_like=True):
    """A memory that a line rests on, and the digest of its text then."""

    id: str
    digest: str


class CoreLine(msgspec.Struct, frozen=True):
    """A line of a core summary. A line by the rules has one source; one of a text that was given may have none."""

    text: str
    section: Section = ""
    sources: tuple[CoreSource, ...] = ()


class CoreScore(msgspec.Struct, frozen=True):
    """Why a memory was chosen. The four factors and their weighted sum `score` are in [0, 1]. `cluster`: its number,
    null for a memory without a vector; `chosen`: as the best of its cluster, as one of the best of the rest, or because
    words were left."""

    id: str
    score: float
    connectivity: float
    boost: float
    recency: float
    information: float
    cluster: int | None = None
    chosen: Literal["cluster", "score", "room"] = "room"


class CoreBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a version says. `lines` are those of the rules, also where a model wrote `text`. `generator`: "rules",
    "user", or the model's name; `reason`: why the rules wrote it although a model is configured. `upto`: the number of
    the last memory that it considered."""

    text: str = ""
    lines: tuple[CoreLine, ...] = ()
    scores: tuple[CoreScore, ...] = ()
    generator: str = RULES
    reason: str = ""
    upto: int = 0


class CoreSummary(CoreBody, frozen=True, kw_only=True):
    """A stored version. It counts from `created_at` until `expired_at`, when it was taken back."""

    id: int
    entity_id: str
    version: int
    op_id: str = ""
    created_at: str
    expired_at: str | None = None

    @property
    def by_model(self) -> bool:
        """Return True if a model wrote the text."""
        return self.generator not in (RULES, BY_HAND)

    @property
    def source_ids(self) -> list[str]:
        """Ids of the memories that it rests on, each once, in order."""
        return ids_of(self.lines)


def ids_of(lines: Sequence[CoreLine]) -> list[str]:
    """Return the ids of the sources of lines, each once, in order."""
    return list(dict.fromkeys(source.id for line in lines for source in line.sources))


def joined(lines: Sequence[CoreLine]) -> str:
    """Return lines as a text: each section once, behind its heading."""
    text: list[str] = []
    section: Section = ""
    for line in lines:
        if line.section != section:
            section = line.section
            text.append(f"{section}:" if section else "")
        text.append(f"- {line.text}" if section else line.text)
    return "\n".join(text).strip("\n") or NOTHING_KNOWN


# Changes: parts of a ChangeSet.


class PutCore(CoreBody, frozen=True, tag=True, kw_only=True):
    """Add a version. `entity_id` is the row of the user, which exists or is added by the same write."""

    entity_id: str


class ExpireCore(msgspec.Struct, frozen=True, tag=True):
    """Take a version back. The one before it counts again."""

    id: int
    entity_id: str
