"""Start nodes of a probabilistic walk against worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import StartNodeSettings
from mnemond.recall.published_profiles import age_phrase, meta_share, meta_vector, start_rows, start_scores
from tests.index.worlds import built, insight, unit
from tests.tables import each_row

SETTINGS = StartNodeSettings()


@each_row(
    ("seconds", "phrase"),
    [
        (-5, "just now"), (0, "just now"), (3599, "just now"), (3600, "earlier today"), (86399, "earlier today"),
        (86400, "yesterday"), (172799, "yesterday"), (172800, "last week"), (604799, "last week"),
        (604800, "last month"), (2591999, "last month"), (2592000, "a few months ago"),
        (15551999, "a few months ago"), (15552000, "a while ago"), (float("inf"), "a while ago"),
    ],
)  # fmt: skip
def test_phrases(seconds: float, phrase: str) -> None:
    assert age_phrase(seconds) == phrase


@each_row(("days", "share"), [(-1, 0.0), (0, 0.0), (7.5, 0.15), (15, 0.3), (30, 0.6), (90, 0.6)])
def test_worked_shares_of_metadata(days: float, share: float) -> None:
    assert meta_share(np.array([float(days)]), SETTINGS).tolist() == pytest.approx([share])


def test_a_share_may_be_fixed() -> None:
    assert meta_share(np.array([0.0, 90.0]), StartNodeSettings(alpha_mode="fixed")).tolist() == [0.6, 0.6]


def test_worked_scores() -> None:
    found = start_scores(np.array([0.0, 15.0, 60.0]), np.array([0.2, 0.5, 0.7]), np.array([0.8, 0.6, 0.3]), SETTINGS)
    assert found.tolist() == pytest.approx([0.80, 0.57, 0.54])


@each_row(
    ("scores", "starts"),
    [
        ([0.5, 0.9, 0.4, 0.6], ["b", "d", "a"]),
        ([0.5, 0.9, 0.39, 0.0], ["b", "a"]),
        ([0.1, 0.3, 0.2, 0.0], ["b"]),
        ([0.0, -0.2, 0.0, 0.0], []),
        ([0.4, 0.0, 0.0, 0.0], ["a"]),
        ([0.5, 0.5, 0.5, 0.5], ["d", "c", "a"]),
        ([], []),
    ],
)
def test_starts(scores: list[float], starts: list[str]) -> None:
    """d is the most important, c the newest of the others; a and b are told apart by their ids."""
    snapshot = built(insight("a"), insight("b"), insight("c", at=9), insight("d", importance=5)).snapshot
    found = start_rows(snapshot, np.arange(len(scores)), np.array(scores), SETTINGS)
    assert [snapshot.insight(row).id for row in found.tolist()] == starts


def test_starts_are_rows_whichever_are_asked_about() -> None:
    snapshot = built(*(insight(name) for name in "abcd")).snapshot
    assert start_rows(snapshot, np.array([3, 1]), np.array([0.5, 0.6]), SETTINGS).tolist() == [1, 3]


def test_a_meta_vector_has_the_direction_of_the_sum() -> None:
    phrase, state, keywords = unit(1, 0, 0, 0), unit(0, 1, 0, 0), unit(0, 0, 1, 0)
    found = meta_vector(phrase, state, keywords)
    assert found is not None
    assert found.tolist() == pytest.approx(unit(1, 1, 1, 0).tolist())
    assert phrase.tolist() == [1, 0, 0, 0]
    alone = meta_vector(phrase, None, None)
    assert alone is not None
    assert alone.tolist() == [1, 0, 0, 0]
    assert meta_vector(phrase, -phrase, None) is None


@given(st.floats(0, 1e4), st.floats(0, 1), st.floats(0, 1))
def test_a_score_lies_between_what_it_is_made_of(days: float, meta: float, query: float) -> None:
    found = start_scores(np.array([days]), np.array([meta]), np.array([query]), SETTINGS)[0]
    assert min(meta, query) - 1e-12 <= found <= max(meta, query) + 1e-12
