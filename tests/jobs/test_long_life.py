"""Days and months of one store, its clock going wrong again and again: what jobs promise holds all the time, and
nothing grows."""

from __future__ import annotations

import mmap
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mnemond.store.connection import CACHE_KIB
from tests.jobs.lifetime import apart, lived, resident, slope
from tests.tables import each_row

DAYS = 180
THIRD = DAYS // 3
"""Days after which a store has reached its size and every cache is warm."""

MOST_A_DAY = 512 << 10
"""Bytes of resident memory that a day may add beyond the data (the product's promise). The data is the file, which
grows by 45 to 56 KiB a day: history, and what left recall; SQLite keeps all of a small one in memory (`CACHE_KIB`). Of
the index there is no more at the end than at the beginning: MOST_ROWS. What is left was 30 to 55 KiB a day in three
lives."""

MOST_ROWS = 2_000
"""Of an index: a thousand dead ones before they are dropped, and those alive, of which there are some hundreds where
the brake holds a prune for days."""

MOST_GROWTH = 512 << 10
"""Bytes that the largest day of the last third may hold beyond the largest of the second: an index drops its dead rows
every 50 days or so, and grows by 13 KiB a day in between."""


@each_row("seed", [1, 2])
def test_a_few_days(tmp_path: Path, seed: int) -> None:
    life = trio.run(partial(lived, tmp_path, seed, 8), clock=MockClock())
    assert life.pruned > 0
    assert [day.held > 0 and day.file > 0 and day.live <= day.rows for day in life.days] == [True] * 8


def test_growth_is_told() -> None:
    assert slope([5, 5, 5, 5]) == 0.0
    assert slope([100, 103, 106, 109]) == pytest.approx(3.0)
    assert slope([0, 9, 2, 11, 4, 13]) == pytest.approx(59 / 35)


def test_what_a_process_holds_is_seen() -> None:
    with mmap.mmap(-1, 8 << 20) as held:  # no hole that other tests left
        before = resident()
        held.write(b"x" * len(held))
        assert resident() - before > len(held) // 2


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
def test_half_a_year(tmp_path: Path, seed: int) -> None:
    life = apart(tmp_path, seed, DAYS)
    settled = life.days[THIRD:]
    assert life.pruned > DAYS
    assert max(day.rows for day in settled) < MOST_ROWS
    assert settled[-1].file < CACHE_KIB << 10
    assert slope([day.held - day.file for day in settled]) < MOST_A_DAY


@pytest.mark.deep
def test_half_a_year_leaves_nothing_allocated(tmp_path: Path) -> None:
    held = [day.held for day in apart(tmp_path, 0, DAYS, "traced").days]
    assert max(held[2 * THIRD :]) - max(held[THIRD : 2 * THIRD]) < MOST_GROWTH
