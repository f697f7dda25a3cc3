"""The decision table of spec 7.2, row by row."""

from __future__ import annotations

import msgspec

from mnemond.config.writing import DiffSettings
from mnemond.memory import diff
from mnemond.memory.diff import DiffRules, Safeguards, Side, cosine_thresholds, side

OFF = diff.LITERAL
"""The table to the letter."""

REFERENCE = cosine_thresholds("", DiffSettings(), float, OFF)
"""An embedder that is the reference embedder."""


def rules(safeguards: Safeguards) -> DiffRules:
    """With an embedder that is the reference embedder."""
    return DiffRules(DiffSettings(), REFERENCE, safeguards)


LITERAL, SHIPPED = rules(OFF), rules(Safeguards())

LONG_FORM = "Chose Qdrant over Milvus for vector search because filtering is faster"
SHORT_FORM = "Chose Qdrant over Milvus for vector search"


class Row(msgspec.Struct, frozen=True):
    """Two texts and what comes of them; `similarity` and `novelty` are rounded to four places."""

    old: str
    new: str
    similarity: float
    action: str
    novelty: float | None = None
    categories: tuple[str, str] = ("general", "general")

    def sides(self) -> tuple[Side, Side]:
        """The old and the new text, ready to be judged."""
        return side(self.old, self.categories[0], ()), side(self.new, self.categories[1], ())


ROWS = (
    Row("Chose SQLite as storage", "Chose PostgreSQL to replace SQLite as the primary database", 0.6667, "CONFLICT"),
    Row("Uses Redis", "Uses Redis for session cache with TTL 30 min", 0.2857, "ADD"),
    Row(
        "Team lacks Redis experience",
        "Chose SQLite over Redis because the team lacks Redis experience",
        *(1.0, "ADD", 0.5, ("fact", "decision")),
    ),
    Row(SHORT_FORM, LONG_FORM, 1.0, "UPDATE", 0.3333),
    Row(LONG_FORM, SHORT_FORM, 1.0, "DUPLICATE", 0.0),
    Row("Deploys on Friday are allowed", "Deploys on Friday are not allowed", 1.0, "CONFLICT"),
    Row("API rate limit is 100 req/s", "API rate limit is 200 req/s", 0.8333, "CONFLICT"),
    Row("User prefers dark mode", "User does not prefer dark mode", 0.75, "CONFLICT"),
    Row("The office is in Berlin", "The office is in Munich", 0.3333, "ADD"),
    Row("We no longer use Jenkins", "We no longer use Jenkins", 1.0, "DUPLICATE"),
    Row("Prefers communicating in Chinese", "prefers communicating in chinese.", 1.0, "DUPLICATE"),
)
