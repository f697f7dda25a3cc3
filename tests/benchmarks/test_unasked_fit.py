"""Coefficients of what is told unasked: fitted, measured on other stores, and written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmarks import unasked_fit
from benchmarks.small_stores import HELD_OUT, load
from benchmarks.unasked_fit import Examples, examples, held_out, points


@pytest.fixture(scope="module")
def few() -> Examples:
    """Two prompts that are answered and two that are not, of a store of each held-out pair, by words alone."""
    stores = []
    for first, _ in HELD_OUT:
        [store] = load(names=[first])
        asked = [each for each in store.prompts if each.gold][:2] + [each for each in store.prompts if not each.gold][
            :2
        ]
        stores.append(type(store)(store.name, store.notes, asked, store.cues))
    return examples(stores, None)


def test_each_store_is_measured_by_what_was_fitted_without_it(few: Examples) -> None:
    odds = held_out(few)
    name = HELD_OUT[0][0]
    own = np.array([few.prompts[number][0].name == name for number in few.prompt])
    changed = few._replace(right=np.where(own, 1.0 - few.right, few.right))
    assert held_out(changed)[own] == pytest.approx(odds[own])
    assert held_out(changed)[~own] != pytest.approx(odds[~own])
    assert len(points(few, odds)) == 28


def test_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: Examples) -> None:
    monkeypatch.setattr(unasked_fit, "FILE", tmp_path / "unasked.toml")
    monkeypatch.setattr(unasked_fit, "examples", lambda *_: few)
    (tmp_path / "unasked.toml").write_text("[other.han]\nintercept = [1.5]\n", "utf-8")
    arguments = ["--embedders", "words", "--write", "--points", "--json", str(tmp_path / "figures")]
    assert unasked_fit.main(arguments) == 0
    kept = tomllib.loads((tmp_path / "unasked.toml").read_text("utf-8"))
    assert kept["other"] == {"han": {"intercept": [1.5]}}
    assert kept["words"].keys() == {"alphabetic", "han"}
    assert "held out: all" in (tmp_path / "figures").read_text("utf-8")
