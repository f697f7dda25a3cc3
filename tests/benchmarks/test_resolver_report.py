"""The report on the resolver: by rules in both orders, and with a model's answers behind the gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import resolver
from tests.benchmarks.test_pairs_report import pair_file

__all__ = ["pair_file"]


@pytest.mark.check_all
def test_by_rules_in_both_orders(pair_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolver.main(["--data", str(pair_file), "--embedder"]) == 0
    shown = capsys.readouterr().out
    assert "resolver: words alone" in shown
    for order in ("as written", "reversed"):
        assert f"words alone, {order}: labelled neutral and superseded: 0 of 2 (0.00%)" in shown
