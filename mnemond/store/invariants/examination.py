"""Looking at a store: pinning one state of it, and asking every check of a tier about that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from weakref import ReferenceType, ref

import msgspec
import trio

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import read_only
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.files import log_bytes
from mnemond.store.invariants.check import Check, Evidence, Problem, Session, Tier
from mnemond.store.invariants.schema import WANTED
from mnemond.store.invariants.tiers import of_tier
from mnemond.store.meta import read_embedder
from mnemond.store.store import Store


class Finding(msgspec.Struct, frozen=True):
    """What one check came to. `skipped`: why it was not asked."""

    check: Check
    problems: tuple[Problem, ...] = ()
    skipped: str | None = None


class _Seen(NamedTuple):
    connection: ReferenceType[Connection]
    data_version: int | str | None


class Examiner:
    """Looks at open stores, one state at a time. For the event loop's thread; remembers who wrote last."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    async def examine(self, store: Store, tier: Tier, now_us: int, threads: trio.CapacityLimiter) -> list[Finding]:
        """Every check of a tier about the state that the store is in now.

        The rows are read beside the writer, through a connection of its own, and others have their turn between two
        steps of a millisecond or two. Raises MnemonError when the store cannot be read; STOPPING when it is closed
        meanwhile.
        """
        with store.visited():
            return await self._examined(store, tier, now_us, threads)

    async def _examined(self, store: Store, tier: Tier, now_us: int, threads: trio.CapacityLimiter) -> list[Finding]:
        connection = await trio.to_thread.run_sync(reader, store, limiter=threads)
        try:
            evidence = await self._pinned(store, connection, now_us)
            steps = findings(evidence, tier)
            found: list[Finding] = []
            while (step := await trio.to_thread.run_sync(_next, steps, limiter=threads)) is not _END:
                store.refuse_when_closing()
                if isinstance(step, Finding):
                    found.append(step)
            return found
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(connection.close, limiter=threads)

    async def _pinned(self, store: Store, connection: Connection, now_us: int) -> Evidence:
        """Between two batches of writes, so that rows and mirror are of one moment."""
        known = self._seen.get(store.name)

        def pin(writer: Connection) -> tuple[Evidence, _Seen]:
            connection.run("BEGIN")
            record = read_embedder(connection)  # the state is that of the first look
            seen = _Seen(ref(writer), writer.pragma("data_version"))
            wrote = known is not None and known.connection() is writer and known.data_version != seen.data_version
            session = None
            if store.read_only is None:
                session = Session({name: writer.pragma(name) for name in WANTED}, others_wrote=wrote)
            return Evidence(store.path, connection, now_us, record, store.snapshot, session), seen

        evidence, seen = await store.read(pin)
        if known is None or known.connection() is not seen.connection():
            self._seen[store.name] = seen  # what was not seen to begin with is told every time
        return evidence


def closed(path: Path, tier: Tier, now_us: int) -> list[Finding]:
    """The checks that need no mirror, about a store that nobody has open (blocking). Nothing is written, not even the
    files that SQLite keeps beside a database.

    Raises MnemonError(STORAGE) for a store that cannot be looked at that way.
    """
    if log_bytes(path):
        raise MnemonError(
            STORAGE,
            f"{path} has a write-ahead log that was not copied into it: a daemon has it open, or ended without that",
            hint="mnemonctl daemon start takes it in; then repeat",
        )
    try:
        connection = Connection(path, read_only=True, frozen=True)
        try:
            evidence = Evidence(path, connection, now_us, read_embedder(connection))
            return [finding for finding in findings(evidence, tier) if finding is not None]
        finally:
            connection.close()
    except SqliteError as error:
        raise _unreadable(path, error) from error


def findings(evidence: Evidence, tier: Tier) -> Iterator[Finding | None]:
    """What each check of a tier comes to, and None wherever others may go on meanwhile."""
    for check in of_tier(tier):
        if not check.possible(evidence):
            yield Finding(check, skipped="it looks at a store that a daemon has open")
            continue
        problems: list[Problem] = []
        try:
            for step in check.look(evidence):
                if step is None:
                    yield None
                else:
                    problems.append(step)
        except (SqliteError, MnemonError, ValueError, TypeError) as error:
            problems.append(_interrupted(evidence, error))
        yield Finding(check, tuple(problems))


_END = object()


def _next(steps: Iterator[Finding | None]) -> object:
    return next(steps, _END)


def reader(store: Store) -> Connection:
    """A connection that reads beside the writer of an open store, and writes nothing. Raises MnemonError(STORAGE)."""
    try:
        if store.read_only is not None:
            return read_only.connect(store.path)[0]
        return Connection(store.path, read_only=True)
    except SqliteError as error:
        raise _unreadable(store.path, error) from error


def _unreadable(path: Path, error: SqliteError) -> MnemonError:
    return MnemonError(
        STORAGE, f"{path} cannot be read: {error}", hint="keep a copy of its directory; then restore a backup"
    )


def _interrupted(evidence: Evidence, error: Exception) -> Problem:
    """A check that cannot go on has found something as well."""
    return Problem(f"what is stored cannot be read: {error}", str(evidence.path), "keep a copy; then restore a backup")
