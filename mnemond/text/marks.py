"""Runs of combining marks: what makes normalisation slow, and no language needs.

Putting marks into canonical order takes time that grows with the square of a run's length: 60,000 marks after one
letter cost seconds. Unicode's stream-safe text format (UAX #15, section 13) draws the line at thirty.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

LONGEST_RUN = 30
"""Combining marks in a row that any text may have (UAX #15)."""

_FIRST, _END = 0x300, 0x1E95B
"""Code points between which every combining mark lies (Unicode 15)."""


def capped(text: str) -> str:
    """`text` with every run of marks cut to `LONGEST_RUN`. Linear time; the same string when there is no long run."""
    return _long_run().sub(_cut, text) if _has_long_run(text) else text


def long_run_at(text: str) -> int | None:
    """Position of the first run longer than `LONGEST_RUN`, or None."""
    found = _long_run().search(text) if _has_long_run(text) else None
    return None if found is None else found.start()


def _has_long_run(text: str) -> bool:
    """Whether a run is too long. Every such run has a mark at one of the places that are looked at, every 31st: 10 µs
    for 8,000 characters, and to look for it in all of them takes 2 to 3 ms."""
    if text.isascii() or not any(map(unicodedata.combining, text[LONGEST_RUN :: LONGEST_RUN + 1])):
        return False
    places = range(LONGEST_RUN, len(text), LONGEST_RUN + 1)
    return any(_run_around(text, at) > LONGEST_RUN for at in places if unicodedata.combining(text[at]))


def _run_around(text: str, at: int) -> int:
    """Marks in a row around a place that has one; more than `LONGEST_RUN` are not counted to their end."""
    before = _marks_at_start(text[max(0, at - LONGEST_RUN) : at][::-1])
    return before + _marks_at_start(text[at : at + LONGEST_RUN + 1])


def _marks_at_start(text: str) -> int:
    return next((place for place, char in enumerate(text) if not unicodedata.combining(char)), len(text))


def _cut(run: re.Match[str]) -> str:
    return run[0][:LONGEST_RUN]


@cache
def _long_run() -> re.Pattern[str]:
    marks = "".join(chr(code) for code in range(_FIRST, _END) if unicodedata.combining(chr(code)))
    return re.compile(f"[{marks}]{{{LONGEST_RUN + 1},}}")
