"""The load benchmark itself, small, against the real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import crowd, load


def test_load_runs_every_phase_and_the_crowd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load, "PAUSE_S", 0.05)
    monkeypatch.setattr(load, "REMEMBERS", 0.5)
    out = tmp_path / "out.json"
    arguments = ["--memories", "30", "--seconds", "0.2", "--clients", "4", "--attempts", "20", "--json", str(out)]
    assert load.main(arguments) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))["load"]
    assert list(figures["phases"]) == list(load.COMPANY)
    for phase in figures["phases"].values():
        assert phase["requests"] == phase["recall"]["count"] + phase["remember"]["count"] >= 4
        assert phase["ping"]["longest_ms"] >= phase["ping"]["p50_ms"] > 0
        assert phase["log_most_mib"] > 0
    many = figures["crowd"]
    assert (many["held"], many["served"], many["kept"]) == (crowd.HELD,) * 3
    assert (many["refused"], many["answered"], many["silent"]) == (20, 0, 0)
    shown = capsys.readouterr().out
    assert "beside an import" in shown
    assert "a crowd of clients" in shown
