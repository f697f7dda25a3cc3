"""Every invariant, and which of them are looked at when.

Some of the reliability notes have another form here: I2 and I3 compare rows with the mirror, because vectors stand in
the rows of their memories; I6 looks at the postings in memory, because there is no full-text table; M7 counts the
mirror again instead of keeping a digest, so that writes do no work for it; M8 asks SQLite whether somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

import msgspec
import trio

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import files
from mnemond.store import verify_checks as checks
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.files import log_bytes
from mnemond.store.meta import read_embedder
from mnemond.store.store import Store
from mnemond.store.verify_checks import WANTED, Check, Evidence, Problem, Session, Tier

CHECKS: Final = (
    Check("F1", "files", "tick", "the store's files are private, and its log is short", checks.modes),
    Check("M7", "mirror_totals", "tick", "what memory keeps count of adds up", checks.totals, "mirror"),
    Check("M8", "sole_writer", "tick", "no other program has written", checks.sole_writer, "session"),
    Check("I1", "schema", "fast", "version, tables and durability are as they should be", checks.schema),
    Check("I2", "counts", "fast", "memory has as many memories, vectors and links", checks.counts, "mirror"),
    Check("I3", "vectors_there", "fast", "a memory has a vector in both or in none", checks.vectors_there, "mirror"),
    Check("I5", "ranges", "fast", "importance and times are possible ones", checks.ranges),
    Check("I8", "log", "fast", "the log has no gap", checks.log),
    Check("I8", "high_water", "fast", "it reaches as far as it ever did", checks.went_backwards),
    Check("I9", "vector_shapes", "fast", "vectors are as long as they should be", checks.vector_shapes),
    Check("M1", "unit_vectors", "fast", "vectors in memory have length 1", checks.unit_vectors, "mirror"),
    Check("M2", "mirror_ids", "fast", "memory has every live row and no other", checks.ids, "mirror"),
    Check("M3", "mirror_importance", "fast", "effective importance is the stored one", checks.importances, "mirror"),
    Check("M6", "some_vectors", "fast", "one vector in a hundred is the stored one", checks.some_vectors, "mirror"),
    Check("I4", "link_ends", "full", "links have two live ends, and lead back where they should", checks.ends),
    Check("I4", "references", "full", "whatever refers to a row finds it", checks.references),
    Check("I6", "words", "full", "memories are found by their words", checks.postings, "mirror"),
    Check("I7", "content_hash", "full", "texts are the ones that were stored", checks.hashes, grave=True),
    Check("M4", "mirror_links", "full", "links in memory are the stored ones", checks.mirrored, "mirror"),
    Check("M5", "mirror_vectors", "full", "vectors in memory are the stored ones", checks.vectors, "mirror"),
    Check("D1", "checksums", "full", "every page is as it was written", checks.checksums, grave=True),
    Check("D2", "pages", "full", "SQLite finds every page sound", checks.pages, grave=True),
)  # fmt: skip

_REACH: Final[dict[Tier, int]] = {"tick": 0, "fast": 1, "full": 2}
_COVERED: Final = {"some_vectors": "mirror_vectors"}
"""What need not be looked at where the other one is."""


def of_tier(tier: Tier) -> tuple[Check, ...]:
    """The checks of a tier and of those that take less."""
    found = [check for check in CHECKS if _REACH[check.tier] <= _REACH[tier]]
    names = {check.name for check in found}
    return tuple(check for check in found if _COVERED.get(check.name) not in names)


# Looking at a store: pinning one state of it, and asking every check of a tier about that.


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
            return files.connect(store.path)[0]
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


# What follows from what a look at an open store found (reliability promise P4): memory that is not what the file says
# is read anew, and a file that is not what was written is not written to any more.


async def heed(store: Store, found: Sequence[Finding], tier: Tier) -> None:
    """Act on the findings of a tier. A full look that finds the file sound lets it be written again.

    Raises MnemonError when the store cannot be read at all.
    """
    if (damage := _said(found, grave=True)) is not None:
        await store.condemn(damage)
    elif (astray := _said(found, grave=False)) is not None:
        await store.reload(f"memory was not what the file says: {astray}")
    elif tier == "full":
        await store.clear()


def _said(found: Sequence[Finding], *, grave: bool) -> str | None:
    """What the first finding of a kind says: about the file, or about memory."""
    for each in found:
        counts = each.check.grave if grave else each.check.needs == "mirror"
        if counts and each.problems:
            return each.problems[0].what
    return None
