"""Removing every byte of memories from a store (reliability promise P9).

What stays is that there was one: its id in the history, the log and the outcomes of operations. What somebody else said
stays as well: the memories that superseded it or took over its words, names that others use, links that moved on.

Deleting is not enough. When rows move between the pages of a table, `secure_delete` leaves copies of them in the unused
part of the old page (measured: of 600 deleted rows of a growing table one in a hundred could still be read in the
file). So the whole file is written anew. A note in the table `meta` survives a process that ends before that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from mnemond.model.edge import Edge
from mnemond.store import edges, entities, exchanges, history, insights, merges, operations, oplog
from mnemond.store.connection import Connection

MANY = 6
"""From so many rows on an index is made for their removal. With 120,000 edges, making, writing and dropping it takes
90 ms, and each row 14 ms without it: 100 rows went in 0.9 instead of 1.9 s."""

_NOTE = "unwiped"


@contextmanager
def many(connection: Connection, rows: int) -> Iterator[None]:
    """Around the removal of so many rows in one transaction: the edges that end at them are found without reading the
    whole table for each, here and where the database checks that none is left.

    Edges are indexed by their target only where they are causal (docs/decisions/0009). When something is raised inside,
    the caller's rollback takes the index away.
    """
    if rows < MANY:
        yield
        return
    connection.run("CREATE INDEX edges_of_purged ON edge_rows(target)")
    yield
    connection.run("DROP INDEX edges_of_purged")


def remove(connection: Connection, insight_id: str) -> list[Edge]:
    """Remove a row, in whatever state, and what hangs on it alone; the edges it had. `remove_traces` must follow."""
    links = edges.touching(connection, insight_id)
    edges.remove_strays(connection, insight_id)
    _remove_what_was_told(connection, insight_id)
    insights.purge(connection, insight_id)
    return links


def remove_traces(connection: Connection, insight_ids: Collection[str]) -> None:
    """Remove what the rest of the store says about rows that are gone.

    Raises MnemonError(STORAGE) for a damaged row that would have to be rewritten.
    """
    operations.purge(connection, insight_ids)
    for each in insight_ids:
        merges.wipe_taken_back(connection, each)
    history.purge(connection, insight_ids)
    oplog.purge(connection, insight_ids)
    entities.purge(connection)
    connection.run("INSERT OR REPLACE INTO meta(key, value) VALUES(?, '1')", (_NOTE,))


def is_unwiped(connection: Connection) -> bool:
    """Whether bytes of removed rows may still be in the files."""
    return connection.row("SELECT 1 FROM meta WHERE key = ?", (_NOTE,)) is not None


def rewrite(connection: Connection) -> None:
    """Write the whole file anew, into the write-ahead log. Takes room for two more copies. Raises SqliteError."""
    connection.run("VACUUM")


def finish(connection: Connection) -> None:
    """After `rewrite`: empty the write-ahead log into the file. Raises SqliteError, while others read it as well."""
    connection.checkpoint(truncate=True)
    connection.run("DELETE FROM meta WHERE key = ?", (_NOTE,))


def _remove_what_was_told(connection: Connection, insight_id: str) -> None:
    """What was written from a memory's text: summaries, questions to somebody, work that waits; and its text, where
    somebody said it again and nobody read that yet."""
    connection.run(
        "UPDATE entities SET core_summary = NULL, core_summary_updated = NULL"
        " WHERE id IN (SELECT entity_id FROM core_summaries WHERE instr(node_ids, ?))",
        (insight_id,),
    )
    connection.run("DELETE FROM core_summaries WHERE instr(node_ids, ?)", (insight_id,))
    connection.run("DELETE FROM pending_reviews WHERE instr(payload, ?)", (insight_id,))
    connection.run("DELETE FROM jobs WHERE instr(payload, ?)", (insight_id,))
    exchanges.purge(connection, history.contents_of(connection, insight_id))
