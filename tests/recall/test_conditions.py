"""Conditions on metadata as they are written, and what is said of those that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.query import AllOf, AnyOf, Compare, Condition, NoneOf, holds
from mnemond.recall.conditions import MAX_COMPARISONS, MAX_DEPTH, MAX_LIST, MAX_VALUES, condition_of
from tests.examples import examples
from tests.tables import each_row


@each_row(
    ("asked", "expected"),
    [
        ({"project": "apollo"}, Compare("project", "eq", "apollo")),
        ({"build": {"gte": 3}}, Compare("build", "gte", 3)),
        ({"build": {"gte": 3, "lt": 9}}, AllOf((Compare("build", "gte", 3), Compare("build", "lt", 9)))),
        ({"ticket": "*"}, Compare("ticket", "*")),
        ({"ticket": {"eq": "*"}}, Compare("ticket", "eq", "*")),
        ({"a": None}, Compare("a", "eq", None)),
        ({"a": [1, 2]}, Compare("a", "eq", (1, 2))),
        ({"a": {"in": [1, "x"]}}, Compare("a", "in", (1, "x"))),
        ({"a": 1, "b": True}, AllOf((Compare("a", "eq", 1), Compare("b", "eq", True)))),
        (
            {"OR": [{"a": 1}, {"b": 2}], "NOT": [{"c": "*"}]},
            AllOf((AnyOf((Compare("a", "eq", 1), Compare("b", "eq", 2))), NoneOf((Compare("c", "*"),)))),
        ),
        ({"AND": [{"a": 1}]}, AllOf((Compare("a", "eq", 1),))),
    ],
)
def test_what_is_written_is_what_is_meant(asked: dict[str, Any], expected: Condition) -> None:
    assert condition_of(asked) == (expected, [])


def nested(depth: int) -> dict[str, Any]:
    asked: dict[str, Any] = {"a": 1}
    for _ in range(depth - 1):
        asked = {"AND": [asked]}
    return asked


@each_row(
    ("asked", "said"),
    [
        ({}, "metadata must be an object such as"),
        ([], "metadata must be an object such as"),
        ("x", "not a text"),
        (
            {"build": {"gtee": 3}},
            "metadata.build has the operator 'gtee'; it must be one of eq, .*did you mean \"gte\"",
        ),
        ({"build": {"§": 3}}, "it must be one of"),
        ({"build": {}}, "metadata.build must name an operator"),
        ({"build": {"in": 3}}, '"in" takes a list of values, not a number'),
        ({"build": {"gt": [3]}}, '"gt" takes one value, not a list'),
        ({"build": {"eq": {"a": 1}}}, "metadata.build must be compared with .*not an object"),
        ({"build": [[]]}, "metadata.build must be compared with .*not an empty one"),
        ({"build": {"in": list(range(MAX_LIST + 1))}}, f"has {MAX_LIST + 1} values"),
        ({"OR": {"a": 1}}, "metadata.OR must be a list of objects, not an object"),
        ({"OR": []}, "metadata.OR must be a list"),
        ({"OR": [{"a": 1}, 3]}, "metadata.OR must be an object such as .*not a number"),
        ({"NOT": [None]}, "not null"),
        ({"NOT": [True]}, "not a truth value"),
        (nested(MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        ({str(number): 1 for number in range(MAX_COMPARISONS + 1)}, f"more than {MAX_COMPARISONS} comparisons"),
        (
            {"OR": [{"a": {"in": list(range(MAX_LIST))}}, {"b": [1, 2] * (MAX_COMPARISONS // 2)}, {"c": 1}]},
            f"more than {MAX_VALUES} values in all its comparisons",
        ),
    ],
)
def test_what_cannot_be_meant_is_named(asked: Any, said: str) -> None:
    condition, problems = condition_of(asked)
    assert condition is None
    (problem,) = problems
    assert problem.field == "metadata"
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(problem.message)
    assert len(problem.message) < 400


def test_the_limits_themselves_are_allowed() -> None:
    assert condition_of(nested(MAX_DEPTH))[1] == []
    assert condition_of({str(number): 1 for number in range(MAX_COMPARISONS)})[1] == []
    assert condition_of({"a": {"in": list(range(MAX_LIST))}})[1] == []
    longest = {"a": {"in": list(range(MAX_LIST))}} | {str(number): 1 for number in range(MAX_COMPARISONS - 1)}
    assert condition_of(longest)[1] == []


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "*", "eq"])),
    lambda values: st.one_of(
        st.lists(values, max_size=3),
        st.dictionaries(
            st.sampled_from(["a", "b", "eq", "in", "gt", "contains", "AND", "OR", "NOT"]), values, max_size=3
        ),
    ),
    max_leaves=8,
)


@given(JSON, st.dictionaries(st.sampled_from(["a", "b"]), JSON, max_size=2))
@examples(300)
def test_anything_is_either_refused_or_can_be_tried(asked: Any, metadata: dict[str, Any]) -> None:
    condition, problems = condition_of(asked)
    assert (condition is None) == bool(problems)
    assert condition is None or holds(condition, metadata) in (True, False)
