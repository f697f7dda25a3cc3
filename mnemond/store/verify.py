"""Verification of a store: all checks of a tier are run about one state of it, and their findings applied to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from weakref import ReferenceType, ref

import msgspec
import trio

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import files
from mnemond.store.checksums import is_damage, reason
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.files import log_bytes
from mnemond.store.health import DAMAGE_HINT
from mnemond.store.meta import read_embedder
from mnemond.store.store import Store
from mnemond.store.verify_checks import DAMAGED, WANTED, Check, Evidence, Problem, Session, Tier, of_tier

_END: Final = object()


class Finding(msgspec.Struct, frozen=True):
    """Result of one check. `skipped`: why it was not run."""

    check: Check
    problems: tuple[Problem, ...] = ()
    skipped: str | None = None


class _Seen(NamedTuple):
    connection: ReferenceType[Connection]
    data_version: int | str | None


class Examiner:
    """Verifies open stores, one state at a time. For the event loop's thread. Remembers the `data_version` of each
    store's connection, which reveals commits of other programs."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    async def examine(self, store: Store, tier: Tier, now_us: int, threads: trio.CapacityLimiter) -> list[Finding]:
        """Run every check of a tier about the present state of the store.

        The rows are read next to the writer, through a connection of its own, and other work may run between two steps
        of a millisecond or two. Raises MnemonError when the store cannot be read; STOPPING when it is closed meanwhile.
        """
        with store.file_in_use():
            connection = await trio.to_thread.run_sync(open_reader, store, limiter=threads)
            try:
                steps = findings(await self._pin(store, connection, now_us), tier)
                found: list[Finding] = []
                while (step := await trio.to_thread.run_sync(next, steps, _END, limiter=threads)) is not _END:
                    store.refuse_when_closing()
                    if isinstance(step, Finding):
                        found.append(step)
                return found
            finally:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(connection.close, limiter=threads)

    async def _pin(self, store: Store, connection: Connection, now_us: int) -> Evidence:
        """Between two batches of writes, so that rows and mirror are of one moment."""
        known = self._seen.get(store.name)

        def pin(writer: Connection) -> tuple[Evidence, _Seen]:
            connection.run("BEGIN")
            record = read_embedder(connection)  # the first read fixes the state
            seen = _Seen(ref(writer), writer.pragma("data_version"))
            wrote = known is not None and known.connection() is writer and known.data_version != seen.data_version
            session = None
            if store.read_only is None:
                session = Session({name: writer.pragma(name) for name in WANTED}, others_wrote=wrote)
            unreadable = frozenset(each.number for each in store.unreadable)
            return Evidence(store.path, connection, now_us, record, store.snapshot, session, unreadable), seen

        evidence, seen = await store.read(pin)
        if known is None or known.connection() is not seen.connection():
            self._seen[store.name] = seen  # not updated otherwise: a foreign commit is reported every time
        return evidence


def verify_closed(path: Path, tier: Tier, now_us: int) -> list[Finding]:
    """Run the checks that need no mirror about a store that is not open (blocking). Nothing is written, not even the
    files that SQLite keeps next to a database.

    Raises MnemonError(STORAGE) for a store that cannot be read that way.
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
    """Yield the result of each check of a tier, and None wherever other work may run meanwhile."""
    for check in of_tier(tier):
        if not check.is_possible(evidence):
            yield Finding(check, skipped="it needs a store that a daemon has open")
            continue
        problems: list[Problem] = []
        try:
            for step in check.run(evidence):
                if step is None:
                    yield None
                else:
                    problems.append(step)
        except (SqliteError, MnemonError, ValueError, TypeError) as error:  # a check that cannot go on found something
            what = f"what is stored cannot be read: {reason(error)}"
            problems.append(Problem(what, str(evidence.path), DAMAGED))
        yield Finding(check, tuple(problems))


def open_reader(store: Store) -> Connection:
    """Return a connection that reads next to the writer of an open store. Raises MnemonError(STORAGE)."""
    try:
        if store.read_only is not None:
            return files.connect_read_only(store.path)[0]
        return Connection(store.path, read_only=True)
    except SqliteError as error:
        raise _unreadable(store.path, error) from error


def _unreadable(path: Path, error: SqliteError) -> MnemonError:
    return MnemonError(
        STORAGE,
        f"{path} cannot be read: {reason(error)}",
        hint=DAMAGE_HINT if is_damage(error) else "look at it and its directory: owner, permissions",
    )


async def apply_findings(store: Store, found: Sequence[Finding], tier: Tier) -> None:
    """Apply the findings of a tier to the open store: a damaged file is not written to any more, memory that differs
    from the file is read again. A full verification that finds the file sound lets it be written again.

    Raises MnemonError when the store cannot be read at all.
    """
    damage = _first_problem(each for each in found if each.check.grave)
    astray = _first_problem(each for each in found if each.check.needs == "mirror")
    if damage is not None:
        await store.mark_damaged(damage)
    elif astray is not None:
        await store.reload(f"memory differs from the file: {astray}")
    elif tier == "full":
        await store.mark_sound()


def _first_problem(found: Iterator[Finding]) -> str | None:
    return next((each.problems[0].what for each in found if each.problems), None)
