"""oplog_trim and operations_expiry: what is kept for a while only goes."""

from __future__ import annotations

from typing import Final

from mnemond.lifecycle.job import DAY_S, Done, Work
from mnemond.store import operations, oplog
from mnemond.store.connection import Connection

LINES: Final = 500
"""Rows a transaction: some milliseconds."""


class OplogTrim:
    """Every day. Every write trims the log as well; this is for a ring that was made smaller."""

    name = "oplog_trim"
    summary = "the log keeps its newest lines"
    first_s = 0.0
    interval_s = DAY_S

    def __init__(self, most: int) -> None:
        """`most`: lines kept."""
        self._most = most

    async def run(self, work: Work) -> Done:
        """Remove the oldest lines, as many as are too many."""
        if work.dry_run:
            return work.done(max(0, await work.store.read(oplog.count) - self._most))
        return await work.in_parts(self._some)

    def _some(self, connection: Connection) -> tuple[int, bool]:
        many = oplog.trim_some(connection, self._most, LINES)
        return many, many == LINES


class OperationsExpiry:
    """Every day."""

    name = "operations_expiry"
    summary = "outcomes kept for repeated requests go after seven days"
    first_s = 0.0
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Forget outcomes that nobody repeats any more."""
        if work.dry_run:
            return work.done(await work.store.read(lambda it: operations.count_expired(it, work.now_us)))

        def some(connection: Connection) -> tuple[int, bool]:
            many = operations.expire_some(connection, work.now_us, LINES)
            return many, many == LINES

        return await work.in_parts(some)
