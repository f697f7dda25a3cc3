"""How long something may still take, over all its steps."""

from __future__ import annotations

from collections.abc import Callable


class Deadline:
    """`seconds` from now on a clock that never goes back."""

    def __init__(self, now_s: Callable[[], float], seconds: float) -> None:
        self._now_s = now_s
        self._end = now_s() + seconds
        self.seconds = seconds

    def left(self) -> float:
        """Seconds until the end, 0 after it."""
        return max(0.0, self._end - self._now_s())
