"""A clock in seconds that the test moves."""

from __future__ import annotations


class HandClock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now
