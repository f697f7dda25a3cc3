"""Figures for people (a table) and for programs (JSON)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Cell = str | int | float | None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the others lie: nearest rank. ValueError when there are none."""
    if not values:
        raise ValueError("a percentile of nothing")
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median(values: Sequence[float]) -> float:
    """The percentile at one half."""
    return percentile(values, 0.5)


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Rows under their heads, first column to the left, all others to the right."""
    texts = [list(heads), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(pairs))
        for pairs in (zip(line, widths, strict=True) for line in texts)
    ]
    return "\n".join(["", title, lines[0], "-" * len(lines[0]), *lines[1:]])


def say(text: str) -> None:
    """Progress and tables, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_json(path: Path | None, figures: dict[str, Any]) -> None:
    """The figures as one JSON document, when a path was given."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.3f}" if abs(cell) < 100 else f"{cell:,.0f}"
    return str(cell)
