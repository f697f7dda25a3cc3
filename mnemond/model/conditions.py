"""Conditions on the metadata of a memory: the operators of Mem0 (spec 2.3) as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import msgspec

Scalar = str | int | float | bool | None


class Compare(msgspec.Struct, frozen=True, tag="compare"):
    """`key` stands in relation `operator` (one of `OPERATORS`) to `value`."""

    key: str
    operator: str
    value: Scalar | tuple[Scalar, ...] = None


class AllOf(msgspec.Struct, frozen=True, tag="all"):
    """Every one of `parts` holds; of none, always."""

    parts: tuple[Condition, ...]


class AnyOf(msgspec.Struct, frozen=True, tag="any"):
    """At least one of `parts` holds."""

    parts: tuple[Condition, ...]


class NoneOf(msgspec.Struct, frozen=True, tag="none"):
    """None of `parts` holds."""

    parts: tuple[Condition, ...]


Condition = Compare | AllOf | AnyOf | NoneOf


def holds(condition: Condition, metadata: Mapping[str, object]) -> bool:
    """Whether metadata satisfy a condition. A key that is not there is like one whose value is null."""
    match condition:
        case Compare(key, operator, value):
            return OPERATORS[operator](metadata.get(key), value)
        case AllOf(parts):
            return all(holds(part, metadata) for part in parts)
        case AnyOf(parts):
            return any(holds(part, metadata) for part in parts)
        case NoneOf(parts):
            return not any(holds(part, metadata) for part in parts)
        case _:
            assert_never(condition)


def _equal(found: object, value: object) -> bool:
    """As JSON has it: true is not 1, and 1 is 1.0."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, list):
        return isinstance(value, tuple) and len(found) == len(value) and all(map(_equal, found, value))
    return found == value


def _among(found: object, values: object) -> bool:
    """Of a list: whether one of its elements is among the values."""
    wanted = values if isinstance(values, tuple) else (values,)
    each = found if isinstance(found, list) else [found]
    return any(_equal(one, value) for one in each for value in wanted)


def _ordered(compare: Callable[[int], bool]) -> Callable[[object, object], bool]:
    """Numbers are compared with numbers and texts with texts (so RFC 3339 times in UTC are, too); nothing else is."""

    def ordered(found: object, value: object) -> bool:
        if isinstance(found, bool) or isinstance(value, bool):
            return False
        if isinstance(found, int | float) and isinstance(value, int | float):
            return compare((found > value) - (found < value))
        if isinstance(found, str) and isinstance(value, str):
            return compare((found > value) - (found < value))
        return False

    return ordered


def _contains(found: object, value: object) -> bool:
    """A text has it as a part, a list as an element."""
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(_equal(one, value) for one in found)


def _contains_folded(found: object, value: object) -> bool:
    return _contains(_folded(found), _folded(value))


def _folded(value: object) -> object:
    if isinstance(value, str):
        return value.casefold()
    return [_folded(one) for one in value] if isinstance(value, list) else value


OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "eq": _equal,
    "ne": lambda found, value: not _equal(found, value),
    "in": _among,
    "nin": lambda found, value: not _among(found, value),
    "gt": _ordered(lambda order: order > 0),
    "gte": _ordered(lambda order: order >= 0),
    "lt": _ordered(lambda order: order < 0),
    "lte": _ordered(lambda order: order <= 0),
    "contains": _contains,
    "icontains": _contains_folded,
    "*": lambda found, value: found is not None,
}
"""Each by its name on the wire: what a memory has, and what is asked for. `*`: there is anything at all."""

LISTED: Sequence[str] = ("in", "nin")
"""Operators whose value is a list."""
