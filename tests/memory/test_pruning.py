"""Which memories a prune takes that nobody asked for, and that it takes them in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings, PruningSettings
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.decay import effective_age, prune_score
from mnemond.memory.retention import candidates, most_at_once, prune_scores, retire_pruned
from mnemond.model.changes import RetireInsight
from mnemond.model.memory import Edge, Insight, format_us
from tests.tables import each_row

DAY_US = 86_400_000_000
NOW_US = 1_770_000_000_000_000


def memory(name: str, *, days: float = 0.0, **fields: Any) -> Insight:
    at = format_us(NOW_US - int(days * DAY_US))
    return Insight(id=name, content=name, created_at=at, updated_at=at, **fields)


def snapshot_of(*insights: Insight, edges: tuple[Edge, ...] = ()) -> Snapshot:
    return MemoryIndex.build([(insight, None) for insight in insights], edges, 0).snapshot


@each_row(("live", "most"), [(0, 1), (1, 1), (39, 1), (40, 2), (59, 2), (1000, 50), (10_019, 500)])
def test_a_twentieth_at_once_and_one_in_any_case(live: int, most: int) -> None:
    assert most_at_once(live) == most


@given(
    st.lists(st.tuples(st.floats(0, 400), st.floats(0, 30)), min_size=2, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(0, 1, width=16)), max_size=8),
)
def test_scores_are_those_of_the_rule_for_one(
    rows: list[tuple[float, float]], links: list[tuple[int, int, float]]
) -> None:
    insights = [memory(f"m{n}", days=days, boost_days=boost) for n, (days, boost) in enumerate(rows)]
    pairs = {(one, other): w for one, other, w in links if one < other < len(rows)}
    edges = tuple(
        Edge(f"m{source}", f"m{target}", "entity", w)
        for (one, other), w in pairs.items()
        for source, target in ((one, other), (other, one))
    )
    snapshot = snapshot_of(*insights, edges=edges)
    found = prune_scores(snapshot, NOW_US)
    for row, it in enumerate(insights):
        weights = [w for pair, w in pairs.items() if row in pair]
        days = (NOW_US - int(snapshot.columns.accessed_us[row])) / DAY_US
        expected = prune_score(max(weights) if weights else None, effective_age(days, it.boost_days))
        assert found[row] == pytest.approx(expected, abs=1e-9)


def test_worked_numbers_of_the_prune_score() -> None:
    ages = {0.5: 54.88, 0.7: 57.27, 1.0: 59.80}  # where .01 is crossed (spec 7.6)
    for weight, days in ages.items():
        insights = [memory(f"{name}{at}", days=at) for at in (days - 0.01, days + 0.01) for name in ("a", "b")]
        edges = tuple(
            Edge(f"{one}{at}", f"{other}{at}", "semantic", weight)
            for at in (days - 0.01, days + 0.01)
            for one, other in (("a", "b"), ("b", "a"))
        )
        before, _, after, _ = prune_scores(snapshot_of(*insights, edges=edges), NOW_US)
        assert before > 0.01 > after


def test_what_has_faded_counts_towards_what_is_too_much() -> None:
    rows = [memory(f"old{n}", days=100 - n) for n in range(3)] + [memory(f"new{n}", days=5 - n) for n in range(5)]
    snapshot = snapshot_of(*rows)
    on = PruningSettings(enabled=True)
    configs = {cap: Config(lifecycle=LifecycleSettings(max_insights=cap), pruning=on) for cap in (0, 4, 6)}
    assert candidates(snapshot, configs[6], NOW_US).ids == ("old0", "old1", "old2")
    found = candidates(snapshot, configs[4], NOW_US)
    assert found.ids == ("old0", "old1", "old2", "new0")
    assert found.faded == {"old0", "old1", "old2"}
    assert candidates(snapshot, configs[0], NOW_US).ids == ()
    off = candidates(snapshot, Config(lifecycle=LifecycleSettings(max_insights=6)), NOW_US)
    assert (off.ids, off.faded) == (("old0", "old1"), frozenset())


def test_what_is_planned_is_looked_at_again_when_its_turn_comes() -> None:
    lifecycle = LifecycleSettings(max_insights=1)
    rows = [memory("a", days=3), memory("b", days=2), memory("c", days=1), memory("d")]
    planned = candidates(snapshot_of(*rows), Config(lifecycle=lifecycle), NOW_US)
    assert planned.ids == ("a", "b", "c")
    used = memory("a", days=3, access_count=1, last_accessed_at=format_us(NOW_US))
    later = snapshot_of(used, memory("c", days=1, importance=4), memory("e"), memory("b", days=2))
    changes = retire_pruned(later, planned.ids, planned, lifecycle)
    assert changes == [RetireInsight("b", "pruned")]
    within = retire_pruned(later, planned.ids, planned, LifecycleSettings(max_insights=4))
    assert within == []
