"""A deadline counts down over several steps and stops at nothing left."""

from __future__ import annotations

from mnemond.http import Deadline


def test_it_counts_down_to_zero() -> None:
    now = 100.0
    deadline = Deadline(lambda: now, 2.5)
    assert deadline.left() == 2.5
    now = 102.0
    assert deadline.left() == 0.5
    now = 103.0
    assert deadline.left() == 0.0
    assert deadline.seconds == 2.5
