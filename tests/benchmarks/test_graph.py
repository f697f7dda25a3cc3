"""Recall with a signal from the graph: what each way gives to whom, and a worth that is chosen elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import graph


def test_a_file_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = ["Ana works at Acme", "Acme moved its office to Oslo", "The soup was fine"]
    lines = [
        {"type": "memory", "store": "s", "id": f"m{at}", "seq": at, "content": text, "speaker": "Ana"}
        for at, text in enumerate(turns)
    ]
    asked = {"type": "query", "store": "s", "id": "q", "text": "Where is the office of Acme?", "gold": ["m1"]}
    lines.append(asked | {"category": "multi-hop", "answerable": True})
    lines.append(asked | {"id": "r", "category": "adversarial", "answerable": False})
    path = tmp_path / "small.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    assert graph.main(["--data", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "s: 3 memories" in shown
    assert "every worth, all conversations" in shown
