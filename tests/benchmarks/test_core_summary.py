"""The figures of the core summary: facts that are planted, what has room, and a bare k-means that finds the same."""

from __future__ import annotations

import pytest

from benchmarks import core_summary
from benchmarks.core_summary import main


@pytest.mark.check_all
def test_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(core_summary, "OTHERS", 20)
    monkeypatch.setattr(core_summary, "MOST_COST", float("inf"))
    assert main(["--seeds", "1", "--memories", "60", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert "user  facts  have room  held  share  outdated  words" in shown
    assert "update at 60 memories: " in shown
    monkeypatch.setattr(core_summary, "LEAST_HELD", 1.1)
    assert main(["--seeds", "1", "--memories", "60", "--rounds", "1"]) == 1
