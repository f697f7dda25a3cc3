"""A store used day after day, by chance that is always the same, with both clocks moved by hand."""

from __future__ import annotations

from random import Random
from typing import Any

from mnemond.model.changes import RetireInsight
from mnemond.model.memory import format_us
from tests.jobs.checked import CAP, none_was_immune
from tests.jobs.factories import DAY_US, HOUR_S, Keeping
from tests.store.factories import insight_id

JUMPS_DAYS = (400.0, -400.0, 30.0, -3.0, 0.5 / 86_400, -0.5 / 86_400)
JUMPS_EVERY = 6
"""Days between two jumps of the clock, on average."""

WRITES = 12
"""Memories a day, at most; with what is forgotten and expires the store stays near its cap."""

IMMUNE_SHARE = 0.02


class Year:
    """Days of one store."""

    def __init__(self, over: Keeping, seed: int) -> None:
        self.over = over
        self.made = 0
        self._chance = Random(seed)
        self._wrong_us = 0

    async def day(self, step_s: float) -> None:
        """One more, looked at every `step_s` seconds."""
        over, chance = self.over, self._chance
        if chance.random() < 1 / JUMPS_EVERY:
            self._jump()
        for _ in range(int(24 * HOUR_S / step_s)):
            if chance.random() < 0.5:
                await self._write()
            await self._touch()
            if chance.random() < 0.02:
                await over.attendant.run("prune", sure=True)
            await over.pass_time(step_s)
        await over.mirrored()
        assert over.defects == []

    def _jump(self) -> None:
        """The clock goes wrong, or is put right."""
        if self._wrong_us:
            self.over.clock.us -= self._wrong_us
            self._wrong_us = 0
        else:
            self._wrong_us = int(self._chance.choice(JUMPS_DAYS) * DAY_US)
            self.over.clock.us += self._wrong_us

    async def _write(self) -> None:
        over, chance = self.over, self._chance
        many = chance.randint(1, WRITES)
        numbers = range(self.made, self.made + many)
        self.made += many
        immune = chance.random() < IMMUNE_SHARE
        fields: dict[str, Any] = {"importance": chance.randint(4, 5) if immune else chance.randint(1, 3)}
        if chance.random() < 0.2:
            fields["expires_at"] = format_us(over.clock.us + int(chance.uniform(0.1, 10) * DAY_US))
        await over.remember(*numbers, **fields)
        live = sorted(over.live())
        for number in numbers:
            other = chance.choice(live)
            if other != number:
                await over.link(number, other, chance.choice([0.3, 0.7, 1.0]))

    async def _touch(self) -> None:
        over, chance = self.over, self._chance
        live = sorted(over.live())
        if live and chance.random() < 0.3:
            await over.use(chance.choice(live))
        immune = [
            number for number in live if over.insight(number).importance > 3 or over.insight(number).access_count > 2
        ]
        if len(immune) > CAP // 3:  # somebody tidies up, or the store would grow for ever
            await over.change(*(RetireInsight(insight_id(number), "forgotten") for number in immune[: CAP // 6]))

    async def finish(self) -> int:
        """Look at everything that was pruned; how many."""
        return await none_was_immune(self.over)
