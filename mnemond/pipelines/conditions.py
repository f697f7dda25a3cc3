"""Conditions on metadata as a request writes them (the operators of Mem0, spec 2.3), read into values.

`{"project": "apollo"}` is equality, `{"build": {"gte": 3, "lt": 9}}` compares, `{"ticket": "*"}` asks for anything at
all; several keys must all hold, and `AND`, `OR` and `NOT` each take a list of such objects.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NoReturn

from mnemond.errors import FieldProblem
from mnemond.model.conditions import LISTED, OPERATORS, AllOf, AnyOf, Compare, Condition, NoneOf, Scalar

MOST = 100
"""Comparisons in one filter: it is tried on every memory that passed the others."""

DEEPEST = 8
"""Objects inside each other."""

LONGEST_LIST = 1000
"""Values of `in` and the like."""

MOST_VALUES = LONGEST_LIST + MOST
"""Values of all comparisons of one filter: one list as long as any, beside everything else. A hundred such lists would
be tried on every memory."""

FIELD = "metadata"

_COMBINED: dict[str, type[AllOf | AnyOf | NoneOf]] = {"AND": AllOf, "OR": AnyOf, "NOT": NoneOf}
_NAMED = tuple(name for name in OPERATORS if name != "*")
_SHOWN = 40


class _RefusedError(Exception):
    """What is wrong, and where."""


def condition_of(asked: object) -> tuple[Condition | None, list[FieldProblem]]:
    """The condition that `asked` means, or what is wrong with it."""
    reader = _Reader()
    try:
        return reader.condition(asked, FIELD, 1), []
    except _RefusedError as error:
        return None, [FieldProblem(FIELD, str(error))]


class _Reader:
    def __init__(self) -> None:
        self._comparisons = 0
        self._values = 0

    def condition(self, asked: object, place: str, depth: int) -> Condition:
        if not isinstance(asked, Mapping) or not asked:
            _refuse(place, f'must be an object such as {{"project": "apollo"}}, not {_shown(asked)}')
        if depth > DEEPEST:
            _refuse(place, f"is nested more than {DEEPEST} deep")
        parts = [part for key, value in asked.items() for part in self._parts(str(key), value, place, depth)]
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _parts(self, key: str, value: object, place: str, depth: int) -> list[Condition]:
        here = f"{place}.{key[:_SHOWN]}"
        if key in _COMBINED:
            if not isinstance(value, list) or not value:
                _refuse(here, f"must be a list of objects, not {_shown(value)}")
            return [_COMBINED[key](tuple(self.condition(one, here, depth + 1) for one in value))]
        if isinstance(value, Mapping):
            if not value:
                _refuse(here, 'must name an operator, as in {"gte": 3}')
            return [self._compared(key, str(name), wanted, here) for name, wanted in value.items()]
        if value == "*":
            return [self._compared(key, "*", None, here)]
        return [self._compared(key, "eq", value, here)]

    def _compared(self, key: str, operator: str, value: object, place: str) -> Compare:
        self._comparisons += 1
        if self._comparisons > MOST:
            _refuse(FIELD, f"has more than {MOST} comparisons")
        if operator not in OPERATORS:
            near = difflib.get_close_matches(operator[:_SHOWN].casefold(), _NAMED, n=1)
            meant = f'; did you mean "{near[0]}"?' if near else ""
            _refuse(place, f"has the operator {operator[:_SHOWN]!a}; it must be one of {', '.join(_NAMED)}{meant}")
        compared = Compare(key, operator, _value(operator, value, place))
        self._values += len(compared.value) if isinstance(compared.value, tuple) else 1
        if self._values > MOST_VALUES:
            _refuse(FIELD, f"has more than {MOST_VALUES} values in all its comparisons")
        return compared


def _value(operator: str, value: object, place: str) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, list):
        if len(value) > LONGEST_LIST:
            _refuse(place, f"has {len(value)} values; {LONGEST_LIST} is the most")
        if operator not in (*LISTED, "eq", "ne"):
            _refuse(place, f'"{operator}" takes one value, not a list')
        return tuple(_scalar(one, place) for one in value)
    if operator in LISTED:
        _refuse(place, f'"{operator}" takes a list of values, not {_shown(value)}')
    return _scalar(value, place)


def _scalar(value: object, place: str) -> Scalar:
    if value is not None and not isinstance(value, str | int | float | bool):
        _refuse(place, f"must be compared with a text, a number, true, false or null, not {_shown(value)}")
    return value


def _refuse(place: str, why: str) -> NoReturn:
    raise _RefusedError(f"{place} {why}")


def _shown(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    if value in ({}, []):
        return "an empty one"
    return kinds.get(type(value), "a number")
