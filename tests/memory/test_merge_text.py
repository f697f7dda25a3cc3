"""Merging two texts without a model: nothing of the newer is lost, nothing is said twice (spec 10.4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.revise import clauses, merged_text
from mnemond.text.similarity import token_set

CASES = {
    "what only the older says is appended": (
        "Deploys run from GitHub Actions.",
        "Deploys run from Jenkins. Rollbacks need two approvals!",
        "Deploys run from GitHub Actions; Rollbacks need two approvals!",
    ),
    "what the newer repeats is not": (
        "The cache lives in Redis and expires after 90 seconds",
        "The cache expires after 60 seconds; the cache lives in Redis.",
        "The cache lives in Redis and expires after 90 seconds",
    ),
    "half new is not enough": ("port 9090 open", "port 8080", "port 9090 open"),
    "another value for the same thing": (
        "Ana works at Globex since March.",
        "Ana works at Initech downtown; Ana paints watercolours",
        "Ana works at Globex since March; Ana paints watercolours",
    ),
    "the same thing of somebody else": (
        "Ana works at Globex",
        "Bob works at Initech downtown",
        "Ana works at Globex; Bob works at Initech downtown",
    ),
    "one clause twice": ("tea at four", "coffee at noon; coffee at noon", "tea at four; coffee at noon"),
    "Chinese": (
        "部署改用 GitHub Actions。",
        "部署使用 Jenkins。回滚需要两个人批准。",
        "部署改用 GitHub Actions; 部署使用 Jenkins; 回滚需要两个人批准",
    ),
    "Chinese, another value": ("小王住在上海", "小王住在北京朝阳区", "小王住在上海"),
    "a list": (
        "Standup is at nine",
        "- bring coffee\n2. bring slides",
        "Standup is at nine; bring coffee; bring slides",
    ),
    "nothing to add": ("tea", "…", "tea"),
}


@pytest.mark.parametrize("case", CASES)
def test_examples(case: str) -> None:
    newer, older, together = CASES[case]
    assert merged_text(newer, older) == together


def test_a_dot_does_not_always_end_a_clause() -> None:
    text = "Use v1.2.3 of mnemon.db, e.g. from J. Doe. It takes 1.5 s"
    assert list(clauses(text)) == ["Use v1.2.3 of mnemon.db, e.g. from J. Doe", "It takes 1.5 s"]


TEXTS = st.text(st.sampled_from("ab1.;!?。\n 中文，-works at is"), max_size=200) | st.text(max_size=100)


@given(TEXTS, TEXTS)
def test_the_newer_is_whole_and_a_second_time_changes_nothing(newer: str, older: str) -> None:
    together = merged_text(newer, older)
    assert together.startswith(newer.rstrip(" \t\r\n.;,，。；、"))
    assert token_set(newer) <= token_set(together)
    assert merged_text(together, older) == together


@given(TEXTS)
def test_a_text_adds_nothing_to_itself(text: str) -> None:
    assert merged_text(text, text) == text
