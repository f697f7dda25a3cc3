"""The dates that a text mentions, relative to the time when it was written, never to now: there is no clock here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mnemond.model.relations import Granularity
from mnemond.text.date_rules import (
    CHINESE_STARTS,
    LEFT_EDGE,
    MONTH,
    WHOLE_RULES,
    Rule,
    Scene,
    any_rule,
    chinese_rules,
    latin_rules,
    latin_starts,
    whole_date,
)
from mnemond.text.intervals import Interval
from mnemond.text.resources import on_first_use, regex, words_of
from mnemond.text.tokens import fold, latin_words

MAX_MENTIONS: Final = 20
"""Dates taken from one text; a log has hundreds, none of which is the subject of the memory."""

MAX_PHRASE: Final = 40
"""Characters of a text that may be a date as a whole."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class DateMention(msgspec.Struct, frozen=True):
    """A phrase and the days that it means."""

    text: str
    """As written; folded if folding changed the length of the text."""
    start: str
    end: str
    """First and last day, inclusive, as YYYY-MM-DD."""
    explicit: bool
    """False for a phrase that gives no more than an idea: recently, a few weeks ago, last summer."""


_LATIN: Final = regex(lambda: any_rule(latin_rules(), f"{LEFT_EDGE}(?={latin_starts()})"))
_CHINESE: Final = regex(lambda: any_rule(chinese_rules(), f"(?={CHINESE_STARTS})"))
_WHOLE: Final = regex(any_rule(WHOLE_RULES, LEFT_EDGE))


@on_first_use
def _rules() -> dict[str, Rule]:
    return {rule.name: rule for rule in (*latin_rules(), *chinese_rules())}


_DATE_WORDS: Final = words_of(
    "recently lately soon ago back weekend quarter minute minutes hour hours day days week weeks month months",
    "year years spring summer autumn fall winter",
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri",
    "january february march april may june july august september october november december",
    "jan feb mar apr jun jul aug sep sept sepember oct nov dec",
)
_DATE_PARTS: Final = ("today", "yesterday", "tomorrow", "night", "morning", "noon", "evening")
_DATE_DIGITS: Final = regex("[0-9][0-9](?:[0-9][0-9]|/[0-9][0-9])")
"""Every date of an ASCII text has one of `_DATE_WORDS`, one of `_DATE_PARTS` within words, or such digits."""

_MAY_HAVE_LATIN: Final = regex(
    r"\d[-/.]\d|\d年|\d\d\d\d|q[1-4]|day|night|morning|noon|evening|minute|hour|week|month|year|quarter|recently|lately|soon"
    r"|tomorrow|\b(?:ago|back|mon|tues?|wed|thu|thurs|fri|spring|summer|autumn|fall|winter"
    rf"|{MONTH})\b"
)
_CHINESE_CHARACTERS: Final = regex("[年月日天周週期拜近久前晚早]")
_YEAR_DIGITS: Final = regex(r"\d\d\d\d")
"""Every whole date has such digits."""


def whole_dates(folded: str) -> tuple[list[date], str]:
    """Every date of `folded` that has a year, a month and a day, and the text with those dates blanked out."""
    found: list[date] = []
    if _YEAR_DIGITS.search(folded) is None:
        return found, folded

    def blank(match: re.Match[str]) -> str:
        interval = whole_date(match)
        if interval is None:
            return match[0]
        found.extend(dict.fromkeys(interval))
        return " " * len(match[0])

    return found, _WHOLE.sub(blank, folded)


def dates(text: str, reference_us: int, *, day_first: bool | None = None) -> tuple[DateMention, ...]:
    """The dates that `text` mentions, in order, at most `MAX_MENTIONS`.

    `reference_us` is when it was written, in microseconds since 1970 (UTC). Of overlapping readings the longer one
    counts. A phrase that means no day of the years 1–9999 (2026-02-30, "tomorrow" on the last day) is no date, and
    05/08 is one only if `day_first` gives the order.
    """
    folded = fold(text)
    patterns = [_LATIN] if _may_have_latin(text, folded) else []
    if not folded.isascii() and _CHINESE_CHARACTERS.search(folded):
        patterns.append(_CHINESE)
    if not patterns:
        return ()
    written = text if len(text) == len(folded) else folded
    scene = Scene(written, folded, _moment(reference_us), day_first)
    found = [one for pattern in patterns for one in islice(_readings(pattern, scene), MAX_MENTIONS)]
    return tuple(_mention(written, one) for one in _without_overlaps(found)[:MAX_MENTIONS])


def only_date(text: str, reference_us: int) -> DateMention | None:
    """Return the date that is all of a short text ("yesterday", "last week"); None if it is anything else, or an idea
    alone ("recently")."""
    found = dates(text, reference_us) if len(text) <= MAX_PHRASE else ()
    return found[0] if len(found) == 1 and found[0].explicit and fold(found[0].text) == fold(text.strip()) else None


def _may_have_latin(text: str, folded: str) -> bool:
    """Return False if `text` cannot match `latin_rules`."""
    if not folded.isascii():
        return _MAY_HAVE_LATIN.search(folded) is not None
    if not _DATE_WORDS.isdisjoint(latin_words(text)) or _DATE_DIGITS.search(folded) is not None:
        return True
    return any(part in folded for part in _DATE_PARTS)


def _moment(reference_us: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=reference_us)
    except OverflowError:
        return _LAST if reference_us > 0 else _FIRST


class _Reading(NamedTuple):
    start: int
    end: int
    interval: Interval
    explicit: bool


def _readings(pattern: re.Pattern[str], scene: Scene) -> Iterator[_Reading]:
    rules = _rules()
    for match in pattern.finditer(scene.folded):
        rule = rules[match.lastgroup or ""]
        interval = rule.resolve(match, scene)
        if interval is not None:
            yield _Reading(match.start(), match.end(), interval, rule.explicit)


def _without_overlaps(found: list[_Reading]) -> list[_Reading]:
    """The longest readings first; of equals the earlier one."""
    kept: list[_Reading] = []
    for one in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept)


def _mention(written: str, found: _Reading) -> DateMention:
    first, last = found.interval
    return DateMention(
        text=written[found.start : found.end], start=first.isoformat(), end=last.isoformat(), explicit=found.explicit
    )


_GRANULARITIES: Final[tuple[tuple[int, Granularity], ...]] = (
    (1, "day"), (7, "week"), (31, "month"), (92, "quarter"),
)  # fmt: skip
"""Longest span in days of each."""


def begin_of(mention: DateMention) -> tuple[str, Granularity]:
    """Return the begin of the days that a date means (RFC 3339), and how exact it is."""
    first, last = date.fromisoformat(mention.start), date.fromisoformat(mention.end)
    days = (last - first + timedelta(days=1)).days
    name: Granularity = next((name for most, name in _GRANULARITIES if days <= most), "year")
    return f"{first.isoformat()}T00:00:00.000000Z", name
