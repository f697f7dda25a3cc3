"""Days and months of one store, its clock going wrong again and again: what jobs promise holds all the time, and
nothing grows."""

from __future__ import annotations

import gc
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from tests.lifecycle.checked import CAP, LINES, jobs
from tests.lifecycle.keeping import HOUR_S, kept
from tests.lifecycle.year import Year

DAYS = 180
THIRD = DAYS // 3
"""Days after which a store has reached its size and every cache is warm."""

MOST_GROWTH = 512 << 10
"""Bytes that the largest day of the last third may hold beyond the largest of the second: an index drops its dead rows
every 50 days or so, and grows by 13 KiB a day in between."""


async def lived(path: Path, seed: int, days: int, step_s: float) -> tuple[int, list[int]]:
    """How many memories were pruned, and bytes in memory at the end of each day."""
    mock = trio.lowlevel.current_clock()
    assert isinstance(mock, MockClock)
    held: list[int] = []
    async with kept(path, mock, *jobs()) as over:
        year = Year(over, seed)
        for _ in range(days):
            await year.day(step_s)
            over.told.clear()
            if tracemalloc.is_tracing():
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        assert len(await over.lines()) <= LINES + 1_000
        await over.attendant.run("prune", sure=True)  # until somebody says so, the brake lets it grow
        assert over.snapshot.live < 2 * CAP
        return await year.finish(), held


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_days(tmp_path: Path, seed: int) -> None:
    pruned, _ = trio.run(partial(lived, tmp_path, seed, 8, 6 * HOUR_S), clock=MockClock())
    assert pruned > 0


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
def test_half_a_year(tmp_path: Path, seed: int) -> None:
    tracemalloc.start()
    try:
        pruned, held = trio.run(partial(lived, tmp_path, seed, DAYS, 6 * HOUR_S), clock=MockClock())
    finally:
        tracemalloc.stop()
    assert pruned > DAYS
    assert max(held[2 * THIRD :]) - max(held[THIRD : 2 * THIRD]) < MOST_GROWTH
