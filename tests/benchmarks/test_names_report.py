"""The measurement of names counts text and type, by language."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import names

LINES = """\
{"id": "a", "lang": "en", "text": "Bob Smith is ill", "names": [\
{"text": "Bob Smith", "type": "person"}], "split": "tune"}
{"id": "b", "lang": "de", "text": "Ana wohnt in Bonn", "names": [\
{"text": "Bonn", "type": "organization"}], "split": "report"}
{"id": "c", "lang": "zh", "text": "没有", "names": [], "split": "report"}
"""


def report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["names", *arguments])
    names.main()
    return capsys.readouterr().out


def test_precision_and_recall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "names.jsonl"
    data.write_text(LINES, "utf-8")
    printed = report(capsys, monkeypatch, "--data", str(data), "--misses")
    assert "en: precision 1.000, recall 1.000 (1 right of 1 found, 1 expected)" in printed
    assert "de: precision 0.000, recall 0.000 (0 right of 2 found, 1 expected)" in printed
    assert "zh: precision –, recall –" in printed
    assert "missing: Bonn (organization)" in printed
    halves = [report(capsys, monkeypatch, "--data", str(data), "--split", half) for half in ("tune", "report")]
    lines = [line for half in halves for line in half.splitlines() if not line.startswith("all")]
    assert len(lines) == 3
    assert [line.partition(":")[0] for line in lines] == ["en", "de", "zh"]
