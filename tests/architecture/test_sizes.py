"""Files small enough to read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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


def test_modules_and_functions_stay_small() -> None:
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        lines = len(source.splitlines())
        too_long = [f"{lines} lines"] * (lines > MODULE_LINES) + list(long_functions(source))
        if too_long:
            found[str(path.relative_to(ROOT))] = too_long
    assert found == {}


def test_a_long_function_is_found() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(FUNCTION_LINES))
    assert list(long_functions(f"def short():\n    pass\n\n\nasync def long():\n{body}\n")) == ["long: 41 lines"]
