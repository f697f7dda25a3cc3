"""The synchronous heart of a store: a batch of change sets becomes one transaction, then one new snapshot.

Runs on the store's writer thread only. The order is fixed: BEGIN, a savepoint for each operation that may still be
refused (none where there is only one), COMMIT (flushed to disk), index, answer. COMMIT may raise although it committed,
so after any failure there the index is rebuilt from a fresh connection; when even that fails the store is poisoned:
writes are refused, recall goes on from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from mnemond.errors import BUSY, INTERNAL, STORAGE, MnemonError
from mnemond.errors import Outcome as Certainty
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines, cosines_of_all
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight, Change, ChangeSet, PutInsight, RestoreInsight, SetVector, Vector
from mnemond.model.outcomes import EmbedRunResult, MergeResult, Outcome, RememberResult, RestoreResult, UpdateResult
from mnemond.store import apply, operations
from mnemond.store.connection import BusyError, Connection, ConstraintError, NotKept, SqliteError
from mnemond.store.database import Opened, load_index
from mnemond.store.health import Ballast, HighWater, Standing, last_line
from mnemond.store.meta import EmbedderRecord, made_by, read_embedder
from mnemond.store.operations import View, Write
from mnemond.store.transaction import Savepoint, run
from mnemond.text import caches

# The vectors of a batch compared with every row: all of them at once, and with the few rows the batch itself adds.


class Comparison:
    """Cosines of several vectors with the rows of a store that grows meanwhile.

    A product of 64 vectors with 10,000 rows costs a fifth of 64 single ones, which read the matrix each time.
    """

    def __init__(self, base: Snapshot, vectors: Sequence[Vector | None]) -> None:
        """Vectors of another dimension than the store's count as none (spec 7.3)."""
        self._base = base
        self._vectors = {at: vector for at, vector in enumerate(vectors) if vector is not None and _fits(vector, base)}
        fitting = list(self._vectors.values())
        self._known = dict(zip(self._vectors, _compared(base, fitting), strict=True))

    def of(self, at: int, now: Snapshot) -> Cosines | None:
        """Cosine of the vector at that place with every row of `now`; None when it has none."""
        known = self._known.get(at)
        if known is None or now.rows == self._base.rows:
            return known
        return now.cosines(self._vectors[at], known)


def _fits(vector: Vector, base: Snapshot) -> bool:
    return vector.shape == (base.dimension,) and base.dimension > 0


def _compared(base: Snapshot, vectors: Sequence[Vector]) -> Sequence[Cosines]:
    if len(vectors) > 1:
        return cosines_of_all(base.dense, np.stack(vectors))
    return [base.cosines(vector) for vector in vectors]


# Writes whose vectors were made before the store was switched to another embedder, and are committed after it.


SWITCHED = "the store was given another embedder meanwhile; this memory is embedded again in the background"


def is_outdated(write: Write, embedder: EmbedderRecord | None) -> bool:
    """Whether a write brings vectors that cannot be compared with the store's."""
    if isinstance(write, ChangeSet) or write.made_by is None:
        return False
    return embedder is None or write.made_by != embedder.fingerprint


def with_fitting_vectors(write: Write, embedder: EmbedderRecord | None) -> Write:
    """`write`, without its vectors where they do not fit: what it says is kept, and embedded again later."""
    if isinstance(write, ChangeSet) or not is_outdated(write, embedder):
        return write
    return write._replace(decide=partial(_decide, write.decide), vector=None)


def _decide(decide: Callable[[View], ChangeSet], view: View) -> ChangeSet:
    decided = decide(view)
    changes = tuple(_bare(change) for change in decided.changes if not isinstance(change, SetVector))
    return msgspec.structs.replace(decided, changes=changes, outcome=_told(decided.outcome))


def _bare(change: Change) -> Change:
    if isinstance(change, AddInsight | PutInsight | RestoreInsight):
        return msgspec.structs.replace(change, vector=None)
    return change


def _told(outcome: Outcome) -> Outcome:
    if isinstance(outcome, RememberResult | UpdateResult | MergeResult | RestoreResult) and outcome.embedded:
        return msgspec.structs.replace(outcome, embedded=False, embed_error=SWITCHED)
    if isinstance(outcome, EmbedRunResult) and outcome.succeeded:
        return msgspec.structs.replace(outcome, succeeded=0)
    return outcome


CHECKPOINT_FRAMES = 1000
"""Frames of the write-ahead log after which it is copied into the database (SQLite's own default, 4 MB)."""
TRUNCATE_FRAMES = 16_000
"""Frames after which the log is also cut back to nothing (64 MB; reliability section 2)."""

T = TypeVar("T")
Result = Outcome | MnemonError
Defect = Callable[[str, BaseException], None]
"""Told where something escaped, and what; must not raise."""


class Engine:
    """One open store. `reopen` gives a fresh Opened after a storage failure; `ballast` goes when the disk is full."""

    def __init__(
        self,
        opened: Opened,
        reopen: Callable[[], Opened],
        on_defect: Defect,
        ballast: Ballast | None = None,
        path: Path | None = None,
    ) -> None:
        """`path`: of the database, beside which is noted how far it has come and what is known of it."""
        self._connection: Connection | None = opened.connection
        self._on_defect = on_defect
        self._index = opened.index
        self._reopen = reopen
        self._files = opened.files
        self.embedder = opened.embedder
        self.standing = Standing(ballast, path)
        self._high_water = None if path is None else HighWater(path)
        self.standing.opened(opened.read_only, opened.wrong)
        self._compare(opened.connection)
        self._unwiped, self._rewritten = apply.is_unwiped(opened.connection), False

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well, or None."""
        return self.standing.degraded_reason

    @property
    def read_only(self) -> str | None:
        """Why it was opened for reading only, if so."""
        return self.standing.read_only

    @property
    def index(self) -> MemoryIndex:
        """The index; its snapshot is what readers see."""
        return self._index

    def commit(self, batch: Sequence[Write]) -> list[Result]:
        """Write a batch; one result per write, in order. Never raises for a storage failure."""
        try:
            connection = self._healthy()
        except (SqliteError, MnemonError) as error:
            refusal = _storage(f"the store is closed after an error and cannot be reopened: {error}", "rejected")
            return [refusal] * len(batch)
        refusals = [self.standing.refusal(write.method) for write in batch]
        if any(refusals):
            return self._without_refused(batch, refusals)
        if (lost := self._lost_files("rejected")) is not None:
            return [lost] * len(batch)
        try:
            results, purged = self._written(connection, batch)
        except (SqliteError, MnemonError) as error:
            return [self._rejected(connection, error)] * len(batch)
        try:
            connection.run("COMMIT")
        except SqliteError as error:
            self.standing.heed(error)
            self._resync(f"COMMIT failed: {error}")
            return [_storage(f"the disk or database failed while committing: {error}", "unknown")] * len(batch)
        self._note_progress(connection)
        if self._index.begun:
            self._index.publish()
        if purged:
            self._forget_purged(connection)
        lost = self._lost_files("unknown")
        return results if lost is None else [lost] * len(batch)

    def _without_refused(self, batch: Sequence[Write], refusals: Sequence[MnemonError | None]) -> list[Result]:
        """Write what may be written: one result per write, in order."""
        allowed = [write for write, refusal in zip(batch, refusals, strict=True) if refusal is None]
        results = iter(self.commit(allowed) if allowed else ())
        return [next(results) if refusal is None else refusal for refusal in refusals]

    def _lost_files(self, outcome: Certainty) -> MnemonError | None:
        """Why nothing may be acknowledged any more when somebody took the files away."""
        file = self._files.replaced()
        if file is None:
            return None
        self.standing.fault = f"{file} was removed or replaced while the store was open"
        return MnemonError(
            STORAGE,
            f"{self.standing.fault}; a write would be lost",
            hint="put the file back if you can, then: mnemonctl daemon restart",
            outcome=outcome,
        )

    def _written(self, connection: Connection, batch: Sequence[Write]) -> tuple[list[Result], bool]:
        """Everything between BEGIN and COMMIT: what each write came to, and whether bytes have to be wiped."""
        try:
            return self._write(connection, batch, always=False)
        except NotKept:
            connection.run("ROLLBACK")
            if self._index.begun:
                self._index = load_index(connection, self.embedder, self._index.search)
            return self._write(connection, batch, always=True)

    def _write(self, connection: Connection, batch: Sequence[Write], *, always: bool) -> tuple[list[Result], bool]:
        """The same once. Raises NotKept where one has to be taken back that has no savepoint unless all have."""
        several = len(batch) > 1
        connection.run("BEGIN IMMEDIATE")
        with connection.gathering(really=several and not always):
            carried = self._carried(connection, batch, several=several, always=always)
        operations.trim(connection)
        return carried

    def _carried(
        self, connection: Connection, batch: Sequence[Write], *, several: bool, always: bool
    ) -> tuple[list[Result], bool]:
        results: list[Result] = []
        purged = False
        comparison = Comparison(self._index.working, [_vector(write, self.embedder) for write in batch])
        for at, given in enumerate(batch):
            write = with_fitting_vectors(given, self.embedder)
            savepoint = Savepoint(connection, several=several, always=always)
            begun, similarity = self._index.begun, comparison.of(at, self._index.working)
            try:
                carried = run(connection, self._index, write, similarity, self.embedder, savepoint)
            except (MnemonError, ConstraintError) as error:
                if self._index.begun != begun:  # nobody foresaw it: what is staged cannot be taken back alone
                    if connection.gathers:
                        raise NotKept from error  # its rows, once they are not gathered, are refused before that
                    raise
                savepoint.take_back()
                results.append(self._refusal(error))
                continue
            savepoint.end()
            results.append(carried.outcome)
            purged |= carried.purged
        return results, purged

    def _refusal(self, error: MnemonError | SqliteError) -> MnemonError:
        """Why one operation was refused. A constraint that no check foresaw is a defect of ours."""
        if isinstance(error, MnemonError):
            return error
        return self._refusal_of_defect(error)

    def _refusal_of_defect(self, error: MnemonError | SqliteError) -> MnemonError:
        self._on_defect("store write", error)
        return MnemonError(INTERNAL, f"a defect kept this from being written: {error}", outcome="rejected")

    def _rejected(self, connection: Connection, error: SqliteError | MnemonError) -> MnemonError:
        """A failure before COMMIT: after the rollback certainly nothing of the batch is stored."""
        self.standing.heed(error)
        self._roll_back(connection)
        if isinstance(error, MnemonError | ConstraintError):
            return self._refusal_of_defect(error)
        if isinstance(error, BusyError):
            return MnemonError(
                BUSY,
                f"another process holds the store's database: {error}; nothing was written",
                hint="close the other program that has the file open, then repeat",
                outcome="rejected",
            )
        return _storage(f"the disk or database refused the write: {error}; nothing was written", "rejected")

    def _roll_back(self, connection: Connection) -> None:
        try:
            if connection.in_transaction:
                connection.run("ROLLBACK")
            if self._index.begun:
                self._index = load_index(connection, self.embedder, self._index.search)
        except (SqliteError, MnemonError) as second:
            self._resync(f"ROLLBACK failed: {second}")

    def _forget_purged(self, connection: Connection) -> None:
        """After a purge: nothing of what was removed stays in memory, nor in the files (`checkpoint_if_due` tries again
        where that fails)."""
        caches.clear_all()
        self._unwiped, self._rewritten = True, False
        try:
            self._index = load_index(connection, self.embedder, self._index.search)
            self._wipe(connection)
        except (SqliteError, MnemonError) as error:
            self.standing.checkpoint_failure = f"purged memories may still stand in the store's files: {error}"

    def _wipe(self, connection: Connection) -> None:
        if not self._rewritten:
            apply.rewrite(connection)
            self._rewritten = True
        apply.finish(connection)
        self._unwiped, self.standing.checkpoint_failure = False, None

    def _resync(self, reason: str) -> None:
        """Throw the connection away and read everything again: what is on disk is the truth."""
        self.standing.fault = reason
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
            self._healthy()
        except (SqliteError, MnemonError) as error:
            self.standing.fault = f"{reason}; reopening failed: {error}"

    def _healthy(self) -> Connection:
        """The connection, reopened when a failure closed it. Raises SqliteError while that fails."""
        if self._connection is None:
            opened = self._reopen()
            self._connection, self._index, self.embedder = opened.connection, opened.index, opened.embedder
            self._files = opened.files
            self.standing.opened(opened.read_only, opened.wrong)
            self._compare(opened.connection)
        return self._connection

    def _compare(self, connection: Connection) -> None:
        """Whether what is there reaches as far as what was acknowledged."""
        if self._high_water is None:
            return
        try:
            noted, found = self._high_water.read(), last_line(connection)
        except OSError as error:
            self.standing.noted_in_vain(error)
        except SqliteError as error:
            self.standing.heed(error)
        else:
            if noted is not None and found < noted:
                self.standing.fell_behind(found, noted)

    def _note_progress(self, connection: Connection) -> None:
        """Before anybody is told: what was committed is not to be missed unnoticed."""
        if self._high_water is None:
            return
        try:
            self._high_water.note(last_line(connection))
            if self.standing.unnoted is not None:
                self.standing.keep()
        except OSError as error:
            self.standing.noted_in_vain(error)
        except SqliteError as error:
            self.standing.heed(error)

    def rewrite(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction of its own, between two batches; it may replace the embedder and every vector.

        Raises MnemonError: what `work` raises, or why its transaction was not committed. Raises SqliteError when the
        store cannot be reopened after an earlier failure.
        """
        connection = self._healthy()
        if (refusal := self.standing.refusal(None)) is not None:
            raise refusal
        if (lost := self._lost_files("rejected")) is not None:
            raise lost
        value, embedder = self._worked(connection, work)
        try:
            connection.run("COMMIT")
        except SqliteError as error:
            self.standing.heed(error)
            self._resync(f"COMMIT failed: {error}")
            raise _storage(f"the disk or database failed while committing: {error}", "unknown") from error
        self._note_progress(connection)
        self._follow(connection, embedder)
        self.checkpoint_if_due()
        if (lost := self._lost_files("unknown")) is not None:
            raise lost
        return value

    def _worked(self, connection: Connection, work: Callable[[Connection], T]) -> tuple[T, EmbedderRecord | None]:
        """Everything between BEGIN and COMMIT: what `work` returns, and the embedder that is recorded then."""
        try:
            connection.run("BEGIN IMMEDIATE")
            return work(connection), read_embedder(connection)
        except MnemonError:
            self._roll_back(connection)
            raise
        except SqliteError as error:
            raise self._rejected(connection, error) from error
        except BaseException:
            self._resync("a defect interrupted a transaction")
            raise

    def _follow(self, connection: Connection, embedder: EmbedderRecord | None) -> None:
        """Serve the vectors of the embedder that is recorded now."""
        try:
            if made_by(embedder) != self._index.made_by:
                self._index = load_index(connection, embedder, self._index.search)
            self.embedder = embedder
        except (SqliteError, MnemonError) as error:
            self._resync(f"the store cannot be read again: {error}")

    def read(self, query: Callable[[Connection], object]) -> object:
        """Run a query between two batches. Raises SqliteError."""
        try:
            return query(self._healthy())
        except SqliteError as error:
            self.standing.heed(error)
            raise

    def checkpoint_if_due(self) -> None:
        """Copy the write-ahead log into the database when it has grown. A failure shows as degraded, loses nothing."""
        if self._connection is None or self.read_only is not None:
            return
        try:
            if self._unwiped:
                self._wipe(self._connection)
            frames, full = self._connection.wal_frames(), not self.standing.has_room()
            if frames >= CHECKPOINT_FRAMES or (full and frames):
                self._connection.checkpoint(truncate=full or frames >= TRUNCATE_FRAMES)
                self.standing.checkpoint_failure = None
        except BusyError:
            return  # a reader of another process holds the log; the next batch tries again
        except SqliteError as error:
            self.standing.heed(error)
            self.standing.checkpoint_failure = f"the write-ahead log cannot be copied into the database: {error}"

    def distrust(self, reason: str) -> None:
        """What the file holds is not what was written, as a look at it found: nothing is written any more."""
        self.standing.distrust(reason)

    def trust(self) -> None:
        """A look at all of the file found nothing wrong."""
        self.standing.trust()

    def accept(self) -> None:
        """What is missing of what was acknowledged is known, and the store goes on without it."""
        self.standing.accept()

    def poison(self, reason: str) -> None:
        """After a defect nobody foresaw: trust neither the connection nor the index. Another defect may follow."""
        self._resync(reason)

    def close(self) -> None:
        """Copy the log into the database and close. Raises SqliteError when the checkpoint fails; where somebody else
        reads the database that is a failure only if purged memories stand in the log."""
        self._index.accelerators.end()
        if self._high_water is not None:
            self._high_water.close()
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if self.read_only is None:
                if self._unwiped:
                    self._wipe(connection)
                with suppress(BusyError):  # the next start reads the log; who needs it empty looks at it
                    connection.checkpoint(truncate=True)
        finally:
            connection.close()


def _vector(write: Write, embedder: EmbedderRecord | None) -> Vector | None:
    return None if isinstance(write, ChangeSet) or is_outdated(write, embedder) else write.vector


def _storage(sentence: str, outcome: Certainty) -> MnemonError:
    hint = "check the disk (space, permissions), then repeat" + (
        " with the same op_id: it is stored at most once" if outcome == "unknown" else ""
    )
    return MnemonError(STORAGE, sentence, hint=hint, outcome=outcome)
