"""Days of one store's life in a process of its own, which tells what it held at the end of each.

python -m tests.jobs.lifetime DIRECTORY SEED DAYS [traced]

Resident memory is that of the process, all of it. In the process of the tests, holes that other tests left would take
up what leaks here.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import trio
from trio.testing import MockClock

from tests.jobs.checked import CAP, LINES, jobs
from tests.jobs.factories import FILE, HOUR_S, kept
from tests.jobs.year import Year

STEP_S = 6 * HOUR_S
PAGE = os.sysconf("SC_PAGE_SIZE")


class Day(msgspec.Struct, frozen=True):
    """The end of a day: bytes held, rows of the index (dead ones included) and those alive, bytes of the file."""

    held: int
    rows: int
    live: int
    file: int


class Life(msgspec.Struct, frozen=True):
    """How many memories were pruned, and each day."""

    pruned: int
    days: list[Day]


def resident() -> int:
    """Bytes of this process in memory: the second field of statm, proc(5)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def traced() -> int:
    """Bytes that Python's allocators gave out and nobody gave back."""
    return tracemalloc.get_traced_memory()[0]


async def lived(path: Path, seed: int, days: int, held: Callable[[], int] = resident) -> Life:
    """So many days; whatever jobs promise is looked at all the time."""
    mock = trio.lowlevel.current_clock()
    assert isinstance(mock, MockClock)
    found: list[Day] = []
    async with kept(path, mock, *jobs()) as over:
        year = Year(over, seed)
        for _ in range(days):
            await year.day(STEP_S)
            over.told.clear()
            gc.collect()
            snapshot = over.snapshot
            found.append(Day(held(), snapshot.rows, snapshot.live, (path / FILE).stat().st_size))
        assert len(await over.lines()) <= LINES + 1_000
        await over.attendant.run("prune", sure=True)  # until somebody says so, the brake lets it grow
        assert over.snapshot.live < 2 * CAP
        return Life(await year.finish(), found)


def apart(path: Path, seed: int, days: int, *how: str) -> Life:
    """The same in another process (blocking). Raises CalledProcessError when anything in it fails."""
    command = [sys.executable, "-m", "tests.jobs.lifetime", str(path), str(seed), str(days), *how]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Life)


def slope(values: list[int]) -> float:
    """By how much they grow from one to the next, by least squares."""
    middle = (len(values) - 1) / 2
    mean = sum(values) / len(values)
    above = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return above / sum((at - middle) ** 2 for at in range(len(values)))


def main(path: str, seed: str, days: str, *how: str) -> None:
    """Live, and tell."""
    if how:
        tracemalloc.start()
    held = traced if how else resident
    life = trio.run(partial(lived, Path(path), int(seed), int(days), held), clock=MockClock())
    json.dump(msgspec.to_builtins(life), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
