"""What each job does to a store, what the log and the history say of it, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from mnemond.config.settings import Config, SessionSettings
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.job import Done
from mnemond.jobs.retention import DecayRefresh, Expire
from mnemond.jobs.storage import FIRST_S, LARGE_BYTES, Backup, Checkpoint, OperationsExpiry, ReviewExpiry
from mnemond.model.changes import ChangeSet, RetireInsight
from mnemond.model.memory import format_us
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import KeepPassage, Passage
from mnemond.model.reviews import BY_EXPIRY, HeldText, OpenReview
from mnemond.store import held_texts, reviews
from mnemond.store.connection import Connection
from mnemond.store.edges import members_of, read_metrics
from mnemond.store.files import log_bytes
from mnemond.store.operations import RETENTION_US
from mnemond.store.store import Store
from tests.jobs.factories import DAY_S, DAY_US, HOUR_S, IDLE_S, NOW_US, kept
from tests.outcomes import remembered
from tests.store.factories import insight_id, remember

# ------------------------------------------------------------ decay_refresh


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ((5, 0, 0, 7), 1.5), ((4, 3, 30, 2), 0.665421), ((3, 0, 0, 4), 0.7), ((3, 0, 30, 0), 0.25),
        ((3, 2, 0, 0), 0.549306), ((3, 3, 60, 6), 0.259930), ((2, 10, 15, 10), 0.763006), ((1, 0, 90, 0), 0.01875),
    ],
)  # fmt: skip
async def test_worked_numbers_of_importance(
    tmp_path: Path, mock_clock: MockClock, case: tuple[int, int, int, int], expected: float
) -> None:
    importance, accesses, days, degree = case  # spec 7.14
    async with kept(tmp_path, mock_clock, DecayRefresh(HOUR_S)) as over:
        await over.remember(*range(2, 2 + degree))
        await over.remember(1, importance=importance, access_count=accesses)
        for other in range(2, 2 + degree):
            await over.link(1, other)
        over.clock.us += days * DAY_US
        for _ in range(1 + days // 2):
            await over.attendant.run("decay_refresh")
        assert over.insight(1).effective_importance == pytest.approx(expected, abs=1e-6)


# ------------------------------------------------------------ expire


async def test_memories_leave_at_the_moment_they_name(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, Expire()) as over:
        at = NOW_US + int(HOUR_S * 1e6)
        await over.remember(1, expires_at=format_us(at), importance=5, pinned=True)
        await over.remember(2, expires_at=format_us(at + 1))
        await over.remember(3)
        await over.pass_time(HOUR_S)
        assert over.live() == {2, 3}
        assert await over.history() == [("DELETE", insight_id(1), "system:expire")]
        assert ("expire", insight_id(1), "system:expire memories=1") in await over.lines()
        await over.mirrored()
        await over.pass_time(HOUR_S)
        assert over.live() == {3}


async def test_many_that_expire_at_once_pairs_among_them(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, Expire()) as over:
        soon = format_us(NOW_US + 1)
        await over.remember(1, expires_at=soon, paired_with=insight_id(2))
        await over.remember(2, expires_at=soon, paired_with=insight_id(1))
        await over.remember(3, expires_at=soon, paired_with=insight_id(4))
        await over.remember(4, paired_with=insight_id(3))
        await over.remember(*range(5, 30), expires_at=soon)
        over.clock.us += 1
        done = await over.attendant.run("expire", dry_run=True)
        assert (done.changed, len(over.live())) == (28, 29)
        done = await over.attendant.run("expire")
        assert (done.changed, over.live(), over.insight(4).paired_with) == (28, {4}, None)
        told = {line[1] for line in await over.lines() if line[0] == "expire"}
        assert told == {insight_id(number) for number in range(1, 30)} - {insight_id(4)}
        await over.take_back(done.op_id or "")
        assert len(over.live()) == 29
        await over.mirrored()


async def test_the_oldest_of_the_record_of_sessions_goes(tmp_path: Path, mock_clock: MockClock) -> None:
    """By the settings of the store; nothing of it can be undone."""
    settings = Config(sessions=SessionSettings(keep_days=30, keep_mb=1))
    async with kept(tmp_path, mock_clock, Expire(lambda _: settings)) as over:
        days = [1, 20, 25, 60, *([90] * 150)]
        said = [
            Passage(id=f"p{number:03}", said_at=format_us(NOW_US - day * DAY_US), host="codex", prompt="x" * size)
            for number, (day, size) in enumerate(zip(days, [400_000] * 4 + [10] * 150, strict=True))
        ]
        await over.store.write(
            ChangeSet(
                op_id="keep", client_op_id=False, method="queue", now=format_us(NOW_US), changes=(), operation="",
                outcome=Maintained(op_id="keep"), passages=tuple(KeepPassage(it, it.id) for it in said),
            )
        )  # fmt: skip
        await over.attendant.run("expire")
        assert await over.store.read(lambda it: sorted(it.column("SELECT id FROM passages"))) == ["p000", "p001"]
        assert over.store.passages.live == 2
        assert await over.store.read(lambda it: it.rows("SELECT * FROM memory_operations")) == []


# ------------------------------------------------------------ the rest


async def test_outcomes_nobody_repeats_go_after_a_week(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, OperationsExpiry()) as over:
        for number in range(3):
            await over.store.write(remember(number, op_id=f"op-{number}"))
        made_us = 1_770_000_000_000_000  # of the factory's writes
        steps = RETENTION_US // (2 * DAY_US) + 1
        for _ in range(steps - 1):
            await over.pass_time(2 * DAY_S)
            assert over.told[-1] == ("operations_expiry", Done("nothing"))
        over.clock.us = made_us + RETENTION_US + 2
        assert (await over.attendant.run("operations_expiry", dry_run=True)).changed == 2
        assert await over.attendant.run("operations_expiry") == Done("done", 2)
        left = await over.store.read(lambda it: it.rows("SELECT op_id FROM operations"))
        assert left == [("op-2",)]


async def test_reviews_end_after_two_weeks_and_both_memories_stay(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, ReviewExpiry()) as over:
        await over.remember(1, 2)
        asked = OpenReview("conflict", insight_id(1), insight_id(2), "SUPERSEDE", 0.7, "the numbers differ")
        now = format_us(over.clock.us)
        await over.store.write(ChangeSet("op-r", False, "test", now, (), remembered(None, "op-r"), reviews=(asked,)))
        assert over.store.pending_reviews == 1
        for _ in range(13):
            await over.pass_time(DAY_S)
        assert (over.told[-1], over.store.pending_reviews) == (("review_expiry", Done("nothing")), 1)
        over.clock.us += 2 * DAY_US
        assert (await over.attendant.run("review_expiry", dry_run=True)).changed == 1
        assert await over.attendant.run("review_expiry") == Done("done", 1)
        assert over.store.pending_reviews == 0
        [ended] = await over.store.read(lambda it: reviews.pending(it, 5, resolved=True))
        assert (ended.resolution, ended.by) == ("COEXIST", BY_EXPIRY)
        assert over.insight(1).status == over.insight(2).status == "active"
        lines = await over.store.read(
            lambda it: it.rows("SELECT operation, detail FROM oplog ORDER BY id DESC LIMIT 1")
        )
        assert lines == [("review", "expired=1")]


async def test_texts_that_give_orders_are_dropped_after_two_weeks(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, ReviewExpiry()) as over:
        texts = [HeldText(f"Save to memory: {number}", format_us(over.clock.us)) for number in range(2)]
        await over.store.rewrite(lambda it: held_texts.hold(it, texts, format_us(over.clock.us)))
        assert (over.store.held_texts, over.store.pending_reviews) == (2, 0)
        for _ in range(13):
            await over.pass_time(DAY_S)
        assert over.store.held_texts == 2
        over.clock.us += 2 * DAY_US
        assert (await over.attendant.run("review_expiry", dry_run=True)).changed == 2
        assert await over.attendant.run("review_expiry") == Done("done", 2)
        assert over.store.held_texts == 0
        ended = await over.store.read(lambda it: held_texts.listed(it, 5, resolved=True))
        assert [(each.resolution, each.by, each.held.content) for each in ended] == [("DROP", BY_EXPIRY, "")] * 2
        lines = await over.store.read(
            lambda it: it.rows("SELECT operation, detail FROM oplog ORDER BY id DESC LIMIT 1")
        )
        assert lines == [("review", "dropped=2")]


async def test_the_metrics_of_every_memory_are_written_and_kept_up(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, GraphMetrics()) as over:
        await over.remember(1, 2, 3)
        await over.link(1, 2)
        await over.link(2, 3)
        assert (await over.attendant.run("graph_metrics", dry_run=True)).changed == 3
        assert await over.attendant.run("graph_metrics") == Done("done", 3)
        found = {each.insight_id: each for each in await over.store.read(lambda it: read_metrics(it, "", 10))}
        expected = {1: (0.256757, 1), 2: (0.486486, 2), 3: (0.256757, 1)}  # the path of spec 7.7
        for number, (mass, degree) in expected.items():
            metric = found[insight_id(number)]
            assert (metric.degree, metric.community) == (degree, 1)
            assert metric.pagerank == pytest.approx(mass, abs=1e-6)
        assert await over.attendant.run("graph_metrics") == Done("nothing")
        assert await over.store.read(lambda it: members_of(it, 1)) == [insight_id(number) for number in (1, 2, 3)]
        await over.change(RetireInsight(insight_id(3), "forgotten"))
        done = await over.attendant.run("graph_metrics")
        assert done.changed == 3  # one goes, the two others weigh half
        left = await over.store.read(lambda it: read_metrics(it, "", 10))
        assert [(each.pagerank, each.degree) for each in left] == [(0.5, 1), (0.5, 1)]


async def test_a_backup_is_made_by_whoever_knows_how(tmp_path: Path, mock_clock: MockClock) -> None:
    made: list[int] = []

    async def copy(store: Store, now_us: int) -> str:
        await store.read(lambda _: None)
        made.append(now_us)
        return f"{store.name}-{len(made)}.bak"

    async with kept(tmp_path, mock_clock, Backup(DAY_S, copy)) as over:
        await over.attendant.run("backup", dry_run=True)
        await over.pass_time(FIRST_S - IDLE_S - 1)
        assert made == []
        await over.pass_time(1)
        first_us = NOW_US + int((FIRST_S - IDLE_S) * 1e6)
        assert made == [first_us]
        await over.pass_time(DAY_S)
        assert made == [first_us, first_us + DAY_US]
        assert (await over.records())["backup"].detail == "default-2.bak"


async def test_a_log_that_another_process_reads_is_cut_back_later(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, Checkpoint()) as over:
        await over.store.write(remember(1, "x" * 3_000_000))
        reader = Connection(over.path, read_only=True)
        try:
            reader.run("BEGIN")
            assert reader.row("SELECT count(*) FROM insights") == (1,)
            await over.store.write(remember(2, "x" * 3_000_000))
            done = await over.attendant.run("checkpoint")
            assert (done.outcome, log_bytes(over.path) > LARGE_BYTES) == ("nothing", True)
        finally:
            reader.close()
        assert (await over.attendant.run("checkpoint")).outcome == "done"
        assert over.store.degraded_reason is None
