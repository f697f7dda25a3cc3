"""The figures of the core summary: facts that are planted, what has room, and a bare k-means that finds the same."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import core_summary
from benchmarks.core_summary import Fact, bare_kmeans, facts_of, main, room_for, said_by
from tests.memory.test_core_subset import labels_of, unit


def test_users_differ_and_have_their_facts_among_the_rest() -> None:
    one, other = facts_of(0), facts_of(1)
    assert len(one) >= 40
    assert one != other
    assert one == facts_of(0)
    assert sum(bool(it.outdated) for it in one) == core_summary.CORRECTED
    said = [each.content for each in said_by(0, one)]
    assert len(said) == core_summary.OTHERS + len(one) + core_summary.CORRECTED
    assert all(said.index(it.outdated) < said.index(it.text) for it in one if it.outdated)


def test_what_has_room_is_the_most_important() -> None:
    facts = [Fact("one two three", "fact", 3), Fact("four five", "fact", 5), Fact("six", "fact", 4)]
    assert [it.text for it in room_for(facts, 3)] == ["four five", "six"]
    assert room_for(facts, 1) == []


def test_bare_k_means_finds_the_same_groups() -> None:
    centres = unit(5, 32, 7)
    near = np.repeat(centres, 20, axis=0) + 0.05 * unit(100, 32, 8)
    vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    groups = {tuple(np.flatnonzero(bare_kmeans(vectors, 5, 3) == each).tolist()) for each in range(5)}
    own = labels_of(vectors, 5, 3)
    assert {tuple(np.flatnonzero(own == each).tolist()) for each in range(5)} == groups


@pytest.mark.check_all
def test_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(core_summary, "OTHERS", 20)
    monkeypatch.setattr(core_summary, "MOST_COST", float("inf"))
    assert main(["--seeds", "1", "--memories", "60", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert "user  facts  have room  held  share  outdated  words" in shown
    assert "update at 60 memories: " in shown
    monkeypatch.setattr(core_summary, "LEAST_HELD", 1.1)
    assert main(["--seeds", "1", "--memories", "60", "--rounds", "1"]) == 1
