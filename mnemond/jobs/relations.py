"""relations: read the relations that memories state, after memories were written, forgotten or changed.

The history of memories says which changed: the job reads on from the last row that it has read. A store that never had
it is read from the start. Everything is written in portions, each with the row that it reached, so an interrupted run
goes on where it was.
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

import trio

from mnemond.jobs.job import Done, Work
from mnemond.memory.gates import note_of
from mnemond.memory.relations import Reading, propose_reading, read_memory
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Maintained
from mnemond.store import history, insights
from mnemond.store.connection import Connection
from mnemond.store.history import Record
from mnemond.store.relations import STALE, last_read

NAME: Final = "relations"
PORTION: Final = 100
"""Rows of the history that are read at once: some five milliseconds of the writer."""


INTERVAL_S: Final = 300.0
"""A question about relations reads what is new by itself; this is for contexts and briefs, which do not wait."""


class ReadRelations:
    """Runs every few minutes. A run without anything new writes nothing."""

    name = NAME
    summary = "relations between people and things are read from memories"
    first_s = 0.0
    interval_s = INTERVAL_S

    async def run(self, work: Work) -> Done:
        """Read the memories that changed since the last run."""
        if work.dry_run:
            return work.done(await work.store.read(_waiting), "changes of memories would be read")
        changed = 0
        while (part := await work.store.read(next_part)) is not None:
            since = trio.current_time()
            readings = await work.think(read_part, part.memories)
            proposal = propose_reading(readings, work.identity, (part.start, part.last))
            changed += cast("Maintained", await work.store.write(proposal)).changed
            await work.make_room(since)
        done = work.done(changed, "statements" if changed else "")
        return await work.note(done) if changed else done


class _Part(NamedTuple):
    """Memories with the times at which they were written so, each once, and the rows of the history with them: from
    behind `start`, None before the first run, to `last`."""

    memories: list[tuple[Insight, str]]
    start: int | None
    last: int


def next_part(connection: Connection) -> _Part | None:
    """Return what is to be read next, None if nothing is."""
    start = last_read(connection)
    memories = [] if start is not None else _without_history(connection)
    last, seen = start or 0, set[str]()
    for row in history.rows_after(connection, last, PORTION):
        if row.operation_type == history.IMPORTED:  # restored with its statements
            last = row.id
            continue
        if row.memory_id in seen:
            break
        seen.add(row.memory_id)
        last = row.id
        if row.after is not None and not _is_same(row):
            memories.append((row.after.insight, row.created_at))
    if start is None or last > start or _is_stale(connection):
        return _Part(memories, start, last)
    return None


def _is_same(row: Record) -> bool:
    """Return True for a change that a memory's statements do not depend on."""
    if row.before is None or row.after is None:
        return False
    notes = [(it, note_of(it)) for it in (row.before.insight, row.after.insight)]
    parts = [(it.content, it.status, it.quarantined, note and note.relations) for it, note in notes]
    return parts[0] == parts[1]


def _without_history(connection: Connection) -> list[tuple[Insight, str]]:
    found = (insights.read(connection, each) for each in history.memories_without(connection))
    return [(it, it.created_at) for it in found if it is not None]


def _waiting(connection: Connection) -> int:
    return connection.count("SELECT count(*) FROM memory_operations WHERE id > ?", (last_read(connection) or 0,))


def _is_stale(connection: Connection) -> bool:
    return bool(connection.value("SELECT value FROM meta WHERE key = ?", (STALE,)) == "1")


def read_part(memories: list[tuple[Insight, str]]) -> list[Reading]:
    """Read what memories state, and what a model read in them. For a thread."""
    notes = [note_of(it) for it, _ in memories]
    return [
        read_memory(it, at, () if note is None else note.relations)
        for (it, at), note in zip(memories, notes, strict=True)
    ]


def is_behind(connection: Connection) -> bool:
    """Return True if memories changed since the last run."""
    return last_read(connection) is None or _waiting(connection) > 0 or _is_stale(connection)
