"""Which line of the log is about which operation.

A line has no op_id of its own: it is about the same memory, at the same microsecond, as a row of the history that has
one. Where that is true of two operations neither is named, for undo must not be told a wrong one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from mnemond.store import history, oplog
from mnemond.store.connection import Connection
from mnemond.store.oplog import Line

METHODS: Final = {
    "diff-replace": "remember", "diff-skip": "remember", "discard": "remember",
    "gc-keep": "gc", "unpin": "pin",
}  # fmt: skip
"""What the log calls otherwise than its method."""

OF_OTHERS: Final = frozenset({"prune", "pair"})
"""Lines beside that of the operation itself, about memories that it concerned as well (spec 4)."""


def op_ids(connection: Connection, lines: Sequence[Line]) -> list[str | None]:
    """The operation of each line; None where it changed no memory, so that there is nothing to take back."""
    if not lines:
        return []
    oldest = min(line.created_at for line in lines)
    known: dict[tuple[str, str], set[str]] = {}
    for insight_id in {line.insight_id for line in lines if line.insight_id is not None}:
        for op_id, moment in history.names_since(connection, insight_id, oldest, oplog.MAX_LINES):
            known.setdefault((insight_id, moment), set()).add(op_id)
    return [_only(known.get((line.insight_id or "", line.created_at), ())) for line in lines]


def method_of(connection: Connection, moment: str, insight_ids: Collection[str]) -> str | None:
    """The method of an operation that did something to these memories then; None where the log forgot it already."""
    methods = {
        METHODS.get(line.operation, line.operation)
        for line in oplog.at(connection, moment)
        if line.insight_id in insight_ids and line.operation not in OF_OTHERS
    }
    return _only(methods)


def _only(found: Collection[str]) -> str | None:
    return next(iter(found)) if len(found) == 1 else None
