"""The only source of randomness: identifiers. Everything else receives them as arguments."""

from __future__ import annotations

import os
from typing import Protocol


class Ids(Protocol):
    """Where new identifiers come from."""

    def new(self) -> str:
        """A fresh identifier nobody has seen."""
        ...


RESERVE = 256
"""Identifiers drawn from the system at once: one call costs about what the formatting of an identifier does."""


class RandomIds:
    """UUID version 4 (RFC 9562 section 5.4), in its usual lower-case form. For one thread."""

    def __init__(self) -> None:
        self._drawn: list[str] = []

    def new(self) -> str:
        """A fresh UUID4."""
        if not self._drawn:
            digits = os.urandom(16 * RESERVE).hex()
            self._drawn = [digits[at : at + 32] for at in range(0, len(digits), 32)]
        one = self._drawn.pop()
        return f"{one[:8]}-{one[8:12]}-4{one[13:16]}-{'89ab'[int(one[16], 16) & 3]}{one[17:20]}-{one[20:]}"


def nonce(ids: Ids) -> str:
    """Sixteen hexadecimal digits that nobody can guess: 62 random bits."""
    return ids.new().replace("-", "")[-16:]
