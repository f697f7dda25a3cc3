"""The substance score of spec 6.8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.quality import only_questions, substance


@pytest.mark.parametrize(
    ("text", "has_reference", "score", "decision"),
    [
        ("ok thanks!", False, 0.0, "discard"),
        ("Chose SQLite because the team lacks Redis experience", True, 0.9, "keep"),
        ("Redis", True, 0.4, "keep"),
        ("Should we use Redis?", True, 0.2, "discard"),
    ],
)
def test_the_worked_scores(text: str, has_reference: bool, score: float, decision: str) -> None:
    judged = substance(text, has_reference=has_reference, causal=False)
    assert (judged.score, judged.decision) == (score, decision)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("", 0.0),
        ("👍", 0.0),
        ("Great, sounds good!", 0.0 + 0.0),
        ("OK, understood, thanks for the help", 0.0),
        ("好的，谢谢！", 0.0),
        ("我知道了", 0.0),
        ("好的，我知道了，谢谢你的帮助", 0.1),
        ("没问题", 0.0),
        ("no problem!", 0.25),
        ("red green blue", 0.5),
        ("red green blue cyan pink grey black white", 0.6),
        ("User prefers dark themes", 0.7),
        ("用户喜欢深色", 0.7),
        ("login page crashes", 0.7),
        ("登录页面崩溃", 0.7),
        ("team chose green", 0.75),
        ("我们决定使用绿色", 0.75),
        ("restart fixes green crashes, always restart because green leaks memory", 1.0),
    ],
)
def test_each_cue_moves_the_score(text: str, score: float) -> None:
    assert substance(text, has_reference=False, causal=False).score == score


def test_a_causal_cue_found_elsewhere_counts_once() -> None:
    assert substance("red green blue", has_reference=False, causal=True).score == 0.75
    assert substance("chose red green", has_reference=False, causal=True).score == 0.75


@pytest.mark.parametrize(
    "text", ["I don't mind red blue", "no problem red blue", "works at red blue", "works for red blue"]
)
def test_what_only_looks_like_a_cue_does_not_count(text: str) -> None:
    assert substance(text, has_reference=False, causal=False).score <= 0.5


def test_the_confidence_is_confidence_in_discarding() -> None:
    text = "chose red?"  # .50 + .25 - .25 - .20 = .30, and 1 - .30 reaches .7
    assert substance(text, has_reference=False, causal=False).decision == "discard"
    assert substance(text, has_reference=False, causal=False, min_confidence=0.71).decision == "keep"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why?", True),
        ("Why? And what then?", True),
        ("为什么选择Redis？", True),
        ("He asked “why?”", True),
        ("One?\nTwo?", True),
        ("We use v1.2 here?", True),
        ("We use Redis. Why?", False),
        ("我们用Redis。为什么？", False),
        ("Why? Because.", False),
        ("A list\nWhy?", False),
        ("", False),
    ],
)
def test_a_text_that_only_asks(text: str, expected: bool) -> None:
    assert only_questions(text) is expected


@given(st.text(max_size=200), st.booleans(), st.booleans())
def test_any_text_has_a_score_in_steps_of_five_hundredths(text: str, has_reference: bool, causal: bool) -> None:
    judged = substance(text, has_reference=has_reference, causal=causal)
    assert 0 <= judged.score <= 1
    assert round(judged.score * 100) % 5 == 0
    assert judged.decision == ("discard" if judged.score <= 0.3 else "keep")
