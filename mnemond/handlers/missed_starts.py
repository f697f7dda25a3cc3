"""Whether sessions of agents may have begun while there was no daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Final

STAMP: Final = "hook-start.stamp"
"""File of the data directory that a hook touches when it finds no daemon and has one started
(`mnemonctl.launcher.hook`). Its own question stays without an answer: a start takes longer than a hook may."""

FRESH_S: Final = 60.0
"""Seconds from then to the start that it caused, at most; it also tries no more often than that."""


def may_have_missed(directory: Path, now_us: int) -> bool:
    """Whether a hook found no daemon just before `now_us`, when one started."""
    try:
        touched_s = (directory / STAMP).stat().st_mtime
    except OSError:  # none, as a rule; whatever else it is, nothing depends on it
        return False
    return abs(now_us / 1e6 - touched_s) < FRESH_S
