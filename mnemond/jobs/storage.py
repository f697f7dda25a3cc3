"""Jobs on the file of a store and its logs: vacuum, backup, checkpoint, verification, and rows that are too old."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mnemond.errors import STORAGE, MnemonError
from mnemond.jobs.job import DAY_S, HOUR_S, Done, Job, Work
from mnemond.store import held_texts, operations, reviews, verified_copy
from mnemond.store.checksums import reason
from mnemond.store.connection import HAS_CHECKSUMS, BusyError, Connection, SqliteError
from mnemond.store.files import log_bytes
from mnemond.store.purge import rewrite_file
from mnemond.store.store import Store
from mnemond.store.verify import Examiner, Finding, apply_findings
from mnemond.store.verify_checks import Tier

UNUSED_SHARE: Final = 0.25
"""Share of unused pages, which later writes fill, from which the file is rewritten. Writes wait meanwhile, two seconds
for 120 MB on a busy machine."""

UNUSED_BYTES: Final = 4 << 20
"""Unused bytes below which a rewrite is not worthwhile."""


class Pages(NamedTuple):
    """Bytes and unused bytes of a store's file; `plain`: its pages lack checksums that they could have."""

    bytes: int
    unused: int
    plain: bool

    @property
    def due(self) -> bool:
        """Return True if the file should be rewritten."""
        return self.plain or (self.unused >= UNUSED_BYTES and self.unused >= UNUSED_SHARE * self.bytes)


class Vacuum(Job):
    """Rewrite the file, daily if needed. Of a file without checksums a copy is kept beside it."""

    name = "vacuum"
    summary = "the file is written anew where much of it is unused, or without checksums"
    of_each_daemon = True
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Rewrite the file if due. Raises MnemonError(STORAGE), with the file unchanged, when there is no room."""
        if work.store.degraded_reason is not None:
            return Done("nothing", detail="the store is not well; its file is left as it is")
        found = await work.store.read(_measure)
        if not found.due:
            return work.done(0)
        if not work.dry_run:
            if found.plain:
                await work.think(_keep, work.store.path)
            if not await work.store.read(_rewrite):
                return Done("nothing", detail="another process reads the store; it is written anew later")
        return await work.note(work.done(found.bytes, "bytes written anew"))


def kept_as(path: Path) -> Path:
    """Return the path of the copy of a file without checksums."""
    return path.with_name(f"{path.name}.bak-plain")


def _measure(connection: Connection) -> Pages:
    size, all_, unused = (int(connection.pragma(name) or 0) for name in ("page_size", "page_count", "freelist_count"))
    return Pages(all_ * size, unused * size, plain=HAS_CHECKSUMS and not connection.is_checksummed)


def _keep(path: Path) -> None:
    try:
        verified_copy.make(path, kept_as(path))
    except (SqliteError, OSError) as error:
        raise MnemonError(
            STORAGE, f"the store's file cannot be copied before it is written anew: {reason(error)}",
            hint="look at the disk: space, permissions", outcome="rejected",
        ) from error  # fmt: skip


def _rewrite(connection: Connection) -> bool:
    """Rewrite through the write-ahead log, so that a crash leaves the old file or the new one."""
    try:
        connection.checkpoint(truncate=True)
        rewrite_file(connection)
        connection.checkpoint(truncate=True)
    except BusyError:
        return False
    return True


Copy = Callable[[Store, int], Awaitable[str]]
"""Make a backup at a time (microseconds), remove surplus ones, and return a one-line summary. Raises MnemonError."""

FIRST_S: Final = 600.0
"""Seconds from the opening of a store to its first backup: a new one has nothing worth copying."""


class Backup(Job):
    """Copy the store, every `lifecycle.backup_interval`."""

    name = "backup"
    summary = "a copy of the store, and none too many"
    of_each_daemon = True
    first_s = FIRST_S

    def __init__(self, interval_s: float, copy: Copy) -> None:
        self.interval_s = interval_s
        self._copy = copy

    async def run(self, work: Work) -> Done:
        """Make a backup."""
        if work.dry_run:
            return work.done(1)
        return await work.note(work.done(1, await self._copy(work.store, work.identity.now_us)))


LARGE_BYTES: Final = 4 << 20
"""Size of the write-ahead log from which it is truncated."""

INTERVAL_S: Final = 600.0


class Checkpoint(Job):
    """Truncate a grown write-ahead log, every ten minutes. Runs are not recorded: a restart truncates it anyway."""

    name = "checkpoint"
    summary = "the write-ahead log is cut back where it has grown"
    of_each_daemon = True
    interval_s = INTERVAL_S

    async def run(self, work: Work) -> Done:
        """Truncate the log, unless another process reads it."""
        many = await work.think(log_bytes, work.store.path)
        if many < LARGE_BYTES:
            return work.done(0)
        if work.dry_run or await work.store.read(_truncate):
            return work.done(many, "bytes of log")
        return Done("nothing", detail="another process reads the log; it is cut back later")


def _truncate(connection: Connection) -> bool:
    try:
        connection.checkpoint(truncate=True)
    except BusyError:
        return False
    return True


MAX_NAMED: Final = 3
"""Problems named in the error of a run."""


class Verify(Job):
    """Check the invariants of a store quickly, every hour and after a restart. Nothing stored is changed; data in
    memory that differs from the file is reloaded."""

    name = "verify"
    summary = "rows, files and memory are compared; nothing stored is changed"
    of_each_daemon = True
    interval_s = HOUR_S

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raise MnemonError(STORAGE) with the problems found."""
        _refuse(await _examine(self._examiner, work, "fast"))
        return work.done(0)


class FullVerify(Job):
    """Check every page, text, word, link and vector, every `lifecycle.full_verify_interval`. A file found sound may be
    written again. With `--yes` known losses are accepted."""

    name = "full_verify"
    summary = "all of the store is looked at, every page of its file too; nothing stored is changed"
    of_each_daemon = True
    first_s = DAY_S

    def __init__(self, interval_s: float, examiner: Examiner) -> None:
        self.interval_s = interval_s
        self.first_s = min(self.first_s, interval_s)
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raise MnemonError(STORAGE) with the problems found."""
        if work.sure and not work.dry_run:
            await work.store.accept_loss()
        found = await _examine(self._examiner, work, "full")
        _refuse(found)
        done = work.done(0, f"{len(found)} checks")
        return done if work.store.read_only is not None else await work.note(done)


async def _examine(examiner: Examiner, work: Work, tier: Tier) -> list[Finding]:
    found = await examiner.examine(work.store, tier, work.identity.now_us, work.threads)
    await apply_findings(work.store, found, tier)
    return found


def _refuse(found: Sequence[Finding]) -> None:
    problems = [f"{each.check.name}: {problem.what}" for each in found for problem in each.problems]
    if problems:
        more = f" and {len(problems) - MAX_NAMED} more" if len(problems) > MAX_NAMED else ""
        raise MnemonError(STORAGE, "; ".join(problems[:MAX_NAMED]) + more, hint="mnemonctl doctor says more")


LINES: Final = 500
"""Log or outcome rows per transaction: some milliseconds."""


class OplogTrim(Job):
    """Trim the log, daily. Every write trims it as well; this is for a reduced `lifecycle.max_oplog`."""

    name = "oplog_trim"
    summary = "the log keeps its newest lines"
    of_each_daemon = True
    interval_s = DAY_S

    def __init__(self, most: int) -> None:
        """`most`: lines kept."""
        self._most = most

    async def run(self, work: Work) -> Done:
        """Remove the oldest lines beyond the limit."""
        if work.dry_run:
            return work.done(max(0, await work.store.read(operations.count_lines) - self._most))
        return await work.in_parts(self._some)

    def _some(self, connection: Connection) -> tuple[int, bool]:
        many = operations.trim_some_lines(connection, self._most, LINES)
        return many, many == LINES


class OperationsExpiry(Job):
    """Remove outcomes that are too old to be replayed, daily."""

    name = "operations_expiry"
    summary = "outcomes kept for repeated requests go after seven days"
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Remove expired outcomes."""
        if work.dry_run:
            return work.done(await work.store.read(lambda it: operations.count_expired(it, work.now_us)))

        def some(connection: Connection) -> tuple[int, bool]:
            many = operations.expire_some(connection, work.now_us, LINES)
            return many, many == LINES

        return await work.in_parts(some)


class ReviewExpiry(Job):
    """End reviews that waited too long with the safe answer, daily: both memories stay, and texts that are no memory
    are dropped."""

    name = "review_expiry"
    summary = "questions about two memories end after 14 days, and both stay; texts that give orders are dropped"
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """End expired reviews."""
        if work.dry_run:
            old = await work.store.read(
                lambda it: reviews.count_expired(it, work.now_us) + held_texts.count_expired(it, work.now_us)
            )
            return work.done(old)

        def end(connection: Connection) -> tuple[int, bool]:
            many = reviews.expire(connection, work.now_us)
            dropped = held_texts.expire(connection, work.now_us)
            for what, some in (("expired", many), ("dropped", dropped)):
                if some:
                    operations.log(connection, "review", None, f"{what}={some}", work.identity.now)
            return many + dropped, False

        return await work.in_parts(end)
