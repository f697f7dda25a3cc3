"""Whatever is written, however the clock jumps and whichever jobs run: the index is what the file is, and every job
keeps what it promises."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from mnemond.model.changes import PutInsight, RetireInsight
from mnemond.model.memory import format_us
from tests.examples import examples
from tests.jobs.checked import jobs, none_was_immune
from tests.jobs.factories import DAY_US, HOUR_S, Keeping, kept

NAMES = ("decay_refresh", "expire", "prune", "graph_metrics", "oplog_trim", "operations_expiry")


class Remember(NamedTuple):
    many: int
    days_ago: float
    fields: dict[str, Any]
    expires_days: float | None


class Touch(NamedTuple):
    kind: str
    one: int
    other: int


class Jump(NamedTuple):
    days: float
    hours_after: float


class Pass(NamedTuple):
    hours: float


class Run(NamedTuple):
    name: str
    dry_run: bool
    sure: bool


FIELDS = st.fixed_dictionaries(
    {
        "importance": st.integers(1, 5),
        "access_count": st.integers(0, 4),
        "pinned": st.booleans(),
        "boost_days": st.sampled_from([0.0, 10.0]),
        "effective_importance": st.sampled_from([0.0, 0.5, 2.0]),
    }
)
STEPS = st.one_of(
    st.builds(Remember, st.integers(1, 30), st.floats(-1, 200), FIELDS, st.sampled_from([None, None, 0.5, 5.0])),
    st.builds(Remember, st.integers(20, 50), st.floats(50, 200), st.just({"importance": 2}), st.none()),
    st.builds(Touch, st.sampled_from(["use", "link", "forget", "pair"]), st.integers(0, 99), st.integers(0, 99)),
    st.builds(Jump, st.sampled_from([400.0, -400.0, 3.0, -3.0, 0.5 / 86_400, -20_000.0]), st.sampled_from([1.0, 0.0])),
    st.builds(Pass, st.sampled_from([24.0, 1.0, 5.0, 0.1])),
    st.builds(Run, st.sampled_from(NAMES), st.booleans(), st.booleans()),
)


class World:
    """Carries steps out."""

    def __init__(self, over: Keeping) -> None:
        self.over = over
        self.made = 0

    async def step(self, step: Remember | Touch | Jump | Pass | Run) -> None:
        over = self.over
        match step:
            case Remember():
                await self._remember(step)
            case Touch():
                await self._touch(step)
            case Jump(days, hours):
                over.clock.us = max(0, over.clock.us + int(days * DAY_US))
                await over.pass_time(hours * HOUR_S)
            case Pass(hours):
                await over.pass_time(hours * HOUR_S)
            case Run(name, dry_run, sure):
                before = over.snapshot.generation
                await over.attendant.run(name, dry_run=dry_run, sure=sure)
                assert not dry_run or over.snapshot.generation == before

    async def _remember(self, step: Remember) -> None:
        numbers = range(self.made, self.made + step.many)
        self.made += step.many
        fields = dict(step.fields)
        if step.expires_days is not None:
            fields["expires_at"] = format_us(self.over.clock.us + int(step.expires_days * DAY_US))
        days_ago = min(step.days_ago, self.over.clock.us / DAY_US)
        await self.over.remember(*numbers, days_ago=days_ago, **fields)

    async def _touch(self, step: Touch) -> None:
        live = sorted(self.over.live())
        if len(live) < 2:
            return
        one, other = live[step.one % len(live)], live[step.other % len(live)]
        match step.kind:
            case "use":
                await self.over.use(one)
            case "forget":
                await self.over.change(RetireInsight(self.over.insight(one).id, "forgotten"))
            case "link" if one != other:
                await self.over.link(one, other, 0.9)
            case "pair" if one != other:
                await self._pair(one, other)
            case _:
                pass

    async def _pair(self, one: int, other: int) -> None:
        first, second = self.over.insight(one), self.over.insight(other)
        if first.paired_with or second.paired_with:
            return
        ends = ((first, second), (second, first))
        await self.over.change(
            *(PutInsight(msgspec.structs.replace(it, paired_with=mate.id), "PAIR") for it, mate in ends)
        )


async def carried_out(path: Path, steps: list[Any]) -> None:
    mock = trio.lowlevel.current_clock()
    assert isinstance(mock, MockClock)
    async with kept(path, mock, *jobs()) as over:
        world = World(over)
        await over.remember(*range(1000, 1030), importance=2, days_ago=30)
        for step in steps:
            await world.step(step)
            await over.settled()
            await over.mirrored()
        await none_was_immune(over)
        failed = [result for _, result in over.told if isinstance(result, Exception)]
        assert failed == []


# Not made smaller when one fails: each example is a store of its own, and hundreds of them take minutes.
@settings(examples(60, least=8), phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(STEPS, min_size=5, max_size=12))
def test_any_sequence_of_writes_jumps_and_jobs(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        trio.run(partial(carried_out, Path(directory), steps), clock=MockClock())
