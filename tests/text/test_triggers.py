"""Trigger types and trigger texts of spec 6.9."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.hypothetical import MAX_CLAUSE, first_clause, trigger_text, trigger_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Docker build failed with OOM on CI, fixed by raising the memory limit", "problem-solution"),
        ("Error: database is locked. The solution was a busy timeout", "problem-solution"),
        ("数据库锁死的错误，通过设置超时解决了", "problem-solution"),
        ("Thanks, this is perfect because it keeps the diff small", "positive-feedback"),
        ("👍 exactly what I needed", "positive-feedback"),
        ("谢谢，因为这样更快", "positive-feedback"),
        ("Actually, use uv here", "corrective-feedback"),
        ("That is wrong: the port is 8080", "corrective-feedback"),
        ("Don't use tabs", "corrective-feedback"),
        ("Please don’t commit to main", "corrective-feedback"),
        ("Use uv instead of pip", "corrective-feedback"),
        ("不要用pip，改用uv", "corrective-feedback"),
        ("Turns out the flag needs a restart", "learning-success"),
        ("Learned that Redis pub/sub drops messages", "learning-success"),
        ("Caching the wheel works", "learning-success"),
        ("原来需要先登录", "learning-success"),
        ("The retry loop didn't work", "learning-failure"),
        ("Avoid mocking time in tests", "learning-failure"),
        ("Pitfall: gather swallows exceptions", "learning-failure"),
        ("这个方法行不通", "learning-failure"),
        ("We learned that global state failed in tests", "learning-failure"),
        ("WAL over NFS failed, a local disk works", "learning-success"),
        ("User prefers dark mode", None),
        ("用户喜欢深色", None),
        ("", None),
        ("...", None),
    ],
)
def test_the_type_of_a_trigger(text: str, expected: str | None) -> None:
    assert trigger_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I don't know the reason yet",
        "I actually like this city",
        "Nothing wrong with that colour",
        "She works at a bakery",
        "Thanks! Bye",
        "Thanks, Jon! I painted it because it was calming",
        "Don't forget the umbrella",
        "Keep working hard",
        "Let me know",
    ],
)
def test_what_only_looks_like_a_trigger_is_none(text: str) -> None:
    assert trigger_type(text) is None


def test_only_a_person_corrects() -> None:
    assert trigger_type("Use uv instead of pip", source="agent") is None
    assert trigger_type("Don't use tabs, avoid them", source="agent") == "learning-failure"


def test_what_was_mended_is_no_failure() -> None:
    assert trigger_type("avoid the leak: patched", source="agent") == "problem-solution"
    assert trigger_type("avoid red, patched blue", source="agent") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tests failed on CI, fixed by adding a port", "learning-failure: Tests failed on CI"),
        ("- Problem: database is locked. Solution: wait", "learning-failure: database is locked"),
        ("See e.g. the v1.2 notes; then more", "learning-failure: See e.g. the v1.2 notes"),
        ("在NFS上使用WAL失败了。换成本地盘", "learning-failure: 在NFS上使用WAL失败了"),
        ("", "learning-failure"),
        ("!!!", "learning-failure"),
    ],
)
def test_the_text_of_a_trigger_is_its_type_and_first_clause(text: str, expected: str) -> None:
    assert trigger_text("learning-failure", text) == expected


def test_a_long_clause_is_cut_between_words() -> None:
    clause = first_clause("word " * 200)
    assert clause == "word " * 23 + "word…"
    assert len(first_clause("x" * 500)) == MAX_CLAUSE


@given(st.text(max_size=400))
def test_any_text_has_a_type_or_none_and_a_short_first_clause(text: str) -> None:
    kind = trigger_type(text)
    assert kind is None or trigger_text(kind, text).startswith(kind)
    clause = first_clause(text)
    assert len(clause) <= MAX_CLAUSE
    assert clause == " ".join(clause.split())
