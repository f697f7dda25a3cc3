"""A named store as the rest of mnemond sees it: a snapshot to read, and a queue to write through.

One writer per store: a bounded queue on the event loop, one thread that owns the connection, group commit. Whatever has
queued up while the last batch was being flushed becomes the next batch. Nothing in the writer is awaited, so nothing
can be cancelled half-way; callers learn the result through a callback on the event loop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple, Protocol, TypeVar, cast

import trio

from mnemond.clock import monotonic_s
from mnemond.config.reading import VectorSettings
from mnemond.errors import BUSY, INTERNAL, STOPPING, STORAGE, UNAVAILABLE, MnemonError, rejected
from mnemond.ids import RandomIds, nonce
from mnemond.index.passages import PassageSnapshot
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import Visibility
from mnemond.model.core import CoreSummary
from mnemond.model.outcomes import Outcome
from mnemond.store import insights, operations
from mnemond.store.checksums import is_damage, reason
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.database import ChooseEmbedder, Opened, open_database
from mnemond.store.engine import Engine, OnDefect, Result
from mnemond.store.exchanges import Backlog, backlog
from mnemond.store.health import DAMAGE_HINT, Ballast
from mnemond.store.imports import Waiting
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operation_log import Operation
from mnemond.store.operations import Write
from mnemond.store.shared_log import Cursor, Log, LostConnectionError, SharedLog, begin_sharing, read_cursor

BATCH = 64
"""Most operations per transaction: larger groups gain nothing (measured: 8 → 64 in a group 83 → 53 µs each)."""
GATHERED_PER_S = 1000
"""Writes per second that must arrive for a batch to wait for more: each saves a flush of a millisecond or more, and
delays the others by the pass of the event loop that it came in."""
CAPACITY = 4096
"""Writes that may wait; beyond it a write is refused as busy rather than queued without bound."""
READERS_LEAVE_S: Final = 1.0
"""Seconds that closing waits for those who read the file next to the writer: a stop is promised to take three in all.
A verification checks for it between its steps, and figures are one read."""

T = TypeVar("T")
OnResult = Callable[[Result], None]


class EventLoop(Protocol):
    """The part of trio's token that a writer needs."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` on the event loop; callable from any thread."""
        ...


class _Write(NamedTuple):
    write: Write
    done: OnResult


class _Job(NamedTuple):
    run: Callable[[], object]
    done: Callable[[object], None]


class Writer:
    """Owns the engine's thread. All methods are for the event loop's thread."""

    def __init__(self, engine: Engine, loop: EventLoop, on_defect: OnDefect) -> None:
        self._engine = engine
        self._loop = loop
        self._on_defect = on_defect
        self._waiting: deque[_Write | _Job] = deque()
        self._seen = 0
        """Writes that waited at the end of the last pass."""
        self._looked_s = 0.0
        """When that was; or when the first of them came, or a batch began."""
        self._alone = False
        """True if the last batch was a single write: the next one probably comes alone as well."""
        self._gathering = False
        self._busy = False
        self._closed = False
        self._inbox: SimpleQueue[list[_Write] | _Job | None] = SimpleQueue()
        # A daemon thread: should closing take longer than the process may wait, leaving is no worse than kill -9, and
        # nothing acknowledged depends on it.
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self, name: str) -> None:
        """Start the thread, under a name for debuggers. `close` and `join` end it."""
        self._thread.name = f"writer-{name}"
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is being written or read, and nothing waits."""
        return not (self._busy or self._waiting)

    @property
    def waiting(self) -> int:
        """Writes and queries that wait for their turn."""
        return len(self._waiting)

    def submit(self, write: Write, done: OnResult) -> None:
        """Queue a write; `done` gets its outcome or a MnemonError after the commit.

        Raises MnemonError: BUSY when the queue is full, STOPPING after `close`.
        """
        self._refuse_when_closed()
        if len(self._waiting) >= CAPACITY:
            sentence = f"{CAPACITY:,} writes are waiting already"
            raise rejected(BUSY, sentence, "repeat in a moment")
        self._waiting.append(_Write(write, done))
        if self._alone and not self._busy and len(self._waiting) == 1:
            self._kick()
        else:
            self._gather_soon()

    def run_job(self, job: Callable[[], object], done: Callable[[object], None]) -> None:
        """Run `job` on the thread between two batches; `done` gets its value or a MnemonError.

        Raises MnemonError(STOPPING) after `close`.
        """
        self._refuse_when_closed()
        self._waiting.append(_Job(job, done))
        self._gather_soon()

    def close(self, done: Callable[[object], None]) -> None:
        """After everything queued: checkpoint, close, end the thread; `done` gets None or a MnemonError. If it was
        closed before, `done` is called at once: `join` waits for the end then."""
        if self._closed:
            done(None)
            return
        self._closed = True
        self._waiting.append(_Job(self._engine.close, done))
        self._gather_soon()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise rejected(STOPPING, "the store is closing", "repeat in a moment")

    def join(self) -> None:
        """Wait for the thread to end (after `close`); blocks, so call it from a worker thread."""
        self._inbox.put(None)
        self._thread.join()

    def _gather_soon(self) -> None:
        if not self._gathering:
            if not self._busy and not self._seen:
                self._looked_s = monotonic_s()
            self._gathering = True
            self._loop.run_sync_soon(self._gather)

    def _gather(self) -> None:
        """Hand over what waits once a pass of the event loop brought nothing more, or a batch is full.

        A batch handed over while requests are still arriving would be small, and its thread would compete with the
        event loop for the interpreter: with 64 writers that costs more than the writing. After a single write the next
        is handed over at once: two passes of the loop cost a lone writer a tenth of a remember. While passes are long,
        because of concurrent recalls, and bring few, waiting for the next takes longest.
        """
        self._gathering = False
        if self._busy or not self._waiting:
            return
        if self._seen < len(self._waiting) < BATCH and self._worth_waiting():
            self._seen = len(self._waiting)
            self._gather_soon()
            return
        self._seen = 0
        self._kick()

    def _worth_waiting(self) -> bool:
        """Return True if the last pass brought so many writes that the next will bring more than it costs those that
        wait."""
        now_s, before_s = monotonic_s(), self._looked_s
        self._looked_s = now_s
        return len(self._waiting) - self._seen >= GATHERED_PER_S * (now_s - before_s)

    def _kick(self) -> None:
        self._busy = True
        self._looked_s = monotonic_s()
        first = self._waiting.popleft()
        if isinstance(first, _Job):
            self._inbox.put(first)
            return
        batch = [first]
        while self._waiting and len(batch) < BATCH:
            following = self._waiting[0]
            if isinstance(following, _Job):
                break
            self._waiting.popleft()
            batch.append(following)
        self._alone = len(batch) == 1 and not self._waiting
        self._inbox.put(batch)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            if isinstance(work, _Job):
                self._loop.run_sync_soon(self._finish_job, work, self._guarded(work.run))
            else:
                self._loop.run_sync_soon(self._finish, work, self._commit(work))
                self._guarded(self._engine.checkpoint_if_due)
            del work  # what it refers to would be kept until the next

    def _next(self) -> list[_Write] | _Job | None:
        """Wait for work; while there is none, load what is kept of sessions. A load that fails is tried again after the
        next work."""
        engine = self._engine
        while self._inbox.empty() and engine.index.passages.waiting:
            if isinstance(self._guarded(engine.load_passages), MnemonError):
                break
        return self._inbox.get()

    def _commit(self, batch: list[_Write]) -> Sequence[Result]:
        results: Sequence[Result] | MnemonError = self._guarded(
            lambda: self._engine.commit([waiting.write for waiting in batch])
        )
        if not isinstance(results, MnemonError):
            return results
        self._guarded(lambda: self._engine.poison(results.message))
        return [results] * len(batch)

    def _guarded(self, work: Callable[[], T]) -> T | MnemonError:
        """Return the value of `work`, or the error. The thread must outlive any defect, or every later write would
        hang; it is no task, so nothing cancels it."""
        try:
            return work()
        except MnemonError as error:
            return error
        except SqliteError as error:
            hint = DAMAGE_HINT if is_damage(error) else None
            return MnemonError(STORAGE, f"the database could not be read: {reason(error)}", hint=hint)
        except BaseException as error:  # noqa: ASYNC103
            self._on_defect("store writer", error)
            return MnemonError(  # noqa: ASYNC104
                INTERNAL,
                f"a defect in mnemond ({type(error).__name__}) interrupted this; a write may or may not be stored",
                hint="repeat a write with the same op_id: it is stored at most once",
                outcome="unknown",
            )

    def _finish(self, batch: list[_Write], results: Sequence[Result]) -> None:
        self._busy = False
        refusal = results[0]
        if isinstance(refusal, MnemonError) and refusal.kind is BUSY:
            # Another process has the database: refuse what waits as well, as every batch would wait as long for it.
            batch = batch + [work for work in self._waiting if isinstance(work, _Write)]
            results = [refusal] * len(batch)
            self._waiting = deque(work for work in self._waiting if isinstance(work, _Job))
        self._gather()
        for write, result in zip(batch, results, strict=True):
            write.done(result)

    def _finish_job(self, job: _Job, value: object) -> None:
        self._busy = False
        self._gather()
        job.done(value)


class Store:
    """One open store. Reads take `snapshot` once and touch nothing else; writes go through `submit`."""

    def __init__(self, name: str, path: Path, engine: Engine, writer: Writer) -> None:
        self.name = name
        self.path = path
        self._engine = engine
        self._writer = writer
        self._readers = 0
        self._closing = False
        self._left = trio.Event()
        self.on_commit: Callable[[Write, Outcome], None] | None = None
        """Called on the event loop for each write that was not refused, before its caller gets the outcome. Must not
        raise."""
        self.on_replayed: Callable[[Sequence[Operation]], None] = lambda _: None
        """Called on the event loop with operations of other daemons that were applied; empty after everything was
        loaded anew. Must not raise."""

    @property
    def snapshot(self) -> Snapshot:
        return self._engine.index.snapshot

    @property
    def passages(self) -> PassageSnapshot:
        """Return the passages as of the last write; the oldest may be missing while they are being loaded."""
        return self._engine.index.snapshot.parts.passages

    async def all_passages(self) -> PassageSnapshot:
        """Return what is kept of sessions, once all of it is loaded. Raises MnemonError."""
        while self.passages.waiting:
            await _answer(lambda done: self._writer.run_job(self._engine.load_passages, done))
        return self.passages

    @property
    def pending_reviews(self) -> int:
        """The number of pairs of memories that wait for a decision, as of the last write."""
        return self._engine.pending_reviews

    @property
    def held_texts(self) -> int:
        """The number of texts that are no memory and wait for a person, as of the last write."""
        return self._engine.held_texts

    @property
    def core_summaries(self) -> Mapping[str, CoreSummary]:
        """The current core summaries by the ids of the users' rows, as of the last write."""
        return self._engine.core_summaries

    @property
    def rules_off(self) -> bool:
        """Return True if all rules are switched off, as of the last write."""
        return self._engine.rules_off

    @property
    def imports(self) -> Waiting:
        """Imported memories that are not accepted, as of the last write."""
        return self._engine.imports

    @property
    def embedder(self) -> EmbedderRecord | None:
        return self._engine.embedder

    @property
    def shared(self) -> SharedLog | None:
        """The log that other daemons write to as well, None if the store is not shared."""
        return self._engine.shared

    def note_replayed(self, operations: Sequence[Operation]) -> None:
        """Forward what the engine applied."""
        self.on_replayed(operations)

    async def catch_up(self) -> None:
        """Apply what others wrote to a shared log. Raises MnemonError."""
        await _answer(lambda done: self._writer.run_job(self._engine.catch_up, done))

    async def show(self, visibility: Visibility) -> None:
        """Let other roles see a shared store. Raises MnemonError."""
        if self.shared is not None:
            await _answer(lambda done: self._writer.run_job(lambda: self._engine.show(visibility), done))

    async def hold_jobs(self) -> bool:
        """Begin, or go on, to run jobs; return False while another daemon runs some in a shared store. Raises
        MnemonError."""
        return bool(await _answer(lambda done: self._writer.run_job(self._engine.hold_jobs, done)))

    async def leave_jobs(self) -> None:
        """Let other daemons run jobs in a shared store. Raises MnemonError."""
        if (shared := self.shared) is not None:
            await _answer(lambda done: self._writer.run_job(shared.leave_jobs, done))

    @property
    def degraded_reason(self) -> str | None:
        return self._engine.degraded_reason

    @property
    def lost(self) -> str | None:
        """Why nothing can be written: a file of the store is not there any more; None once it is back."""
        return self._engine.lost

    @property
    def unreadable(self) -> tuple[insights.Unreadable, ...]:
        return self._engine.health.unreadable

    @property
    def read_only(self) -> str | None:
        return self._engine.health.read_only

    @property
    def is_damaged(self) -> bool:
        """Return True if the file is known not to hold what was written, could not be used, or is not there any
        more."""
        health = self._engine.health
        return health.wrong is not None or health.fault is not None or self.lost is not None

    @property
    def is_idle(self) -> bool:
        return self._writer.is_idle

    @property
    def may_rest(self) -> bool:
        """Return True if nothing but the files is lost when the store is closed now and opened again later: nothing is
        being written or read, nobody else writes to it, and the file has all that is in memory."""
        return self.is_idle and not self._readers and self.shared is None and not self.is_damaged

    @property
    def index_at_rest(self) -> MemoryIndex | None:
        """The index, for opening the store again once it is closed; None if it has to be built from the rows then:
        some of them could not be read, or a graph of vectors was being built, which has ended."""
        index = self._engine.index
        whole = self.degraded_reason is None and not index.begun and index.snapshot.dense.approximate is None
        return index if whole else None

    @property
    def waiting(self) -> int:
        return self._writer.waiting

    def submit(self, write: Write, done: OnResult) -> None:
        """Queue one write; `done` is called on the event loop after COMMIT and after the index has it.

        Raises MnemonError(BUSY) when too many writes wait.
        """
        on_commit = self.on_commit
        if on_commit is None:
            self._writer.submit(write, done)
            return

        def notify(result: Outcome | MnemonError) -> None:
            if not isinstance(result, MnemonError):
                on_commit(write, result)
            done(result)

        self._writer.submit(write, notify)

    async def write(self, write: Write) -> Outcome:
        return cast("Outcome", await _answer(lambda done: self.submit(write, done)))

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query on the database, between two batches of writes. Raises MnemonError."""
        return cast("T", await _answer(lambda done: self._writer.run_job(lambda: self._engine.read(query), done)))

    async def rewrite(self, work: Callable[[Connection], T], *, rows: bool = False) -> T:
        """Run `work` in a transaction of its own, between two batches of writes; the index has its changes to embedder
        and vectors when this returns, with `rows` also those to memories and links. Raises MnemonError.

        It is completed even when the caller is cancelled meanwhile.
        """

        def job() -> T:
            return self._engine.rewrite(work, rows=rows)

        return cast("T", await _answer(lambda done: self._writer.run_job(job, done)))

    async def counts(self) -> tuple[dict[str, int], int, Backlog]:
        """Count the insights in each state, the lines of the log, and the queued exchanges. Raises MnemonError."""

        def count(connection: Connection) -> tuple[dict[str, int], int, Backlog]:
            active = self.snapshot.live + len(self.unreadable)
            by_status = ({"active": active} if active else {}) | insights.count_retired(connection)
            return by_status, operations.count_lines(connection), backlog(connection)

        return await self.read(count)

    def start(self) -> None:
        """Start the writer; until then `discard` closes the store."""
        self._writer.start(self.name)

    def discard(self) -> None:
        """Close a store whose writer was not started (blocking). The next start reads what is still in the log."""
        with suppress(SqliteError):
            self._engine.close()

    async def mark_damaged(self, reason: str) -> None:
        """The file does not hold what was written: refuse writes from now on. Raises MnemonError."""
        await self.read(lambda _: self._engine.health.mark_damaged(reason))

    async def mark_sound(self) -> None:
        """A full verification found nothing wrong. Raises MnemonError."""
        await self.read(lambda _: self._engine.health.mark_sound())

    async def accept_loss(self) -> None:
        """Go on without acknowledged writes that are missing. Raises MnemonError."""
        await self.read(lambda _: self._engine.health.accept_loss())

    async def reload(self, reason: str) -> None:
        """Read everything again, because memory differs from the file. Raises MnemonError."""
        await self.read(lambda _: self._engine.poison(reason))

    def refuse_when_closing(self) -> None:
        """Raise MnemonError(STOPPING) when the store is being closed, or is closed. For readers, now and then."""
        if self._closing:
            raise rejected(STOPPING, "the store is being closed", "repeat in a moment")

    @contextmanager
    def file_in_use(self) -> Iterator[None]:
        """Delay closing while the file is read through another connection, for READERS_LEAVE_S at most. For the event
        loop's thread. Raises MnemonError(STOPPING) when the store is being closed."""
        self.refuse_when_closing()
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            if self._closing and not self._readers:
                self._left.set()

    async def close(self) -> None:
        """Finish what is queued, checkpoint, close the file: it has all of the log then, unless it is still being read.
        Raises MnemonError when the checkpoint fails. The writer ends also if this is cancelled."""
        self._closing = True
        if self._readers:
            try:
                with trio.move_on_after(READERS_LEAVE_S):
                    await self._left.wait()
            except trio.Cancelled:
                self._writer.close(lambda _: None)
                raise
        failure: MnemonError | None = None
        try:
            await _answer(self._writer.close)
        except MnemonError as error:
            failure = error
        await trio.to_thread.run_sync(self._writer.join)
        if failure is not None:
            raise failure


async def _answer(call: Callable[[Callable[[object], None]], None]) -> object:
    answers: list[object] = []
    finished = trio.Event()

    def done(value: object) -> None:
        answers.append(value)
        finished.set()

    call(done)
    await finished.wait()
    if isinstance(answers[0], MnemonError):
        raise answers[0]
    return answers[0]


def open_store(
    name: str,
    path: Path,
    *,
    choose_embedder: ChooseEmbedder,
    now_us: Callable[[], int],
    loop: EventLoop,
    on_defect: OnDefect,
    vfs: str | None = None,
    search: VectorSettings | None = None,
    ballast: Ballast | None = None,
    environment: Mapping[str, str] | None = None,
    share: Cursor | None = None,
    kept: MemoryIndex | None = None,
    read_only: bool = False,
) -> Store:
    """Open `path` (blocking: call it from a worker thread); `start` starts its writer. `environment` has the connection
    strings of shared stores; with `share` the store, which is empty, becomes one, and what others have is loaded.
    `kept`: the index of the file as it is. `read_only`: write nothing, even where that is possible.

    Raises MnemonError, SqliteError.
    """
    known = {} if environment is None else environment
    choose = choose_embedder if share is None else partial(embedder_of_shared, share, known, choose_embedder)

    def open_it(kept: MemoryIndex | None = None) -> Opened:
        return open_database(path, choose, now_us(), vfs, search, in_slices=True, kept=kept, read_only=read_only)

    engine = Engine(open_it(kept), reopen=open_it, on_defect=on_defect, ballast=ballast, path=path)
    store = Store(name, path, engine, Writer(engine, loop, on_defect))
    try:
        if share is not None:
            engine.rewrite(partial(begin_sharing, cursor=share))
        cursor = engine.read(read_cursor)
        if isinstance(cursor, Cursor) and cursor.store == name:  # a copy under another name stays as it was
            engine.follow(SharedLog(cursor, partial(connect_log, cursor, known), partial(nonce, RandomIds())))
            engine.on_replayed = partial(loop.run_sync_soon, store.note_replayed)
        if share is not None:
            engine.catch_up(with_links=False)  # they come as it is followed
    except BaseException:
        store.discard()
        raise
    return store


def embedder_of_shared(
    cursor: Cursor,
    environment: Mapping[str, str],
    choose_embedder: Callable[[], EmbedderRecord | None],
    visibility: Visibility | None = None,
) -> EmbedderRecord | None:
    """Return the embedder of a store on a server, which is made there if it is new. Raises MnemonError."""
    log = connect_log(cursor, environment)
    try:
        return log.make(choose_embedder(), visibility).embedder
    except LostConnectionError as error:
        raise rejected(
            UNAVAILABLE, f"the server of the shared store does not answer: {error}", "look at the server, then repeat"
        ) from error
    finally:
        log.close()


def connect_log(cursor: Cursor, environment: Mapping[str, str]) -> Log:
    """Return the log of a store, without connecting. Raises MnemonError(UNAVAILABLE) if the variable or the driver is
    missing."""
    dsn = environment.get(cursor.dsn_env, "")
    if not dsn:
        raise rejected(
            UNAVAILABLE,
            f"the environment variable {cursor.dsn_env}, which names the server, is not set for the daemon",
            f"set {cursor.dsn_env} where the daemon is started, then: mnemonctl daemon restart",
        )
    try:
        from mnemond.store.postgresql import PostgresqlLog
    except ImportError as error:
        raise rejected(
            UNAVAILABLE,
            f"a shared store needs psycopg, which is not installed ({error})",
            'pip install "mnemond[postgresql]", then: mnemonctl daemon restart',
        ) from error
    return PostgresqlLog(dsn, cursor.store)
