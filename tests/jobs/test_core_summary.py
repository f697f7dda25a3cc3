"""The core summary of each user is made after ten new memories, in a thread, by the rules or a model."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from mnemond.config.settings import Config, config_from
from mnemond.errors import INTERNAL, UNAVAILABLE, MnemonError
from mnemond.jobs import core_summary
from mnemond.jobs.core_summary import INTERVAL_S, CoreDeps, CoreSummaries
from mnemond.memory.core_summary import Draft, entity_of, propose
from mnemond.model.core import BY_HAND, CoreLine, CoreSummary
from mnemond.model.memory import Scope
from mnemond.recall.core_text import drafted
from mnemond.store import core_summaries
from tests.jobs.factories import Keeping, kept
from tests.jobs.test_resolve import Model
from tests.llm.scripted import asking
from tests.store.factories import insight_id

AWAY = MnemonError(UNAVAILABLE, "no answer within 60 s")


class World:
    def __init__(self, over: Keeping, means: CoreDeps) -> None:
        self.over = over
        self.means = means

    async def run(self, **fields: Any) -> Any:
        return await self.over.attendant.run("core_summary", **fields)

    def summary(self, user: str | None = None) -> CoreSummary | None:
        return self.over.store.core_summaries.get(entity_of(user))

    async def versions(self, user: str | None = None) -> list[CoreSummary]:
        return await self.over.store.read(lambda it: core_summaries.versions(it, entity_of(user), 50))


@asynccontextmanager
async def world(path: Path, clock: MockClock, asks: Any = None, **settings: object) -> AsyncIterator[World]:
    config = config_from({f"core_summary.{name}": value for name, value in settings.items()}) if settings else Config()
    holder: list[Keeping] = []
    means = CoreDeps(lambda _: config, lambda store, by: holder[0]._identities.own(store, by), asks and asking(asks))
    async with kept(path, clock, CoreSummaries(means)) as over:
        holder.append(over)
        yield World(over, means)


async def test_each_user_has_one_of_what_is_for_them_and_for_everybody(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as at:
        await at.over.remember(1, 2)
        await at.over.remember(*range(10, 20), scope=Scope(user_id="ana"))
        await at.over.remember(*range(20, 30), scope=Scope(user_id="bob"))
        done = await at.run(dry_run=True)
        assert (done.changed, at.summary("ana")) == (3, None)
        await at.over.pass_time(INTERVAL_S)
        ana, bob = at.summary("ana"), at.summary("bob")
        assert ana is not None
        assert bob is not None
        assert sorted(ana.source_ids) == [insight_id(each) for each in (1, 2, *range(10, 20))]
        assert sorted(bob.source_ids) == [insight_id(each) for each in (1, 2, *range(20, 30))]
        assert at.summary() is None
        assert (await at.run()).changed == 1
        assert at.summary() is not None


async def test_more_users_than_a_portion_are_done_one_portion_after_the_other(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_summary, "PORTION", 2)
    async with world(tmp_path, mock_clock, update_frequency=1) as at:
        for number, user in enumerate("abcde"):
            await at.over.remember(number, scope=Scope(user_id=user))
        await at.over.pass_time(INTERVAL_S)
        assert sum(at.summary(user) is not None for user in "abcde") == 5


async def test_no_more_users_than_there_is_room_for(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_summaries, "MAX_USERS", 1)
    async with world(tmp_path, mock_clock, update_frequency=1) as at:
        for number, user in enumerate("ab"):
            await at.over.remember(number, scope=Scope(user_id=user))
        await at.over.pass_time(3 * INTERVAL_S)
        assert len(at.over.store.core_summaries) == 1


async def test_a_version_that_a_person_gave_stays(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, update_frequency=1) as at:
        draft = Draft(user=None, lines=(CoreLine("as I say"),), generator=BY_HAND)
        await at.over.store.write(propose(draft, at.means.identity("default", "user"), "core.set"))
        await at.over.remember(1, 2, 3)
        await at.over.pass_time(INTERVAL_S)
        assert (await at.run()).changed == 0
        found = at.summary()
        assert found is not None
        assert found.text == "as I say"


async def test_it_can_be_switched_off_and_still_be_asked_for(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, enabled=False) as at:
        await at.over.remember(*range(20))
        await at.over.pass_time(INTERVAL_S)
        assert at.summary() is None
        assert (await at.run()).changed == 1


async def test_clusters_are_found_in_a_thread(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def noted(*arguments: Any) -> Any:
        for _ in drafted(*arguments):
            seen.append(threading.get_ident())
            yield
        seen.append(threading.get_ident())
        return Draft(user=None, lines=())

    monkeypatch.setattr(core_summary, "drafted", noted)
    async with world(tmp_path, mock_clock) as at:
        await at.over.remember(*range(12))
        await at.run()
    assert len(seen) > 2
    assert threading.get_ident() not in seen


# ------------------------------------------------------------------ by a model


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (AWAY, "no answer within 60 s"),
        ({"summary": "It is 4711."}, "the model's summary has numbers that are in nothing it was given: 1"),
        ({"other": 1}, "the model's answer has no summary"),
    ],
)
async def test_without_a_usable_answer_the_rules_write_and_say_why(
    tmp_path: Path, mock_clock: MockClock, answer: object, reason: str
) -> None:
    async with world(tmp_path, mock_clock, Model(answer), engine="llm", update_frequency=1) as at:
        await at.over.remember(1)
        await at.over.pass_time(INTERVAL_S)
        found = at.summary()
        assert found is not None
        assert (found.generator, found.reason) == ("rules", reason)
        assert (await at.over.records())["core_summary"].detail == f"by the rules: {reason}"


async def test_a_defect_of_the_model_is_no_reason(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, Model(MnemonError(INTERNAL, "a defect")), engine="llm") as at:
        await at.over.remember(1)
        with pytest.raises(MnemonError, match="a defect"):
            await at.run()
        assert at.summary() is None


async def test_without_a_model_the_rules_write_and_say_so(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, engine="llm") as at:
        await at.over.remember(1)
        await at.run()
        found = at.summary()
        assert found is not None
        assert found.reason == "no model is configured"
