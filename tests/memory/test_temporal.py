"""Links in time (spec 7.13 and the write path's temporal rules)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import GraphSettings, TemporalSettings
from mnemond.memory.edge_builders import HOUR_US, build_temporal, proximity
from tests.memory.small_store import Row, SmallStore, newcomer
from tests.recall.reading import added, metadata, removed
from tests.tables import each_row

SETTINGS = GraphSettings()
CHAIN_ONLY = GraphSettings(temporal=TemporalSettings(max_proximity=0))
"""No proximity edges."""


@each_row(
    ("hours", "weight"), [(0, 1.0), (0.5, 0.666667), (1, 0.5), (2, 0.333333), (6, 0.142857), (24, 0.04), (-3, 1.0)]
)
def test_worked_weights(hours: float, weight: float) -> None:
    assert proximity(hours) == pytest.approx(weight, abs=1e-6)


@given(st.floats(allow_nan=False))
def test_proximity_is_total(hours: float) -> None:
    assert 0.0 <= proximity(hours) <= 1.0


def test_the_first_memory_has_no_links() -> None:
    assert build_temporal(newcomer(), SmallStore(), SETTINGS) == []


def test_the_backbone_runs_from_the_latest_row_of_the_chain() -> None:
    made = build_temporal(newcomer(), SmallStore(Row("a", hours=-3), Row("b", hours=-2)), CHAIN_ONLY)
    assert added(made) == [("new", "b", 1.0), ("b", "new", 1.0)]
    assert metadata(made) == [
        {"sub_type": "backbone", "direction": "succeeds"},
        {"sub_type": "backbone", "direction": "precedes"},
    ]
    assert removed(made) == []


def test_a_row_between_two_is_spliced_in() -> None:
    made = build_temporal(newcomer(), SmallStore(Row("a", hours=-1), Row("c", hours=2), Row("d", hours=3)), CHAIN_ONLY)
    assert removed(made) == [("a", "c", "temporal"), ("c", "a", "temporal")]
    assert added(made) == [("new", "a", 1.0), ("a", "new", 1.0), ("new", "c", 1.0), ("c", "new", 1.0)]
    directions = [each["direction"] for each in metadata(made)]
    assert directions == ["succeeds", "precedes", "precedes", "succeeds"]


def test_a_row_before_all_others_removes_nothing() -> None:
    made = build_temporal(newcomer(), SmallStore(Row("c", hours=2)), CHAIN_ONLY)
    assert removed(made) == []
    assert added(made) == [("new", "c", 1.0), ("c", "new", 1.0)]


def test_proximity_leaves_out_both_neighbours_of_the_backbone() -> None:
    store = SmallStore(Row("a", hours=-0.5), Row("b", hours=0.5), Row("other", hours=-1, chain="else"))
    made = build_temporal(newcomer(), store, SETTINGS)
    assert added(made)[4:] == [("new", "other", 0.5), ("other", "new", 0.5)]
    assert metadata(made)[4:] == [{"sub_type": "proximity", "hours": 1.0}] * 2


def test_proximity_takes_the_nearest_within_the_window_of_the_rows_own_time() -> None:
    rows = [Row(f"r{hours}", hours=hours, chain="else") for hours in (-30, -24, -6, -2, 2.5, 24.001)]
    made = build_temporal(newcomer(), SmallStore(*rows), SETTINGS)
    assert added(made)[::2] == [
        ("new", "r-2", 0.333333),
        ("new", "r2.5", 0.285714),
        ("new", "r-6", 0.142857),
        ("new", "r-24", 0.04),
    ]


def test_proximity_is_limited_to_ten() -> None:
    rows = [Row(f"r{hours}", hours=-hours, chain="else") for hours in range(1, 15)]
    made = build_temporal(newcomer(), SmallStore(*rows), SETTINGS)
    assert [target for _, target, _ in added(made)[::2]] == [f"r{hours}" for hours in range(1, 11)]


def test_the_store_is_asked_for_the_window_in_microseconds() -> None:
    asked: list[tuple[int, int, list[str]]] = []

    class Asked(SmallStore):
        def nearest_in_time(self, k: int, within_us: int, excluding: object) -> list[tuple[str, int]]:
            assert isinstance(excluding, list)
            asked.append((k, within_us, excluding))
            return []

    build_temporal(newcomer(), Asked(Row("a")), SETTINGS)
    assert asked == [(10, 86_400_000_000, ["a"])]


@given(st.lists(st.integers(0, 24 * HOUR_US), max_size=10))
def test_distances_are_written_with_a_third_of_a_second(distances: list[int]) -> None:
    rows = [Row(f"r{n}", hours=-distance / HOUR_US, chain="else") for n, distance in enumerate(distances)]
    store = SmallStore(*rows)
    nearest = store.nearest_in_time(10, 24 * HOUR_US, ())
    made = build_temporal(newcomer(), store, SETTINGS)
    for told, (_, distance), (_, _, weight) in zip(metadata(made)[::2], nearest, added(made)[::2], strict=True):
        assert math.isclose(told["hours"], distance / HOUR_US, abs_tol=5.1e-5)
        assert 0.0 <= weight <= 1.0


def test_a_row_is_never_linked_with_itself() -> None:
    assert build_temporal(newcomer(), SmallStore(Row("new", hours=0)), SETTINGS) == []
    assert build_temporal(newcomer(), SmallStore(Row("new", hours=0, chain="else")), SETTINGS) == []
