"""Percentiles, tables, synthetic notes and floors."""

from __future__ import annotations

from benchmarks.floors import EmbedFloor, EncodeFloor, VectorFloor
from benchmarks.report import median, percentile
from benchmarks.synthetic import Notes
from mnemond.embed.registry import DEFAULT, create


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert (percentile(values, 0.0), median(values), percentile(values, 0.95)) == (1.0, 51.0, 96.0)
    assert percentile(values, 1.0) == 100.0
    assert median([3.0]) == 3.0


def test_notes_follow_from_the_seed() -> None:
    assert Notes(1).take(20) == Notes(1).take(20)
    assert Notes(1).take(20) != Notes(2).take(20)
    assert len(set(Notes(1).take(500))) == 500


def test_every_floor_does_its_work() -> None:
    meta = {
        "intent": "GENERAL", "intent_source": "none", "anchor_count": 0, "traversed": 0, "mode": "none", "weights": [],
        "embedding": None, "window": None, "hint": None, "rerank": {"applied": False}, "stages_ms": {}, "took_ms": 0.1,
        "store": "default",
    }  # fmt: skip
    assert VectorFloor(100, 8, seed=1).run_ms() > 0
    assert EmbedFloor(create(DEFAULT)).run_ms("what was decided") > 0
    assert EncodeFloor({"results": [], "meta": meta}).run_ms() > 0
