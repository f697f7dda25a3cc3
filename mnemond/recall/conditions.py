"""Read the metadata conditions of a request, with the operators of Mem0.

`{"project": "apollo"}` is equality, `{"build": {"gte": 3, "lt": 9}}` compares, `{"ticket": "*"}` requires any value;
several keys must all match, and `AND`, `OR` and `NOT` each take a list of such objects.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NoReturn

from mnemond.errors import FieldProblem
from mnemond.model.query import LIST_OPERATORS, OPERATORS, AllOf, AnyOf, Compare, Condition, NoneOf, Scalar

MAX_COMPARISONS = 100
"""Comparisons in one filter: each is evaluated on every memory that passed the others."""

MAX_DEPTH = 8
"""Levels of nested objects."""

MAX_LIST = 1000
"""Values of `in` and the like."""

MAX_VALUES = MAX_LIST + MAX_COMPARISONS
"""Values of all comparisons of one filter: room for one list of maximum length beside all else. A hundred such lists
would be evaluated on every memory."""

FIELD = "metadata"

_COMBINED: dict[str, type[AllOf | AnyOf | NoneOf]] = {"AND": AllOf, "OR": AnyOf, "NOT": NoneOf}
_NAMED = tuple(name for name in OPERATORS if name != "*")
_SHOWN = 40


class _RefusedError(Exception):
    """The message of a FieldProblem."""


def condition_of(value: object) -> tuple[Condition | None, list[FieldProblem]]:
    """Parse a metadata condition; return it, or the problem."""
    try:
        return _Reader().condition(value, FIELD, 1), []
    except _RefusedError as error:
        return None, [FieldProblem(FIELD, str(error))]


class _Reader:
    def __init__(self) -> None:
        self._comparisons = 0
        self._values = 0

    def condition(self, value: object, place: str, depth: int) -> Condition:
        if not isinstance(value, Mapping) or not value:
            _refuse(place, f'must be an object such as {{"project": "apollo"}}, not {_shown(value)}')
        if depth > MAX_DEPTH:
            _refuse(place, f"is nested more than {MAX_DEPTH} deep")
        parts = [part for key, one in value.items() for part in self._parts(str(key), one, place, depth)]
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
        if self._comparisons > MAX_COMPARISONS:
            _refuse(FIELD, f"has more than {MAX_COMPARISONS} comparisons")
        if operator not in OPERATORS:
            close = difflib.get_close_matches(operator[:_SHOWN].casefold(), _NAMED, n=1)
            meant = f'; did you mean "{close[0]}"?' if close else ""
            _refuse(place, f"has the operator {operator[:_SHOWN]!a}; it must be one of {', '.join(_NAMED)}{meant}")
        compared = Compare(key, operator, _value(operator, value, place))
        self._values += len(compared.value) if isinstance(compared.value, tuple) else 1
        if self._values > MAX_VALUES:
            _refuse(FIELD, f"has more than {MAX_VALUES} values in all its comparisons")
        return compared


def _value(operator: str, value: object, place: str) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, list):
        if len(value) > MAX_LIST:
            _refuse(place, f"has {len(value)} values; {MAX_LIST} is the most")
        if operator not in (*LIST_OPERATORS, "eq", "ne"):
            _refuse(place, f'"{operator}" takes one value, not a list')
        return tuple(_scalar(one, place) for one in value)
    if operator in LIST_OPERATORS:
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
