"""The only source of randomness: identifiers, which all other modules receive as arguments."""

from __future__ import annotations

import os
from typing import Protocol


class Ids(Protocol):
    """Source of new identifiers."""

    def new(self) -> str:
        """Return an identifier that was not used before."""
        ...


RESERVE = 256
"""Identifiers per call of the system: a call costs about as much as formatting one."""


class RandomIds:
    """UUIDs version 4 (RFC 9562 section 5.4) in lower case. For one thread."""

    def __init__(self) -> None:
        self._drawn: list[str] = []

    def new(self) -> str:
        """Return a random UUID."""
        if not self._drawn:
            digits = os.urandom(16 * RESERVE).hex()
            self._drawn = [digits[at : at + 32] for at in range(0, len(digits), 32)]
        one = self._drawn.pop()
        return f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{'89ab'[int(one[16], 16) & 3]}{one[17:20]}-{one[20:]}"


def nonce(ids: Ids) -> str:
    """Return sixteen hexadecimal digits with 62 random bits."""
    return ids.new().replace("-", "")[-16:]
