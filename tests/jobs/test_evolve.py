"""The job that lets memories be found by words of their neighbours, on a store: found, kept, gone with a purge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from mnemond.api.requests import one_active
from mnemond.config.settings import Config
from mnemond.jobs import consolidate
from mnemond.jobs.consolidate import EvolveKeywords
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import Done
from mnemond.jobs.resolve import ResolveDeps
from mnemond.memory.draft import WriteContext, write_rules
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    PurgeInsight,
    PutInsight,
    RestoreInsight,
    RetireInsight,
    SetEvolved,
)
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.store import insights
from tests.jobs.factories import NOW_US, Keeping, kept
from tests.store.factories import insight_id

AT = format_us(NOW_US)


@asynccontextmanager
async def world(path: Path, clock: MockClock) -> AsyncIterator[Keeping]:
    async def desk(_: str) -> ExtractionContext:
        await trio.lowlevel.checkpoint()
        return ExtractionContext(write_rules(None, Config()), None, "", trio.CapacityLimiter(1), lambda: None)

    def identity(_: str, by: str) -> WriteContext:
        raise AssertionError(by)  # a run writes with its own

    async with kept(path, clock, EvolveKeywords(ResolveDeps(desk, identity, one_active))) as over:
        yield over


def memory(number: int, content: str, **fields: Any) -> Insight:
    return Insight(insight_id(number), content, AT, AT, **fields)


async def filled(over: Keeping) -> None:
    """A memory, and two close neighbours that share a word."""
    await over.change(
        AddInsight(memory(1, "Sessions live in memory")),
        AddInsight(memory(2, "Redis holds the sessions", keywords="redis sessions")),
        AddInsight(memory(3, "Redis keeps what is in a session", keywords="redis session")),
        *(
            AddEdge(Edge(insight_id(one), insight_id(other), "semantic", 0.9))
            for one, other in ((1, 2), (2, 1), (1, 3), (3, 1))
        ),
    )


def found_by(over: Keeping, term: str) -> set[int]:
    rows, _ = over.snapshot.postings(term)
    alive = over.snapshot.alive()
    return {int(over.snapshot.insight(row).id[:8], 16) for row in rows.tolist() if alive[row]}


async def test_it_is_found_by_the_word_and_says_what_it_said(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        before = over.insight(1)
        assert found_by(over, "redi") == {2, 3}
        assert (await over.attendant.run("evolve_keywords", dry_run=True)).changed == 1
        assert await over.attendant.run("evolve_keywords") == Done("done", 1)
        assert found_by(over, "redi") == {1, 2, 3}
        assert over.insight(1) == before
        assert over.snapshot.evolved(over.snapshot.row_of(insight_id(1)) or 0) == ("redis",)
        assert over.snapshot.document_frequencies(["redi"]) == [2]  # it does not say so itself
        assert await over.attendant.run("evolve_keywords") == Done("nothing")
        assert await over.history() == []
        await over.change(PutInsight(memory(1, "Sessions live in fast memory", pinned=True)))
        assert found_by(over, "redi") == {1, 2, 3}
        await over.mirrored()


async def test_it_goes_with_a_source_that_is_purged(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        await over.attendant.run("evolve_keywords")
        await over.change(RetireInsight(insight_id(3), "forgotten"))
        assert found_by(over, "redi") == {1, 2}
        await over.change(PurgeInsight(insight_id(3)))
        assert found_by(over, "redi") == {2}
        assert await over.store.read(insights.evolved_sources) == {}
        await over.mirrored()


async def test_a_neighbour_that_left_gives_nothing_any_more(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        await over.attendant.run("evolve_keywords")
        await over.change(RetireInsight(insight_id(2), "forgotten"))
        assert (await over.attendant.run("evolve_keywords")).changed == 1
        assert found_by(over, "redi") == {3}
        await over.mirrored()


async def test_a_memory_that_comes_back_is_as_it_was_stored(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        await over.attendant.run("evolve_keywords")
        it = over.insight(1)
        await over.change(RetireInsight(insight_id(1), "forgotten"))
        await over.change(SetEvolved(insight_id(1), {"redis": (insight_id(2), insight_id(3))}))  # it is gone: ignored
        await over.change(RestoreInsight(it))
        assert found_by(over, "redi") == {2, 3}
        await over.mirrored()


async def test_many_are_changed_in_several_runs(tmp_path: Path, mock_clock: MockClock, monkeypatch: Any) -> None:
    monkeypatch.setattr(consolidate, "MAX_EVOLVED", 0)
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        assert (await over.attendant.run("evolve_keywords")).again


async def test_what_cannot_be_read_is_computed_again(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock) as over:
        await filled(over)
        await over.store.rewrite(lambda it: it.run("UPDATE insights SET evolved_keywords = '[1'"))
        assert await over.store.read(insights.load_evolved) == {}
        assert (await over.attendant.run("evolve_keywords")).changed == 1
        await over.store.rewrite(
            lambda it: it.run("UPDATE insights SET evolved_keywords = NULL WHERE evolved_keywords = '[1'")
        )
        await over.mirrored()
