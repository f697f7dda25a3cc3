"""checkpoint: the write-ahead log is cut back to nothing where it has grown and nobody writes."""

from __future__ import annotations

from typing import Final

from mnemond.lifecycle.job import Done, Work
from mnemond.store.connection import BusyError, Connection
from mnemond.store.files import log_bytes

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
