"""Which memories took over what another said, by a merge with it or with one that had; read from the history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mnemond.store import history
from mnemond.store.connection import Connection


class Holder(NamedTuple):
    """A memory that said what another one does, from a row of the history on, until another; None: it still may."""

    id: str
    first: int
    last: int | None


_MERGES = """
    SELECT kept.id, kept.op_id, kept.memory_id FROM memory_operations AS gone
      JOIN memory_operations AS kept ON kept.op_id = gone.op_id AND kept.id < gone.id
     WHERE gone.memory_id = ?1 AND gone.operation_type = 'MERGE' AND kept.operation_type = 'MERGE'
       AND gone.id >= ?2 AND (?3 IS NULL OR gone.id <= ?3)
     ORDER BY kept.id
"""
"""A merge writes the row of the memory that stays, then that of the one that leaves; a purge leaves both there."""

_LAST = """
    WITH RECURSIVE chain(op) AS (
      VALUES(?1) UNION
      SELECT op_id FROM memory_operations JOIN chain ON undoes = op WHERE undoes IS NOT NULL
    )
    SELECT max(id) FROM chain CROSS JOIN memory_operations ON op_id = op WHERE +memory_id = ?2
"""
"""By operation: a memory that was merged often has many rows."""


def holders(connection: Connection, insight_id: str) -> Iterator[Holder]:
    """Each memory that took over what one says, whatever became of either since."""
    waiting, seen = [Holder(insight_id, 0, None)], set[str]()
    while waiting:
        here = waiting.pop(0)
        for first, op_id, kept in connection.rows(_MERGES, here):
            if op_id in seen:
                continue
            seen.add(op_id)
            last = None
            if history.taken_back_by(connection, op_id) is not None:
                (last,) = connection.row(_LAST, (op_id, kept)) or (None,)
            holder = Holder(kept, first, last)
            waiting.append(holder)
            yield holder


def kept_by(connection: Connection, insight_id: str) -> str | None:
    """The memory that took over what one says and may still say so, the last of them; None where there is none.

    It has that whatever became of the other since: restored beside it, that one says the same once more.
    """
    found = None
    for holder in holders(connection, insight_id):
        here = connection.row("SELECT 1 FROM insights WHERE id = ?", (holder.id,))
        found = holder.id if holder.last is None and here is not None else found
    return found


def wipe_taken_back(connection: Connection, insight_id: str) -> None:
    """Wipe what a memory says in the history of those that it was merged with, where that was taken back: they say it
    no more, and nobody expects it there. What stays is when they were merged and parted."""
    for holder in list(holders(connection, insight_id)):
        if holder.last is not None:
            connection.run(
                "UPDATE memory_operations SET before_state = NULL, after_state = NULL"
                " WHERE memory_id = ? AND id BETWEEN ? AND ?",
                holder,
            )
