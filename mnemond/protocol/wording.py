"""Words for values and types in messages to the user. Values are named by their size, never repeated at length."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from msgspec import inspect

SHOWN = 40
"""Characters of a value that a message may show."""

_PLURALS = {"a string": "strings", "a whole number": "whole numbers", "a number": "numbers", "an object": "objects"}
_UNITS: dict[type[inspect.Type], str] = {
    inspect.StrType: " characters",
    inspect.ListType: " items",
    inspect.VarTupleType: " items",
}


def short(value: object) -> str:
    """At most 40 printable characters of a value; control characters and invisible ones are escaped."""
    shown = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"


def described(value: object) -> str:
    """What kind of value it is, and how large."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"a string of {len(value)} characters"
        case int() | float():
            return f"the number {short(value)}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name a misspelt one most likely means."""
    close = difflib.get_close_matches(name[:64], list(known), n=1)
    return close[0] if close else None


def expected(node: inspect.Type) -> str:
    """What values a type allows, without its limits."""
    match node:
        case inspect.StrType():
            return "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number"
        case inspect.FloatType():
            return "a number"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(str(value) for value in values)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return plural(expected(item))
        case inspect.UnionType(types=types):
            return " or ".join(expected(each) for each in types)
        case inspect.DictType() | inspect.StructType():
            return "an object"
        case _:
            return "any value"


def plural(each: str) -> str:
    """A list of them."""
    return "a list of " + _PLURALS.get(each, each)


def limits(node: inspect.Type) -> tuple[float | None, float | None]:
    """Smallest and largest value, or length, that a type allows."""
    match node:
        case inspect.IntType(ge=low, le=high) | inspect.FloatType(ge=low, le=high):
            return low, high
        case inspect.StrType(min_length=low, max_length=high):
            return low, high
        case inspect.ListType(min_length=low, max_length=high) | inspect.VarTupleType(min_length=low, max_length=high):
            return low, high
        case _:
            return None, None


def bounds(node: inspect.Type) -> str:
    """The limits of a type, such as "1 to 1000" or "at most 200 characters"; empty when it has none."""
    if isinstance(node, inspect.UnionType):
        return next((found for each in node.types if (found := bounds(each))), "")
    unit = _UNITS.get(type(node), "")
    low, high = limits(node)
    if low is None:
        return "" if high is None else f"at most {high}{unit}"
    return f"at least {low}{unit}" if high is None else f"{low} to {high}{unit}"
