"""The rows a text is compared with are the ones that matter, however many others share its words."""

from __future__ import annotations

import numpy as np

from mnemond.config.writing import DiffSettings
from mnemond.index.writer import MemoryIndex
from mnemond.memory.compare import Moment, compare
from mnemond.memory.diff import CosineThresholds, DiffRules, side
from mnemond.model.memory import Insight, Scope, format_us
from mnemond.text.tokens import index_terms
from tests.tables import each_row

NEVER = CosineThresholds(override=np.inf, update=0.65, duplicate=0.9)
NOW = Moment(1_780_000_000_000_000, 1_780_000_000_000_000)


def note(number: int, content: str) -> Insight:
    at = format_us(1_770_000_000_000_000 + number * 1_000_000)
    return Insight(id=f"{number:08x}-0000-4000-8000-000000000000", content=content, created_at=at, updated_at=at)


@each_row(
    ("old", "new"),
    [
        ("Deploys on Friday are allowed", "Deploys on Friday are not allowed"),
        ("API rate limit is 100 req/s", "API rate limit is 200 req/s"),
    ],
)
@each_row("long_notes", [0, 31, 200])
def test_a_correction_is_seen_among_any_number_of_long_notes(old: str, new: str, long_notes: int) -> None:
    rest = " and what we said about it in the planning of the release, with names and times"
    insights = [
        note(0, old),
        *(note(n, f"{new.replace('not ', '')}{rest} {n} {n * 7}") for n in range(1, long_notes + 1)),
    ]
    snapshot = MemoryIndex.build([(each, None) for each in insights], [], 4).snapshot
    likeness = snapshot.likeness(set(index_terms(new)))
    found = compare(snapshot, side(new, "fact", ()), Scope(), None, likeness, DiffRules(DiffSettings(), NEVER), NOW)
    assert found.best is not None
    assert (found.best.id, found.best.verdict.action) == (insights[0].id, "CONFLICT")
