"""The report on causal links: which pair gets which outcome, and the counts by language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.causes import NONE, Pair, main

NOTE = "The bakery raised its prices because flour got dearer."
PAIRS = [
    Pair("1", "en", "Flour got dearer.", NOTE, "a->b"),
    Pair("2", "en", NOTE, "Flour got dearer.", "a->b"),
    Pair("3", "en", "Flour is in the cellar.", NOTE, "a->b", "report"),
    Pair("4", "zh", "The bakery raised its prices.", NOTE, NONE),
    Pair("5", "zh", "Lunch is at noon.", NOTE, NONE),
]


@pytest.fixture
def pair_file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    names = Pair.__struct_fields__
    path.write_text("".join(json.dumps({name: getattr(pair, name) for name in names}) + "\n" for pair in PAIRS))
    return path


def test_the_report_names_what_is_not_right(pair_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(pair_file), "--misses"]) == 0
    shown = capsys.readouterr().out
    assert [line.split(" (")[0] for line in shown.splitlines() if ", got " in line] == [
        "reversed",
        "missing",
        "in vain",
    ]
    assert main(["--data", str(pair_file)]) == 0
    assert ", got " not in capsys.readouterr().out
