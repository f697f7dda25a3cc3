"""The job that reads relations, on a store without a memory."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock

from mnemond.jobs.relations import ReadRelations
from mnemond.store.relations import last_read
from tests.jobs.factories import kept


async def test_a_run_that_finds_nothing_is_not_in_the_history(tmp_path: Path, mock_clock: MockClock) -> None:
    """A store that is restored into an empty one has the history of its export, whether the job ran before or not."""
    async with kept(tmp_path, mock_clock, ReadRelations()) as over:
        assert await over.store.read(last_read) == 0
        assert await over.store.read(lambda it: it.count("SELECT count(*) FROM knowledge_operations")) == 0
