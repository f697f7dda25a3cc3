"""Who asks."""

from __future__ import annotations

import msgspec


class Spoken(msgspec.Struct):
    """What a connection has said of itself so far. `mcp`: it has shaken hands as MCP did until 2025, which makes `ping`
    mean that protocol's."""

    mcp: bool = False


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 where the system does not tell."""

    connection: int
    peer_pid: int
    peer_uid: int
    spoken: Spoken = msgspec.field(default_factory=Spoken)
