"""What the server has seen since it started."""

from __future__ import annotations

import msgspec


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
