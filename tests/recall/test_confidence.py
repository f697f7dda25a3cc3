"""The word for how much speaks for a result."""

from __future__ import annotations

from mnemond.recall.profiles import MNEMON, PROFILES_BY_NAME, ConfidenceBounds, Profile, label
from tests.tables import each_row

BOUNDS = ConfidenceBounds(medium=0.25, high=0.5)


@each_row(
    ("evidence", "word"),
    [(0.0, "low"), (0.2499, "low"), (0.25, "medium"), (0.4999, "medium"), (0.5, "high"), (1.0, "high")],
)
def test_each_bound_belongs_to_the_better_word(evidence: float, word: str) -> None:
    assert label(evidence, BOUNDS) == word


@each_row("profile", PROFILES_BY_NAME.values())
def test_every_profile_has_a_use_for_every_word(profile: Profile) -> None:
    bounds = profile.confidence
    assert [label(evidence, bounds) for evidence in (0.0, bounds.medium, bounds.high)] == ["low", "medium", "high"]


@each_row(("evidence", "word"), [(0.249, "low"), (0.25, "medium"), (0.599, "medium"), (0.6, "high")])
def test_the_published_ranking_has_the_bounds_of_the_vectors(evidence: float, word: str) -> None:
    assert label(evidence, MNEMON.confidence) == word
