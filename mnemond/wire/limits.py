"""What one client may take from the daemon, and for how long."""

from __future__ import annotations

import os
import resource
from typing import Annotated, Final

import msgspec

from mnemond.config import settings

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


_CONFIGURED = settings.ServerSettings()
"""What a user may set has its default there."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of the server. Depth and batch length are part of the protocol and not set here."""

    message_bytes: _Positive = _CONFIGURED.max_message_bytes
    connections: _Positive = _CONFIGURED.max_connections
    reserved_descriptors: _Positive = 64
    """Of the process's limit on open files, how many are kept for databases and models."""
    in_flight: _Positive = _CONFIGURED.max_in_flight
    """Requests of one connection that may wait for their answer; beyond it nothing more is read from it. A batch
    is taken request by request as well."""
    unsent_bytes: _Positive = 4 << 20
    """Replies waiting for one slow reader; beyond it nothing more is read from it."""
    batch_bytes: _Positive = 16 << 20
    """Replies gathered for the unfinished batches of one connection; what is asked beyond it is refused."""
    first_byte_s: _Seconds = _CONFIGURED.first_byte_timeout_s
    """From connecting to the first byte of the first message."""
    whole_message_s: _Seconds = _CONFIGURED.message_timeout_s
    """From the first byte of a message to its last."""
    write_stall_s: _Seconds = _CONFIGURED.write_timeout_s
    """Without any progress of a reader that has replies waiting."""
    idle_s: _Seconds = 10.0
    """Without a byte and without anything to answer. Nothing happens then, but once all connections are taken, the
    one that is idle for longest makes way for a newcomer."""
    hook_s: _Seconds = _CONFIGURED.hook_deadline_ms / 1000
    """For what is to be said to a hook; then it is answered without."""
    sweep_s: _Seconds = 0.5
    """Between two looks at the deadlines above; so much later than promised they may strike."""
    drain_s: _Seconds = _CONFIGURED.drain_s
    """For answering everything received when the daemon stops (of 3 s for the whole process)."""
    inline_ms: Annotated[float, msgspec.Meta(gt=0, le=1000)] = 1.0
    """Of uninterrupted work for one connection before the others have their turn."""
    optimistic_reads: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8
    """Reads tried in a row before waiting for the socket."""

    @classmethod
    def of(cls, server: settings.ServerSettings) -> Limits:
        """Those that a configuration asks for."""
        return cls(
            connections=server.max_connections,
            message_bytes=server.max_message_bytes,
            in_flight=server.max_in_flight,
            first_byte_s=server.first_byte_timeout_s,
            whole_message_s=server.message_timeout_s,
            write_stall_s=server.write_timeout_s,
            drain_s=server.drain_s,
            hook_s=server.hook_deadline_ms / 1000,
        )

    def allowed_connections(self) -> int:
        """`connections`, or fewer when the process may not open so many files."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return self.connections
        return max(1, min(self.connections, files - self.reserved_descriptors))


# What the server has seen since it started.


class Counters(msgspec.Struct):
    """Running totals; `connections` is the number open now."""

    connections: int = 0
    accepted: int = 0
    refused: int = 0
    """Connections over the limit, of another user, or for want of a descriptor."""
    cut: int = 0
    """Connections that missed a deadline."""
    made_way: int = 0
    """Idle connections closed for the sake of a new one at the limit."""
    messages: int = 0
    abandoned: int = 0
    """Connections closed at the end of a stop although something was still unanswered."""


# Descriptors that are held so that one can be given up when there is none left: to accept a client and tell it so.


SPARE: Final = 4
"""So many. Whoever opens a file in the moment in which one is given up gets it, and may keep it for good, as SQLite
does for each store while a lock is held. With one alone, clients then waited for as long as the others stayed."""


class SpareDescriptors:
    """Not to be shared between threads."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def top_up(self) -> None:
        """Hold as many as there should be, as far as they are to be had."""
        while len(self._held) < SPARE and (found := _opened()) is not None:
            self._held.append(found)

    def give_up(self) -> bool:
        """Close one; whether there was one."""
        if not self._held:
            return False
        os.close(self._held.pop())
        return True

    def close(self) -> None:
        """Close all of them."""
        while self.give_up():
            pass


def _opened() -> int | None:
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
