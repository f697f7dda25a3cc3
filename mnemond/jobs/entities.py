"""entity_backfill: note the names in memories that were written without, and ask about names that may be one.

Memories are read in the order of their numbers, in portions, each with the number that it reached in its transaction:
an interrupted run goes on where it was, and a run without anything new writes nothing. Names are found in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from mnemond.config.settings import Config
from mnemond.config.writing import EntityExtractionSettings
from mnemond.errors import MnemonError
from mnemond.jobs.job import DAY_S, Done, Job, Work
from mnemond.memory.draft import mentions_of
from mnemond.memory.names_alike import Named, proposals, seen
from mnemond.model.memory import Entity
from mnemond.model.outcomes import Maintained
from mnemond.model.reviews import OpenReview
from mnemond.store import edges, insights, relations, reviews
from mnemond.store.connection import Connection
from mnemond.store.meta import ENTITIES_READ_KEY
from mnemond.text.entities import nothing_known

NAME: Final = "entity_backfill"

VERSION: Final = 2
"""Raised when the rules find names that they did not find before: stores are read again then."""

PORTION: Final = 50
"""Memories of one write: some two milliseconds of the writer, as each names a few things."""


class EntityBackfill(Job):
    """Runs daily."""

    name = NAME
    summary = "names in memories are noted, and names that may be one are asked about"
    first_s = 120.0
    interval_s = DAY_S

    def __init__(self, config_of: Callable[[str], Config]) -> None:
        """`config_of` returns the settings of a store, by its name."""
        self._config_of = config_of

    async def run(self, work: Work) -> Done:
        """Note the names of memories that were not read yet, and ask about pairs of names."""
        settings = self._config_of(work.store.name).commitment.entity_extraction
        if work.dry_run:
            waiting = await work.store.read(_count_waiting)
            return work.done(waiting, "memories would be read" if waiting else "")
        named = 0
        while (part := await work.store.read(_next_part)) is not None:
            since = trio.current_time()
            found = await work.think(_named, part.memories, settings)
            named += await work.store.rewrite(lambda it, part=part, found=found: _note(it, part, found, work))  # type: ignore[misc]
            await work.make_room(since)
        asked = await self._asked(work)
        if not named and not asked:
            return work.done(0)
        detail = f"memories: {named:,}, pairs of names asked about: {asked}"
        return await work.note(work.done(named + asked, detail))

    async def _asked(self, work: Work) -> int:
        """Ask about pairs of names; return how many."""
        state = await work.store.read(_names)
        asked: list[OpenReview] = await work.think(proposals, *state)
        if asked:
            outcome = Maintained(changed=len(asked), op_id=work.identity.op_id)
            await work.store.write(
                work.identity.change_set(NAME, (), outcome, detail=f"asked={len(asked)}", reviews=tuple(asked))
            )
        return len(asked)


class _Memory(NamedTuple):
    """A memory with the names that it was stored with."""

    id: str
    content: str
    entities: tuple[str, ...]


class _Part(NamedTuple):
    """Memories that lack rows of their names, and the last number of the portion."""

    memories: list[_Memory]
    last: int


def _reached(connection: Connection) -> int:
    value = connection.value("SELECT value FROM meta WHERE key = ?", (ENTITIES_READ_KEY,))
    version, _, number = str(value or "").partition(":")
    return int(number) if version == str(VERSION) and number.isdecimal() else 0


def _count_waiting(connection: Connection) -> int:
    return connection.count("SELECT count(*) FROM insights WHERE number > ?", (_reached(connection),))


def _next_part(connection: Connection) -> _Part | None:
    rows = connection.rows(
        "SELECT i.number, i.id, (SELECT count(*) FROM memory_entities WHERE memory_id = i.id)"
        " FROM insights AS i WHERE i.number > ? ORDER BY i.number LIMIT ?",
        (_reached(connection), PORTION),
    )
    if not rows:
        return None
    lacking = []
    for _, insight_id, many in rows:
        it = None
        with suppress(MnemonError):  # a damaged row is for verification to report
            it = insights.read(connection, insight_id)
        if it is not None and (many < len(it.entities) or not many):
            lacking.append(_Memory(it.id, it.content, it.entities))
    return _Part(lacking, rows[-1][0])


def _named(memories: Sequence[_Memory], settings: EntityExtractionSettings) -> list[tuple[str, tuple[Entity, ...]]]:
    """Return the names of memories: those that they were stored with, or else those that their text has. For a
    thread."""
    return [
        (it.id, mentions_of(it.content, it.entities, "provided" if it.entities else "merge", nothing_known, settings))
        for it in memories
    ]


def _note(connection: Connection, part: _Part, found: Sequence[tuple[str, tuple[Entity, ...]]], work: Work) -> int:
    """Write the names of a portion that is as it was read; return how many memories got some."""
    changed = 0
    for (insight_id, mentions), memory in zip(found, part.memories, strict=True):
        is_same = connection.row("SELECT 1 FROM insights WHERE id = ? AND content = ?", (insight_id, memory.content))
        if mentions and is_same is not None:
            before = connection.count("SELECT count(*) FROM memory_entities WHERE memory_id = ?", (insight_id,))
            edges.mention(connection, insight_id, mentions, work.identity.now)
            after = connection.count("SELECT count(*) FROM memory_entities WHERE memory_id = ?", (insight_id,))
            changed += after > before
    connection.run(
        "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (ENTITIES_READ_KEY, f"{VERSION}:{part.last}")
    )
    return changed


def _names(connection: Connection) -> tuple[object, ...]:
    """Return the arguments of `proposals`."""
    rows = [Named(*it) for it in relations.entities(connection) if it.kind != "user"]
    asked = seen(reviews.asked_pairs(connection), {it.id for it in rows})
    return rows, relations.links(connection), asked, relations.roots(connection), reviews.count_names(connection)
