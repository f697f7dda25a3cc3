"""Files small enough to read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULE_LINES = 400
FUNCTION_LINES = 40
PACKAGES = ("mnemond", "mnemonctl", "tests", "benchmarks", "docs")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def long_functions(source: str, limit: int = FUNCTION_LINES) -> Iterator[str]:
    """Name and length of each function of more than `limit` lines, docstring included.

    Decorators are not counted: the rows that a test is tried with are data.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            if length > limit:
                yield f"{node.name}: {length} lines"


def test_there_is_something_to_measure() -> None:
    assert SOURCES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= MODULE_LINES
    assert list(long_functions(source)) == []


def test_a_long_function_is_found() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(FUNCTION_LINES))
    assert list(long_functions(f"def short():\n    pass\n\n\nasync def long():\n{body}\n")) == ["long: 41 lines"]
