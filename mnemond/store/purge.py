"""Removal of every byte of memories from a store.

Ids of removed memories stay, in the history, the log and the outcomes of operations. So does what other rows hold: the
memories that superseded one or took over its text, entities that others name, edges that moved to a successor. What was
decided about a name stays while another memory or a statement has that name.

Deleting rows is not enough. When rows move between the pages of a table, `secure_delete` leaves copies of them in the
unused part of the old page (measured: of 600 deleted rows of a growing table one in a hundred could still be read in
the file). So the whole file is rewritten. A note in the table `meta` survives a process that ends before that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from mnemond.model.memory import Edge
from mnemond.store import (
    core_summaries,
    edges,
    exchanges,
    held_texts,
    history,
    insights,
    meta,
    operations,
    passages,
    relations,
    showings,
    sync_state,
)
from mnemond.store.connection import Connection

MIN_INDEXED = 6
"""Rows from which on an index is created for their removal. With 120,000 edges, creating, writing and dropping it takes
90 ms, and each row 14 ms without it: 100 rows went in 0.9 instead of 1.9 s."""

_NOTE = "unwiped"


@contextmanager
def edges_indexed_by_target(connection: Connection, rows: int) -> Iterator[None]:
    """Around the removal of so many rows in one transaction: the edges that end at them are found without reading the
    whole table for each, here and where the database checks its foreign keys.

    Edges are indexed by their target only where they are causal (docs/decisions/0009). When something is raised inside,
    the caller's rollback drops the index.
    """
    if rows < MIN_INDEXED:
        yield
        return
    connection.run("CREATE INDEX edges_of_purged ON edge_rows(target)")
    yield
    connection.run("DROP INDEX edges_of_purged")


class Removed(NamedTuple):
    """What a removed memory had: its edges, how many decisions about names that nothing else has, and whether it was
    evidence of relations."""

    edges: list[Edge]
    decisions: int
    is_evidence: bool


def remove(connection: Connection, insight_id: str) -> Removed:
    """Delete a row, in any state, and all that derives from its text; return what went. `remove_traces` must follow."""
    links = edges.touching(connection, insight_id)
    edges.remove_strays(connection, insight_id)
    contents = history.contents_of(connection, insight_id)
    conversation = connection.value("SELECT conversation_id FROM insights WHERE id = ?", (insight_id,))
    connection.run(
        "UPDATE entities SET core_summary = NULL, core_summary_updated = NULL WHERE core_summary IS NOT NULL"
    )
    core_summaries.purge(connection, insight_id, contents)
    connection.run("DELETE FROM pending_reviews WHERE instr(payload, ?)", (insight_id,))
    held_texts.purge(connection)
    connection.run("DELETE FROM jobs WHERE instr(payload, ?)", (insight_id,))
    named = relations.rows_of_memory(connection, insight_id)
    is_evidence = relations.purge(connection, insight_id)
    passages.purge_texts(connection, contents, conversation)
    exchanges.purge(connection, contents)
    insights.purge(connection, insight_id)
    decisions = relations.purge_names(connection, named, contents)
    sync_state.purge_names(connection, named, contents)
    return Removed(links, decisions, is_evidence)


def remove_traces(connection: Connection, insight_ids: Collection[str]) -> None:
    """Remove what other rows contain of memories that are deleted.

    Raises MnemonError(STORAGE) for a damaged row that would have to be rewritten.
    """
    operations.purge(connection, insight_ids)
    for each in insight_ids:
        history.purge_undone_merges(connection, each)
    history.purge(connection, insight_ids)
    operations.purge_log(connection, insight_ids)
    showings.purge(connection, insight_ids)
    sync_state.purge(connection, insight_ids)
    edges.purge_entities(connection)
    note_unwiped(connection)


def note_unwiped(connection: Connection) -> None:
    """Note that bytes of deleted rows may still be in the files."""
    meta.note(connection, [(_NOTE, "1")])


def is_unwiped(connection: Connection) -> bool:
    """Return True if bytes of deleted rows may still be in the files."""
    return connection.row("SELECT 1 FROM meta WHERE key = ?", (_NOTE,)) is not None


def rewrite_file(connection: Connection) -> None:
    """Rewrite the whole file, into the write-ahead log. Needs room for two more copies. Raises SqliteError."""
    connection.run("VACUUM")


def finish(connection: Connection) -> None:
    """After `rewrite_file`: empty the write-ahead log into the file. Raises SqliteError, also while others read it."""
    connection.checkpoint(truncate=True)
    connection.run("DELETE FROM meta WHERE key = ?", (_NOTE,))
