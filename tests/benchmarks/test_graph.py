"""Recall with a signal from the graph: what each way gives to whom, and a worth that is chosen elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import graph
from benchmarks.graph import Asked, by_co_mention, by_names, by_pagerank, chosen, judged, network
from tests.index.worlds import built, insight

IDS = [f"{at:08x}-0000-4000-8000-000000000000" for at in range(4)]


def small() -> graph.Network:
    rows = (
        insight(IDS[0], "I work at Acme", at=0, source="Ana", entities=("Ana", "Acme")),
        insight(IDS[1], "Acme moves to Oslo", at=1, source="Bob", entities=("Acme", "Oslo")),
        insight(IDS[2], "The weather of Oslo is mild", at=2, source="Bob", entities=("Oslo",)),
        insight(IDS[3], "Nothing of note", at=3, source="Bob"),
    )
    return network(built(*rows).snapshot)


def test_what_each_way_gives_to_whom() -> None:
    net, names = small(), {"ana": 1.0}
    assert by_names(net, names, []).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert by_co_mention(net, names, []).tolist() == [1.0, 0.25, 0.0, 0.0]
    assert by_pagerank(net, names, [3])[3] > 0.0
    assert not any(way(net, {}, []).any() for way in (by_names, by_co_mention))


def question(store: str, good: float) -> Asked:
    """Of two memories the second answers; the graph gives it `good` and the first nothing."""
    values = {way: np.array([0.0, good], np.float32) for way in graph.WAYS}
    return Asked(store, [7, 8], np.array([0.0, -1.0], np.float32), values, frozenset({"all", "ENTITY"}), frozenset({8}))


def test_a_worth_is_the_smallest_that_helps_elsewhere() -> None:
    asked = [question("a", 1.0), question("b", 1.0)]
    assert judged(asked, "names", 0.0) == (1.0, 0.0)
    assert judged(asked, "names", 2.0) == (1.0, 1.0)
    assert judged([], "names", 2.0) == (0.0, 0.0)
    assert chosen(asked, "names") == 2.0
    assert chosen([question("a", 0.0)], "names") == 0.0
    of_b = [each for each in graph.left_out([question("a", 0.0), question("b", 1.0)]) if each["store"] == "b"]
    assert {each["worth"] for each in of_b} == {0.0}, "it was chosen on what it is judged by"


def test_a_file_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = ["Ana works at Acme", "Acme moved its office to Oslo", "The soup was fine"]
    lines = [
        {"type": "memory", "store": "s", "id": f"m{at}", "seq": at, "content": text, "speaker": "Ana"}
        for at, text in enumerate(turns)
    ]
    asked = {"type": "query", "store": "s", "id": "q", "text": "Where is the office of Acme?", "gold": ["m1"]}
    lines.append(asked | {"category": "multi-hop", "answerable": True})
    lines.append(asked | {"id": "r", "category": "adversarial", "answerable": False})
    path = tmp_path / "small.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    assert graph.main(["--data", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "s: 3 memories" in shown
    assert "every worth, all conversations" in shown
