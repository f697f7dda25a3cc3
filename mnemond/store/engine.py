"""The synchronous heart of a store: a batch of change sets becomes one transaction, then one new snapshot.

Runs on the store's writer thread only. The order is fixed: BEGIN, one savepoint per operation, COMMIT (flushed to
disk), index, answer. COMMIT may raise although it committed, so after any failure there the index is rebuilt from a
fresh connection; when even that fails the store is poisoned: writes are refused, recall goes on from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mnemond.errors import BUSY, INTERNAL, STORAGE, MnemonError
from mnemond.errors import Outcome as Certainty
from mnemond.index.memory_index import MemoryIndex
from mnemond.model.changes import Change, ChangeSet
from mnemond.model.outcomes import Outcome
from mnemond.store import oplog
from mnemond.store.apply import apply_sql
from mnemond.store.connection import BusyError, Connection, ConstraintError, SqliteError
from mnemond.store.database import Opened

CHECKPOINT_FRAMES = 1000
"""Frames of the write-ahead log after which it is copied into the database (SQLite's own default, 4 MB)."""
TRUNCATE_FRAMES = 16_000
"""Frames after which the log is also cut back to nothing (64 MB; reliability section 2)."""

Result = Outcome | MnemonError
Defect = Callable[[str, BaseException], None]
"""Told where something escaped, and what; must not raise."""


class Engine:
    """One open store. `reopen` gives a fresh Opened after a storage failure."""

    def __init__(self, opened: Opened, reopen: Callable[[], Opened], on_defect: Defect) -> None:
        self._connection: Connection | None = opened.connection
        self._on_defect = on_defect
        self._index = opened.index
        self._reopen = reopen
        self._files = opened.files
        self.embedder = opened.embedder
        self._fault: str | None = None
        self._checkpoint_failure: str | None = None

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well, or None."""
        return self._fault or self._checkpoint_failure

    @property
    def index(self) -> MemoryIndex:
        """The index; its snapshot is what readers see."""
        return self._index

    def commit(self, batch: Sequence[ChangeSet]) -> list[Result]:
        """Write a batch; one result per change set, in order. Never raises for a storage failure."""
        try:
            connection = self._healthy()
        except (SqliteError, MnemonError) as error:
            refusal = _storage(f"the store is closed after an error and cannot be reopened: {error}", "rejected")
            return [refusal] * len(batch)
        if (lost := self._lost_files("rejected")) is not None:
            return [lost] * len(batch)
        try:
            results, changes = self._write(connection, batch)
        except SqliteError as error:
            return [self._rejected(connection, error)] * len(batch)
        try:
            connection.run("COMMIT")
        except SqliteError as error:
            self._resync(f"COMMIT failed: {error}")
            return [_storage(f"the disk or database failed while committing: {error}", "unknown")] * len(batch)
        self._index.apply(changes)
        lost = self._lost_files("unknown")
        return results if lost is None else [lost] * len(batch)

    def _lost_files(self, outcome: Certainty) -> MnemonError | None:
        """Why nothing may be acknowledged any more when somebody took the files away."""
        file = self._files.replaced()
        if file is None:
            return None
        self._fault = f"{file} was removed or replaced while the store was open"
        return MnemonError(
            STORAGE,
            f"{self._fault}; a write would be lost",
            hint="put the file back if you can, then: mnemonctl daemon restart",
            outcome=outcome,
        )

    def _write(self, connection: Connection, batch: Sequence[ChangeSet]) -> tuple[list[Result], list[Change]]:
        """Everything between BEGIN and COMMIT."""
        results: list[Result] = []
        changes: list[Change] = []
        connection.run("BEGIN IMMEDIATE")
        for change_set in batch:
            connection.run("SAVEPOINT operation")
            try:
                applied = apply_sql(connection, change_set, self.embedder)
            except (MnemonError, ConstraintError) as error:
                connection.run("ROLLBACK TO operation")
                connection.run("RELEASE operation")
                results.append(self._refusal(error))
                continue
            connection.run("RELEASE operation")
            results.append(applied.outcome)
            if applied.fresh:
                changes.extend(change_set.changes)
        oplog.trim(connection)
        return results, changes

    def _refusal(self, error: MnemonError | SqliteError) -> MnemonError:
        """Why one operation was refused. A constraint that no check foresaw is a defect of ours."""
        if isinstance(error, MnemonError):
            return error
        self._on_defect("store constraint", error)
        return MnemonError(INTERNAL, f"the database refused this write: {error}", outcome="rejected")

    def _rejected(self, connection: Connection, error: SqliteError) -> MnemonError:
        """A failure before COMMIT: after the rollback certainly nothing of the batch is stored."""
        try:
            if connection.in_transaction:
                connection.run("ROLLBACK")
        except SqliteError as second:
            self._resync(f"ROLLBACK failed: {second}")
        if isinstance(error, BusyError):
            return MnemonError(
                BUSY,
                f"another process holds the store's database: {error}; nothing was written",
                hint="close the other program that has the file open, then repeat",
                outcome="rejected",
            )
        return _storage(f"the disk or database refused the write: {error}; nothing was written", "rejected")

    def _resync(self, reason: str) -> None:
        """Throw the connection away and read everything again: what is on disk is the truth."""
        self._fault = reason
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
            self._healthy()
        except (SqliteError, MnemonError) as error:
            self._fault = f"{reason}; reopening failed: {error}"

    def _healthy(self) -> Connection:
        """The connection, reopened when a failure closed it. Raises SqliteError while that fails."""
        if self._connection is None:
            opened = self._reopen()
            self._connection, self._index, self.embedder = opened.connection, opened.index, opened.embedder
            self._files = opened.files
            self._fault = self._checkpoint_failure = None
        return self._connection

    def read(self, query: Callable[[Connection], object]) -> object:
        """Run a query between two batches. Raises SqliteError."""
        return query(self._healthy())

    def checkpoint_if_due(self) -> None:
        """Copy the write-ahead log into the database when it has grown. A failure shows as degraded, loses nothing."""
        if self._connection is None:
            return
        try:
            frames = self._connection.wal_frames()
            if frames >= CHECKPOINT_FRAMES:
                self._connection.checkpoint(truncate=frames >= TRUNCATE_FRAMES)
                self._checkpoint_failure = None
        except BusyError:
            return  # a reader of another process holds the log; the next batch tries again
        except SqliteError as error:
            self._checkpoint_failure = f"the write-ahead log cannot be copied into the database: {error}"

    def poison(self, reason: str) -> None:
        """After a defect nobody foresaw: trust neither the connection nor the index. Another defect may follow."""
        self._resync(reason)

    def close(self) -> None:
        """Copy the log into the database and close. Raises SqliteError when the checkpoint fails."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.checkpoint(truncate=True)
        finally:
            connection.close()


def _storage(sentence: str, outcome: Certainty) -> MnemonError:
    hint = "check the disk (space, permissions), then repeat" + (
        " with the same op_id: it is stored at most once" if outcome == "unknown" else ""
    )
    return MnemonError(STORAGE, sentence, hint=hint, outcome=outcome)
