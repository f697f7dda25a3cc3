"""What may end a write half-way besides the disk: an interrupt of SQLite, a heap that is full, and an exception between
any two calls of our own. Each strikes in the thread of the writer, at a chosen moment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, Protocol

import apsw

import mnemond
from mnemond.errors import MnemonError
from mnemond.store.connection import Connection
from mnemond.store.database import load_index
from mnemond.store.engine import Engine, Result
from mnemond.store.operations import Write
from mnemond.store.store import Writer
from tests.store.factories import engine_at
from tests.store.mirror import Portrait, portrait

PATIENCE_S = 60.0
OURS = str(Path(mnemond.__file__).parent)


class Interruption(Protocol):
    """`strike_at` is a context, entered in the writer's thread, that strikes once, at moment number `at` (from 1).
    `fired`: whether that moment came."""

    fired: bool

    def strike_at(self, engine: Engine, at: int) -> AbstractContextManager[None]: ...


class Interrupt:
    """sqlite3_interrupt, as its progress handler does it: every so many steps of SQLite's machine are a moment."""

    STEPS = 5

    def __init__(self) -> None:
        self.fired = False

    @contextmanager
    def strike_at(self, engine: Engine, at: int) -> Iterator[None]:
        connection, count = engine._healthy()._db, 0
        self.fired = False

        def progress() -> bool:
            nonlocal count
            count += 1
            self.fired = self.fired or count == at
            return count == at

        connection.set_progress_handler(progress, self.STEPS)
        try:
            yield
        finally:
            connection.set_progress_handler(None)


class FullHeap:
    """SQLite gets no more memory than it has and so many times GRAIN bytes."""

    GRAIN = 512
    LARGEST = 70_000
    """Bytes that SQLite asks for at once, at most: with more than that to spare nothing was refused."""

    def __init__(self) -> None:
        self.fired = False

    @contextmanager
    def strike_at(self, _: Engine, at: int) -> Iterator[None]:
        apsw.memory_high_water(True)
        limit = apsw.memory_used() + at * self.GRAIN
        apsw.hard_heap_limit(limit)
        try:
            yield
        finally:
            apsw.hard_heap_limit(0)
            apsw.soft_heap_limit(0)  # the hard limit brought it down, and does not take it up again
            self.fired = apsw.memory_high_water() + self.LARGEST > limit


class Surprise:
    """MemoryError where a function of ours is called; every call is a moment."""

    def __init__(self) -> None:
        self.fired = False

    @contextmanager
    def strike_at(self, _: Engine, at: int) -> Iterator[None]:
        count, before = 0, sys.gettrace()
        self.fired = False

        def call(frame: FrameType, event: str, __: Any) -> None:
            nonlocal count
            if event == "call" and frame.f_code.co_filename.startswith(OURS):
                count += 1
                if count == at:
                    self.fired = True
                    raise MemoryError(f"in {frame.f_code.co_name}")

        sys.settrace(call)
        try:
            yield
        finally:
            sys.settrace(before)


class _Turns:
    """An event loop of which one thing at a time is let happen."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Any, tuple[object, ...]]] = SimpleQueue()

    def run_sync_soon(self, sync_fn: Any, *args: object) -> None:
        self._waiting.put((sync_fn, args))

    def one(self) -> None:
        call, arguments = self._waiting.get(timeout=PATIENCE_S)
        call(*arguments)


class Struck:
    """A store whose writes may be interrupted, and the promises about it."""

    def __init__(self, path: Path) -> None:
        self.engine = engine_at(path)
        self.defects: list[BaseException] = []
        self._turns = _Turns()
        self._writer = Writer(self.engine, self._turns, lambda _, error: self.defects.append(error))
        self._writer.start("struck")
        self.failed = 0
        self._acknowledged: set[str] = set()
        self._perhaps: set[str] = set()
        self._strike: Callable[[], AbstractContextManager[None]] | None = None
        commit = self.engine.commit

        def interrupted(batch: Sequence[Write]) -> list[Result]:
            with self._strike() if self._strike else nullcontext():
                return commit(batch)

        self.engine.commit = interrupted  # type: ignore[method-assign]

    def write(self, batch: Sequence[Write], interruption: Interruption | None = None, at: int = 0) -> bool:
        """Write; whether the interruption struck."""
        results: list[Result] = []
        self._strike = None if interruption is None else lambda: interruption.strike_at(self.engine, at)
        for write in batch:
            self._writer.submit(write, results.append)
        while len(results) < len(batch):
            self._turns.one()
        for write, result in zip(batch, results, strict=True):
            if not isinstance(result, MnemonError):
                self._acknowledged.add(write.op_id)
                continue
            self.failed += 1
            if result.outcome != "rejected":
                self._perhaps.add(write.op_id)
        return interruption is not None and interruption.fired

    def check(self) -> None:
        """Recall sees what the rows say; what was acknowledged is there, and what was rejected is not."""
        stored, done = self._ask(self._rows)
        engine = self.engine
        assert engine.health.degraded_reason is None
        assert engine.index.begun == 0
        assert portrait(engine.index.snapshot) == stored, "recall differs from the rows"
        assert self._acknowledged <= done, "an acknowledged write is lost"
        assert done - self._acknowledged <= self._perhaps, "a rejected write is stored"

    def _rows(self, connection: Connection) -> tuple[Portrait, set[str]]:
        assert not connection.in_transaction
        done = {str(row[0]) for row in connection.rows("SELECT op_id FROM memory_operations")}
        return portrait(load_index(connection, self.engine.embedder).snapshot), done

    def _ask(self, query: Any) -> Any:
        answers: list[object] = []
        self._writer.run_job(lambda: self.engine.read(query), answers.append)
        while not answers:
            self._turns.one()
        if isinstance(answers[0], MnemonError):
            raise answers[0]
        return answers[0]

    def close(self) -> None:
        ended: list[object] = []
        self._writer.close(ended.append)
        while not ended:
            self._turns.one()
        self._writer.join()
        assert ended == [None]
