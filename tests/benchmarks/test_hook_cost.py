"""The benchmark of hooks measures what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import hook_cost


def test_every_way_in_every_situation_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nc = tmp_path / "nc"  # like the real one where nobody listens
    nc.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    nc.chmod(0o755)
    assert (
        hook_cost.main(["--memories", "0", "--rounds", "3", "--nc", str(nc), "--json", str(tmp_path / "figures")]) == 0
    )
    figures = json.loads((tmp_path / "figures").read_text("utf-8"))
    assert set(figures) == {"answers", "hangs", "absent"}
    hooks = [figures[situation]["mnemond-hook"] for situation in ("answers", "hangs", "absent")]
    assert [hook["bytes"] for hook in hooks] == [len(hook_cost.ANSWER), 0, 0]
    assert {hook["exit"] for hook in hooks} == {"0"}
    assert figures["absent"]["nc -N -U"]["exit"] == "1"
    printed = capsys.readouterr().out
    assert printed.count("mnemond-hook") == 3
    assert "x pass" in printed
    assert printed.count("kept: ") + printed.count("NOT KEPT: ") == 4


@pytest.mark.deep
def test_a_real_daemon_is_asked_stopped_and_missed(tmp_path: Path) -> None:
    figures = hook_cost.measure(1, None, 20)
    row = {situation: ways["mnemond-hook"] for situation, ways in figures.items()}
    assert row["answers"]["bytes"] > 0
    assert (row["hangs"]["bytes"], row["absent"]["bytes"]) == (0, 0)
    assert min(row["hangs"]["wall_ms"], row["hangs"]["wall_most_ms"]) > 200  # its own deadline, so it was stopped
