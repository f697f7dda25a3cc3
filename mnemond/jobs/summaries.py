"""summaries: make summaries anew that were retired with a source, and, by a setting, those of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import HOUR_S, Done, Job, Work
from mnemond.jobs.resolve import ModelDeps, embedded
from mnemond.memory.history import last_successor
from mnemond.memory.summaries import Summarize, problem_of, propose_summarize, summary_text
from mnemond.model.memory import Insight, TextWithCues, derived_from
from mnemond.store import insights, transaction
from mnemond.store.connection import Connection

NAME: Final = "summaries"

MAX_MADE: Final = 20
"""Summaries made in one run."""

MAX_LAPSED: Final = 100
"""Retired summaries looked at in one run, the last ones first."""


class Summaries(Job):
    """Runs hourly."""

    name = NAME
    summary = "summaries follow the memories that they were made of"
    first_s = 60.0
    interval_s = HOUR_S

    def __init__(self, means: ModelDeps) -> None:
        self._means = means

    async def run(self, work: Work) -> Done:
        """Make the summaries whose sources changed anew."""
        desk = await self._means.desk(work.store.name)
        wanted = await work.store.read(_wanted)
        if work.dry_run:
            return work.done(len(wanted))
        made = 0
        for ids in wanted[:MAX_MADE]:
            made += await summarized(work, desk, self._means, ids)
        return await work.note(work.done(made))


def _wanted(connection: Connection) -> list[tuple[str, ...]]:
    """Return the sources, as they are now, of summaries that were retired with one of them and have no other yet."""
    known = transaction.kept_or_refused(connection)
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for each in transaction.lapsed(connection, MAX_LAPSED):
        summary = insights.read(connection, each)
        sources = () if summary is None else _present(connection, derived_from(summary))
        if len(sources) > 1 and frozenset(sources) not in known:
            found.setdefault(frozenset(sources), sources)
    return list(found.values())


def _present(connection: Connection, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the active memories in the place of these, each once."""
    sources = (insights.read(connection, each) for each in ids)
    now = (last_successor(connection, it) for it in sources if it is not None)
    return tuple(dict.fromkeys(it.id for it in now if it.status == "active"))


async def summarized(work: Work, desk: ExtractionContext, means: ModelDeps, ids: Sequence[str]) -> bool:
    """Store a summary of these memories; return False if they cannot be summed up, or changed meanwhile."""
    snapshot = work.store.snapshot
    rows = [row for each in ids if (row := snapshot.row_of(each)) is not None]
    sources = [snapshot.insight(row) for row in rows]
    text = await work.think(_text_of, sources) if len(sources) == len(ids) else None
    if text is None:
        return False
    vector, error = await embedded(desk, text)
    wish = Summarize(ids=tuple(ids), embedded_text=text, vector=vector, embed_error=error)
    proposal = propose_summarize(wish, means.identity(work.store.name, f"system:{work.name}"), means.find, desk.rules)
    try:
        await work.store.write(proposal._replace(made_by=None if desk.embedder is None else desk.embedder.fingerprint))
    except MnemonError as refused:
        if refused.kind not in (INVALID_PARAMS, NOT_FOUND, BUSY):
            raise
        return False
    return True


def _text_of(sources: Sequence[Insight]) -> TextWithCues | None:
    text = None if problem_of(sources) else summary_text(sources)
    return None if text is None else TextWithCues(text)
