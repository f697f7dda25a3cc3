"""A payload without what is different each time: whose home it was, when, and the numbers of sessions and turns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

HOME: Final = "/home/ada"

_NUMBER: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-([47])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Identifiers, random ones and ones that begin with a time."""

_TIMES: Final = (
    (re.compile(r"\d{4}/\d\d/\d\d"), "2026/11/22"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?![0-9a-f])"), "2026-11-22T10-00-00"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d(?=-[0-9a-f]{8})"), "2026-11-22T10-00"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "2026-11-22T10:00:00.000Z"),
)
"""Days in paths, times in names of files, times."""


def neutral(payloads: Iterable[Any], home: str) -> list[Any]:
    """The same as somebody else would have them, identifiers counted in the order in which they come. `home` is the
    home directory they were recorded in."""
    given: dict[str, str] = {}
    return [_value(each, home, given) for each in payloads]


def _value(value: Any, home: str, given: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _value(each, home, given) for name, each in value.items()}
    if isinstance(value, list):
        return [_value(each, home, given) for each in value]
    return _text(value, home, given) if isinstance(value, str) else value


def _text(text: str, home: str, given: dict[str, str]) -> str:
    slug = re.sub(r"[^A-Za-z0-9]", "-", home)
    text = text.replace(home, HOME).replace(slug, HOME.replace("/", "-"))
    for whole, first, kind in ((found[0], found[1], found[2]) for found in _NUMBER.finditer(text)):
        if whole not in given:
            number = sum(len(known) > len(first) for known in given) + 1
            given[whole] = f"{number:08x}-0000-{kind}000-8000-{number:012x}"
            if kind == "4":  # the others begin with a time, as many do
                given[first] = given[whole][: len(first)]
    for changing, fixed in _TIMES:
        text = changing.sub(fixed, text)
    for before, after in given.items():
        text = text.replace(before, after)
    return text
