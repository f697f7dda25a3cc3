"""What each operator on metadata means."""

from __future__ import annotations

from typing import Any

from mnemond.model.query import OPERATORS, AllOf, AnyOf, Compare, NoneOf, holds
from tests.tables import each_row

FOUND: dict[str, Any] = {
    "text": "Apollo", "number": 3, "real": 3.0, "yes": True, "none": None, "list": ["a", "B", 1], "object": {"a": 1},
}  # fmt: skip


@each_row(
    ("operator", "key", "value", "expected"),
    [
        ("eq", "text", "Apollo", True),
        ("eq", "text", "apollo", False),
        ("eq", "number", 3.0, True),
        ("eq", "yes", 1, False),
        ("eq", "yes", True, True),
        ("eq", "number", True, False),
        ("eq", "none", None, True),
        ("eq", "missing", None, True),
        ("eq", "list", ("a", "B", 1), True),
        ("eq", "list", ("a", "B", True), False),
        ("eq", "list", ("a", "B"), False),
        ("eq", "list", "a", False),
        ("eq", "object", "a", False),
        ("ne", "text", "x", True),
        ("ne", "missing", "x", True),
        ("ne", "text", "Apollo", False),
        ("in", "text", ("x", "Apollo"), True),
        ("in", "text", ("x",), False),
        ("in", "list", ("z", "a"), True),
        ("in", "missing", (None,), True),
        ("in", "text", "Apollo", True),
        ("nin", "text", ("x",), True),
        ("nin", "list", ("a",), False),
        ("nin", "missing", ("a",), True),
        ("gt", "number", 2, True),
        ("gt", "number", 3, False),
        ("gte", "real", 3, True),
        ("lt", "number", 3.5, True),
        ("lt", "number", 3, False),
        ("lte", "number", 3, True),
        ("lte", "number", 2, False),
        ("gt", "text", "Aa", True),
        ("gt", "text", 3, False),
        ("lt", "number", "4", False),
        ("gte", "yes", 0, False),
        ("gte", "number", True, False),
        ("gt", "missing", 0, False),
        ("contains", "text", "poll", True),
        ("contains", "text", "POLL", False),
        ("contains", "text", 1, False),
        ("contains", "list", "a", True),
        ("contains", "list", "b", False),
        ("contains", "list", 1, True),
        ("contains", "number", 3, False),
        ("icontains", "text", "POLL", True),
        ("icontains", "list", "b", True),
        ("icontains", "list", "z", False),
        ("*", "text", None, True),
        ("*", "none", None, False),
        ("*", "missing", None, False),
    ],
)
def test_an_operator(operator: str, key: str, value: Any, expected: bool) -> None:
    assert holds(Compare(key, operator, value), FOUND) is expected


def test_every_operator_is_tried_above() -> None:
    assert set(OPERATORS) == {"eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains", "*"}


def test_conditions_are_combined() -> None:
    true, false = Compare("text", "*"), Compare("missing", "*")
    assert holds(AllOf((true, true)), FOUND)
    assert not holds(AllOf((true, false)), FOUND)
    assert holds(AllOf(()), FOUND)
    assert holds(AnyOf((false, true)), FOUND)
    assert not holds(AnyOf((false, false)), FOUND)
    assert not holds(AnyOf(()), FOUND)
    assert holds(NoneOf((false, false)), FOUND)
    assert not holds(NoneOf((false, true)), FOUND)
