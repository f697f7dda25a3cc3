"""What one client may take from the daemon and for how long, and what the server has counted."""

from __future__ import annotations

import os
import resource
import sys
from contextlib import suppress
from typing import Final

import msgspec

from mnemond.config.settings import ServerSettings


class Limits(ServerSettings, frozen=True, kw_only=True):
    """The settings of the server, and bounds that are not configurable. Depth and batch length are in the protocol."""

    unsent_bytes: int = 4 << 20
    """Replies waiting for one slow reader; beyond it nothing more is read from it."""
    batch_bytes: int = 16 << 20
    """Replies gathered for the unfinished batches of one connection; requests beyond it are refused."""
    idle_s: float = 10.0
    """Seconds without a byte and without anything to answer, after which a connection may be closed for a new one when
    the limit of connections is reached."""
    sweep_s: float = 0.5
    """Interval at which deadlines are checked; they may take effect so much later."""
    inline_ms: float = 1.0
    """Uninterrupted work for one connection before the others have their turn."""
    optimistic_reads: int = 8
    """Reads tried in a row before waiting for the socket."""

    @classmethod
    def of(cls, server: ServerSettings) -> Limits:
        """Return the limits of a configuration."""
        return cls(**msgspec.structs.asdict(server))

    @property
    def hook_s(self) -> float:
        """Seconds after which a hook is answered without a text."""
        return self.hook_deadline_ms / 1000

    def allowed_connections(self) -> int:
        """Return `max_connections`, or half of the files that the process may open if that is less."""
        return max(1, min(self.max_connections, _free_descriptors() // 2))

    def allowed_stores(self) -> int:
        """Return `max_open_stores`, or fewer if the connections do not leave so many files. A quarter more may be open
        while all are in use."""
        left = _free_descriptors() - self.allowed_connections()
        return max(1, min(self.max_open_stores, left // STORE_DESCRIPTORS * 4 // 5))


RESERVED_DESCRIPTORS: Final = 64
"""Files of the process's limit that are kept for models, backups and the rest; of a limit below 256 a quarter, at least
half of this."""

STORE_DESCRIPTORS: Final = 5
"""Files of an open store: its database, which SQLite opens twice, the log and the log's index, the high-water mark."""


def _free_descriptors() -> int:
    """Return how many files connections and stores may use together."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return sys.maxsize
    return files - min(RESERVED_DESCRIPTORS, max(RESERVED_DESCRIPTORS // 2, files // 4))


def raise_descriptor_limit() -> None:
    """Let this process open as many files as it may. macOS refuses its own hard limit, which is none."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, MACOS_OPEN_MAX):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


MACOS_OPEN_MAX: Final = 10_240
"""OPEN_MAX in sys/syslimits.h of macOS, above which setrlimit(2) fails there."""


class Counters(msgspec.Struct):
    """Totals since the start; `connections` is the number open now."""

    connections: int = 0
    accepted: int = 0
    refused: int = 0
    """Connections over the limit, of another user, or for lack of a descriptor."""
    cut: int = 0
    """Connections that missed a deadline."""
    evicted: int = 0
    """Idle connections closed in favour of a new one at the limit."""
    messages: int = 0
    abandoned: int = 0
    """Connections closed at the end of a stop with something unanswered."""


SPARE: Final = 4
"""Descriptors held in reserve. Another thread that opens a file at the moment one is released gets it, and may keep it
for good, as SQLite does for each store while a lock is held. With one alone, clients then waited for as long as the
others stayed."""


class SpareDescriptors:
    """Descriptors that are released when none is left, to accept a client and refuse it. For one thread."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def top_up(self) -> None:
        """Hold SPARE descriptors, or as many as the system gives."""
        while len(self._held) < SPARE and (fd := _open_descriptor()) is not None:
            self._held.append(fd)

    def release(self) -> bool:
        """Close one; return False if none was held."""
        if not self._held:
            return False
        os.close(self._held.pop())
        return True

    def close(self) -> None:
        """Close all of them."""
        while self.release():
            pass


def _open_descriptor() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
