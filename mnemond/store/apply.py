"""One change set as SQL: everything that happens inside its savepoint."""

from __future__ import annotations

from typing import assert_never

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.changes import AddEdge, AddInsight, ChangeSet, RemoveEdge, RetireInsight
from mnemond.model.outcomes import Forgotten, Outcome
from mnemond.store import edges, history, insights, operations, oplog
from mnemond.store.connection import Connection
from mnemond.store.history import State
from mnemond.store.meta import EmbedderRecord


class Applied(msgspec.Struct, frozen=True):
    """What a change set came to; `fresh` is false for a repeat, whose changes must not reach the index again."""

    outcome: Outcome
    fresh: bool


def apply_sql(connection: Connection, change_set: ChangeSet, embedder: EmbedderRecord | None) -> Applied:
    """Write one change set inside the caller's savepoint.

    Raises MnemonError when the operation is refused (the savepoint must be rolled back) and SqliteError when the
    database fails.
    """
    if change_set.client_op_id:
        replayed = operations.replay(connection, change_set)
        if replayed is not None:
            return Applied(replayed, fresh=False)
    outcome = change_set.outcome
    subject: str | None = None
    for change in change_set.changes:
        match change:
            case AddInsight():
                insights.insert(connection, change, embedder)
                history.append(connection, "CREATE", change_set, change.insight.id, None, State(change.insight))
                subject = change.insight.id
            case RetireInsight():
                removed = _retire(connection, change_set, change)
                subject = change.id
                if isinstance(outcome, Forgotten):
                    outcome = msgspec.structs.replace(outcome, edges_removed=removed)
            case AddEdge():
                edges.upsert(connection, change, change_set.now)
            case RemoveEdge():
                edges.remove(connection, change)
            case _:
                assert_never(change)
    oplog.append(connection, change_set.method, subject, change_set.detail, change_set.now)
    if change_set.client_op_id:
        operations.record(connection, change_set, outcome)
    return Applied(outcome, fresh=True)


def _retire(connection: Connection, change_set: ChangeSet, change: RetireInsight) -> int:
    """Retire one insight and remove its edges; the number of logical links removed."""
    before = insights.read(connection, change.id)
    if before is None or not insights.retire(connection, change, change_set.now):
        raise MnemonError(
            NOT_FOUND,
            f"no active memory {change.id[:64]!a}" + (f": it was already {before.status}" if before else ""),
            hint="`mnemonctl list` shows the active ones",
            outcome="rejected",
        )
    links = edges.touching(connection, change.id)
    edges.remove_touching(connection, change.id)
    after = msgspec.structs.replace(before, status=change.status, updated_at=change_set.now)
    history.append(connection, "DELETE", change_set, change.id, State(before, links), State(after))
    return edges.logical_links(links)
