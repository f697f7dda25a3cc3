"""Who asks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Awaited(msgspec.Struct):
    """A request of another protocol that is being worked on. `withdrawn`: nobody wants its answer any more."""

    withdrawn: bool = False


class Spoken(msgspec.Struct):
    """What a connection has said so far. `mcp`: it has shaken hands as MCP did until 2025, which makes `ping` mean that
    protocol's. `unanswered`: requests of other protocols by their ids, as they were written."""

    mcp: bool = False
    unanswered: dict[bytes, Awaited] = msgspec.field(default_factory=dict)


def never_gone() -> bool:
    """Whether somebody of whom nothing is known has left."""
    return False


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 where the system does not tell. `gone` says
    whether nobody is left there to read an answer."""

    connection: int
    peer_pid: int
    peer_uid: int
    spoken: Spoken = msgspec.field(default_factory=Spoken)
    gone: Callable[[], bool] = never_gone
