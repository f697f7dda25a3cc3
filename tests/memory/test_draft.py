"""Validation names the field, the limit and the size, and finds everything at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.draft import problems_of
from tests.tables import each_row


def messages(**fields: object) -> list[str]:
    return [problem.message for problem in problems_of(fields)]


@each_row(
    ("fields", "message"),
    [
        ({"content": "x" * 8001}, "content is 8,001 characters; the limit is 8,000"),
        ({"content": ""}, "content is empty (0 characters); it needs 1 to 8,000"),
        ({"content": " \n\t"}, "content is empty (3 characters); it needs 1 to 8,000"),
        ({"content": "a\0b"}, "content has a NUL character at position 2; remove it"),
        ({"content": "a" + "\u0316\u0301" * 15_000}, "content has more than 30 combining marks in a row at position 2"),
        ({"tags": ["a" + "\u0316" * 31]}, "tags[0] has more than 30 combining marks in a row"),
        ({"importance": 0}, "importance is 0; it must be an integer from 1 to 5"),
        ({"importance": 6}, "importance is 6; it must be an integer from 1 to 5"),
        ({"tags": [str(n) for n in range(21)]}, "tags has 21 different entries; the limit is 20"),
        ({"tags": ["t" * 101]}, "tags[0] is 101 characters; the limit is 100"),
        ({"tags": ["fine", " "]}, "tags[1] is empty; it needs 1 to 100 characters"),
        ({"entities": [str(n) for n in range(51)]}, "entities has 51 different entries; the limit is 50"),
        ({"entities": ["e" * 201]}, "entities[0] is 201 characters; the limit is 200"),
        ({"entities": ["a\0"]}, "entities[0] contains a NUL character, which cannot be stored"),
        ({"source": "a\0"}, "source contains a NUL character, which cannot be stored"),
        (
            {"created_at": "2026-02-18"},
            'created_at: "2026-02-18" has no offset; write Z for UTC, as in 2026-02-18T09:30:00Z',
        ),
    ],
)
def test_each_rule(fields: dict[str, object], message: str) -> None:
    assert messages(**fields) == [message]


def test_the_nearest_category_is_suggested() -> None:
    [message] = messages(category="Decision")
    assert message.endswith('did you mean "decision"?')
    assert "'Decision'" in message


def test_everything_at_once() -> None:
    found = messages(content="x" * 9000, category="nope", importance=77, tags=[""], entity_mode="all", created_at="x")
    assert len(found) == 6
    assert len(messages(tags=[""] * 1000)) == 20


@each_row("content", ["x" * 8000, "记" * 8000, "e\u0301" * 8000, "😀" * 8000])
def test_the_limit_counts_characters_after_nfc(content: str) -> None:
    assert messages(content=content) == []


def test_limits_of_lists_are_inclusive_and_count_different_entries() -> None:
    assert messages(tags=[str(n) for n in range(20)] * 2, entities=["e" * 200] * 60) == []


@given(st.text(max_size=50), st.text(max_size=20), st.integers(), st.lists(st.text(max_size=120), max_size=25))
def test_validation_is_total_and_never_echoes_long_values(
    content: str, category: str, importance: int, tags: list[str]
) -> None:
    for message in messages(content=content, category=category, importance=importance, tags=tags):
        assert len(message) < 300
        assert message.isprintable()


@each_row("field", ["source", "channel", "conversation_id", "session_id", "user_id", "agent_id", "op_id"])
def test_no_name_may_hold_what_cannot_be_stored(field: str) -> None:
    assert messages(**{field: "a\0b"}) == [f"{field} contains a NUL character, which cannot be stored"]
    assert messages(**{field: None}) == []


SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"


@each_row("field", ["source", "channel", "conversation_id", "session_id", "user_id", "agent_id"])
def test_no_name_that_is_stored_may_be_a_secret_unless_it_is_meant(field: str) -> None:
    (message,) = messages(**{field: f"for {SECRET}"})
    assert message == (
        f"{field} looks like a secret (aws_access_key): give it another value,"
        " or allow_secret (--allow-secret) to store it as it is"
    )
    assert messages(**{field: SECRET, "allow_secret": True}) == []
    assert len(messages(**{field: SECRET, "allow_secret": False})) == 1
    assert problems_of({field: SECRET}, stored=()) == []


@each_row("hidden", ["\u200b", "\u00ad", "\u2060", "\ufe0f"])
def test_nor_one_that_hides_between_signs_that_do_not_show(hidden: str) -> None:
    (message,) = messages(conversation_id=f"for {SECRET[:9]}{hidden}{SECRET[9:]}")
    assert "looks like a secret (aws_access_key)" in message


@each_row(
    "name", ["host:claude-code", "123e4567-e89b-12d3-a456-426614174000", "alice@example.com", "session-" + "a3f5" * 8]
)
def test_what_names_usually_look_like_is_no_secret(name: str) -> None:
    assert messages(source=name, conversation_id=name, user_id=name) == []


def test_what_is_absent_or_of_another_type_is_not_judged() -> None:
    assert messages() == messages(importance="3", tags=None, entities="Redis", created_at=None) == []
