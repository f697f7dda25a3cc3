"""Validation names the field, the limit and the size, and finds everything at once."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.changes import AddInsight
from mnemond.model.insight import ENTITY_MODES
from mnemond.model.outcomes import Remembered
from mnemond.pipelines.remember import Draft, Identity, plan, problems_of

IDENTITY = Identity(
    id="11111111-0000-4000-8000-000000000000",
    op_id="op",
    client_op_id=False,
    now_us=1_771_405_200_000_000,
    store="default",
    request_digest="",
)


def messages(**fields: object) -> list[str]:
    return [problem.message for problem in problems_of(fields)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"content": "x" * 8001}, "content is 8,001 characters; the limit is 8,000"),
        ({"content": ""}, "content is empty (0 characters); it needs 1 to 8,000"),
        ({"content": " \n\t"}, "content is empty (3 characters); it needs 1 to 8,000"),
        ({"content": "a\0b"}, "content has a NUL character at position 2; remove it"),
        ({"content": "a" + "\u0316\u0301" * 30_000}, "content has more than 30 combining marks in a row at position 2"),
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


@pytest.mark.parametrize("content", ["x" * 8000, "记" * 8000, "e\u0301" * 8000, "😀" * 8000])
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


def test_a_plan_is_canonical() -> None:
    draft = Draft(
        content="cafe\u0301", tags=["b", "a", "b"], entities=["X"], created_at="2026-02-18T10:00:00+01:00", importance=4
    )
    change_set = plan(draft, IDENTITY, np.ones(2, np.float32), None)
    change = change_set.changes[0]
    assert isinstance(change, AddInsight)
    assert change.insight.content == "café"
    assert change.insight.tags == ("b", "a")
    assert change.insight.created_at == "2026-02-18T09:00:00.000000Z"
    assert change.insight.valid_from == change.insight.created_at
    assert change.insight.effective_importance == pytest.approx(0.8)
    assert isinstance(change_set.outcome, Remembered)
    assert change_set.outcome.embedded
    assert "café" not in change_set.detail


def test_given_entities_are_kept_in_every_mode() -> None:
    for mode in ENTITY_MODES:
        change = plan(Draft(content="c", entities=["X"], entity_mode=mode), IDENTITY, None, "why").changes[0]
        assert isinstance(change, AddInsight)
        assert change.insight.entities == ("X",)


def test_a_backdated_memory_starts_decayed() -> None:
    draft = Draft(content="old", created_at="2026-01-19T09:00:00Z")  # 30 days before IDENTITY.now_us
    outcome = plan(draft, IDENTITY, None, None).outcome
    assert isinstance(outcome, Remembered)
    assert outcome.effective_importance == pytest.approx(0.25, abs=1e-6)


def test_change_sets_are_frozen() -> None:
    change_set = plan(Draft(content="c"), IDENTITY, None, None)
    with pytest.raises(AttributeError):
        change_set.op_id = "other"  # type: ignore[misc]  # that is the point
    assert msgspec.structs.replace(change_set, op_id="other").op_id == "other"
