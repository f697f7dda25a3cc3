"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings

_DEEP = 100
"""Examples of a property without a number of its own in the deep profile (tests/conftest.py)."""


def examples(number: int, least: int = 6) -> settings:
    """`number` of them in a deep run, the profile's part of that (and no fewer than `least`) in a quick one."""
    share = settings().max_examples / _DEEP
    return settings(max_examples=max(min(least, number), round(number * share)))


def few_or_many(few: int, many: int) -> settings:
    """`many` of them in a deep run, `few` in a quick one."""
    return settings(max_examples=many if settings().max_examples >= _DEEP else few)
