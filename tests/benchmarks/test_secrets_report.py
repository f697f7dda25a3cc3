"""The report on secrets: sampling, masking, counting, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.secrets import main

HIT = "password = " + "winter94!x"


def test_the_report_ends_with_1_when_a_rate_is_too_high(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.secrets.HOSTILE", ("a",))
    (tmp_path / "a.txt").write_text(f"plain line\n{HIT}\n", encoding="utf-8")
    figures = tmp_path / "figures.json"
    assert main([str(tmp_path / "a.txt"), "--samples", "14", "--misses", "1", "--json", str(figures)]) == 1
    assert "1 of 2 lines" in capsys.readouterr().out
    assert json.loads(figures.read_text(encoding="utf-8"))["false_positives"][0]["found"] == 1
