"""A clock that jumps ages memories by two days a run at most, and by nothing once it is put right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import MAX_US, aged, effective_now

DAY_US = 86_400_000_000
TIMES = st.integers(0, 4_000_000_000_000_000)


def test_worked_numbers() -> None:
    assert aged(None, 7) == 7
    assert aged(10 * DAY_US, 10 * DAY_US + 5) == 10 * DAY_US + 5
    assert aged(10 * DAY_US, 12 * DAY_US) == 12 * DAY_US
    assert aged(10 * DAY_US, 12 * DAY_US + 1) == 12 * DAY_US
    assert aged(10 * DAY_US, 400 * DAY_US) == 12 * DAY_US
    assert aged(10 * DAY_US, 9 * DAY_US) == 10 * DAY_US
    assert effective_now(10 * DAY_US, 9 * DAY_US) == 9 * DAY_US
    assert effective_now(10 * DAY_US, 400 * DAY_US) == 10 * DAY_US


@given(TIMES, st.lists(TIMES, min_size=1, max_size=20))
def test_whatever_the_clock_says_a_run_ages_by_two_days_at_most_and_never_into_the_future(
    start: int, walls: list[int]
) -> None:
    known = aged(None, start)
    for wall in walls:
        later = aged(known, wall)
        assert 0 <= later - known <= MAX_US
        assert effective_now(later, wall) <= wall
        assert effective_now(later, wall) - effective_now(known, wall) <= MAX_US
        known = later
    for _ in range((max(0, walls[-1] - known) // MAX_US) + 1):
        known = aged(known, walls[-1])
    assert effective_now(known, walls[-1]) == walls[-1]  # it catches up
