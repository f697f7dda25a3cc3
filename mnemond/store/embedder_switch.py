"""The switch of a store to another embedder: its record in `meta`, and the `staged_vectors` table.

Vectors of the new embedder are staged until all exist and replace the old ones at once. Every function is part of a
transaction of the caller's. A staged vector is valid for the text it was made of; when that changes, it is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from mnemond.model.changes import Vector
from mnemond.model.memory import Cue
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.insights import content_hash, load, vector_blob
from mnemond.store.meta import EmbedderRecord

_ACTIVE = "FROM insights AS i WHERE i.deleted_at IS NULL"
_STAGED = "(SELECT 1 FROM staged_vectors AS s WHERE s.insight_id = i.id AND s.content_hash = i.content_hash)"


class SwitchRecord(msgspec.Struct, frozen=True):
    """A change of the store's embedder in progress: to which model, of which provider, since when (RFC 3339)."""

    provider: str
    to: EmbedderRecord
    started_at: str


class StagedRow(NamedTuple):
    """The vector of a memory, None if the new embedder knows no word of its text."""

    insight_id: str
    content: str
    vector: Vector | None
    cues: tuple[Cue, ...] = ()


def read_switch(connection: Connection) -> SwitchRecord | None:
    """Return the switch in progress, if there is one whose record can be read."""
    return meta.read_record(connection, "switch", SwitchRecord)


def begin(connection: Connection, record: SwitchRecord) -> None:
    """Start a switch with nothing staged."""
    clear(connection)
    meta.note(connection, [("switch", msgspec.json.encode(record).decode())])


def clear(connection: Connection) -> int:
    """End the switch and delete what is staged; return the number of vectors."""
    connection.run("DELETE FROM meta WHERE key = 'switch'")
    return connection.run("DELETE FROM staged_vectors")


def stage(connection: Connection, record: SwitchRecord, rows: Iterable[StagedRow]) -> bool:
    """Stage vectors, except of rows that were purged or given other cues meanwhile; return False, staging none, when
    the switch is over."""
    if read_switch(connection) != record:
        return False
    rows = list(rows)
    now = {it.id: it.cues for it, _ in load(connection, [row.insight_id for row in rows], None)}
    connection.run_many(
        "INSERT OR REPLACE INTO staged_vectors(insight_id, content_hash, embedding) VALUES(?, ?, ?)",
        [
            (row.insight_id, content_hash(row.content), vector_blob(row.vector))
            for row in rows
            if now.get(row.insight_id) == row.cues
        ],
    )
    return True


def staged_hashes(connection: Connection) -> dict[str, str]:
    """Return the hash of the text of each staged vector, by the memory's id."""
    return dict(connection.rows("SELECT insight_id, content_hash FROM staged_vectors"))


def unstaged(connection: Connection) -> list[str]:
    """Return the ids of the active memories whose present text has no staged vector."""
    return connection.column(f"SELECT i.id {_ACTIVE} AND NOT EXISTS {_STAGED}")


def count_staged(connection: Connection) -> int:
    """Count the active memories that have a staged vector of their present text."""
    return connection.count(f"SELECT count(*) {_ACTIVE} AND EXISTS {_STAGED}")


def cut_over(connection: Connection, record: SwitchRecord, without: Sequence[str] | None) -> list[str] | None:
    """Replace the vectors of all rows and the record of the embedder by what is staged.

    Memories in `without` may lack a staged vector; None: any may. Returns the others that lack one, having changed
    nothing if there are any, or None when the switch is over. Retired rows lose their vectors: they are compared with
    nothing, and one that is restored is embedded again.
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
    meta.write_embedder(connection, record.to)
    clear(connection)
    return []
