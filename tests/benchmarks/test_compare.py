"""The comparison of two versions of the daemon: its arithmetic, and a small run of this version against itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks import compare

ROOT = Path(__file__).resolve().parents[2]


def test_the_ratio_is_that_of_the_medians() -> None:
    figures = compare.summary({"recall": {"before": [1.0, 2.0, 3.0], "after": [1.0, 1.0, 9.0]}})["recall"]
    assert (figures["before_ms"], figures["after_ms"], figures["ratio"]) == (2.0, 1.0, 0.5)
    assert (figures["ratio_p25"], figures["ratio_p75"]) == (0.5, 3.0)
    assert figures["ratio_of_sums"] == 11 / 6
    assert figures["requests"] == 3 * compare.BLOCK


def test_a_tree_is_an_interpreter_and_a_checkout(tmp_path: Path) -> None:
    assert compare.tree(f"{sys.executable}:{ROOT}").root == ROOT
    for text in (str(ROOT), f"{sys.executable}:{tmp_path}", f"{tmp_path / 'python'}:{ROOT}"):
        with pytest.raises(ValueError, match=re.escape(text)):
            compare.tree(text)


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
