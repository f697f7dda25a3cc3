"""What the index knows of the words of a memory."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import Final, NamedTuple

from mnemond.model.insight import Insight
from mnemond.text.passage import asking, inner_terms
from mnemond.text.tokens import index_terms

OPENING: Final = 120
OPENING_SHARE: Final = 0.5
"""The first characters of the first line may be its title: each of its terms counts for so much more
(docs/decisions/0015-two-stage-ranking.md)."""

DATED: Final = "\x1f"
"""Begins the terms of the day a memory was made on, so that nobody finds by chance what was only said then."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Document(NamedTuple):
    """`counts`: how often each term counts; `length`: all terms with their repeats, `own` those of the content alone.

    `breadth`: how many different ones the content has. `order`: a number for each term of the content in its order,
    as bytes of uint32. `asking`: share of the content that asks. `dated`: whether the content speaks of a date.
    """

    counts: dict[str, float]
    length: int
    own: int
    breadth: int
    order: bytes
    asking: float
    dated: bool


def document_of(insight: Insight) -> Document:
    """Terms of the content, the names inside it, its tags and entities, and the day it was made on.

    A name or a tag found nowhere in the content must still find the memory.
    """
    text = insight.content
    content = index_terms(text)
    breadth = len(set(content))
    inner = inner_terms(text)
    named = index_terms("\n".join((*insight.tags, *insight.entities))) if insight.tags or insight.entities else []
    day = day_terms(insight.created_at[:10])
    counts: dict[str, float] = {}
    for term in (*content, *inner, *named, *day):
        counts[term] = counts.get(term, 0) + 1
    for term in content[: _of_first_line(text, len(content))]:
        counts[term] += OPENING_SHARE
    own = len(content) + len(inner)
    order = array("I", [hash(term) & LARGEST_NUMBER for term in content]).tobytes()
    dated = insight.event_start is not None
    return Document(counts, own + len(named) + len(day), own, breadth, order, asking(text), dated)


def _of_first_line(text: str, terms: int) -> int:
    """How many of the terms of a text may be its title."""
    line = text.lstrip()[:OPENING].split("\n", 1)[0]
    return terms if len(line) == len(text) else len(index_terms(line))


def numbered(term: str) -> int:
    """A number below 2³² for a term, the same as long as this process lives."""
    return hash(term) & LARGEST_NUMBER


LARGEST_NUMBER: Final = 0xFFFFFFFF
"""Of a term."""


@lru_cache(maxsize=4096)
def day_terms(day: str) -> tuple[str, ...]:
    """Terms of a day given as "2023-05-08": its number, month, year and weekday; none for what is no day."""
    try:
        year, month, number = (int(part) for part in day.split("-"))
        weekday = WEEKDAYS[_weekday(year, month, number)]
        words = index_terms(f"{number} {MONTHS[month - 1]} {year} {weekday}")
    except (ValueError, IndexError):
        return ()
    return tuple(DATED + word for word in words)


def _weekday(year: int, month: int, day: int) -> int:
    """0 for Monday (Sakamoto 1993, Gregorian calendar)."""
    year -= month < 3
    return (
        year + year // 4 - year // 100 + year // 400 + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1] + day - 1
    ) % 7
