"""Regular expressions mean the same in every Python that mnemond runs on.

Before 3.11.5 what repeats a group for good (`(ab)*+`, `(?>ab)`) lost matches (CPython issue 106052), and Debian 12 has
3.11.2. There, a key without its footer was stored, and what looks like a speaker was shown to a model as it was. A
single character or class (`[.]++`) is repeated for good as it should be.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for package in ("mnemond", "mnemonctl") for path in (ROOT / package).rglob("*.py"))
DATA = sorted((ROOT / "mnemond" / "text" / "data").glob("*.toml"))
REPEATS_FOR_GOOD = ("*+", "++", "?+", "}+", "(?>")
"""One of these is in every source with such a group; parsing one is slow."""

FOR_GOOD = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")


def texts(source: str) -> Iterator[str]:
    """Every string as it is, what is put into it as a group."""
    parts: set[ast.expr] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
            yield "".join(str(each.value) if isinstance(each, ast.Constant) else "(?:)" for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.value


def texts_of_data(value: Any) -> Iterator[str]:
    """Every string of a TOML file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_of_data(each)


def groups_for_good(found: Iterator[str]) -> list[str]:
    return [group[0] for text in found for group in FOR_GOOD.finditer(text)]


def test_no_group_is_repeated_for_good() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    found = {
        path: groups_for_good(texts(source))
        for path, source in sources.items()
        if any(each in source for each in REPEATS_FOR_GOOD)
    }
    found |= {path: groups_for_good(texts_of_data(tomllib.loads(path.read_text(encoding="utf-8")))) for path in DATA}
    assert DATA
    assert {str(path.relative_to(ROOT)): groups for path, groups in found.items() if groups} == {}


def test_one_is_found() -> None:
    source = r"""
a = r"[ab]++(?:c\)+|d){2,}+"
b = rf"x{a}{{1,8}}+[{a}]++" r"(?>e)"
c = 1 + len("f")
"""
    assert groups_for_good(texts_of_data({"a": ["(?:b)++"]})) == [")++"]
    assert groups_for_good(texts(source)) == ["){2,}+", "){1,8}+", "(?>"]
