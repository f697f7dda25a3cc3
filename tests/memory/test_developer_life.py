"""Half a year, five lives: on every day what holds and what was known are what an oracle says that keeps everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.errors import MnemonError
from mnemond.model.memory import format_us, parse_rfc3339
from mnemond.model.relations import When
from mnemond.store import relations
from tests.memory.developer_life import BEGINS, DAYS, Life, Memory, Oracle, Said, day_of
from tests.memory.relation_world import DAY_US, RelationWorld

HALF_A_YEAR = 182
PER_DAY = 2


class Lived:
    """A store and the oracle beside it. Each step is a moment; its time in the store is an hour of its day."""

    def __init__(self, path: Path, seed: int) -> None:
        self.world, self.oracle, self.life = RelationWorld(path), Oracle(), Life(seed)
        self.random = self.life.random
        self.times: list[str] = []
        self.memories: dict[str, list[int]] = {}
        self.texts: dict[str, str] = {}
        self.given: list[tuple[str, list[int]]] = []

    def step(self, today: int, hour: int) -> None:
        self.world.us = parse_rfc3339(f"{day_of(today).isoformat()}T00:00:00Z") + hour * 1_000_000
        moment = len(self.times)
        self.times.append(self.world.now)
        draw = self.random.random()
        if draw < 0.7 or not self.memories:
            it = self.life.memory(today)
            said_at = format_us(parse_rfc3339(f"{day_of(today).isoformat()}T00:00:00Z"))
            made = self.world.remember(it.text, created_at=said_at)
            self._state(made, it)
            self.memories[made], self.texts[made] = self.oracle.hear(moment, *it.said), it.text
        elif draw < 0.78:
            gone = self.random.choice(sorted(self.memories))
            self.world.forget(gone)
            self.oracle.withdraw(moment, self.memories.pop(gone))
        elif draw < 0.84:
            told = self.random.choice(sorted(self.memories))
            it = self.life.memory(today)
            while it.text == self.texts[told]:  # no change at all, so it is not said again
                it = self.life.memory(today)
            said_at = format_us(parse_rfc3339(f"{day_of(today).isoformat()}T00:00:00Z"))
            self.oracle.withdraw(moment, self.memories[told])
            self.world.forget(told)
            self.memories.pop(told)
            made = self.world.remember(it.text, created_at=said_at)
            self._state(made, it)
            self.memories[made], self.texts[made] = self.oracle.hear(moment, *it.said), it.text
        elif draw < 0.92:
            self._give(moment, today)
        elif draw < 0.96 and self.given:
            op_id, numbers = self.given.pop(self.random.randrange(len(self.given)))
            self.world.undo(op_id)
            self.oracle.withdraw(moment, numbers)
        else:
            self._undo_at_once(today)

    def _state(self, memory: str, it: Memory) -> None:
        for said in it.said:
            at = f"{day_of(said.day).isoformat()}T00:00:00.000000Z"
            self.world.say(said.source, said.type, said.target, memory=memory, since=at, kind=said.kind, origin="host")

    def _give(self, moment: int, today: int) -> None:
        start = self.random.randrange(100, today)
        said = Said("Ana", "primary_editor", self.random.choice(("Vim", "Emacs", "Helix")), "start", start)
        at = f"{day_of(start).isoformat()}T00:00:00.000000Z"
        op_id = self.world.add(said.source, said.type, said.target, since=at)
        self.given.append((op_id, self.oracle.hear(moment, said)))

    def _undo_at_once(self, today: int) -> None:
        """Any operation that is undone leaves the day as it was."""
        before = self.belief()
        held = sorted(it for it in self.oracle.believed(today, len(self.times) - 1) if it[1] != "depends_on")
        if self.random.random() < 0.5 or not held:
            op_id = self.world.forget(self.random.choice(sorted(self.memories)))
        else:
            source, kind, target = self.random.choice(held)
            at = f"{day_of(today - 1).isoformat()}T00:00:00.000000Z"
            try:
                op_id = self.world.close(source, kind, target, at=at)
            except MnemonError:
                return
        self.world.undo(op_id)
        assert self.belief() == before

    def belief(self) -> list[tuple[object, ...]]:
        return sorted(
            (
                (it.source_id, it.type, it.slot, it.target_id, it.valid_from, it.invalid_at, it.granularity)
                for it in self.world.rows()
            ),
            key=str,
        )

    def told(self, day: int, moment: int | None) -> set[tuple[str, str, str]]:
        when = When(f"{day_of(day).isoformat()}T12:00:00.000000Z", None if moment is None else self.times[moment])
        return {(source, kind, target) for source, kind, target, *_ in self.world.told(when)}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(1, 5))])
def test_every_day_is_as_the_oracle_says(tmp_path: Path, seed: int) -> None:
    lived = Lived(tmp_path / "a.db", seed)
    for day in range(HALF_A_YEAR):
        for hour in range(PER_DAY):
            lived.step(BEGINS + day, hour)
        moment = len(lived.times) - 1
        assert lived.told(BEGINS + day, None) == lived.oracle.believed(BEGINS + day, moment)
    for _ in range(400):
        moment, day = lived.random.randrange(len(lived.times)), lived.random.randrange(1, DAYS)
        assert lived.told(day, moment) == lived.oracle.believed(day, moment), (day, moment)
    rows = lived.world.rows()
    evidence = lived.world.ask(lambda it: relations.evidence_for(it, rows))
    closed = [it for it in rows if it.invalid_at is not None]
    assert closed
    for it in closed:
        ends = [each for each in evidence[it.id] if each.at == it.invalid_at]
        assert ends
        # what began it, unless one statement says that it was so until then
        assert len(evidence[it.id]) > 1 or ends[0].kind == "until"


def test_days_are_days() -> None:
    assert DAY_US == 86_400 * 1_000_000
