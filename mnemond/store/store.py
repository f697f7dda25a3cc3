"""A named store as the rest of mnemond sees it: a snapshot to read, a door to write through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar, cast

import trio

from mnemond.errors import STOPPING, MnemonError
from mnemond.index.dense import VectorPolicy
from mnemond.index.snapshot import Snapshot
from mnemond.model.outcomes import Outcome
from mnemond.store import insights, oplog
from mnemond.store.ballast import Ballast
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.database import Opened, Wanted, open_database
from mnemond.store.engine import Defect, Engine
from mnemond.store.exchanges import Backlog, backlog
from mnemond.store.meta import EmbedderRecord
from mnemond.store.proposal import Write
from mnemond.store.writer import Done, EventLoop, Writer

T = TypeVar("T")

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
        return await self.read(lambda it: (insights.count_by_status(it), oplog.count(it), backlog(it)))

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
    search: VectorPolicy | None = None,
    ballast: Ballast | None = None,
) -> Store:
    """Open `path` (blocking: call it from a worker thread); `start` starts its writer.

    Raises MnemonError, SqliteError.
    """

    def open_it() -> Opened:
        return open_database(path, wanted, now_us(), vfs, search)

    engine = Engine(open_it(), reopen=open_it, on_defect=on_defect, ballast=ballast, path=path)
    return Store(name, path, engine, Writer(engine, loop, on_defect))
