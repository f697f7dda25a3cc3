"""The time window of a question, and whether it is hard: plain enough to leave everything else out.

A wrong hard window loses memories, a soft one only weighs. So everything that is not plainly a date is soft: a year
before an ordinary word, "around", "today" without a verb in the past, and "next week", because memories about it were
written before, often without a date that could be read.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from mnemond.text.date_rules import MONTH, tense
from mnemond.text.dates import DateMention, dates
from mnemond.text.resources import one_of, regex
from mnemond.text.tokens import fold

LONG_AGO_US = -(2**62)
FOREVER_US = 2**62
"""Ends of a window that is open on one side: before and after every time."""

MAX_QUESTION = 2_000
"""Characters of a question that are read."""

_DAY_US = 86_400_000_000
_EPOCH = date(1970, 1, 1).toordinal()

_BEFORE = ("before", "prior to", "earlier than", "until", "till", "by", "up to")
_AFTER = ("after", "later than", "following")
_SINCE = ("since", "from")
_AROUND = ("around", "about", "roughly", "approximately", "circa", "near", "as of")
_NAMES = (
    "version", "release", "build", "tag", "error", "code", "port", "issue", "ticket", "line", "id", "number", "model",
    "room", "exit", "cve", "iso", "rfc", "pid", "bug", "pr",
)  # fmt: skip
"""Nouns with a number of their own, which may look like a date."""

_CUE = regex(
    rf"(?<![a-z0-9_])(?:(?P<around>{one_of(_AROUND)})|(?P<before>{one_of(_BEFORE)})|(?P<after>{one_of(_AFTER)})"
    rf"|(?P<since>{one_of(_SINCE)})|(?P<how>how)|(?P<name>{one_of(_NAMES)}))(?:\s+(?:the|of|on|in))?[\s#:=-]*$"
)
_INNER = regex(r"(?:(?P<around>around)|(?P<before>before|until|till|by)|(?P<after>after)|(?P<since>since))[\s-]+")
"""Beginnings that `dates` includes in a date."""

_BEHIND = regex(
    r"\s*(?:(?P<before>[之以]?前|为止|為止)|(?P<after>[之以]?[后後])|(?P<since>以来|以來|起)|(?P<around>左右|前后|前後))"
)
"""The same behind a date in Chinese."""

_YEAR = regex(r"(?:\w+[\s-]+)?\d{4}$")
_AFTER_YEAR = regex(
    r"\s*(?:$|[^\w\s]|(?:and|or|to|we|i|he|she|they|it|you|the|a|an|did|do|was|were|is|what|who|why|how|when|where|which"
    r"|that|for|with|at|on|by|about|from|as|after|before|because|until)\b|[^\x00-\x7f])"
)
"""Behind a year: "what did we ship in 2019?", but not "ran in 2048 threads"."""

_YEARS_AHEAD = 5
"""A bare number that would be a year farther in the future is none."""

_PRESENT = regex(r"today|tonight|this\b|今|这|這|本")
"""Words for the way things are ("what do I eat today") as often as for one day."""

_RANGE = regex(
    r"(?<![a-z0-9_])(?:between|from) (?P<first>[^\n]{3,30}?) (?:and|to|until|till|through) (?P<last>[^\n]{3,30})",
    re.IGNORECASE,
)
"""For a text whose white space is single blanks: runs of it would be tried at every length."""

_BLANKS = regex(r"[^\S\n]+")
_MONTH = regex(rf"{MONTH}(?![a-z])", re.IGNORECASE)
_BARE_YEAR = regex(r"(?:19|20)\d\d(?!\w|[.:/-]\w|\s?[%°])")


class QueryWindow(NamedTuple):
    """Microseconds since the epoch, `end_us` exclusive. `hard`: nothing outside of it is an answer."""

    start_us: int
    end_us: int
    hard: bool


class _Span(NamedTuple):
    """`open`: one end is not given."""

    start_us: int
    end_us: int
    hard: bool
    open: bool = False


def query_window(question: str, now_us: int) -> QueryWindow | None:
    """The window that a question names, relative to `now_us`; None if it names none.

    Several dates are all inside; of "before" and "after" the window is the time between. One plain date makes it hard,
    and then the vague ones beside it do not count.
    """
    read = question[:MAX_QUESTION]
    folded = fold(read)
    first, last = _ends_of_range(read, now_us)
    if first is not None and last is not None:
        return _between(first, last)
    spans = _spans(folded, dates(read, now_us), now_us)
    if first is not None or last is not None:  # "between May 3 and the launch"
        spans = [span._replace(hard=False) for span in spans]
    return _joined([span for span in spans if span.hard] or spans)


def _joined(spans: list[_Span]) -> QueryWindow | None:
    if not spans:
        return None
    closed = [span for span in spans if not span.open]
    if closed:
        start, end = min(span.start_us for span in closed), max(span.end_us for span in closed)
    else:
        start, end = max(span.start_us for span in spans), min(span.end_us for span in spans)
        if start >= end:  # "before March or after May"
            start, end = LONG_AGO_US, FOREVER_US
    if (start, end) == (LONG_AGO_US, FOREVER_US):
        return None
    return QueryWindow(start, end, spans[0].hard)


def _spans(folded: str, mentions: tuple[DateMention, ...], now_us: int) -> list[_Span]:
    """The span of each date of a folded question; dates that are none here are left out."""
    found, at = [], 0
    for mention in mentions:
        written = fold(mention.text)
        start = folded.find(written, at)
        if start < 0:
            continue  # NFKC changed its place
        at = start + len(written)
        if (span := _span(folded, mention, start, at, now_us)) is not None:
            found.append(span)
    return found


def _span(folded: str, mention: DateMention, start: int, end: int, now_us: int) -> _Span | None:
    first, last = _day_us(mention.start), _day_us(mention.end) + _DAY_US
    match _cue(folded, start, end):
        case "name" | "how":
            return None
        case "before":
            return _Span(LONG_AGO_US, first, hard=False, open=True)
        case "after":
            return _Span(last, FOREVER_US, hard=False, open=True)
        case "since":
            return _Span(first, FOREVER_US, hard=False, open=True)
        case "around":
            return _Span(first, last, hard=False)
    written = folded[start:end]
    if _YEAR.match(written) and first > now_us + _YEARS_AHEAD * 366 * _DAY_US:
        return None
    to_come = first > now_us and not any(map(str.isdigit, written))
    return _Span(first, last, mention.explicit and not to_come and _is_plain(folded, start, end))


def _cue(folded: str, start: int, end: int) -> str | None:
    """The word around a date that changes its meaning: before, after, around, or the name of a thing."""
    for found in (_INNER.match(folded, start, end), _CUE.search(folded[max(0, start - 40) : start])):
        if found is not None:
            return found.lastgroup
    behind = _BEHIND.match(folded, end) if not folded.isascii() else None
    return None if behind is None else behind.lastgroup


def _is_plain(folded: str, start: int, end: int) -> bool:
    """Return True if an explicit date can only mean that the answer is of that time."""
    written = folded[start:end]
    if _YEAR.match(written) and not _AFTER_YEAR.match(folded, end):
        return False
    return _PRESENT.match(written) is None or tense(folded, start, end) == "past"


def _day_us(day: str) -> int:
    return (date.fromisoformat(day).toordinal() - _EPOCH) * _DAY_US


# ---------------------------------------------------------------- between … and …


def _ends_of_range(question: str, now_us: int) -> tuple[DateMention | None, DateMention | None]:
    """Both ends of "between March and May 2023" or "from 2019 to 2021", which are dates only in such a range; None for
    an end that is none, and without a range."""
    found = _RANGE.search(_BLANKS.sub(" ", question))
    if found is None:
        return None, None
    first, last = _end_of_range(found["first"], now_us), _end_of_range(found["last"], now_us)
    if first is not None and last is not None and first.start > last.start:  # the year is given once, at the end
        first = _end_of_range(f"{found['first']} {last.start[:4]}", now_us) or first
    return first, last


def _between(first: DateMention, last: DateMention) -> QueryWindow | None:
    if first.start > last.end:
        return None
    return QueryWindow(_day_us(first.start), _day_us(last.end) + _DAY_US, first.explicit and last.explicit)


def _end_of_range(words: str, now_us: int) -> DateMention | None:
    """The date that words begin with; months and years need no preposition."""
    named = [f"in {words}"] if _BARE_YEAR.match(words) or _MONTH.match(words) else []
    for phrase in (words, *named):
        found = dates(phrase, now_us)
        if found and fold(phrase).removeprefix("in ").startswith(fold(found[0].text).removeprefix("in ")):
            return found[0]
    return None
