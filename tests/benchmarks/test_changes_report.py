"""The report on old statements counts what became of them, by kind, language and form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.changes import Pair, main

PAIRS = [
    Pair("1", "en", "keep", "Squad 7 owns billing", "Squad 8 owns billing", "minimal"),
    Pair("2", "en", "replace", "The limit is 100 req/s", "The limit is 200 req/s", "minimal"),
    Pair("3", "de", "contradict", "The office is in Berlin", "The office is in Munich", "free"),
    Pair("4", "de", "contradict", "Tea is at four", "tea is at four.", split="report"),
]


def test_the_report_names_what_came_out_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, names = tmp_path / "pairs.jsonl", Pair.__struct_fields__
    data.write_text("".join(json.dumps({name: getattr(pair, name) for name in names}) + "\n" for pair in PAIRS))
    assert main(["--data", str(data), "--split", "report", "--embedder", "words", "--misses"]) == 0
    shown = capsys.readouterr().out
    assert "contradict: skipped (de , 4)\n    Tea is at four\n    tea is at four.\n" in shown
    assert "Squad" not in shown
    assert main(["--data", str(data)]) == 0
    assert "skipped (" not in capsys.readouterr().out
