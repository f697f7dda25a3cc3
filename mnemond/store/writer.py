"""One writer per store: a bounded queue on the event loop, one thread that owns the connection, group commit.

Whatever has queued up while the last batch was being flushed becomes the next batch. Nothing here is awaited, so
nothing can be cancelled half-way; callers learn the result through a callback on the event loop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Protocol

from mnemond.errors import BUSY, INTERNAL, MnemonError
from mnemond.model.changes import ChangeSet
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.engine import Engine, Result

BATCH = 64
"""Operations a transaction at most: larger groups gain nothing (measured: 8 → 64 in a group 83 → 53 µs each)."""
CAPACITY = 4096
"""Writes that may wait; beyond it a write is refused as busy rather than queued without bound."""

Done = Callable[[Result], None]
Defect = Callable[[str, BaseException], None]


class EventLoop(Protocol):
    """The part of trio's token that a writer needs."""

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object, idempotent: bool = False) -> None:
        """Call `sync_fn` on the event loop; callable from any thread."""
        ...


class _Write:
    __slots__ = ("change_set", "done")

    def __init__(self, change_set: ChangeSet, done: Done) -> None:
        self.change_set = change_set
        self.done = done


class _Job:
    __slots__ = ("done", "run")

    def __init__(self, run: Callable[[], object], done: Callable[[object], None]) -> None:
        self.run = run
        self.done = done


class Writer:
    """Owns the engine's thread. All methods are for the event loop's thread."""

    def __init__(self, engine: Engine, loop: EventLoop, name: str, on_defect: Defect) -> None:
        self._engine = engine
        self._loop = loop
        self._on_defect = on_defect
        self._waiting: deque[_Write | _Job] = deque()
        self._busy = False
        self._closed = False
        self._inbox: SimpleQueue[list[_Write] | _Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"writer-{name}", daemon=False)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Operations not yet handed to the thread."""
        return len(self._waiting)

    def submit(self, change_set: ChangeSet, done: Done) -> None:
        """Queue a write; `done` gets its outcome or a MnemonError after the commit.

        Raises MnemonError(BUSY) when the queue is full.
        """
        if self._closed or len(self._waiting) >= CAPACITY:
            raise MnemonError(
                BUSY,
                "the store is closing" if self._closed else f"{CAPACITY:,} writes are waiting already",
                hint="repeat in a moment",
                outcome="rejected",
            )
        self._waiting.append(_Write(change_set, done))
        # Not at once: requests that arrive in the same pass of the event loop share one commit.
        self._loop.run_sync_soon(self._kick, idempotent=True)

    def read(self, query: Callable[[Connection], object], done: Callable[[object], None]) -> None:
        """Run a query on the connection between two batches; `done` gets its value or a MnemonError."""
        self._waiting.append(_Job(lambda: self._engine.read(query), done))
        self._loop.run_sync_soon(self._kick, idempotent=True)

    def close(self, done: Callable[[object], None]) -> None:
        """After everything queued: checkpoint, close, end the thread; `done` gets None or a MnemonError."""
        self._closed = True
        self._waiting.append(_Job(self._engine.close, done))
        self._loop.run_sync_soon(self._kick, idempotent=True)

    def join(self) -> None:
        """Wait for the thread to end (after `close`); blocks, so call it from a worker thread."""
        self._inbox.put(None)
        self._thread.join()

    def _kick(self) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
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
        self._inbox.put(batch)

    def _run(self) -> None:
        while (work := self._inbox.get()) is not None:
            if isinstance(work, _Job):
                self._loop.run_sync_soon(self._finish_job, work, self._run_job(work))
                continue
            self._loop.run_sync_soon(self._finish, work, self._commit(work))
            self._engine.checkpoint_if_due()

    def _commit(self, batch: list[_Write]) -> Sequence[Result]:
        try:
            return self._engine.commit([write.change_set for write in batch])
        # The thread must outlive any defect, or every later write would hang. It is no task: nothing cancels it.
        except BaseException as error:  # noqa: ASYNC103
            self._on_defect("store writer", error)
            self._engine.poison(f"a defect in mnemond: {type(error).__name__}")
            failure = MnemonError(
                INTERNAL,
                "a defect in mnemond interrupted this write; it may or may not be stored",
                hint="repeat with the same op_id: it is stored at most once",
                outcome="unknown",
            )
            return [failure] * len(batch)  # noqa: ASYNC104

    def _run_job(self, job: _Job) -> object:
        try:
            return job.run()
        except MnemonError as error:
            return error
        except SqliteError as error:
            return MnemonError(INTERNAL, f"the database could not be read: {error}")

    def _finish(self, batch: list[_Write], results: Sequence[Result]) -> None:
        self._busy = False
        self._kick()
        for write, result in zip(batch, results, strict=True):
            write.done(result)

    def _finish_job(self, job: _Job, value: object) -> None:
        self._busy = False
        self._kick()
        job.done(value)
