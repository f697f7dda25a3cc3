"""The synchronous heart of a store: a batch of writes becomes one transaction, then one new snapshot.

Runs on the store's writer thread only. The order is fixed: BEGIN, a savepoint for each operation that may still be
refused (none if there is only one), COMMIT (flushed to disk), index, reply. COMMIT may raise although it committed, so
after any failure there the index is rebuilt from a fresh connection; when even that fails the store is poisoned: writes
are refused, recall goes on from memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from mnemond.errors import BUSY, INTERNAL, STORAGE, MnemonError, rejected
from mnemond.errors import Outcome as Certainty
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines, cosines_of_all, own_vector
from mnemond.model.answers import Visibility
from mnemond.model.changes import AddInsight, Change, ChangeSet, PutInsight, RestoreInsight, SetVector, Vector
from mnemond.model.core import CoreSummary
from mnemond.model.outcomes import (
    EmbedRunResult,
    MergeResult,
    Outcome,
    RememberResult,
    ResolveResult,
    RestoreResult,
    UpdateResult,
)
from mnemond.model.passages import EmbedPassage
from mnemond.store import (
    core_summaries,
    embedder_switch,
    held_texts,
    imports,
    operations,
    passages,
    purge,
    reviews,
    shared_log,
)
from mnemond.store.checksums import is_damage, reason
from mnemond.store.connection import (
    NORMAL,
    BusyError,
    Connection,
    ConstraintError,
    NoSavepointError,
    SqliteError,
)
from mnemond.store.database import Opened, load_index
from mnemond.store.gc_tuning import gc_paused
from mnemond.store.health import DAMAGE_HINT, Ballast, HighWater, StoreHealth, last_line
from mnemond.store.insights import Unreadable
from mnemond.store.meta import RULES_OFF_KEY, EmbedderRecord, are_rules_off, made_by, read_embedder, write_embedder
from mnemond.store.operation_log import (
    LINKS,
    Operation,
    Recorder,
    StoredRows,
    apply,
    clear,
    decode,
    index_changes,
    load,
    parts,
    passage_changes,
    snapshot,
)
from mnemond.store.operations import View, Write
from mnemond.store.shared_log import (
    Head,
    HeadMovedError,
    Line,
    LogError,
    LostConnectionError,
    SharedLog,
    contended,
    is_local,
)
from mnemond.store.transaction import Savepoint, run
from mnemond.text import caches

CHECKPOINT_FRAMES = 1000
"""Frames of the write-ahead log after which it is copied into the database (SQLite's own default, 4 MB)."""
TRUNCATE_FRAMES = 16_000
"""Frames after which the log is also truncated (64 MB)."""

MAX_DECISIONS: Final = 5
"""Times that a batch is decided while other daemons write to a shared log in between, which they do only if a turn was
lost."""

SAVE: Final = (
    "`mnemonctl backup` saves all that is in memory, and `mnemonctl backup restore BACKUP --yes` puts it in its place:"
    " do that before the daemon ends"
)
"""Next step while a file of a store is not there any more."""

SWITCHED = "the store was given another embedder meanwhile; this memory is embedded again in the background"

LOADED_TOGETHER: Final = 8
"""Passages that are loaded between two batches of writes: some 6 ms."""

T = TypeVar("T")
Result = Outcome | MnemonError
OnDefect = Callable[[str, BaseException], None]
"""Called with the place where an unexpected exception escaped, and the exception; must not raise."""


class Touched(NamedTuple):
    """What a batch changed beside memories: bytes that have to be wiped, reviews to be counted, core summaries to be
    read again, by the rows of their users, and the switch of all rules."""

    purged: bool
    reviews: bool
    cores: frozenset[str]
    rules: bool


class Engine:
    """One open store. `reopen` returns a fresh Opened after a storage failure; `ballast` is released when the disk is
    full; `path` of the database, next to which its high-water mark and known faults are kept."""

    def __init__(
        self,
        opened: Opened,
        reopen: Callable[[], Opened],
        on_defect: OnDefect,
        ballast: Ballast | None = None,
        path: Path | None = None,
    ) -> None:
        self._connection: Connection | None = opened.connection
        self.log: Callable[[Sequence[Operation]], None] | None = None
        """Called at the end of each transaction, before it is committed, with what it did. If it raises MnemonError or
        SqliteError, the transaction is rolled back."""
        self.shared: SharedLog | None = None
        """The log of a store that other daemons write to as well; see `follow`."""
        self._rest: tuple[Head, Generator[StoredRows]] | None = None
        """Rows of the shared log that are not loaded yet: the links, when everything else is."""
        self.on_replayed: Callable[[Sequence[Operation]], None] = lambda _: None
        """Called on the writer's thread with operations of other daemons that were applied; empty after everything was
        loaded anew."""
        self._on_defect = on_defect
        self.index = opened.index
        self._in_slices = opened.in_slices
        self._reopen = reopen
        self._files = opened.files
        self.embedder = opened.embedder
        self.health = StoreHealth(ballast, path)
        self._high_water = None if path is None else HighWater(path)
        self.health.note_opened(opened.read_only, opened.wrong, opened.unreadable)
        self._compare(opened.connection)
        self._unwiped, self._rewritten = purge.is_unwiped(opened.connection), False
        self.pending_reviews = self.held_texts = 0
        self.imports = imports.Waiting()
        self.core_summaries: Mapping[str, CoreSummary] = {}
        self.rules_off = False
        self._read_derived(opened.connection)

    # ------------------------------------------------------------ batches of writes

    def commit(self, batch: Sequence[Write]) -> list[Result]:
        """Write a batch; return one result per write, in order. Never raises for a storage failure."""
        try:
            connection = self._healthy()
        except (SqliteError, MnemonError) as error:
            why = f"the store is closed after an error and cannot be reopened: {reason(error)}"
            refusal = _storage(why, "rejected", error)
            return [refusal] * len(batch)
        refusals = [self.health.refusal(write.method) for write in batch]
        if any(refusals):
            allowed = [write for write, refused in zip(batch, refusals, strict=True) if refused is None]
            written = iter(self.commit(allowed) if allowed else ())
            return [next(written) if refused is None else refused for refused in refusals]
        if (lost := self._lost_files("rejected")) is not None:
            return [lost] * len(batch)
        if self.shared is None or all(map(is_local, batch)):
            return self._commit_here(connection, batch)
        return self._commit_shared(self.shared, connection, batch)

    def _commit_here(self, connection: Connection, batch: Sequence[Write]) -> list[Result]:
        """Raises HeadMovedError, which only a shared log does, after a rollback."""
        try:
            results, touched = self._write(connection, batch)
        except HeadMovedError:
            self._roll_back(connection)
            raise
        except LogError as error:
            self._roll_back(connection)
            return [error] * len(batch)
        except (SqliteError, MnemonError) as error:
            return [self._rejected(connection, error)] * len(batch)
        if (failure := self._end_transaction(connection)) is not None:
            return [failure] * len(batch)
        if self.index.begun:
            self.index.publish()
        if touched.purged:
            self._read_derived(connection)
            self._wipe_purged(connection)
        else:
            if touched.reviews:
                self._count_reviews(connection)
            if touched.cores:
                self._read_cores(connection, touched.cores)
            if touched.rules:
                self._read_switch(connection)
        lost = self._lost_files("unknown")
        return results if lost is None else [lost] * len(batch)

    def _write(self, connection: Connection, batch: Sequence[Write]) -> tuple[list[Result], Touched]:
        """Everything between BEGIN and COMMIT: the result of each write, and what has to be read again."""
        try:
            return self._write_once(connection, batch, always=False)
        except NoSavepointError:
            connection.run("ROLLBACK")
            if self.index.begun:
                self._load(connection)
            return self._write_once(connection, batch, always=True)

    def _write_once(
        self, connection: Connection, batch: Sequence[Write], *, always: bool
    ) -> tuple[list[Result], Touched]:
        several = len(batch) > 1
        connection.run("BEGIN IMMEDIATE")
        with self._recording(connection) as recorder:
            with connection.inserts_batched(enabled=several and not always and recorder is None):
                written = self._run_all(connection, batch, several=several, always=always, recorder=recorder)
            operations.trim_log(connection)
        return written

    @contextmanager
    def _recording(self, connection: Connection) -> Iterator[Recorder | None]:
        """If there is a log, record what the transaction does, and hand it over at the end of the block."""
        if self.log is None and self.shared is None:
            yield None
            return
        recorder = Recorder(connection, self.embedder)
        try:
            yield recorder
            operations = [each for each in recorder.taken if not each.is_empty]
            if self.log is not None:
                self.log(operations)
            if self.shared is not None:
                self._share(self.shared, connection, operations, whole=recorder.size > shared_log.LOGGED_BYTES)
        finally:
            recorder.close()

    def _run_all(
        self, connection: Connection, batch: Sequence[Write], *, several: bool, always: bool, recorder: Recorder | None
    ) -> tuple[list[Result], Touched]:
        results: list[Result] = []
        purged = reviewed = switched = False
        cores = frozenset[str]()
        cosines = BatchCosines(self.index.working, [_vector(write, self.embedder) for write in batch])
        for at, given in enumerate(batch):
            write = with_fitting_vectors(given, self.embedder)
            savepoint = Savepoint(connection, several=several, always=always)
            begun, similarity = self.index.begun, cosines.of(at, self.index.working)
            try:
                written = run(connection, self.index, write, similarity, self.embedder, savepoint)
            except (MnemonError, ConstraintError) as error:
                if self.index.begun != begun:  # unexpected: what is staged cannot be rolled back alone
                    if connection.batches_inserts:
                        raise NoSavepointError from error  # with unbatched inserts it fails before that
                    raise
                savepoint.roll_back()
                # A constraint that no check foresaw is a defect.
                results.append(error if isinstance(error, MnemonError) else self._defect(error))
                continue
            savepoint.release()
            if recorder is not None and (self.shared is None or recorder.size <= shared_log.LOGGED_BYTES):
                recorder.take(written.change_set)
            results.append(written.outcome)
            purged |= written.purged
            reviewed |= written.reviews
            cores |= written.cores
            facts = () if written.change_set is None else written.change_set.facts
            switched |= any(key == RULES_OFF_KEY for key, _ in facts)
        return results, Touched(purged, reviewed, cores, switched)

    def _end_transaction(self, connection: Connection) -> MnemonError | None:
        """COMMIT and advance the high-water mark; the error if that fails, after which the outcome is unknown."""
        try:
            connection.run("COMMIT")
        except SqliteError as error:
            self.health.note_failure(error)
            self._resync(f"COMMIT failed: {reason(error)}")
            return _storage(f"the disk or database failed while committing: {reason(error)}", "unknown", error)
        if self.shared is not None:
            self.shared.note_committed()
        self._note_progress(connection)
        return None

    def _load(self, connection: Connection) -> None:
        """Build the index anew from the rows."""
        unreadable: list[Unreadable] = []
        self.index = load_index(connection, self.embedder, self.index.search, unreadable, in_slices=self._in_slices)
        self.health.unreadable = tuple(unreadable)

    def load_passages(self) -> None:
        """Load a few of the passages that wait, the newest first, as the rows are now: one that was written or changed
        meanwhile is in the index, one that is gone is not. Raises MnemonError, SqliteError."""
        connection, index = self._healthy(), self.index
        waiting = index.passages.waiting
        loaded = list(passages.load(connection, self.embedder, waiting[-LOADED_TOGETHER:]))
        del waiting[-LOADED_TOGETHER:]
        index.add_passages(loaded)
        index.publish()

    def _defect(self, error: MnemonError | SqliteError) -> MnemonError:
        self._on_defect("store write", error)
        return rejected(INTERNAL, f"a defect kept this from being written: {error}")

    def _rejected(self, connection: Connection, error: SqliteError | MnemonError) -> MnemonError:
        """A failure before COMMIT: after the rollback certainly nothing of the batch is stored."""
        self.health.note_failure(error)
        self._roll_back(connection)
        if isinstance(error, MnemonError | ConstraintError):
            return self._defect(error)
        if isinstance(error, BusyError):
            return rejected(
                BUSY,
                f"another process holds the store's database: {error}; nothing was written",
                "close the other program that has the file open, then repeat",
            )
        why = f"the disk or database refused the write: {reason(error)}; nothing was written"
        return _storage(why, "rejected", error)

    def _roll_back(self, connection: Connection) -> None:
        try:
            if connection.in_transaction:
                connection.run("ROLLBACK")
            if self.index.begun:
                self._load(connection)
        except (SqliteError, MnemonError) as second:
            self._resync(f"ROLLBACK failed: {second}")

    @property
    def lost(self) -> str | None:
        """Why nothing can be written: a file of the store is not there any more. None once it is back. Two calls of
        `stat`; callable from any thread."""
        if self._connection is None:
            return None  # closed after a failure, and SQLite has removed the log
        file = self._files.replaced()
        if file is None:
            return None
        how = "replaced by another" if os.path.lexists(file) else "removed"
        return f"{file} was {how} while the store was open"

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is degraded, the gravest reason first; or None."""
        lost = self.lost
        found = self.health.degraded_reason if lost is None else f"{lost}; {SAVE}"
        return found if found is not None or self.shared is None else self.shared.degraded_reason

    def _lost_files(self, outcome: Certainty) -> MnemonError | None:
        lost = self.lost
        if lost is None:
            return None
        hint = f"put the file back if you can; {SAVE}; `mnemonctl daemon restart` goes on with what is there now"
        return MnemonError(STORAGE, f"{lost}; a write would be lost", hint=hint, outcome=outcome)

    def _wipe_purged(self, connection: Connection) -> None:
        """After a purge: keep nothing of what was removed in memory or in the files (`checkpoint_if_due` retries)."""
        caches.clear_all()
        self._unwiped, self._rewritten = True, False
        try:
            self._load(connection)
            self._wipe(connection)
        except (SqliteError, MnemonError) as error:
            self.health.checkpoint_failure = f"purged memories may still be in the store's files: {reason(error)}"

    def _wipe(self, connection: Connection) -> None:
        if not self._rewritten:
            purge.rewrite_file(connection)
            self._rewritten = True
        purge.finish(connection)
        self._unwiped, self.health.checkpoint_failure = False, None

    # ------------------------------------------------------------ other uses of the connection

    def read(self, query: Callable[[Connection], object]) -> object:
        """Run a query between two batches. Raises SqliteError."""
        with suppress(MnemonError):  # what is there has a reason why it is not all
            self._load_rest()
        try:
            return query(self._healthy())
        except SqliteError as error:
            self.health.note_failure(error)
            raise

    def rewrite(self, work: Callable[[Connection], T], *, rows: bool = False) -> T:
        """Run `work` in a transaction of its own, between two batches; it may replace the embedder and every vector,
        and with `rows` any memory and link.

        Raises MnemonError: what `work` raises, or why its transaction was not committed. Raises SqliteError when the
        store cannot be reopened after an earlier failure.
        """
        connection = self._healthy()
        if (refusal := self.health.refusal(None)) is not None:
            raise refusal
        if (lost := self._lost_files("rejected")) is not None:
            raise lost
        if self.shared is None:
            return self._rewrite_here(connection, work, rows=rows)
        self._take_turn(self.shared)
        try:
            return self._rewrite_here(self._healthy(), work, rows=rows)
        except HeadMovedError:
            raise contended() from None
        finally:
            self.shared.end_turn()

    def _rewrite_here(self, connection: Connection, work: Callable[[Connection], T], *, rows: bool) -> T:
        try:
            connection.run("BEGIN IMMEDIATE")
            with self._recording(connection) as recorder:
                value, embedder = work(connection), read_embedder(connection)
                if recorder is not None and (self.shared is None or recorder.size <= shared_log.LOGGED_BYTES):
                    recorder.take()
        except (MnemonError, HeadMovedError):
            self._roll_back(connection)
            raise
        except SqliteError as error:
            raise self._rejected(connection, error) from error
        except BaseException:
            self._resync("a defect interrupted a transaction")
            raise
        if (failure := self._end_transaction(connection)) is not None:
            raise failure
        try:
            if rows or made_by(embedder) != self.index.made_by:
                self.embedder = embedder
                self._load(connection)
            self.embedder = embedder
        except (SqliteError, MnemonError) as error:
            self._resync(f"the store cannot be read again: {reason(error)}")
        else:
            self._read_derived(connection)
        self.checkpoint_if_due()
        if (lost := self._lost_files("unknown")) is not None:
            raise lost
        return value

    # ------------------------------------------------------------ a shared log

    def follow(self, shared: SharedLog) -> None:
        """Write to a shared log from now on. What is committed there is on a disk, so that the local file need not be
        flushed at every commit: after a power failure it is an earlier one, and catches up."""
        self.shared = shared
        self._healthy().set_pragma("synchronous", NORMAL)

    def _commit_shared(self, shared: SharedLog, connection: Connection, batch: Sequence[Write]) -> list[Result]:
        """Write a batch on the newest state of a shared log."""
        try:
            for attempt in range(MAX_DECISIONS):
                if attempt or not shared.goes_without_turn():
                    self._take_turn(shared)
                try:
                    return self._commit_here(self._healthy(), batch)
                except HeadMovedError:
                    continue  # decided again
                finally:
                    shared.end_turn()
            refusal = contended()
        except (MnemonError, SqliteError) as error:
            why = f"the newest state of the shared store could not be read: {reason(error)}"
            refusal = error if isinstance(error, MnemonError) else _storage(why, "rejected", error)
        here = [write for write in batch if is_local(write)]
        written = iter(self._commit_here(connection, here) if here else ())
        return [next(written) if is_local(write) else refusal for write in batch]

    def _share(
        self, shared: SharedLog, connection: Connection, operations: list[Operation], *, whole: bool = False
    ) -> None:
        """Commit to the shared log what the open transaction did. `whole`: operations are not all of it. Raises
        LogError, HeadMovedError."""
        embedder = read_embedder(connection)
        if embedder != self.embedder and not operations:  # the head has it, which moves with a line only
            operations = [Operation(op_id="", method="", at="")]
        if made_by(embedder) == made_by(self.embedder) and not whole:
            shared.append(connection, [part for each in operations for part in parts(each)], embedder)
            return
        # Lines do not have everything, or vectors of the earlier embedder: others load all rows.
        shared.append(
            connection, operations or [Operation(op_id="", method="", at="")], embedder,
            lambda: snapshot(connection, embedder, ""),
        )  # fmt: skip

    def _take_turn(self, shared: SharedLog) -> None:
        """Wait for the turn, and apply what is missing. Raises MnemonError, SqliteError; then there is no turn."""
        self._load_rest()
        while True:
            head = shared.take_turn()
            try:
                if not shared.must_reload(head, self.index.snapshot.live):
                    self._apply_missing(shared, head)
                    return
            except BaseException:
                shared.end_turn()
                raise
            shared.end_turn()
            self._load_shared(shared)
            self._load_rest()

    def catch_up(self, *, with_links: bool = True) -> None:
        """Apply what others wrote to the shared log. Without `with_links`, if everything has to be loaded, leave links
        to the next call: all else can be searched then. Raises MnemonError, SqliteError."""
        shared = self.shared
        assert shared is not None, "it is shared"  # noqa: S101
        self._load_rest()
        head = shared.look()
        if shared.must_reload(head, self.index.snapshot.live):
            self._load_shared(shared)
            if not with_links:
                return
            self._load_rest()
        self._apply_missing(shared, head)

    def hold_jobs(self) -> bool:
        """Begin, or go on, to run jobs of a shared store, on the newest state of it; return False while another
        daemon runs some. Raises MnemonError, SqliteError."""
        assert self.shared is not None, "it is shared"  # noqa: S101
        self._load_rest()
        if not self.shared.hold_jobs():
            return False
        self.catch_up()
        return True

    def show(self, visibility: Visibility) -> None:
        """Let other roles see a shared store. Raises MnemonError, SqliteError."""
        assert self.shared is not None, "it is shared"  # noqa: S101
        self._load_rest()
        self.shared.show(visibility)

    def _apply_missing(self, shared: SharedLog, head: Head) -> None:
        """Apply lines up to a head, and what was measured of its embedder. Raises MnemonError, SqliteError."""
        if (embedder := head.embedder) != self.embedder and embedder and made_by(embedder) == made_by(self.embedder):
            self._note_measured(shared, embedder)
        lines: Sequence[Line] = ()
        while shared.cursor.seq < head.seq:
            if not (lines := lines or shared.missing(shared.cursor.seq)):
                return  # they were removed meanwhile; the next look loads everything
            try:
                lines = self._replay(shared, lines, head)
            except MnemonError as error:
                shared.note_failure(error)
                raise

    def _note_measured(self, shared: SharedLog, embedder: EmbedderRecord) -> None:
        with self._applying(shared) as connection:
            write_embedder(connection, embedder)
        self.embedder = embedder

    @contextmanager
    def _applying(self, shared: SharedLog) -> Iterator[Connection]:
        """One transaction for what the shared log has, rolled back by an error. Raises MnemonError, SqliteError."""
        connection = self._healthy()
        try:
            connection.run("BEGIN IMMEDIATE")
            yield connection
        except LostConnectionError as error:
            self._roll_back(connection)
            raise shared.failed(error) from error
        except (MnemonError, SqliteError):
            self._roll_back(connection)
            raise
        if (failure := self._end_transaction(connection)) is not None:
            raise failure

    def _replay(self, shared: SharedLog, lines: Sequence[Line], head: Head) -> Sequence[Line]:
        """Apply lines in one transaction, with the index beside the rows, and as many more as belong to the entry of
        the last one: an operation may be several lines. Return lines behind these that were read."""
        found = list[Operation]()
        with self._applying(shared) as connection:
            while lines:
                for each in map(decode, [line.text for line in lines]):
                    apply(connection, each, self.embedder)
                    self.index.stage(index_changes(connection, each, self.index, self.embedder))
                    self.index.stage_passages(passage_changes(connection, each, self.embedder))
                    found.append(each)
                last = lines[-1]
                rest = shared.missing(last.seq) if last.seq < head.seq else []
                lines = list(takewhile(partial(_is_of, last.entry), rest))
            shared.note(connection, last.seq, last.entry)
        if self.index.begun:
            self.index.publish()
        self._read_derived(connection)
        if any(each.purged for each in found):
            self._wipe_purged(connection)
        self.on_replayed(found)
        return rest

    def _load_shared(self, shared: SharedLog) -> None:
        """Replace all rows by those of the shared log, but for links, which `_load_rest` loads."""
        with self._applying(shared) as connection:
            had_rows = connection.row("SELECT 1 FROM insights LIMIT 1") is not None
            head, rows = shared.rows()
            clear(connection)
            if head.embedder is not None and head.embedder != self.embedder:
                if made_by(head.embedder) != made_by(self.embedder):
                    embedder_switch.clear(connection)  # one that was under way here is over
                write_embedder(connection, head.embedder)
            embedder = read_embedder(connection)
            self._load_rows(connection, rows, embedder, until_links=True)
            shared.note_loading(connection)
        self._rest = head, rows
        self.embedder = embedder
        self._load(connection)
        self._read_derived(connection)
        if had_rows:
            self._wipe_purged(connection)

    def _load_rest(self) -> None:
        """Load the links. Raises MnemonError, SqliteError; everything is loaded anew then."""
        if self._rest is None:
            return
        (head, rows), shared = self._rest, self.shared
        assert shared is not None, "it was loaded from there"  # noqa: S101
        self._rest = None
        with self._applying(shared) as connection:
            with closing(rows):
                self._load_rows(connection, rows, self.embedder, until_links=False)
            shared.note(connection, head.seq, head.entry)
        self._load(connection)
        self.on_replayed(())

    @staticmethod
    def _load_rows(
        connection: Connection, rows: Generator[StoredRows], embedder: EmbedderRecord | None, *, until_links: bool
    ) -> None:
        """Insert the rows of a shared log. `until_links`: up to an empty part, which links follow."""
        with gc_paused():
            for each in rows:
                if until_links and each.kind == LINKS:
                    return
                load(connection, each, embedder)

    def checkpoint_if_due(self) -> None:
        """Copy the write-ahead log into the database when it has grown. A failure shows as degraded, loses nothing."""
        if self._connection is None or self.health.read_only is not None:
            return
        try:
            if self._unwiped:
                self._wipe(self._connection)
            frames, full = self._connection.wal_frames(), not self.health.has_room()
            if frames >= CHECKPOINT_FRAMES or (full and frames):
                self._connection.checkpoint(truncate=full or frames >= TRUNCATE_FRAMES)
                self.health.checkpoint_failure = None
        except BusyError:
            return  # a reader of another process holds the log; the next batch tries again
        except SqliteError as error:
            self.health.note_failure(error)
            self.health.checkpoint_failure = f"the write-ahead log cannot be copied into the database: {reason(error)}"

    def poison(self, why: str) -> None:
        """After an unexpected exception: trust neither the connection nor the index, and read everything again."""
        self._resync(why)

    def close(self) -> None:
        """Copy the log into the database and close. Raises SqliteError when the checkpoint fails; while another process
        reads the database that is a failure only if the log contains purged memories."""
        self.index.accelerators.end()
        if self._high_water is not None:
            self._high_water.close()
        self._rest = None
        if self.shared is not None:
            self.shared.close()
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if self.health.read_only is None:
                if self._unwiped:
                    self._wipe(connection)
                with suppress(BusyError):  # the next start reads the log
                    connection.checkpoint(truncate=True)
        finally:
            connection.close()

    # ------------------------------------------------------------ health of the connection

    def _healthy(self) -> Connection:
        """The connection, reopened when a failure closed it. Raises SqliteError while that fails."""
        if self._connection is None:
            opened = self._reopen()
            self._connection, self.index, self.embedder = opened.connection, opened.index, opened.embedder
            self._files = opened.files
            if self.shared is not None:
                self.shared.reread(opened.connection)
                opened.connection.set_pragma("synchronous", NORMAL)
            self.health.note_opened(opened.read_only, opened.wrong, opened.unreadable)
            self._compare(opened.connection)
            self._read_derived(opened.connection)
        return self._connection

    def _resync(self, why: str) -> None:
        """Drop the connection and read everything again: the rows on disk are canonical. A connection whose file is
        gone is kept, as no other has its rows."""
        self.health.fault = why
        if self._connection is not None and self.lost is not None:
            with suppress(SqliteError):
                if self._connection.in_transaction:
                    self._connection.run("ROLLBACK")
                self._load(self._connection)
            return
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
            self._healthy()
        except (SqliteError, MnemonError) as error:
            self.health.fault = f"{why}; reopening failed: {reason(error)}"

    def _compare(self, connection: Connection) -> None:
        """Compare the end of the log with the last acknowledged line."""
        if self._high_water is None:
            return
        try:
            noted, found = self._high_water.read(), last_line(connection)
        except OSError as error:
            self.health.note_unwritable(error)
        except SqliteError as error:
            self.health.note_failure(error)
        else:
            if noted is not None and found < noted:
                self.health.note_loss(found, noted)

    def _read_derived(self, connection: Connection) -> None:
        """Read what readers need that must not wait for the writer."""
        self._count_reviews(connection)
        self._read_cores(connection)
        self._read_switch(connection)

    def _read_switch(self, connection: Connection) -> None:
        """Read if all rules are switched off."""
        try:
            self.rules_off = are_rules_off(connection)
        except SqliteError as error:
            self.health.note_failure(error)

    def _read_cores(self, connection: Connection, entity_ids: Collection[str] | None = None) -> None:
        """Read the current core summaries, or those of these users."""
        try:
            found = core_summaries.current(connection, entity_ids)
        except SqliteError as error:
            self.health.note_failure(error)
        else:
            kept = {} if entity_ids is None else {k: v for k, v in self.core_summaries.items() if k not in entity_ids}
            self.core_summaries = kept | found

    def _count_reviews(self, connection: Connection) -> None:
        """Count the reviews that wait, and read which imported memories do, for readers that must not wait for the
        writer."""
        try:
            self.pending_reviews = reviews.count_pending(connection)
            self.held_texts = held_texts.count(connection)
            self.imports = imports.waiting(connection)
        except SqliteError as error:
            self.health.note_failure(error)

    def _note_progress(self, connection: Connection) -> None:
        """Advance the high-water mark, before the batch is acknowledged."""
        if self._high_water is None or self.shared is not None:
            return
        try:
            self._high_water.note(last_line(connection))
            if self.health.unnoted is not None:
                self.health.save()
        except OSError as error:
            self.health.note_unwritable(error)
        except SqliteError as error:
            self.health.note_failure(error)


def _is_of(entry: str, line: Line) -> bool:
    return line.entry == entry


def _storage(sentence: str, outcome: Certainty, error: Exception) -> MnemonError:
    if is_damage(error):
        return MnemonError(STORAGE, sentence, hint=DAMAGE_HINT, outcome=outcome)
    hint = "check the disk (space, permissions), then repeat" + (
        " with the same op_id: it is stored at most once" if outcome == "unknown" else ""
    )
    return MnemonError(STORAGE, sentence, hint=hint, outcome=outcome)


# Vectors of a batch.


class BatchCosines:
    """Cosines of several vectors with the rows of a store that grows meanwhile: with the rows at the begin of the batch
    all at once, and with the few rows that the batch itself adds.

    A product of 64 vectors with 10,000 rows costs a fifth of 64 single ones, which read the matrix each time.
    """

    def __init__(self, base: Snapshot, vectors: Sequence[Vector | None]) -> None:
        """Vectors of another dimension than the store's count as none."""
        self._base = base
        texts = [None if vector is None else own_vector(vector) for vector in vectors]
        self._vectors = {
            at: vector
            for at, vector in enumerate(texts)
            if vector is not None and base.dimension > 0 and vector.shape == (base.dimension,)
        }
        fitting = list(self._vectors.values())
        found: Sequence[Cosines]
        if len(fitting) > 1:
            found = cosines_of_all(base.dense, np.stack(fitting))
        else:
            found = [base.cosines(vector) for vector in fitting]
        self._known = dict(zip(self._vectors, found, strict=True))

    def of(self, at: int, now: Snapshot) -> Cosines | None:
        """Return the cosines of the vector at that position with every row of `now`; None when it has none."""
        known = self._known.get(at)
        if known is None or now.rows == self._base.rows:
            return known
        return now.cosines(self._vectors[at], known)


def _vector(write: Write, embedder: EmbedderRecord | None) -> Vector | None:
    return None if isinstance(write, ChangeSet) or is_outdated(write, embedder) else write.vector


def is_outdated(write: Write, embedder: EmbedderRecord | None) -> bool:
    """Return True if the vectors of a write are of another embedder than the store's, which was switched meanwhile."""
    if isinstance(write, ChangeSet) or write.made_by is None:
        return False
    return embedder is None or write.made_by != embedder.fingerprint


def with_fitting_vectors(write: Write, embedder: EmbedderRecord | None) -> Write:
    """Return `write` without outdated vectors: its text is stored, and embedded again later."""
    if isinstance(write, ChangeSet) or not is_outdated(write, embedder):
        return write
    return write._replace(decide=partial(_decide_without_vectors, write.decide), vector=None)


def _decide_without_vectors(decide: Callable[[View], ChangeSet], view: View) -> ChangeSet:
    decided = decide(view)
    changes = tuple(_without_vector(change) for change in decided.changes if not isinstance(change, SetVector))
    said = tuple(each for each in decided.passages if not isinstance(each, EmbedPassage))
    outcome = decided.outcome
    if isinstance(outcome, RememberResult | UpdateResult | MergeResult | ResolveResult | RestoreResult) and (
        outcome.embedded
    ):
        outcome = msgspec.structs.replace(outcome, embedded=False, embed_error=SWITCHED)
    elif isinstance(outcome, EmbedRunResult) and outcome.succeeded:
        outcome = msgspec.structs.replace(outcome, succeeded=0)
    return msgspec.structs.replace(decided, changes=changes, passages=said, outcome=outcome)


def _without_vector(change: Change) -> Change:
    if isinstance(change, AddInsight | PutInsight | RestoreInsight):
        return msgspec.structs.replace(change, vector=None)
    return change
