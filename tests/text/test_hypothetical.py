"""First clauses, trigger types and hypothetical queries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.hypothetical import (
    MAX_CLAUSE,
    MAX_QUERY,
    TEMPLATES,
    first_clause,
    hypothetical_queries,
    parse_queries,
    trigger_text,
    trigger_type,
)
from tests.tables import each_row

# ---------------------------------------------------------------- trigger types and trigger texts


@each_row(
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


@each_row(
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


@each_row(
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


# ---------------------------------------------------------------- hypothetical queries


@each_row(
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
            "Docker build failed with OOM on CI, fixed by a larger runner",
            (
                "How do I fix Docker build failing with OOM on CI?",
                "What causes Docker build failing with OOM on CI?",
            ),
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


@each_row("kind", [None, "learning-success", "positive-feedback", "corrective-feedback", "other"])
def test_other_triggers_ask_nothing(kind: str | None) -> None:
    assert hypothetical_queries(kind, "Fixed the login test") == ()


@each_row(
    ("kind", "text"),
    [
        ("learning-failure", "We failed to deploy on Friday"),
        ("learning-failure", "It did not work"),
        ("learning-failure", "Don't commit secrets, it failed before"),
        ("learning-failure", "The build was slow and failed"),
        ("learning-failure", "我们失败了"),
        ("problem-solution", "It crashed on start, fixed by clearing the cache"),
        ("problem-solution", "The server couldn't start; fixed by raising the limit"),
    ],
)
def test_a_clause_is_no_topic(kind: str, text: str) -> None:
    assert hypothetical_queries(kind, text) == ()


@each_row("text", ["", "  ", "...", "Avoid ", "Problem:"])
def test_without_a_topic_nothing_is_asked(text: str) -> None:
    assert hypothetical_queries("learning-failure", text) == ()


@each_row(("most", "count"), [(-1, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
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
