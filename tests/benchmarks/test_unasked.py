"""The benchmark of what is told unasked counts what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks import unasked
from benchmarks.small_stores import HELD_OUT, load

ROLL = "Rollbacks go through the blue deploy job, never by reverting on main"
LAMP = "The lamp in the server room blinks twice when the backup has failed"


def test_the_sets_are_whole() -> None:
    stores = load()
    assert sorted(name for pair in HELD_OUT for name in pair) == sorted(each.name for each in stores)
    assert {each.language for each in stores} == {"en", "mixed", "zh"}
    for store in stores:
        notes = {each.id for each in store.notes}
        assert set(store.cues) == notes
        assert len(notes) == len(store.notes)
        assert len({each.id for each in store.prompts}) == len(store.prompts)
        for prompt in store.prompts:
            assert set(prompt.gold) <= notes
            assert bool(prompt.gold) == (prompt.way != "none")


def test_a_store_is_filled_and_prompted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "stores_notes.jsonl", [
        {"store": "s", "id": "n1", "text": ROLL, "category": "decision", "importance": 5, "tags": ["ops"]},
        {"store": "s", "id": "n2", "text": LAMP, "category": "fact", "importance": 2, "tags": []},
    ])  # fmt: skip
    asked = {"store": "s", "form": "question", "long": False}
    write(tmp_path / "stores_prompts.jsonl", [
        {**asked, "id": "p1", "text": "do rollbacks go through the blue deploy job?", "gold": ["n1"], "way": "direct"},
        {**asked, "id": "p2", "text": "who brews the espresso?", "gold": ["n2"], "way": "indirect", "long": True},
        {**asked, "id": "u1", "text": "which font has the invoice?", "gold": [], "way": "none", "hard": True},
    ])  # fmt: skip
    write(tmp_path / "stores_cues.jsonl", [{"store": "s", "note": "n2", "cues": ["who brews the espresso?"]}])
    figures = tmp_path / "figures"
    arguments = ["--data", str(tmp_path), "--hook", "--misses", "--json", str(figures)]
    assert unasked.main(arguments) == 0
    without = json.loads(figures.read_text("utf-8"))["all"]
    assert (without["prompts"], without["hook"], without["none"], without["in vain"]) == (2, 0.5, 1, 0.0)
    assert "s p2: silent" in capsys.readouterr().out
    assert unasked.main([*arguments, "--cues"]) == 0
    assert json.loads(figures.read_text("utf-8"))["all"]["first"] == 1.0


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
