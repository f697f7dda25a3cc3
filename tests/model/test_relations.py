"""Intervals follow from statements: what ends what, in whatever order the statements arrive."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.relations import (
    EXPLICIT,
    INFERRED,
    TOGETHER,
    Evidence,
    PointKind,
    Relationship,
    Roots,
    When,
    group_key,
    grouped,
    holds,
    intervals,
    is_functional,
    repeated,
    split_type,
    status_of,
    together_strength,
)
from tests.tables import each_row

Said = tuple[PointKind, str, str]


def points(*said: Said, kind: str = "works_at") -> list[Evidence]:
    return [
        Evidence(id=number, source_id="alex", type=kind, kind=point, target_id=target, at=at, created_at="2026")
        for number, (point, target, at) in enumerate(said, 1)
    ]


def told(*said: Said) -> list[tuple[str | None, str | None, str | None]]:
    return [(it.target_id, it.valid_from, it.invalid_at) for it in intervals(points(*said))]


def test_an_unknown_start_is_since_ever() -> None:
    assert told(("seen", "acme", "2026-01")) == [("acme", None, None)]


def test_the_same_again_is_evidence_and_no_second_interval() -> None:
    [it] = intervals(points(("start", "acme", "2024"), ("seen", "acme", "2025"), ("start", "acme", "2026")))
    assert (it.valid_from, it.invalid_at, it.evidence) == ("2024", None, [1, 2, 3])
    assert it.strength == pytest.approx(1 - (1 - repeated(0.9, 0.9)) * (1 - 0.45))


def test_disjoint_intervals_are_two() -> None:
    """Alex on payments in 2024, and again in 2026."""
    said: list[Said] = [("start", "pay", "2024"), ("end", "pay", "2025"), ("start", "pay", "2026")]
    for order in permutations(said):
        assert told(*order) == [("pay", "2024", "2025"), ("pay", "2026", None)]


def test_an_end_without_a_successor_closes_and_adds_nothing() -> None:
    assert told(("seen", "tea", "2026-01"), ("end", "tea", "2026-03")) == [("tea", None, "2026-03")]
    assert told(("end", "tea", "2026-03")) == []
    assert told(("start", "tea", "2026-04"), ("end", "tea", "2026-03")) == [("tea", "2026-04", None)]
    assert told(("end", "tea", "2026-03"), ("start", "tea", "2026-03")) == [("tea", "2026-03", None)]


def test_a_new_value_ends_the_old_one() -> None:
    first, second = intervals(points(("seen", "acme", "2026-01"), ("start", "globex", "2026-03")))
    assert (first.valid_from, first.invalid_at, first.successor, first.evidence) == (None, "2026-03", 1, [1, 2])
    assert (second.valid_from, second.granularity) == ("2026-03", "exact")


def test_a_value_that_is_seen_after_another_began_then_at_the_latest() -> None:
    _, second = intervals(points(("start", "acme", "2024"), ("seen", "globex", "2026-03")))
    assert (second.valid_from, second.granularity) == ("2026-03", "seen")


def test_a_past_statement_learned_late_is_closed() -> None:
    assert told(("start", "globex", "2024"), ("until", "acme", "2020")) == [
        ("acme", None, "2020"),
        ("globex", "2024", None),
    ]
    assert told(("start", "globex", "2024"), ("start", "acme", "2018")) == [
        ("acme", "2018", "2024"),
        ("globex", "2024", None),
    ]
    assert told(("start", "b", "2010"), ("end", "b", "2015"), ("until", "a", "2020")) == [
        ("b", "2010", "2015"),
        ("a", "2015", "2020"),
    ]


def test_what_held_until_then_ends_and_does_not_cross_another() -> None:
    assert told(("start", "acme", "2018"), ("until", "acme", "2020")) == [("acme", "2018", "2020")]
    assert told(("start", "acme", "2018"), ("until", "globex", "2020")) == [("acme", "2018", None)]
    assert told(("start", "a", "2018"), ("end", "a", "2020"), ("until", "b", "2020")) == [("a", "2018", "2020")]


def test_of_one_moment_the_later_statement_counts() -> None:
    assert told(("start", "acme", "2024"), ("start", "globex", "2024")) == [("globex", "2024", None)]
    assert told(("start", "x", "2023"), ("start", "acme", "2024"), ("seen", "globex", "2024")) == [
        ("x", "2023", "2024"),
        ("globex", "2024", None),
    ]


def test_groups_never_cross_types_nor_targets() -> None:
    """Functional types close by source and type, the others by source, type and target."""
    works, uses = points(("seen", "acme", "1"), ("seen", "globex", "2")), points(("seen", "vim", "3"), kind="uses")
    more = points(("seen", "emacs", "4"), kind="uses")
    assert [len(each) for each in grouped([*works, *uses, *more])] == [2, 1, 1]
    assert group_key(works[0]) == ("alex", "works_at", "", "", "")
    assert group_key(uses[0]) == ("alex", "uses", "", "vim", "")


def test_slots_are_functional() -> None:
    assert split_type("primary_editor") == ("primary", "editor")
    assert (split_type("works_at"), split_type("primary_")) == (("works_at", ""), ("primary_", ""))
    assert (is_functional("primary", "editor"), is_functional("uses", "")) == (True, False)


def test_repeated_strength() -> None:
    """1 − (1 − s)(1 − .5·s_new)"""
    assert repeated(0.5, 0.6) == pytest.approx(0.65)
    assert repeated(0.9, 0.9) == pytest.approx(0.945)


def test_strengths() -> None:
    """In so many words .9, as it follows .6, together .5; each more often said: 1 − (1 − s)(1 − .5·s_new)."""
    assert (EXPLICIT, INFERRED, TOGETHER) == (0.9, 0.6, 0.5)
    assert repeated(EXPLICIT, EXPLICIT) == pytest.approx(0.945)
    assert repeated(EXPLICIT, INFERRED) == pytest.approx(0.93)
    assert repeated(INFERRED, INFERRED) == pytest.approx(0.72)
    assert repeated(INFERRED, EXPLICIT) == pytest.approx(0.78)
    together = 0.5
    for memories in range(1, 6):
        assert together_strength(memories) == pytest.approx(together)
        together = repeated(together, TOGETHER)
    assert [together_strength(many) for many in (2, 3)] == pytest.approx([0.625, 0.71875])


@given(st.floats(0, 1), st.lists(st.floats(0, 1), max_size=8))
def test_what_is_said_again_is_never_weaker_nor_more_than_certain(first: float, again: list[float]) -> None:
    strength = first
    for each in again:
        more = repeated(strength, each)
        assert strength - 1e-12 <= more <= 1.0
        strength = more


def row(start: str | None, end: str | None, created: str = "2026-01", expired: str | None = None) -> Relationship:
    return Relationship(
        id="r", first_id="r", source_id="a", type="t", strength=1, created_at=created, target_id="b", valid_from=start,
        invalid_at=end, expired_at=expired,
    )  # fmt: skip


@each_row(
    ("it", "when", "found"),
    [
        (row(None, None), When("1000"), True),
        (row("2024", "2025"), When("2024"), True),
        (row("2024", "2025"), When("2025"), False),
        (row("2024", None), When("2023"), False),
        (row("2024", "2025"), When(), True),
        (row("2024", None, expired="2026-02"), When(), False),
        (row("2024", None, "2026-01", "2026-02"), When("2025", "2026-01"), True),
        (row("2024", None, "2026-01", "2026-02"), When("2025", "2026-02"), False),
        (row("2024", None, "2026-01"), When(None, "2025-12"), False),
    ],
)
def test_both_times_are_half_open(it: Relationship, when: When, found: bool) -> None:
    assert holds(it, when) is found


def test_status() -> None:
    assert status_of(row("2024", None), "2025") == "current"
    assert status_of(row("2024", "2025"), "2025") == "past"
    assert status_of(row("2026", None), "2025") == "future"
    assert status_of(row("2024", None, expired="2026"), "2025") == "withdrawn"


def test_roots_follow_merges_and_end_in_a_circle() -> None:
    roots = Roots([("b", "a"), ("c", "b"), ("d", "e")])
    assert (roots.of("c"), roots.of("x"), roots.members("b")) == ("a", "x", ["a", "b", "c"])
    assert Roots([("a", "b"), ("b", "a")]).of("a") in ("a", "b")


KINDS: st.SearchStrategy[PointKind] = st.sampled_from(("start", "seen", "until", "end"))
SAID = st.tuples(KINDS, st.sampled_from("abc"), st.sampled_from([f"20{year}" for year in range(10, 18)]))


@given(st.lists(SAID, max_size=12))
def test_intervals_are_disjoint_and_in_order(said: list[Said]) -> None:
    found = intervals(points(*said))
    for one, other in pairwise(found):
        assert one.invalid_at is not None
        assert (one.valid_from or "") < one.invalid_at <= (other.valid_from or "")
        assert one.successor is None or found[one.successor].valid_from == one.invalid_at
    assert all(it.evidence for it in found)


@given(st.lists(SAID, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_count(said: list[Said], random: object) -> None:
    distinct = list(
        {(at, "end" if kind == "until" else kind): (kind, target, at) for kind, target, at in said}.values()
    )
    shuffled = list(distinct)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert told(*shuffled) == told(*distinct)
