"""The load benchmark itself, small, against the real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import company, crowd, load


@pytest.mark.check_all
def test_load_runs_every_phase_and_the_crowd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(company, "PAUSE_S", 0.05)
    monkeypatch.setattr(company, "HELD_S", 0.05)
    monkeypatch.setattr(company, "LOOK_S", 0.01)
    monkeypatch.setattr(company, "STALE", 0.01)
    monkeypatch.setattr(load, "REMEMBERS", 0.5)
    out = tmp_path / "out.json"
    # The fifty requests of a round cannot fill the room below the cap, so a prune always finds something to take.
    arguments = ["--memories", "300", "--seconds", "0.1", "--clients", "4", "--attempts", "20", "--json", str(out)]
    assert load.main(arguments) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))["load"]
    assert list(figures["phases"]) == [load.PRUNED[0], *(name for name, _, _ in load.PHASES)]
    for phase in figures["phases"].values():
        assert phase["requests"] == phase["recall"]["count"] + phase["remember"]["count"]
        assert phase["ping"]["longest_ms"] >= phase["ping"]["p50_ms"] > 0
        assert phase["log_most_mib"] > 0
    phases = figures["phases"]
    # Over all of them: a busy machine may stand still for most of one phase's tenth of a second.
    assert sum(phase["requests"] for phase in phases.values()) >= 4 * len(phases)
    assert phases["beside decay"]["company"]["changed"] >= 1
    assert phases["beside prune"]["company"]["changed"] >= 1
    assert phases["beside backups"]["company"]["runs"] >= 1
    many = figures["crowd"]
    assert (many["held"], many["served"], many["kept"]) == (crowd.HELD,) * 3
    assert (many["refused"], many["answered"], many["silent"]) == (20, 0, 0)
    shown = capsys.readouterr().out
    assert "beside checkpoints" in shown
    assert "a crowd of clients" in shown


def test_a_promise_that_is_not_kept_is_told() -> None:
    fast = {"p99_ms": 1.0}
    phase = {
        "rate": 500.0, "per_s": 500.0, "recall": {"p99_ms": 26.0}, "remember": fast, "log_most_mib": 65.0,
        "ping": {"longest_ms": 51.0}, "company": {"unit": "memories", "runs": 0},
    }  # fmt: skip
    assert load.missed("alone", phase) == ["no memories", "log", "recall", "loop"]
    assert load.missed("beside prune", phase) == ["no memories", "log", "loop"]
    working = {"unit": "memories", "runs": 1}
    saturated = phase | {"rate": 0.0, "per_s": 499.0, "log_most_mib": 1.0, "company": working}
    assert load.missed("saturated", saturated) == ["rate"]
    assert load.missed("saturated, backups", saturated) == []
    assert load.missed("alone", phase | {"recall": fast, "log_most_mib": 1.0, "company": working}) == ["loop"]
