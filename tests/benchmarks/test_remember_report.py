"""The benchmark of remembering, small: that it measures what it says, and that it would notice if it did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import remember
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.wire import RpcError


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "WARM_UP", 2)


@pytest.mark.check_all
def test_everything_is_measured_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    sizes = ["--sizes", "70", "90", "--rounds", "6", "--cpu-writes", "20"]
    assert remember.main([*sizes, "--json", str(out)]) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert [one["memories"] for one in figures["remember"]] == [70, 90]
    for one in figures["remember"]:
        assert one["floor_ms"] == pytest.approx(one["flush_p50_ms"] + one["bare_p50_ms"])
        assert one["ratio"] == pytest.approx(one["remember_p50_ms"] / one["floor_ms"])
        assert one["within_floor"] is (one["ratio"] <= remember.MOST_TIMES_FLOOR)
        assert sum(one["actions"].values()) == one["cpu_writes"] == 20
        assert one["temporal_edges"] > 1
        assert one["edge_rows"] > 2
    assert [(one["connections"], one["memories"]) for one in figures["import"]] == [(1, 90), (4, 90)]
    shown = capsys.readouterr().out
    assert "4 with 256 in flight" in shown
    assert "one flush" in shown


def test_an_import_that_fails_is_reported() -> None:
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        bad = [{"content": ""}] * 3
        with pytest.raises(RpcError, match="content is empty"):
            remember.pour(daemon, bad, 2)
        assert remember.pour(daemon, [], 1) < 1


def test_an_import_that_loses_something_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "pour", lambda *_: 1.0)
    with pytest.raises(RpcError, match="3 memories were sent and 0 are there"):
        remember._import(3, 1)
