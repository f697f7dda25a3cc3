"""The intent of a question (spec 11.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.cues import MAX_QUESTION, cue_counts, intent_of
from tests.examples import examples


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("why did we switch before launch", "WHY"),
        ("what is the reason we chose X", "WHY"),
        ("when was it", "WHEN"),
        ("tell me about Qdrant", "ENTITY"),
        ("runtime errors", "GENERAL"),
        ("为什么选择 Qdrant", "WHY"),
    ],
)
def test_the_questions_of_the_specification(question: str, intent: str) -> None:
    assert intent_of(question) == intent


@pytest.mark.parametrize(
    ("intent", "cues"),
    [
        (
            "WHY",
            "why|reason|reasons|because|cause|caused|causes|motivation|rationale|how come|为什么|原因|理由|为何|為什麼",
        ),
        (
            "WHEN",
            "when|time|date|before|after|during|since|until|timeline|history|什么时候|何时|时间|之前|之后|什麼時候",
        ),
        (
            "ENTITY",
            "what is|what are|what's|what’s|who is|tell me about|describe|是什么|谁是|关于|介绍|關於",
        ),
    ],
)
def test_every_cue_counts_by_itself(intent: str, cues: str) -> None:
    for cue in cues.split("|"):
        assert intent_of(f"Redis {cue} Bob") == intent, cue
        assert intent_of(f"数据库{cue.upper()}缓存") == intent, cue
        assert sum(cue_counts(cue).values()) == 1, cue


@pytest.mark.parametrize(
    "question",
    [
        "", "updates", "timeout", "sometime", "afternoon", "overdate", "whenever", "causeway", "described", "whys",
        "time_zone", "what isolation", "who isn", "it_because", "2date", "什么", "时", "redis cache", "?!",
    ],
)  # fmt: skip
def test_a_part_of_a_word_is_no_cue(question: str) -> None:
    assert intent_of(question) == "GENERAL"


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("why when", "WHY"),
        ("describe when", "WHEN"),
        ("describe why", "WHY"),
        ("describe when why", "WHY"),
        ("when, since and why", "WHEN"),
        ("who is it, tell me about the reason", "ENTITY"),
        ("What   is\nthe plan", "ENTITY"),
        ("ＷＨＹ did it fail", "WHY"),
    ],
)
def test_the_most_cues_win_and_ties_have_an_order(question: str, intent: str) -> None:
    assert intent_of(question) == intent


def test_what_comes_late_in_a_long_text_asks_nothing() -> None:
    assert intent_of("x " * MAX_QUESTION + "why") == "GENERAL"


@given(st.text())
@examples(200)
def test_any_text_has_an_intent_and_case_does_not_matter(question: str) -> None:
    assert intent_of(question) in ("WHY", "WHEN", "ENTITY", "GENERAL")
    assert intent_of(question.casefold()) == intent_of(question.casefold().casefold())
