"""What a row takes from the rows beside it, in numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.recall.question import build_question
from mnemond.recall.ranking import Context, Ranking, context_scores, shortlist
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.talk import TEXTS, ids, said, store

DAY = 4
"""Terms of the first of January 1970."""

OPENING = 1.5
"""What a word of a short text counts."""

TALK = store([said("a", "who likes redis?", 0), said("b", "alice does", 1), said("c", "tea is nice", 2),
              said("d", "more tea", 3)])  # fmt: skip
LENGTHS = np.array([2 + DAY, 1 + DAY, 2 + DAY, 2 + DAY])
MEAN = 23 / 4
ROOMY = Context(near=0.4, far=0.3, answer=1.0, asks=0.3, short=30.0, spread=1.25)


def gains(snapshot: Snapshot, text: str, context: Context) -> dict[str, float]:
    """What the only term of a question comes to in each candidate."""
    ranking, question = Ranking(k1=1.2, context=context), build_question(snapshot, text, None)
    candidates = shortlist(snapshot, question, None, None, ranking)
    scores = context_scores(snapshot, question, candidates, ranking)
    assert scores.keyword.tolist() == pytest.approx((scores.gains @ question.weights).tolist())
    return dict(zip(ids(snapshot, candidates.rows), scores.gains[:, 0].tolist(), strict=True))


def saturated(times: float, length: float, mean: float = MEAN, spread: float = 1.25) -> float:
    return times * 2.2 / (times + 1.2 * length / (spread * mean))


def test_the_lengths_are_what_the_others_go_by() -> None:
    assert TALK.lengths.tolist() == LENGTHS.tolist()
    assert TALK.mean_length == MEAN


def test_an_answer_takes_the_words_of_what_it_answers_before_they_saturate() -> None:
    a, b, c, _ = LENGTHS.tolist()
    assert gains(TALK, "redis", ROOMY) == pytest.approx(
        {
            "a": saturated(OPENING, a + 0.4 * b + 0.3 * c),
            "b": saturated(1.4 * OPENING, b + 1.4 * a + 0.4 * c),  # the one before it asks
            "c": saturated(0.3 * OPENING, c + 0.4 * b + 0.3 * a),  # "d" is no candidate and gives nothing
        }
    )


def test_one_that_does_not_ask_hands_on_as_much_to_either_side() -> None:
    a, b, c, _ = LENGTHS.tolist()
    context = Context(near=0.5, far=0.0, answer=2.0, asks=1.0, short=30.0, spread=1.0)
    assert gains(TALK, "alice", context) == pytest.approx(
        {
            "a": saturated(0.5 * OPENING, a + 0.5 * b, spread=1.0),
            "b": saturated(OPENING, b + 0.5 * (a + c), spread=1.0),
            "c": saturated(0.5 * OPENING, c + 0.5 * (b + LENGTHS[3]), spread=1.0),
            "d": saturated(0.0, LENGTHS[3], spread=1.0),
        }
    )


def test_long_rows_neither_give_nor_take_as_much() -> None:
    a, b, c, _ = LENGTHS.tolist()
    short = Context(near=0.4, far=0.3, answer=1.0, asks=0.3, short=1.0, spread=1.25)  # "b" has one term, the others two
    assert gains(TALK, "redis", short) == pytest.approx(
        {
            "a": saturated(OPENING, a + 0.5 * (0.4 * b + 0.3 * 0.5 * c)),
            "b": saturated(1.4 * 0.5 * OPENING, b + 1.4 * 0.5 * a + 0.4 * 0.5 * c),
            "c": saturated(0.5 * 0.3 * 0.5 * OPENING, c + 0.5 * (0.4 * b + 0.3 * 0.5 * a)),
        }
    )


def test_rows_of_no_conversation_stand_alone() -> None:
    snapshot = store([insight("a", "redis redis"), insight("b", "a cup of tea")])
    mean = (2 + 2 + 2 * DAY) / 2
    assert gains(snapshot, "redis", ROOMY) == pytest.approx({"a": saturated(2 * OPENING, 2 + DAY, mean)})


def test_a_row_without_any_text_is_no_division_by_nothing() -> None:
    snapshot = store([said("a", "redis", 0), said("b", "", 1), said("c", "?", 2)])
    assert all(np.isfinite(list(gains(snapshot, "redis", ROOMY).values())))


@examples(60)
@given(st.lists(TEXTS, min_size=1, max_size=12), st.lists(TEXTS, min_size=1, max_size=3).map(" ".join))
def test_gains_stay_below_saturation_and_equal_rows_tie(contents: list[str], text: str) -> None:
    talks = [said(f"{copy}{at}", content, at, conversation_id=f"{copy}") for copy in "xyz" for at, content in
             enumerate(contents)]  # fmt: skip
    snapshot, ranking = store(talks), Ranking()
    question = build_question(snapshot, text, None)
    candidates = shortlist(snapshot, question, None, None, ranking)
    scores = context_scores(snapshot, question, candidates, ranking)
    assert np.isfinite(scores.gains).all()
    assert (scores.gains >= 0.0).all()
    assert (scores.gains <= (ranking.k1 + 1.0) * (1 + 1e-6)).all()
    by_text: dict[str, set[float]] = {}
    for name, keyword in zip(ids(snapshot, candidates.rows), scores.keyword.tolist(), strict=True):
        by_text.setdefault(name[1:], set()).add(keyword)
    assert all(len(each) == 1 for each in by_text.values())
