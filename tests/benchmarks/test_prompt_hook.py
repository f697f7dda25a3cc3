"""The benchmark of what hooks wait for measures what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import prompt_hook


@pytest.mark.check_all
def test_every_moment_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        prompt_hook.main(["--size", "30", "--passages", "9", "--rounds", "3", "--json", str(tmp_path / "figures")]) == 0
    )
    figures = json.loads((tmp_path / "figures").read_text("utf-8"))
    assert {name: each["told"] for name, each in figures.items() if name in ("ping", "an answer is kept")} == {
        "ping": 0, "an answer is kept": 0,
    }  # fmt: skip
    assert figures["a question"]["told"] > 0
    assert figures["a session begins"]["told"] == 1
    assert all(0 < each["p50_ms"] <= each["p95_ms"] <= each["max_ms"] for each in figures.values())
    assert "A hook's round trip, 30 memories, 9 passages" in capsys.readouterr().out
