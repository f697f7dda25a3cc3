"""vacuum: the file is written anew where much of it is unused, or its pages have no checksums yet."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from mnemond.errors import STORAGE, MnemonError
from mnemond.lifecycle.job import DAY_S, Done, Work
from mnemond.store import verified_copy
from mnemond.store.connection import HAS_CHECKSUMS, BusyError, Connection, SqliteError
from mnemond.store.purge import rewrite

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
        rewrite(connection)
        connection.checkpoint(truncate=True)
    except BusyError:
        return False
    return True
