"""The job that makes summaries anew after a source left or changed, and those of clusters by a setting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from mnemond.api.requests import one_active
from mnemond.config.settings import config_from
from mnemond.errors import INTERNAL, MnemonError
from mnemond.jobs.consolidate import Consolidate
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import Done
from mnemond.jobs.resolve import ModelDeps
from mnemond.jobs.summaries import Summaries
from mnemond.memory.summaries import Summarize, propose_summarize, summary_text
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import AddInsight, PutInsight, RetireInsight
from mnemond.model.memory import SUMMARIZED, Insight, TextWithCues, derived_from, format_us
from tests.jobs.factories import DAY_US, NOW_US, Keeping, kept
from tests.store.factories import insight_id

TEXTS = (
    "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven",
    "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven",
    "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven; it takes long",
)


class World:
    def __init__(self, over: Keeping, rules: Any) -> None:
        self.over, self.rules, self.made = over, rules, 0

    def identity(self, store: str = "default", by: str = "user") -> WriteContext:
        self.made += 1
        return WriteContext(
            id=insight_id(100 + self.made), op_id=f"op-{self.made}", client_op_id=False, now_us=NOW_US, store=store,
            request_digest="", triggered_by=by,
        )  # fmt: skip

    async def say(self, *texts: str) -> None:
        for number, text in enumerate(texts, self.over.snapshot.rows + 1):
            at = format_us(NOW_US - DAY_US + number * 3_600_000_000)
            await self.over.change(AddInsight(Insight(insight_id(number), at, at, content=text)))

    async def summarize(self, *numbers: int) -> None:
        text = summary_text([self.over.insight(number) for number in numbers])
        assert text is not None
        wish = Summarize(ids=tuple(map(insight_id, numbers)), embedded_text=TextWithCues(text))
        await self.over.store.write(propose_summarize(wish, self.identity(), one_active, self.rules))

    async def run(self, name: str = "summaries", **fields: Any) -> Done:
        result = await self.over.attendant.run(name, **fields)
        assert isinstance(result, Done)
        return result

    def summaries(self) -> list[tuple[int, ...]]:
        """The sources of each active summary."""
        snapshot = self.over.snapshot
        rows = (snapshot.of_channel(SUMMARIZED) & snapshot.alive()).nonzero()[0].tolist()
        return [tuple(int(each[:8], 16) for each in derived_from(snapshot.insight(row))) for row in rows]


@asynccontextmanager
async def world(path: Path, clock: MockClock, **settings: Any) -> AsyncIterator[World]:
    rules = write_rules(None, config_from(settings))
    here: list[World] = []

    async def desk(_: str) -> ExtractionContext:
        await trio.lowlevel.checkpoint()
        return ExtractionContext(rules, None, "no embedder", trio.CapacityLimiter(1), lambda: None)

    def identity(store: str, by: str) -> WriteContext:
        return here[0].identity(store, by)

    jobs = (
        Summaries(ModelDeps(desk, identity, one_active)),
        Consolidate(86_400.0, ModelDeps(desk, identity, one_active)),
    )
    async with kept(path, clock, *jobs) as over:
        here.append(World(over, rules))
        yield here[0]
        await over.mirrored()


async def test_a_summary_is_made_anew_of_what_is_left(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(*TEXTS)
        await over.summarize(1, 2, 3)
        assert (await over.run()).outcome == "nothing"
        await over.over.change(RetireInsight(insight_id(2), "forgotten"))
        assert over.summaries() == []
        assert (await over.run(dry_run=True)).changed == 1
        assert (await over.run()).changed == 1
        assert over.summaries() == [(1, 3)]
        assert (await over.run()).outcome == "nothing"


async def test_of_a_changed_memory_and_of_a_successor(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(*TEXTS)
        await over.summarize(1, 2)
        changed = msgspec.structs.replace(over.over.insight(1), content="The search index is rebuilt by node eight")
        await over.over.change(PutInsight(changed))
        await over.run()
        assert over.summaries() == [(1, 2)]
        await over.over.change(RetireInsight(insight_id(2), "superseded", insight_id(3)))
        await over.run()
        assert over.summaries() == [(1, 3)]


async def test_not_of_memories_that_contradict_each_other_by_now(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say("The office is in Berlin", "The office has a garden", "The office is in Munich")
        await over.summarize(1, 2)
        changed = msgspec.structs.replace(over.over.insight(2), content="The office is in Munich")
        await over.over.change(PutInsight(changed))
        done = await over.run()
        assert (done.outcome, over.summaries()) == ("nothing", [])


async def test_a_failure_of_the_store_is_one_of_the_job(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: Any
) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(*TEXTS)
        await over.summarize(1, 2, 3)
        await over.over.change(RetireInsight(insight_id(2), "forgotten"))

        async def refuse(_: object) -> object:
            await trio.lowlevel.checkpoint()
            raise failure

        failure = MnemonError(INTERNAL, "no")
        with monkeypatch.context() as patched:
            patched.setattr(over.over.store, "write", refuse)
            with pytest.raises(MnemonError, match="no"):
                await over.over.attendant.run("summaries")
        assert (await over.run()).changed == 1


async def test_clusters_are_summed_up_by_a_setting_once(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, **{"consolidation.summaries": True}) as over:
        await over.say(*TEXTS)
        await over.run("consolidate")
        assert over.summaries() == [(1, 2, 3)]
        await over.run("consolidate")
        assert over.summaries() == [(1, 2, 3)]
