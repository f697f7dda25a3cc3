"""The `memory_operations` table: what every operation did to every memory, before and after, never trimmed."""

from __future__ import annotations

import msgspec

from mnemond.model.changes import ChangeSet
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight
from mnemond.store.connection import Connection


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory at one moment, with the edges that went with it."""

    insight: Insight
    edges: list[Edge] = []


_json = msgspec.json.Encoder()


def append(
    connection: Connection,
    operation_type: str,
    change_set: ChangeSet,
    insight_id: str,
    before: State | None,
    after: State | None,
) -> None:
    """Write one row in the transaction of the change it describes."""
    connection.run(
        "INSERT INTO memory_operations(operation_type, memory_id, before_state, after_state, triggered_by, op_id,"
        " created_at) VALUES(?, ?, ?, ?, ?, ?, ?)",
        (
            operation_type,
            insight_id,
            None if before is None else _json.encode(before).decode(),
            None if after is None else _json.encode(after).decode(),
            change_set.triggered_by,
            change_set.op_id,
            change_set.now,
        ),
    )
