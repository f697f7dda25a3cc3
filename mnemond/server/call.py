"""Who asks."""

from __future__ import annotations

import msgspec


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 where the system does not tell."""

    connection: int
    peer_pid: int
    peer_uid: int
