"""Hypothetical queries of spec 6.10."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.hypothetical import MAX_QUERY, TEMPLATES, hypothetical_queries, parse_queries


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "problem-solution",
            "Fixed the flaky login test by waiting for the port",
            ("How do I fix the flaky login test?", "What causes the flaky login test?"),
        ),
        (
            "problem-solution",
            "Problem: slow builds. Solution: cache the wheels",
            ("How do I fix slow builds?", "What causes slow builds?"),
        ),
        (
            "problem-solution",
            "数据库锁死的错误，通过设置超时解决了",
            ("如何解决数据库锁死的错误？", "数据库锁死的错误是什么原因造成的？"),
        ),
        (
            "learning-failure",
            "Using SQLite WAL over NFS failed with locking errors",
            ("What should be avoided with using SQLite WAL over NFS?", "Why did using SQLite WAL over NFS fail?"),
        ),
        (
            "learning-failure",
            "Avoid mocking time in tests because it hides races",
            ("What should be avoided with mocking time in tests?", "Why did mocking time in tests fail?"),
        ),
        (
            "learning-failure",
            "We learned the hard way that global singletons didn't work",
            ("What should be avoided with global singletons?", "Why did global singletons fail?"),
        ),
        (
            "learning-failure",
            "避免在NFS上使用WAL，因为会锁死",
            ("在NFS上使用WAL应该避免什么？", "在NFS上使用WAL为什么会失败？"),
        ),
        (
            "learning-failure",
            "Café caching failed",
            ("What should be avoided with Café caching?", "Why did Café caching fail?"),
        ),
    ],
)
def test_the_templates_ask_about_the_topic(kind: str, text: str, expected: tuple[str, ...]) -> None:
    assert hypothetical_queries(kind, text) == expected


@pytest.mark.parametrize("kind", [None, "learning-success", "positive-feedback", "corrective-feedback", "other"])
def test_other_triggers_ask_nothing(kind: str | None) -> None:
    assert hypothetical_queries(kind, "Fixed the login test") == ()


@pytest.mark.parametrize("text", ["", "  ", "...", "Avoid ", "Problem:"])
def test_without_a_topic_nothing_is_asked(text: str) -> None:
    assert hypothetical_queries("learning-failure", text) == ()


@pytest.mark.parametrize(("most", "count"), [(-1, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
def test_there_are_no_more_than_asked_for(most: int, count: int) -> None:
    assert len(hypothetical_queries("problem-solution", "slow builds", most=most)) == count


@given(st.sampled_from([*TEMPLATES]), st.text(max_size=400) | st.text(st.sampled_from("fixed avoid 避免,.:-")))
def test_a_topic_is_short_and_never_empty(kind: str, text: str) -> None:
    for query in hypothetical_queries(kind, text):
        assert len(query) <= 120 + len("What should be avoided with ?")
        assert query not in {template.format("") for templates in TEMPLATES[kind] for template in templates}


def test_a_reply_is_read_line_by_line() -> None:
    reply = 'Sure!\nQ1: How do I fix it?\n\n**Q2:** "Why so?"\nQ3: more\nnot Q4: this'
    assert parse_queries(reply) == ("How do I fix it?", "Why so?")
    assert parse_queries(reply, most=9) == ("How do I fix it?", "Why so?", "more")
    assert parse_queries("- q1：为什么失败？\r\nQ2：怎么修？") == ("为什么失败？", "怎么修？")


def test_empty_and_repeated_questions_are_left_out() -> None:
    assert parse_queries("Q1:\nQ2: Why?\nQ3: why?\nQ4: How?") == ("Why?", "How?")
    assert parse_queries("Q1: Why?", most=0) == ()
    assert parse_queries("") == ()


@given(st.text(max_size=300), st.integers(-1, 4))
def test_any_reply_is_read(reply: str, most: int) -> None:
    questions = parse_queries(f"Q1: {reply}\n{reply}", most)
    assert len(questions) <= max(0, most)
    assert all(0 < len(question) <= MAX_QUERY for question in questions)
