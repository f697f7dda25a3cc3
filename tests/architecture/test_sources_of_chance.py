"""Nobody asks what time it is except mnemond.clock, which import contracts cannot see for `datetime`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READS_THE_CLOCK = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "time_ns"),
}
SOURCES = sorted(path for path in (ROOT / "mnemond").rglob("*.py") if path != ROOT / "mnemond" / "clock.py")


def clock_readings(source: str) -> Iterator[str]:
    """Calls such as `datetime.now()` and `dt.datetime.now()`, as written."""
    if not any(f"{owner}.{name}" in source for owner, name in READS_THE_CLOCK):
        return  # parsing is slow
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if (owner, node.attr) in READS_THE_CLOCK:
                yield ast.unparse(node)


def test_the_wall_clock_is_read_in_one_place() -> None:
    found = {path: list(clock_readings(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {str(path.relative_to(ROOT)): calls for path, calls in found.items() if calls} == {}


def test_a_reading_is_found() -> None:
    source = "import datetime as dt\na = dt.datetime.now(dt.UTC)\nb = dt.date.today()\nc = dt.datetime(2024, 1, 1)\n"
    assert list(clock_readings(source)) == ["dt.datetime.now", "dt.date.today"]
