"""The capacity prune: who goes, who stays whatever happens, and when nobody does."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import LifecycleSettings
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.retention import importances, leaving, prune, weakest
from mnemond.model.changes import PutInsight, RetireInsight
from mnemond.model.memory import Edge, Insight, effective_importance, format_us
from tests.tables import each_row

DAY_US = 86_400_000_000
NOW_US = 1_770_000_000_000_000
NOBODY: frozenset[str] = frozenset()


def memory(name: str, *, days: float = 0.0, **fields: Any) -> Insight:
    """A memory made some days ago."""
    at = format_us(NOW_US - int(days * DAY_US))
    return Insight(id=name, content=name, created_at=at, updated_at=at, **fields)


def snapshot_of(*insights: Insight, edges: tuple[Edge, ...] = ()) -> Snapshot:
    return MemoryIndex.build([(insight, None) for insight in insights], edges, 0).snapshot


def pruned(
    snapshot: Snapshot, cap: int, *, adding: int = 1, spare: frozenset[str] = NOBODY, batch: int = 10
) -> list[str]:
    changes = prune(snapshot, adding, LifecycleSettings(max_insights=cap, prune_batch=batch), NOW_US, spare)
    retired = [change for change in changes if isinstance(change, RetireInsight)]
    assert all(change.status == "pruned" for change in retired)
    return [change.id for change in retired]


def test_a_store_within_its_cap_keeps_everything() -> None:
    snapshot = snapshot_of(memory("a"), memory("b"))
    assert pruned(snapshot, 3) == []
    assert pruned(snapshot, 2, adding=0) == []
    assert pruned(snapshot, 0) == []  # no cap


def test_as_many_go_as_are_too_many_but_never_more_than_a_batch() -> None:
    snapshot = snapshot_of(*(memory(f"m{number:02}", days=number) for number in range(30)))
    assert pruned(snapshot, 29) == ["m29", "m28"]
    assert len(pruned(snapshot, 5)) == 10
    assert len(pruned(snapshot, 5, batch=3)) == 3


def test_importance_is_that_of_now_and_not_the_stored_one() -> None:
    stale = memory("stale", days=200, effective_importance=9.0)
    fresh = memory("fresh", effective_importance=0.01)
    assert pruned(snapshot_of(stale, fresh), 2) == ["stale"]


def test_of_equal_ones_the_oldest_goes_then_the_one_stored_first() -> None:
    older, newer = memory("older", days=2), memory("newer", days=1)
    used = format_us(NOW_US - DAY_US)
    same = [msgspec.structs.replace(it, last_accessed_at=used) for it in (newer, older)]
    assert pruned(snapshot_of(*same), 2) == ["older"]
    assert pruned(snapshot_of(memory("first"), memory("second")), 2) == ["first"]


def test_what_was_extracted_goes_before_notes_by_hand_of_its_importance_or_a_higher_one() -> None:
    by_hand = (memory("note2", days=400, importance=2), memory("note3", days=300, importance=3))
    fresh, older = (
        memory("fresh", importance=3, channel="extract"),
        memory("older", days=9, importance=3, channel="extract"),
    )
    lesser = memory("lesser", days=300, importance=1, channel="extract")
    assert pruned(snapshot_of(*by_hand), 1) == ["note2", "note3"]
    assert pruned(snapshot_of(*by_hand, fresh, older), 2) == ["note2", "older", "fresh"]
    assert pruned(snapshot_of(*by_hand, fresh, lesser), 4) == ["lesser"]


def test_extracted_memories_among_themselves_go_by_importance_and_age() -> None:
    found = [memory(f"m{days}", days=days, channel="extract") for days in (1, 30, 7)]
    assert pruned(snapshot_of(*found), 1) == ["m30", "m7", "m1"]


@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.booleans(), st.integers(0, 900), st.integers(0, 3)), min_size=1, max_size=12
    )
)
def test_the_order_of_leaving_never_puts_a_note_before_an_extracted_one_of_its_importance(
    drawn: list[tuple[int, bool, int, int]],
) -> None:
    made = [
        memory(
            f"m{number:02}", importance=importance, days=days, access_count=uses,
            channel="extract" if extracted else "manual",
        )
        for number, (importance, extracted, days, uses) in enumerate(drawn)
    ]  # fmt: skip
    snapshot = snapshot_of(*made)
    order = leaving(snapshot, LifecycleSettings(), NOW_US)
    assert sorted(order) == sorted(weakest(snapshot, LifecycleSettings(), importances(snapshot, NOW_US), math.inf))
    for place, row in enumerate(order):
        later = [made[each] for each in order[place:] if made[each].channel == "extract"]
        if made[row].channel != "extract":
            assert all(it.importance > made[row].importance for it in later)
    notes = [row for row in order if made[row].channel != "extract"]
    by_value = weakest(snapshot, LifecycleSettings(), importances(snapshot, NOW_US), math.inf)
    assert notes == [row for row in by_value if made[row].channel != "extract"]


@each_row("fields", [{"importance": 4}, {"importance": 5}, {"access_count": 3}, {"pinned": True}])
def test_what_matters_is_used_or_pinned_stays(fields: dict[str, Any]) -> None:
    assert pruned(snapshot_of(memory("kept", days=3000, **fields), memory("other")), 2) == ["other"]
    assert pruned(snapshot_of(memory("kept", days=3000, **fields)), 1) == []


@each_row("fields", [{"importance": 3}, {"access_count": 2}])
def test_just_below_immunity_goes(fields: dict[str, Any]) -> None:
    assert pruned(snapshot_of(memory("weak", days=3000, **fields)), 1) == ["weak"]


def test_the_older_of_a_pair_stays_and_the_younger_parts_from_it() -> None:
    older, younger = memory("older", days=50, paired_with="younger"), memory("younger", days=40, paired_with="older")
    changes = prune(snapshot_of(older, younger), 1, LifecycleSettings(max_insights=2), NOW_US, NOBODY)
    assert [change.id for change in changes if isinstance(change, RetireInsight)] == ["younger"]
    parted = [change.insight for change in changes if isinstance(change, PutInsight)]
    assert [(it.id, it.paired_with) for it in parted] == [("older", None)]


def test_a_partner_that_is_gone_protects_nobody() -> None:
    assert pruned(snapshot_of(memory("left", paired_with="gone")), 1) == ["left"]


def test_what_the_operation_changes_otherwise_is_spared() -> None:
    snapshot = snapshot_of(memory("a", days=9), memory("b", days=5))
    assert pruned(snapshot, 2, spare=frozenset({"a"})) == ["b"]
    assert pruned(snapshot, 2, spare=frozenset({"a", "b"})) == []


def test_dead_rows_are_not_counted_and_do_not_go_again() -> None:
    index = MemoryIndex.build([(memory("a", days=9), None), (memory("b"), None)], [], 0)
    snapshot = index.apply([RetireInsight("a", "forgotten")])
    assert weakest(snapshot, LifecycleSettings(), importances(snapshot, NOW_US), math.inf) == [1]
    assert pruned(snapshot, 2) == []
    assert pruned(snapshot, 1) == ["b"]


def test_importances_are_those_of_the_formula() -> None:
    a = memory("a", days=45, importance=2, access_count=7)
    b = memory("b", days=-3, importance=5)
    edges = (Edge("a", "b", "semantic", 0.5), Edge("b", "a", "semantic", 0.5), Edge("a", "b", "causal", 0.5))
    found = importances(snapshot_of(a, b, edges=edges), NOW_US).tolist()
    assert found == pytest.approx([effective_importance(2, 7, 45.0, 2), effective_importance(5, 0, 0.0, 2)])
