"""The `operations` table: the outcome of every write whose caller may repeat it."""

from __future__ import annotations

import msgspec

from mnemond.errors import OP_ID_REUSED, MnemonError
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import Outcome
from mnemond.model.timestamp import format_us
from mnemond.store.connection import Connection

RETENTION_US = 7 * 86_400 * 1_000_000
"""How long an op_id is remembered, in microseconds (reliability rule 3: at least seven days)."""

_json = msgspec.json.Encoder()
_outcomes = msgspec.json.Decoder(Outcome)


def replay(connection: Connection, change_set: ChangeSet) -> Outcome | None:
    """The outcome this op_id already has, or None.

    Raises MnemonError(OP_ID_REUSED) when the op_id belongs to another request.
    """
    row = connection.row("SELECT method, request_digest, outcome FROM operations WHERE op_id = ?", (change_set.op_id,))
    if row is None:
        return None
    method, digest, outcome = row
    if (method, digest) != (change_set.method, change_set.request_digest):
        raise MnemonError(
            OP_ID_REUSED,
            f"op_id was already used by another {method} request; nothing was written",
            hint="use a fresh op_id for each write, and the same one only to repeat the same write",
            outcome="rejected",
        )
    stored: Outcome = _outcomes.decode(outcome)
    return msgspec.structs.replace(stored, replayed=True)


def record(connection: Connection, change_set: ChangeSet, outcome: Outcome) -> None:
    """Remember the outcome in the same transaction as the change."""
    connection.run(
        "INSERT INTO operations(op_id, method, request_digest, outcome, created_at) VALUES(?, ?, ?, ?, ?)",
        (
            change_set.op_id,
            change_set.method,
            change_set.request_digest,
            _json.encode(outcome).decode(),
            change_set.now,
        ),
    )


def expire(connection: Connection, now_us: int) -> int:
    """Forget outcomes older than the retention; how many."""
    return connection.run("DELETE FROM operations WHERE created_at < ?", (format_us(now_us - RETENTION_US),))
