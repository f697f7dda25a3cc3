"""Descriptors that are held so that one can be given up when there is none left: to accept a client and tell it so."""

from __future__ import annotations

import os
from typing import Final

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
