"""Which memory took over what another said, read from the history."""

from __future__ import annotations

from mnemond.store import history
from mnemond.store.connection import Connection

_MERGES = """
    SELECT min(other.id), other.op_id, other.memory_id FROM memory_operations AS it
      JOIN memory_operations AS other ON other.op_id = it.op_id
     WHERE it.memory_id = ?1 AND it.operation_type = 'MERGE'
       AND other.operation_type = 'MERGE' AND other.memory_id <> ?1
     GROUP BY other.op_id, other.memory_id ORDER BY 1
"""

_GAVE = """
    SELECT 1 FROM memory_operations WHERE op_id = ? AND memory_id = ? AND operation_type = 'MERGE'
       AND json_extract(after_state, '$.insight.status') = 'merged'
"""


def kept_by(connection: Connection, insight_id: str) -> str | None:
    """The memory that a merge gave what one says, the last of them; None where none was, was taken back, or is gone.

    It has that whatever became of the other since: restored beside it, that one says the same once more.
    """
    found = None
    for _, op_id, other in connection.rows(_MERGES, (insight_id,)):
        here = connection.row("SELECT 1 FROM insights WHERE id = ?", (other,)) is not None
        gave = connection.row(_GAVE, (op_id, insight_id)) is not None
        if here and gave and history.taken_back_by(connection, op_id) is None:
            found = str(other)
    return found


_WIPED = """
    WITH RECURSIVE chain(op) AS (
      VALUES(?3) UNION
      SELECT op_id FROM memory_operations JOIN chain ON undoes = op WHERE undoes IS NOT NULL
    )
    UPDATE memory_operations SET before_state = NULL, after_state = NULL
     WHERE memory_id = ?1 AND id BETWEEN ?2 AND
       (SELECT max(id) FROM memory_operations WHERE memory_id = ?1 AND op_id IN chain)
"""


def wipe_taken_back(connection: Connection, insight_id: str) -> None:
    """Wipe what a memory says in the history of those that were merged with it, where that was taken back: they say it
    no more, and nobody expects it there. What stays is when they were merged and parted."""
    for first, op_id, other in connection.rows(_MERGES, (insight_id,)):
        if history.taken_back_by(connection, op_id) is not None:
            connection.run(_WIPED, (other, first, op_id))
