"""The dates a text speaks of, told from the time it was said (spec 6.6), never from now: there is no clock here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

import msgspec

from mnemond.text import calendar_dates, chinese_dates, relative_dates
from mnemond.text.cue_words import words_of
from mnemond.text.date_rules import LEFT_EDGE, Rule, Scene, compiled
from mnemond.text.intervals import Interval
from mnemond.text.tokens import fold, latin_words

MOST_MENTIONS = 20
"""Dates taken from one text; a log has hundreds, of which none is what the memory is about."""


class DateMention(msgspec.Struct, frozen=True):
    """One phrase and the days it means."""

    text: str
    """As written; folded where folding changed the length of the text."""
    start: str
    end: str
    """First and last day, inclusive, as YYYY-MM-DD."""
    explicit: bool
    """False for a phrase that gives no more than an idea: recently, a few weeks ago, last summer."""


_LATIN_RULES = (*calendar_dates.RULES, *relative_dates.RULES)
_LATIN = compiled(_LATIN_RULES, f"{LEFT_EDGE}(?={calendar_dates.STARTS}|{relative_dates.STARTS})")
_CHINESE = compiled(chinese_dates.RULES, f"(?={chinese_dates.STARTS})")
_BY_NAME = {rule.name: rule for rule in (*_LATIN_RULES, *chinese_dates.RULES)}

_MAY_HAVE_LATIN = re.compile(
    r"\d[-/.]\d|\d年|\d\d\d\d|q[1-4]|day|night|morning|noon|evening|minute|hour|week|month|year|quarter|recently|lately|soon"
    r"|tomorrow|\b(?:ago|back|mon|tues?|wed|thu|thurs|fri|spring|summer|autumn|fall|winter"
    rf"|{calendar_dates.MONTH})\b"
)
_TELLING = words_of(
    "recently lately soon ago back weekend quarter minute minutes hour hours day days week weeks month months",
    "year years spring summer autumn fall winter",
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri",
    "january february march april may june july august september october november december",
    "jan feb mar apr jun jul aug sep sept sepember oct nov dec",
)
_TELLING_PARTS = ("today", "yesterday", "tomorrow", "night", "morning", "noon", "evening")
_TELLING_DIGITS = re.compile("[0-9][0-9](?:[0-9][0-9]|/[0-9][0-9])")
"""Every date of an ASCII text has one of these words, one of these parts of words ("this mornings"), or such digits."""
_HAN_DATE = re.compile("[年月日天周週期拜近久前晚早]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class _Found(NamedTuple):
    start: int
    end: int
    interval: Interval
    explicit: bool


def dates(text: str, reference_us: int, *, day_first: bool | None = None) -> tuple[DateMention, ...]:
    """The dates `text` speaks of, in order, at most `MOST_MENTIONS`.

    `reference_us` is when it was said, in microseconds since 1970 (UTC). Where two readings overlap the longer one
    counts. What names no day of the years 1–9999 (2026-02-30, "tomorrow" on the last day) is no date, and 05/08 only
    one when `day_first` says what it means.
    """
    folded = fold(text)
    patterns = [_LATIN] if _may_have_latin(text, folded) else []
    if not folded.isascii() and _HAN_DATE.search(folded):
        patterns.append(_CHINESE)
    if not patterns:
        return ()
    written = text if len(text) == len(folded) else folded
    scene = Scene(written, folded, _moment(reference_us), day_first)
    found = [one for pattern in patterns for one in islice(_readings(pattern, scene), MOST_MENTIONS)]
    return tuple(_mention(written, one) for one in _without_overlaps(found)[:MOST_MENTIONS])


def _may_have_latin(text: str, folded: str) -> bool:
    """Whether to look for Latin dates in `text` at all."""
    if not folded.isascii():
        return _MAY_HAVE_LATIN.search(folded) is not None
    if not _TELLING.isdisjoint(latin_words(text)) or _TELLING_DIGITS.search(folded) is not None:
        return True
    return any(part in folded for part in _TELLING_PARTS)


def _moment(reference_us: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=reference_us)
    except OverflowError:
        return _LAST if reference_us > 0 else _FIRST


def _readings(pattern: re.Pattern[str], scene: Scene) -> Iterator[_Found]:
    for match in pattern.finditer(scene.folded):
        rule = _rule(match)
        interval = rule.resolve(match, scene)
        if interval is not None:
            yield _Found(match.start(), match.end(), interval, rule.explicit)


def _rule(match: re.Match[str]) -> Rule:
    return _BY_NAME[match.lastgroup or ""]


def _without_overlaps(found: list[_Found]) -> list[_Found]:
    """The longest readings first; of equals the earlier one."""
    kept: list[_Found] = []
    for one in sorted(found, key=lambda each: (each.start - each.end, each.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept)


def _mention(written: str, found: _Found) -> DateMention:
    first, last = found.interval
    return DateMention(
        text=written[found.start : found.end], start=first.isoformat(), end=last.isoformat(), explicit=found.explicit
    )
