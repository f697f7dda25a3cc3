"""The report on merged pairs counts facts that survive and contradictions that are stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.merges import main

PAIRS: list[dict[str, object]] = [
    {"id": "a", "lang": "en", "old": "A runs on port 80", "new": "A runs in Oslo", "contradicting": False,
     "facts": ["port 80", "Oslo"], "split": "tune"},
    {"id": "b", "lang": "en", "old": "The port is 80", "new": "The port is 81", "contradicting": True, "facts": ["80"],
     "split": "tune"},
    {"id": "c", "lang": "de", "old": "Tee um vier", "new": "Kaffee", "contradicting": False, "facts": ["Milch"],
     "split": "tune"},
    {"id": "d", "lang": "de", "old": "Der Port ist 80", "new": "Der Port ist 81", "contradicting": False, "facts": [],
     "split": "tune"},
    {"id": "e", "lang": "de", "old": "x", "new": "y", "contradicting": False, "facts": [], "split": "report"},
]  # fmt: skip


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text("\n".join(map(json.dumps, PAIRS)) + "\n", encoding="utf-8")
    assert main(["--data", str(data), "--split", "tune", "--misses"]) == 0
    shown = capsys.readouterr().out
    assert "en   all facts survive        1 of 1" in shown
    assert "en   contradiction stopped    1 of 1" in shown
    assert "de   all facts survive        0 of 2" in shown
    assert "missing ['Milch']" in shown
    assert "->  stopped" in shown
    assert main(["--data", str(data)]) == 0
