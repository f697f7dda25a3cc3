"""The benchmark of what is told unasked counts what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks import unasked
from benchmarks.small_stores import DATA, HELD_OUT, load
from benchmarks.unasked import Outcome, rows

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


def test_stores_are_chosen_by_name() -> None:
    assert [each.name for each in load(DATA, ["solo"])] == ["solo"]


def outcome(label: str, wanted: str = "", recalled: str = "", hook: str = "", brief: str = "") -> Outcome:
    return Outcome((label,), "p", frozenset(wanted), tuple(recalled), tuple(hook), frozenset(brief))


def test_shares_are_of_prompts_with_an_answer_and_of_those_without() -> None:
    found = [
        outcome("en", wanted="a", recalled="abc", hook="a"),
        outcome("en", wanted="a", recalled="bca", hook="b", brief="a"),
        outcome("zh", wanted="ab", recalled="cdeb"),
        outcome("zh", hook="x"),
        outcome("zh"),
    ]
    assert rows(found) == [
        ["all", 3, pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(2 / 3),
         pytest.approx(1 / 3), 2, 0.5],
        ["en", 2, 0.5, 1.0, 0.5, 1.0, 0.5, 0, pytest.approx(float("nan"), nan_ok=True)],
        ["zh", 1, 0.0, 0.0, 0.0, 0.0, 0.0, 2, 0.5],
    ]  # fmt: skip


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


def test_questions_of_another_file_are_in_vain(tmp_path: Path) -> None:
    store = {"type": "store", "store": "x", "lang": "en"}
    write(tmp_path / "commits.jsonl", [
        store,
        {"type": "memory", "store": "x", "id": "m1", "seq": 0, "content": ROLL},
        {"type": "query", "store": "x", "id": "q1", "text": "do rollbacks go through the blue deploy job?",
         "gold": ["m1"]},
    ])  # fmt: skip
    write(tmp_path / "others.jsonl", [
        store, {"type": "query", "store": "x", "id": "q1", "text": "Where did Ana buy her violin?", "gold": ["m1"]},
    ])  # fmt: skip
    figures = tmp_path / "figures"
    arguments = ["--commits", str(tmp_path / "commits.jsonl"), "--unrelated", str(tmp_path / "others.jsonl")]
    assert unasked.main([*arguments, "--json", str(figures)]) == 0
    found = json.loads(figures.read_text("utf-8"))
    assert (found["commits"]["hook"], found["unrelated"]["in vain"]) == (1.0, 0.0)


def test_commits_need_questions_of_another_file(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        unasked.main(["--commits", str(tmp_path)])


def write(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
