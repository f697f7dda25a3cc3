"""The `staged_vectors` table: vectors of the embedder a store is switched to, until all are there and take over.

Every function is a part of a transaction of the caller's. A staged vector counts for the text it was made of; when
that changes, it is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mnemond.model.changes import Vector
from mnemond.store.connection import Connection
from mnemond.store.insights import content_hash, vector_blob
from mnemond.store.meta import SwitchRecord, read_switch, write_embedder, write_switch

_ACTIVE = "FROM insights AS i WHERE i.deleted_at IS NULL"
_STAGED = "(SELECT 1 FROM staged_vectors AS s WHERE s.insight_id = i.id AND s.content_hash = i.content_hash)"


class StagedRow(NamedTuple):
    """The vector of a text, None where the new embedder knows no word of it."""

    insight_id: str
    content: str
    vector: Vector | None


def begin(connection: Connection, record: SwitchRecord) -> None:
    """Start from nothing."""
    clear(connection)
    write_switch(connection, record)


def clear(connection: Connection) -> int:
    """Drop what is staged, and the switch; how many vectors."""
    write_switch(connection, None)
    return connection.run("DELETE FROM staged_vectors")


def stage(connection: Connection, record: SwitchRecord, rows: Iterable[StagedRow]) -> bool:
    """Keep vectors of a switch; False, and nothing kept, when it is over. Rows that were purged are left out."""
    if read_switch(connection) != record:
        return False
    connection.run_many(
        "INSERT OR REPLACE INTO staged_vectors(insight_id, content_hash, embedding)"
        " SELECT ?1, ?2, ?3 WHERE EXISTS(SELECT 1 FROM insights WHERE id = ?1)",
        [(row.insight_id, content_hash(row.content), vector_blob(row.vector)) for row in rows],
    )
    return True


def hashes(connection: Connection) -> dict[str, str]:
    """Of what text there is a staged vector, by the memory's id."""
    return dict(connection.rows("SELECT insight_id, content_hash FROM staged_vectors"))


def unstaged(connection: Connection) -> list[str]:
    """Ids of the active memories whose present text has no staged vector."""
    return [row[0] for row in connection.rows(f"SELECT i.id {_ACTIVE} AND NOT EXISTS {_STAGED}")]


def done(connection: Connection) -> int:
    """How many active memories have a staged vector of their present text."""
    row = connection.row(f"SELECT count(*) {_ACTIVE} AND EXISTS {_STAGED}")
    return 0 if row is None else int(row[0])


def cut_over(connection: Connection, record: SwitchRecord, without: Sequence[str] | None) -> list[str] | None:
    """Let the staged vectors take over, all at once: of every row, and in the record of the embedder.

    Memories in `without` may lack one; None means that any may. Returns the others that lack one, having changed
    nothing when there are such, or None when the switch is over. Retired rows lose their vectors: nobody could
    compare them with anything, and one that is restored is embedded anew.
    """
    if read_switch(connection) != record:
        return None
    lacking = [] if without is None else sorted(set(unstaged(connection)) - set(without))
    if lacking:
        return lacking
    connection.run(
        "UPDATE insights SET embedding = NULL, embedding_model = NULL, embedding_dim = NULL"
        " WHERE embedding IS NOT NULL OR embedding_model IS NOT NULL"
    )
    connection.run(
        "UPDATE insights SET embedding = s.embedding, embedding_model = ?1,"
        " embedding_dim = CASE WHEN s.embedding IS NULL THEN 0 ELSE ?2 END FROM staged_vectors AS s"
        " WHERE s.insight_id = insights.id AND s.content_hash = insights.content_hash AND insights.deleted_at IS NULL",
        (record.to.name, record.to.dimension),
    )
    write_embedder(connection, record.to)
    clear(connection)
    return []
