"""The comparison of two versions of the daemon: its arithmetic, and a small run of this version against itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import compare

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.check_all
@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU clock of another process")
def test_both_daemons_answer_every_kind_of_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "MEMORIES", 30)
    monkeypatch.setattr(compare, "BLOCK", 2)
    monkeypatch.setattr(compare, "PINGS", 3)
    monkeypatch.setattr(compare, "WARM_UP", 0)
    assert compare.main(["--before", f"{sys.executable}:{ROOT}", "--requests", "16"]) == 0
    printed = capsys.readouterr().out
    assert all(kind in printed for kind in compare.KINDS)
