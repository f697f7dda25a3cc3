"""The job that looks for memories that say nearly the same: it asks once, and merges by a setting, within a cap."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from mnemond.api.requests import one_active
from mnemond.config.settings import config_from
from mnemond.jobs.consolidate import Consolidate
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import Done
from mnemond.jobs.resolve import ModelDeps
from mnemond.memory.reviews import Resolve, propose_resolve, text_of
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import AddInsight, PutInsight, RetireInsight
from mnemond.model.memory import Insight, Trigger, format_us
from mnemond.model.reviews import Resolution, Review
from mnemond.store import reviews
from tests.examples import examples
from tests.jobs.factories import DAY_US, NOW_US, Keeping, kept
from tests.store.factories import insight_id

INDEX = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven"
EACH = "The search index is rebuilt each night at 02:30 UTC by a cron job on node seven"
MORE = "The search index is rebuilt every night at 02:30 UTC by the cron job on node seven; it takes long"


class World:
    """A store in which memories are consolidated."""

    def __init__(self, over: Keeping, auto: bool) -> None:
        self.over = over
        self.rules = write_rules(None, config_from({"consolidation.auto_merge": auto}))
        self.made = 0

    def identity(self, store: str = "default", by: str = "user") -> WriteContext:
        self.made += 1
        return WriteContext(
            id=f"new-{self.made}", op_id=f"op-{self.made}", client_op_id=False, now_us=NOW_US, store=store,
            request_digest="", triggered_by=by,
        )  # fmt: skip

    async def say(self, *texts: str, **fields: Any) -> None:
        """Memories, an hour apart."""
        for text in texts:
            number = self.over.snapshot.rows + 1
            at = format_us(NOW_US - DAY_US + number * 3_600_000_000)
            await self.over.change(AddInsight(Insight(insight_id(number), at, at, content=text, **fields)))

    async def run(self, **fields: Any) -> Done:
        result = await self.over.attendant.run("consolidate", **fields)
        assert isinstance(result, Done)
        return result

    async def waiting(self) -> list[Review]:
        return await self.over.store.read(lambda it: reviews.pending(it, 99))

    async def decide(self, review: Review, resolution: Resolution) -> str:
        """Decide as a person does; the name of the operation."""
        snapshot = self.over.snapshot
        rows = snapshot.row_of(review.asked.older), snapshot.row_of(review.asked.newer)
        assert rows[0] is not None
        assert rows[1] is not None
        text = text_of(resolution, snapshot.insight(rows[0]), snapshot.insight(rows[1]), None)
        identity = msgspec.structs.replace(self.identity(), by_person=True)
        wish = Resolve(review=review.id, resolution=resolution, embedded_text=text)
        await self.over.store.write(propose_resolve(wish, identity, one_active, self.rules))
        return identity.op_id

    def texts(self) -> list[str]:
        snapshot = self.over.snapshot
        return [snapshot.insight(row).content for row in snapshot.alive().nonzero()[0].tolist()]


@asynccontextmanager
async def world(path: Path, clock: MockClock, *, auto: bool = False) -> AsyncIterator[World]:
    here: list[World] = []

    async def desk(_: str) -> ExtractionContext:
        await trio.lowlevel.checkpoint()
        return ExtractionContext(here[0].rules, None, "no embedder", trio.CapacityLimiter(1), lambda: None)

    def identity(store: str, by: str) -> WriteContext:
        return here[0].identity(store, by)

    async with kept(path, clock, Consolidate(86_400.0, ModelDeps(desk, identity, one_active))) as over:
        here.append(World(over, auto))
        yield here[0]


async def test_it_asks_once(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(INDEX, EACH, MORE, "The office is in Berlin")
        assert await over.run(dry_run=True) == Done("done", 2, "clusters: 1, pairs: 2")
        assert await over.waiting() == []
        assert await over.run() == Done("done", 2, "clusters: 1, pairs: 2")
        assert [each.asked.suggestion for each in await over.waiting()] == ["DUPLICATE", "MERGE"]
        assert await over.run() == Done("nothing", 0, "clusters: 1, pairs: 2")
        assert len(over.texts()) == 4
        assert over.over.store.pending_reviews == 2
        assert (await over.over.records())["consolidate"].outcome == "nothing"


async def test_an_undo_brings_both_back_and_the_question(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(INDEX, MORE)
        before = over.texts()
        await over.run()
        [review] = await over.waiting()
        operation = await over.decide(review, "MERGE")
        assert over.texts() == [MORE]
        await over.over.take_back(operation)
        assert sorted(over.texts()) == sorted(before)
        assert [each.id for each in await over.waiting()] == [review.id]
        assert (await over.run()).outcome == "nothing"


async def test_it_merges_by_a_setting_and_each_is_taken_back(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, auto=True) as over:
        await over.say(INDEX, EACH, MORE, "The office is in Berlin")
        before = over.texts()
        assert (await over.run(dry_run=True)).changed == 2
        assert await over.run() == Done("done", 2, "clusters: 1, pairs: 2")
        assert len(over.texts()) == 2
        assert any("it takes long" in text for text in over.texts())
        assert await over.waiting() == []
        assert (await over.run()).outcome == "nothing"
        merges = [line for line in await over.over.lines() if line[0] == "resolve"]
        assert len(merges) == 2
        operations = await over.over.store.read(
            lambda it: it.column("SELECT DISTINCT op_id FROM memory_operations WHERE triggered_by = ?"
                                 " ORDER BY id DESC", ("system:consolidate",))
        )  # fmt: skip
        for operation in operations:
            await over.over.take_back(operation)
        assert sorted(over.texts()) == sorted(before)


async def test_a_run_merges_no_more_than_it_may(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, auto=True) as over:
        for at in range(6):
            text = f"word{at} of note{at} about topic{at} and thing{at}"
            await over.say(text, text + " again")
        done = await over.run()
        assert (done.changed, done.detail) == (3, "a run merges no more than 3; the rest waits")
        assert len(await over.waiting()) == 3
        assert (await over.run(sure=True)).changed == 3
        assert await over.waiting() == []


async def test_nothing_pinned_or_enforced_is_merged(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, auto=True) as over:
        await over.say(INDEX)
        await over.say(EACH, pinned=True)
        await over.say(MORE, when=(Trigger("Bash(rm *)", "deny"),))
        assert (await over.run()).outcome == "nothing"
        assert len(over.texts()) == 3


async def test_what_changed_between_question_and_merge_waits(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await over.say(INDEX, EACH)
        await over.run()
        [review] = await over.waiting()
        over.rules = write_rules(None, config_from({"consolidation.auto_merge": True}))
        pinned = over.over.insight(1)
        job = over.over.attendant.agenda.by_name["consolidate"].job
        assert isinstance(job, Consolidate)
        await over.over.change(PutInsight(msgspec.structs.replace(pinned, pinned=True)))
        work = over.over.attendant._work(over.over.attendant.agenda.by_name["consolidate"], None)
        desk = await job._means.desk("default")
        assert not await job._merge(work, desk, review)
        await over.over.change(RetireInsight(insight_id(2), "forgotten"))
        assert not await job._merge(work, desk, review)


TEXTS = st.lists(
    st.sampled_from([INDEX, EACH, MORE, INDEX + " now", "The office is in Berlin", "The office is in Munich",
                     "The office of the team is in Berlin now", "The office of the team is in Berlin"]),
    min_size=1, max_size=9,
)  # fmt: skip


@given(TEXTS, st.lists(st.sampled_from(["MERGE", "DUPLICATE", "COEXIST"]), min_size=1, max_size=9))
@examples(25)
def test_whatever_is_decided_nothing_is_asked_twice_and_undo_restores(
    texts: Sequence[str], answers: Sequence[Resolution]
) -> None:
    async def lived(path: Path, clock: MockClock) -> None:
        async with world(path, clock) as over:
            await over.say(*texts)
            before, asked = sorted(over.texts()), set[tuple[str, str]]()
            operations: list[str] = []
            for _ in range(3):
                await over.run()
                waiting = await over.waiting()
                for review, answer in zip(waiting, [*answers, *answers, *answers], strict=False):
                    pair = review.asked.older, review.asked.newer
                    assert pair not in asked
                    asked.add(pair)
                    here = over.over.snapshot
                    if None not in (here.row_of(pair[0]), here.row_of(pair[1])):
                        operations.append(await over.decide(review, answer))
                await over.run()
                for review in await over.waiting():
                    assert (review.asked.older, review.asked.newer) not in asked
            for operation in reversed(operations):
                await over.over.take_back(operation)
            assert sorted(over.texts()) == before
            await over.over.mirrored()

    with tempfile.TemporaryDirectory() as folder:
        clock = MockClock()
        trio.run(lived, Path(folder), clock, clock=clock)
