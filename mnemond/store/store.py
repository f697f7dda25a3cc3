"""A named store as the rest of mnemond sees it: a snapshot to read, a door to write through."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final, Protocol, TypeVar, cast

import trio

from mnemond.clock import monotonic_s
from mnemond.config.settings import VectorSettings
from mnemond.errors import BUSY, INTERNAL, STOPPING, STORAGE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.outcomes import Outcome
from mnemond.store import insights, operations
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.database import Opened, Wanted, open_database
from mnemond.store.engine import Defect, Engine, Result
from mnemond.store.exchanges import Backlog, backlog
from mnemond.store.health import Ballast
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Write

# One writer per store: a bounded queue on the event loop, one thread that owns the connection, group commit.
#
# Whatever has queued up while the last batch was being flushed becomes the next batch. Nothing here is awaited, so
# nothing can be cancelled half-way; callers learn the result through a callback on the event loop.


BATCH = 64
"""Operations a transaction at most: larger groups gain nothing (measured: 8 → 64 in a group 83 → 53 µs each)."""
GATHERED_PER_S = 1000
"""Writes that must come in a second for a batch to wait for more: each spares a flush of a millisecond or more, and
delays the others by the pass that it came in."""
CAPACITY = 4096
"""Writes that may wait; beyond it a write is refused as busy rather than queued without bound."""

T = TypeVar("T")
Done = Callable[[Result], None]


class EventLoop(Protocol):
    """The part of trio's token that a writer needs."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        """Call `sync_fn` on the event loop; callable from any thread."""
        ...


class _Write:
    __slots__ = ("done", "write")

    def __init__(self, write: Write, done: Done) -> None:
        self.write = write
        self.done = done


class _Job:
    __slots__ = ("done", "run")

    def __init__(self, run: Callable[[], object], done: Callable[[object], None]) -> None:
        self.run = run
        self.done = done


class Writer:
    """Owns the engine's thread. All methods are for the event loop's thread."""

    def __init__(self, engine: Engine, loop: EventLoop, on_defect: Defect) -> None:
        self._engine = engine
        self._loop = loop
        self._on_defect = on_defect
        self._waiting: deque[_Write | _Job] = deque()
        self._seen = 0
        self._looked_s = 0.0
        """When it was looked last how many wait: at the end of a pass, or when the first came, or a batch began."""
        self._alone = False
        """Whether the last batch was a single write: the next one probably comes alone as well."""
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

    def submit(self, write: Write, done: Done) -> None:
        """Queue a write; `done` gets its outcome or a MnemonError after the commit.

        Raises MnemonError: BUSY when the queue is full, STOPPING after `close`.
        """
        self._refuse_when_closed()
        if len(self._waiting) >= CAPACITY:
            sentence = f"{CAPACITY:,} writes are waiting already"
            raise MnemonError(BUSY, sentence, hint="repeat in a moment", outcome="rejected")
        self._waiting.append(_Write(write, done))
        if self._alone and not self._busy and len(self._waiting) == 1:
            self._kick()
        else:
            self._gather_soon()

    def read(self, query: Callable[[Connection], object], done: Callable[[object], None]) -> None:
        """Run a query on the connection between two batches; `done` gets its value or a MnemonError.

        Raises MnemonError(STOPPING) after `close`.
        """
        self._refuse_when_closed()
        self._waiting.append(_Job(lambda: self._engine.read(query), done))
        self._gather_soon()

    def rewrite(self, work: Callable[[Connection], object], done: Callable[[object], None]) -> None:
        """Run `work` in a transaction of its own between two batches; `done` gets its value or a MnemonError.

        Raises MnemonError(STOPPING) after `close`.
        """
        self._refuse_when_closed()
        self._waiting.append(_Job(lambda: self._engine.rewrite(work), done))
        self._gather_soon()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written or read, and nothing waits."""
        return not (self._busy or self._waiting)

    @property
    def waiting(self) -> int:
        """Writes and questions that wait for their turn."""
        return len(self._waiting)

    def close(self, done: Callable[[object], None]) -> None:
        """After everything queued: checkpoint, close, end the thread; `done` gets None or a MnemonError. At once where
        somebody closed it before: `join` waits for the end then."""
        if self._closed:
            done(None)
            return
        self._closed = True
        self._waiting.append(_Job(self._engine.close, done))
        self._gather_soon()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise MnemonError(STOPPING, "the store is closing", hint="repeat in a moment", outcome="rejected")

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

        A batch handed over while requests are still arriving would be small, and its thread would fight the event
        loop for the interpreter: with 64 writers that costs more than the writing. Where the last write came alone,
        the next is handed over at once: two passes of the loop cost a single writer a tenth of a remember. Where the
        passes are long, because others recall, and bring few, waiting for the next is what takes longest.
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
        """Whether the last pass brought so many writes that the next will bring more than it costs those that wait."""
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
        while (work := self._inbox.get()) is not None:
            if isinstance(work, _Job):
                self._loop.run_sync_soon(self._finish_job, work, self._run_job(work))
                continue
            self._loop.run_sync_soon(self._finish, work, self._commit(work))
            self._guarded(self._engine.checkpoint_if_due)

    def _commit(self, batch: list[_Write]) -> Sequence[Result]:
        results: Sequence[Result] | MnemonError = self._guarded(
            lambda: self._engine.commit([waiting.write for waiting in batch])
        )
        if not isinstance(results, MnemonError):
            return results
        self._guarded(lambda: self._engine.poison(results.message))
        return [results] * len(batch)

    def _run_job(self, job: _Job) -> object:
        return self._guarded(job.run)

    def _guarded(self, work: Callable[[], T]) -> T | MnemonError:
        """What `work` returns, or why it does not. The thread must outlive any defect, or every later write would
        hang; it is no task, so nothing cancels it."""
        try:
            return work()
        except MnemonError as error:
            return error
        except SqliteError as error:
            return MnemonError(STORAGE, f"the database could not be read: {error}")
        except BaseException as error:  # noqa: ASYNC103
            self._on_defect("store writer", error)
            return _defective(error)  # noqa: ASYNC104

    def _finish(self, batch: list[_Write], results: Sequence[Result]) -> None:
        self._busy = False
        refusal = results[0]
        if isinstance(refusal, MnemonError) and refusal.kind is BUSY:
            batch, results = self._with_all_writes(batch, refusal)
        self._gather()
        for write, result in zip(batch, results, strict=True):
            write.done(result)

    def _with_all_writes(self, batch: list[_Write], refusal: MnemonError) -> tuple[list[_Write], list[Result]]:
        """Refuse what waits as well: another process has the database, and every batch would wait as long for it."""
        writes = batch + [work for work in self._waiting if isinstance(work, _Write)]
        self._waiting = deque(work for work in self._waiting if isinstance(work, _Job))
        return writes, [refusal] * len(writes)

    def _finish_job(self, job: _Job, value: object) -> None:
        self._busy = False
        self._gather()
        job.done(value)


def _defective(error: BaseException) -> MnemonError:
    return MnemonError(
        INTERNAL,
        f"a defect in mnemond ({type(error).__name__}) interrupted this; a write may or may not be stored",
        hint="repeat a write with the same op_id: it is stored at most once",
        outcome="unknown",
    )


VISITORS_LEAVE_S: Final = 1.0
"""Seconds that a store waits to be closed for those who read its file beside the writer: a stop is promised to take
three in all. An examination looks up between its steps, and figures are one read."""


class Store:
    """One open store. Reads take `snapshot` once and touch nothing else; writes go through `submit`."""

    def __init__(self, name: str, path: Path, engine: Engine, writer: Writer) -> None:
        self.name = name
        self.path = path
        self._engine = engine
        self._writer = writer
        self._visitors = 0
        self._closing = False
        self._left = trio.Event()
        self.on_commit: Callable[[Write, Outcome], None] | None = None
        """Hears, on the event loop, of each write that was not refused, before whoever asked for it. Must not raise."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed generation."""
        return self._engine.index.snapshot

    @property
    def embedder(self) -> EmbedderRecord | None:
        """The embedder the store's vectors were made with."""
        return self._engine.embedder

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well, or None."""
        return self._engine.degraded_reason

    @property
    def read_only(self) -> str | None:
        """Why it cannot be written, if so."""
        return self._engine.read_only

    @property
    def is_idle(self) -> bool:
        """Whether its writer has nothing to do."""
        return self._writer.is_idle

    @property
    def waiting(self) -> int:
        """Writes and questions to the database that wait for their turn."""
        return self._writer.waiting

    def submit(self, write: Write, done: Done) -> None:
        """Queue one write; `done` is called on the event loop after COMMIT and after the index has it.

        Raises MnemonError(BUSY) when too many writes wait.
        """
        self._writer.submit(write, done if self.on_commit is None else self._telling(self.on_commit, write, done))

    @staticmethod
    def _telling(told: Callable[[Write, Outcome], None], write: Write, done: Done) -> Done:
        def tell(result: Outcome | MnemonError) -> None:
            if not isinstance(result, MnemonError):
                told(write, result)
            done(result)

        return tell

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query on the database, between two batches of writes. Raises MnemonError."""
        return cast("T", await _answer(lambda done: self._writer.read(query, done)))

    async def rewrite(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction of its own, between two batches of writes; what it does to the embedder and to
        vectors is seen by the index when this returns. Raises MnemonError.

        It is carried out even when the caller is cancelled meanwhile.
        """
        return cast("T", await _answer(lambda done: self._writer.rewrite(work, done)))

    async def written(self, write: Write) -> Outcome:
        """The outcome of a write. Raises MnemonError."""
        return cast("Outcome", await _answer(lambda done: self.submit(write, done)))

    async def counts(self) -> tuple[dict[str, int], int, Backlog]:
        """Insights in each state, lines in the oplog, and exchanges that wait to be read. Raises MnemonError when the
        database cannot be read."""
        return await self.read(lambda it: (insights.count_by_status(it), operations.count(it), backlog(it)))

    def start(self) -> None:
        """Start the writer; until then `discard` closes the store."""
        self._writer.start(self.name)

    def discard(self) -> None:
        """Close a store whose writer was not started (blocking). What is still in the log is read from there."""
        with suppress(SqliteError):
            self._engine.close()

    async def condemn(self, reason: str) -> None:
        """What the file holds is not what was written: nothing is written from now on. Raises MnemonError."""
        await self.read(lambda _: self._engine.distrust(reason))

    async def clear(self) -> None:
        """All of the file was looked at, and is sound. Raises MnemonError."""
        await self.read(lambda _: self._engine.trust())

    async def accept(self) -> None:
        """What is missing of what was acknowledged is known, and the store goes on without it. Raises MnemonError."""
        await self.read(lambda _: self._engine.accept())

    async def reload(self, reason: str) -> None:
        """Read everything anew, because memory is not what the file says. Raises MnemonError."""
        await self.read(lambda _: self._engine.poison(reason))

    def refuse_when_closing(self) -> None:
        """For a visitor, now and then. Raises MnemonError(STOPPING) when the store is being closed, or is closed."""
        if self._closing:
            raise MnemonError(STOPPING, "the store is being closed", hint="repeat in a moment", outcome="rejected")

    @contextmanager
    def visited(self) -> Iterator[None]:
        """Somebody reads the file through a connection of their own: it is not closed under them, as long as they leave
        soon. For the event loop's thread. Raises MnemonError(STOPPING) when it is being closed."""
        self.refuse_when_closing()
        self._visitors += 1
        try:
            yield
        finally:
            self._visitors -= 1
            if self._closing and not self._visitors:
                self._left.set()

    async def close(self) -> None:
        """Finish what is queued, checkpoint, close the file: all of the log is in it then, unless somebody still reads
        it. Raises MnemonError when the checkpoint fails. The writer ends also where this is cancelled."""
        self._closing = True
        if self._visitors:
            try:
                with trio.move_on_after(VISITORS_LEAVE_S):
                    await self._left.wait()
            except trio.Cancelled:
                self._writer.close(_unheard)
                raise
        failure: MnemonError | None = None
        try:
            await _answer(self._writer.close)
        except MnemonError as error:
            failure = error
        await trio.to_thread.run_sync(self._writer.join)
        if failure is not None:
            raise failure


def _unheard(_result: object) -> None:
    """Whoever closed the store does not wait any more."""


async def _answer(ask: Callable[[Callable[[object], None]], None]) -> object:
    """What the writer calls back with. Raises it when it is a MnemonError."""
    answers: list[object] = []
    finished = trio.Event()

    def done(value: object) -> None:
        answers.append(value)
        finished.set()

    ask(done)
    await finished.wait()
    if isinstance(answers[0], MnemonError):
        raise answers[0]
    return answers[0]


def open_store(
    name: str,
    path: Path,
    *,
    wanted: Wanted,
    now_us: Callable[[], int],
    loop: EventLoop,
    on_defect: Defect,
    vfs: str | None = None,
    search: VectorSettings | None = None,
    ballast: Ballast | None = None,
) -> Store:
    """Open `path` (blocking: call it from a worker thread); `start` starts its writer.

    Raises MnemonError, SqliteError.
    """

    def open_it() -> Opened:
        return open_database(path, wanted, now_us(), vfs, search)

    engine = Engine(open_it(), reopen=open_it, on_defect=on_defect, ballast=ballast, path=path)
    return Store(name, path, engine, Writer(engine, loop, on_defect))


# Opening a store in a thread that nobody may be waiting for any more when it is done.


class CancellableOpen:
    """Exactly one side ends up with the store: whoever waits for it, or nobody, and then it is closed again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_up = False
        self._opened: Store | None = None

    def run(self, open_it: Callable[[], Store]) -> Store:
        """In the thread: open it, and close it at once where nobody waits."""
        store = open_it()
        with self._lock:
            self._opened = store
            unwanted = self._given_up
        if unwanted:
            store.discard()
        return store

    def give_up(self) -> Store | None:
        """On the other side: nobody waits. The store, where it was opened already; it must be discarded."""
        with self._lock:
            self._given_up = True
            return self._opened
