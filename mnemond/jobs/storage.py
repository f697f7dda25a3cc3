"""vacuum: the file is written anew where much of it is unused, or its pages have no checksums yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mnemond.errors import STORAGE, MnemonError
from mnemond.jobs.job import DAY_S, HOUR_S, Done, Work
from mnemond.store import verified_copy
from mnemond.store.connection import HAS_CHECKSUMS, BusyError, Connection, SqliteError
from mnemond.store.files import log_bytes
from mnemond.store.purge import rewrite_file
from mnemond.store.store import Store
from mnemond.store.verify import Examiner, Finding, apply_findings
from mnemond.store.verify_checks import Tier

UNUSED_SHARE: Final = 0.25
"""Of the file that may be unused pages, which later writes fill; writing it anew keeps writes waiting, two seconds for
120 MB on a busy machine."""

UNUSED_BYTES: Final = 4 << 20
"""Unused bytes that are not worth the writing, whatever their share."""


class Pages(NamedTuple):
    """Of a store's file: bytes in all, bytes unused, and whether its pages lack checksums that they could have."""

    bytes: int
    unused: int
    plain: bool

    @property
    def due(self) -> bool:
        """Whether it should be written anew."""
        return self.plain or (self.unused >= UNUSED_BYTES and self.unused >= UNUSED_SHARE * self.bytes)


class Vacuum:
    """Every day. The first time for a file of before there were checksums, of which a copy is kept beside it."""

    name = "vacuum"
    summary = "the file is written anew where much of it is unused, or without checksums"
    first_s = 0.0
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Write it anew, where that is due. Raises MnemonError(STORAGE), the file being as it was, when there is no
        room for that."""
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
    """Where the copy of a file without checksums lies."""
    return path.with_name(f"{path.name}.bak-plain")


def _measure(connection: Connection) -> Pages:
    size, all_, unused = (int(connection.pragma(name) or 0) for name in ("page_size", "page_count", "freelist_count"))
    return Pages(all_ * size, unused * size, plain=HAS_CHECKSUMS and not connection.is_checksummed)


def _keep(path: Path) -> None:
    try:
        verified_copy.make(path, kept_as(path))
    except (SqliteError, OSError) as error:
        raise MnemonError(
            STORAGE, f"the store's file cannot be copied before it is written anew: {error}",
            hint="look at the disk: space, permissions", outcome="rejected",
        ) from error  # fmt: skip


def _rewrite(connection: Connection) -> bool:
    """Through the log, so that whatever ends the process leaves the old file or the new one."""
    try:
        connection.checkpoint(truncate=True)
        rewrite_file(connection)
        connection.checkpoint(truncate=True)
    except BusyError:
        return False
    return True


# backup: a copy of the store, as often as somebody wants one. How it is made is handed in.


Copy = Callable[[Store, int], Awaitable[str]]
"""Makes a copy at a time (microseconds) and lets go of those that are one too many; says in a line what it did.
Raises MnemonError."""


FIRST_S: Final = 600.0
"""Seconds that a store is open before its first copy: one that was just made has nothing worth copying."""


class Backup:
    """As often as it is configured."""

    name = "backup"
    summary = "a copy of the store, and none too many"
    first_s = FIRST_S

    def __init__(self, interval_s: float, copy: Copy) -> None:
        self.interval_s = interval_s
        self._copy = copy

    async def run(self, work: Work) -> Done:
        """Make one."""
        if work.dry_run:
            return work.done(1)
        return await work.note(work.done(1, await self._copy(work.store, work.identity.now_us)))


# checkpoint: the write-ahead log is cut back to nothing where it has grown and nobody writes.


LARGE_BYTES: Final = 4 << 20
"""What the log may keep: it is copied into the database from so much on, and its file stays as large as it was."""

INTERVAL_S: Final = 600.0


class Checkpoint:
    """Every ten minutes. How it ran is not kept over a restart, which starts with a log cut back anyway."""

    name = "checkpoint"
    summary = "the write-ahead log is cut back where it has grown"
    first_s = 0.0
    interval_s = INTERVAL_S

    async def run(self, work: Work) -> Done:
        """Cut it back. What another process still reads stays until the next time."""
        many = await work.think(log_bytes, work.store.path)
        if many < LARGE_BYTES:
            return work.done(0)
        if work.dry_run or await work.store.read(_cut_back):
            return work.done(many, "bytes of log")
        return Done("nothing", detail="another process reads the log; it is cut back later")


def _cut_back(connection: Connection) -> bool:
    try:
        connection.checkpoint(truncate=True)
    except BusyError:
        return False
    return True


# verify and full_verify: what must always be true of a store is looked at: much of it each hour, all each week.


SAID: Final = 3
"""Problems that the failure of a run names."""


class Verify:
    """Every hour; how it ran is not kept over a restart, so that it runs after one. Nothing stored is changed; memory
    that is not what the file says is read anew."""

    name = "verify"
    summary = "rows, files and memory are compared; nothing stored is changed"
    first_s = 0.0
    interval_s = HOUR_S

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raises MnemonError(STORAGE) that says what is not as it should be."""
        _refuse(await _looked(self._examiner, work, "fast"))
        return work.done(0)


class FullVerify:
    """As often as it is configured: every page, text, word, link and vector. A file that is found to be sound may be
    written again. Somebody who says `--yes` goes on without what is known to be missing."""

    name = "full_verify"
    summary = "all of the store is looked at, every page of its file too; nothing stored is changed"
    first_s = DAY_S

    def __init__(self, interval_s: float, examiner: Examiner) -> None:
        self.interval_s = interval_s
        self.first_s = min(self.first_s, interval_s)
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raises MnemonError(STORAGE) that says what is not as it should be."""
        if work.sure and not work.dry_run:
            await work.store.accept_loss()
        found = await _looked(self._examiner, work, "full")
        _refuse(found)
        done = work.done(0, f"{len(found)} checks")
        return done if work.store.read_only is not None else await work.note(done)


async def _looked(examiner: Examiner, work: Work, tier: Tier) -> list[Finding]:
    found = await examiner.examine(work.store, tier, work.identity.now_us, work.threads)
    await apply_findings(work.store, found, tier)
    return found


def _refuse(found: Sequence[Finding]) -> None:
    problems = [f"{each.check.name}: {problem.what}" for each in found for problem in each.problems]
    if problems:
        more = f" and {len(problems) - SAID} more" if len(problems) > SAID else ""
        raise MnemonError(STORAGE, "; ".join(problems[:SAID]) + more, hint="mnemonctl doctor says more")
