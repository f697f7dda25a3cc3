"""A job leaves a store alone for a while between its writes where somebody uses the store, and does not where nobody
does."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mnemond.api.requests import Identities
from mnemond.jobs.job import RESTS, Line, Work, in_slices
from mnemond.model.outcomes import Maintained
from tests.jobs.factories import NOW_US, CountingIds, HandClock

WRITE_S = 0.02


class SlowDesk:
    """A store whose writes take a while; somebody else uses it while any of `busy` is written."""

    def __init__(self, busy: set[int]) -> None:
        self.busy = busy
        self.begun: list[float] = []
        self.used_at = -1.0

    async def write(self, _write: object) -> Maintained:
        self.begun.append(trio.current_time())
        await trio.sleep(WRITE_S / 2)
        if len(self.begun) in self.busy:
            self.used_at = trio.current_time()
        await trio.sleep(WRITE_S / 2)
        return Maintained(op_id="one", changed=1)

    async def rewrite(self, _work: object) -> tuple[int, bool]:
        return (await self.write(_work)).changed, len(self.begun) < 3

    def work(self) -> Work:
        identity = Identities(HandClock(), CountingIds()).own("default", "system:prune")
        store: Any = self
        begun, threads = trio.current_time(), trio.CapacityLimiter(1)
        return Work("prune", store, identity, NOW_US, NOW_US, begun, threads, used_at=lambda: self.used_at)


@pytest.mark.parametrize("busy", [set(), {1}, {1, 2, 3}])
@pytest.mark.parametrize("parts", [False, True])
async def test_it_rests_after_a_write_beside_which_somebody_asked(
    autojump_clock: MockClock, busy: set[int], parts: bool
) -> None:
    desk = SlowDesk(busy)
    if parts:
        await desk.work().in_parts(lambda _: (1, True))
    else:
        await in_slices(desk.work(), ["a", "b", "c"], 1, lambda _, __: (), Line("prune"))
    ended = trio.current_time()
    pauses = [later - before - WRITE_S for before, later in zip(desk.begun, [*desk.begun[1:], ended], strict=True)]
    wanted = [RESTS * WRITE_S if number in busy else 0.0 for number in (1, 2)]
    assert pauses == pytest.approx([*wanted, 0.0])  # and none after the last
