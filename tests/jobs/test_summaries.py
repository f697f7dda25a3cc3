"""Conversations are summed up: after ten messages, by the model or the rules, and nothing that went is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mnemond.config.settings import Config, config_from
from mnemond.errors import INTERNAL, UNAVAILABLE, MnemonError
from mnemond.jobs import summaries
from mnemond.jobs.summaries import RollingSummaries, SummaryDeps
from mnemond.model.changes import KEPT_DAYS
from mnemond.model.memory import DAY_US, format_us
from mnemond.store import conversations
from mnemond.store.conversations import EVERY, Conversation, RollingSummary
from tests.jobs.factories import NOW_US, Keeping, kept
from tests.jobs.test_resolve import Model, Said

HOUR_S = 3_600.0


class World:
    def __init__(self, over: Keeping) -> None:
        self.over = over
        self.said = 0

    async def says(self, conversation: str, many: int, text: str = "The shop stores order {} in Postgres.") -> None:
        messages = []
        for _ in range(many):
            self.said += 1
            messages.append(("user" if self.said % 2 else "assistant", text.format(self.said)))
        at = format_us(NOW_US)
        await self.over.store.rewrite(
            lambda it: conversations.add(it, Conversation(conversation), "apollo", messages, at)
        )

    async def run(self, **fields: Any) -> Any:
        return await self.over.attendant.run("rolling_summary", **fields)

    async def summary(self, conversation: str) -> RollingSummary | None:
        return await self.over.store.read(lambda it: conversations.rolling_summary(it, Conversation(conversation)))

    async def waiting(self, conversation: str) -> int:
        return len(await self.over.store.read(lambda it: conversations.waiting(it, Conversation(conversation))))


@asynccontextmanager
async def world(path: Path, clock: MockClock, asks: Any = None, **settings: object) -> AsyncIterator[World]:
    config = config_from({f"extraction.{name}": value for name, value in settings.items()}) if settings else Config()
    job = RollingSummaries(HOUR_S, SummaryDeps(lambda _: config, asks))
    async with kept(path, clock, job) as over:
        yield World(over)


async def test_ten_messages_make_a_summary_and_are_gone(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as at:
        await at.says("one", EVERY - 1)
        assert (await at.run()).outcome == "nothing"
        await at.says("one", 1)
        assert (await at.run(dry_run=True)).changed == 1
        done = await at.run()
        assert (done.outcome, done.changed, done.detail) == ("done", 1, "")
        found = await at.summary("one")
        assert found is not None
        assert (found.upto, found.project, found.generator, found.reason) == (EVERY, "apollo", "rules", "")
        assert "Postgres" in found.text
        assert await at.waiting("one") == 0
        await at.says("one", EVERY, "The cache keeps session {} in Redis for an hour.")
        await at.run()
        again = await at.summary("one")
        assert again is not None
        assert (again.upto, "Redis" in again.text) == (2 * EVERY, True)


async def test_conversations_are_apart_and_more_than_a_portion_goes_on(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "PORTION", 1)
    async with world(tmp_path, mock_clock) as at:
        for name in ("one", "two"):
            await at.says(name, EVERY, f"The {name} service keeps order {{}} in Postgres.")
        done = await at.run()
        assert (done.changed, done.again) == (1, True)
        assert await at.summary("two") is None
        await at.run()
        two = await at.summary("two")
        assert two is not None
        assert "one service" not in two.text


async def test_a_setting_makes_none(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, rolling_summary=False) as at:
        await at.says("one", EVERY)
        assert (await at.run()).detail == "extraction.rolling_summary is false"
        assert await at.summary("one") is None


async def test_the_model_makes_it_where_it_is_named(tmp_path: Path, mock_clock: MockClock) -> None:
    model = Model({"summary": "The shop stores orders in Postgres."})
    async with world(tmp_path, mock_clock, model) as at:
        await at.says("one", EVERY)
        await at.run()
        found = await at.summary("one")
        assert found is not None
        assert (found.generator, model.asked) == ("rules", [])
    (tmp_path / "two").mkdir()
    async with world(tmp_path / "two", mock_clock, model, engine="auto") as at:
        await at.says("one", EVERY)
        assert (await at.run()).detail == ""
        found = await at.summary("one")
        assert found is not None
        assert (found.generator, found.text) == ("tiny-1b", "The shop stores orders in Postgres.")
        assert "user: The shop stores order 1 in Postgres." in model.asked[0]


async def test_without_a_usable_answer_the_rules_make_it_and_say_why(tmp_path: Path, mock_clock: MockClock) -> None:
    silent = MnemonError(UNAVAILABLE, "no answer within 60 s")
    async with world(tmp_path, mock_clock, Model(silent, {"summary": "Port 99."}), engine="auto") as at:
        for why in ("no answer within 60 s", "the model's summary has numbers that are in nothing it was given: 1"):
            await at.says("one", EVERY)
            assert (await at.run()).detail == f"by the rules: {why}"
            found = await at.summary("one")
            assert found is not None
            assert (found.generator, found.reason) == ("rules", why)


async def test_a_defect_of_the_model_leaves_the_messages(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, Model(MnemonError(INTERNAL, "broken")), engine="auto") as at:
        await at.says("one", EVERY)
        with pytest.raises(MnemonError, match="broken"):
            await at.run()
        assert await at.waiting("one") == EVERY


async def test_what_is_purged_while_a_model_reads_it_is_not_written(tmp_path: Path, mock_clock: MockClock) -> None:
    class Purging:
        def __init__(self) -> None:
            self.over: Keeping | None = None

        async def __call__(self, prompt: str, schema: Mapping[str, Any], *, max_tokens: int) -> Said:
            assert self.over is not None
            await self.over.store.rewrite(conversations.purge)
            return Said({"summary": "The shop stores orders in Postgres."})

    model = Purging()
    async with world(tmp_path, mock_clock, model, engine="llm") as at:
        model.over = at.over
        await at.says("one", EVERY)
        assert (await at.run()).outcome == "nothing"
        assert await at.summary("one") is None
        assert await at.waiting("one") == 0


async def test_what_nothing_was_added_to_for_a_month_goes(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as at:
        await at.says("one", EVERY + 1)
        await at.run()
        await at.says("one", 1)
        at.over.clock.us += int((KEPT_DAYS + 1) * DAY_US)
        await trio.lowlevel.checkpoint()
        # A run counts at most two days as elapsed; see `effective_now`.
        for _ in range(KEPT_DAYS):
            at.over.clock.us += int(2 * DAY_US)
            await at.run()
        assert (await at.summary("one"), await at.waiting("one")) == (None, 0)
