"""The dates a text speaks of, told from the time it was said (spec 6.6), never from now: there is no clock here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import NamedTuple

import msgspec

from mnemond.text import date_phrases, intervals
from mnemond.text.date_phrases import tense
from mnemond.text.intervals import LEFT_EDGE, RIGHT_EDGE, Interval, Rule, Scene, compiled
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import fold, latin_words

# Dates that name a month or a year: 2026-02-18, "8 May 2023", "June 2023", "in March", 05/08/2026 (spec 6.6).


_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: 1 + number for number, name in enumerate(_MONTH_NAMES)}
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
"""English months, abbreviated or not; the first three letters tell which."""

VERBS = ("may", "mar")
"""Months whose name, written small, may as well be a verb."""

_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CUE = r"in|since|until|till|during|through|before|after|by|around|early|late|mid|last|next|this"
_YEAR_CUE = r"in|since|during|until|till|through|before|after|by|year|early|late|mid"
_SEASON = r"spring|summer|autumn|fall|winter"
_YEAR_OF_FOUR = regex(r"\d\d\d\d")
"""No whole date is without one."""
_NO_MORE_DIGITS = r"(?![.,:/]\d)"


def month_number(name: str) -> int:
    """1–12 for a match of `MONTH`."""
    return MONTHS[name[:3]]


def whole_dates(folded: str) -> tuple[list[date], str]:
    """Every date of `folded` that has a year, a month and a day, and the text with those dates blanked out."""
    found: list[date] = []
    if _YEAR_OF_FOUR.search(folded) is None:
        return found, folded

    def blank(match: re.Match[str]) -> str:
        interval = _whole(match)
        if interval is None:
            return match[0]
        found.extend(dict.fromkeys(interval))
        return " " * len(match[0])

    return found, _WHOLE.sub(blank, folded)


def _whole(found: re.Match[str]) -> Interval | None:
    """The days of a match of one of the rules that know year, month and day."""
    match found.lastgroup:
        case "iso":
            return _single(int(found["iso_year"]), int(found["iso_month"]), found["iso_day"])
        case "hanzi":
            return _single(int(found["hanzi_year"]), int(found["hanzi_month"]), found["hanzi_day"])
        case "dmy":
            return _days(found, "dmy")
        case _:
            return _days(found, "mdy")


def _days(found: re.Match[str], rule: str) -> Interval | None:
    """One day, or several ("8-10 May 2023")."""
    year, month = int(found[f"{rule}_year"]), month_number(found[f"{rule}_month"])
    first = _single(year, month, found[f"{rule}_day"])
    last = found[f"{rule}_last"]
    if first is None or last is None:
        return first
    end = _single(year, month, last)
    return None if end is None else intervals.between(first[0], end[0])


def _single(year: int, month: int, day: str) -> Interval | None:
    found = intervals.calendar_day(year, month, int(day.rstrip("stndrh")))
    return None if found is None else (found, found)


def _whole_date(found: re.Match[str], scene: Scene) -> Interval | None:
    return _whole(found)


def _numeric(found: re.Match[str], scene: Scene) -> Interval | None:
    """Day and month in the order that the numbers, or else the writer's habit, tell."""
    first, second = int(found["numeric_first"]), int(found["numeric_second"])
    if first > 12 or first == second:
        day_first: bool | None = True
    else:
        day_first = False if second > 12 else scene.day_first
    if day_first is None:
        return None
    day, month = (first, second) if day_first else (second, first)
    return _single(int(found["numeric_year"]), month, str(day))


def _numeric_short(found: re.Match[str], scene: Scene) -> Interval | None:
    """05/08 without a year, which is as often a fraction or a score: only for writers whose habit is known."""
    if scene.day_first is None:
        return None
    first, second = int(found["short_first"]), int(found["short_second"])
    day, month = (first, second) if scene.day_first else (second, first)
    return _recurring_day(found, scene, month, day)


def _month_of_year(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.month(int(found["month_of_year_year"]), month_number(found["month_of_year_month"]))


def _iso_month(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.month(int(found["iso_month_only_year"]), int(found["iso_month_only_month"]))


def _day_of_month(found: re.Match[str], scene: Scene) -> Interval | None:
    rule = found.lastgroup or ""
    name, day = found[f"{rule}_month"], found[f"{rule}_day"]
    is_verb = name in (*VERBS, "march") and day.isdigit() and not scene.is_capital(found.start(f"{rule}_month"))
    return None if is_verb else _recurring_day(found, scene, month_number(name), int(day.rstrip("stndrh")))


def _recurring_day(found: re.Match[str], scene: Scene, month: int, day: int) -> Interval | None:
    ahead = tense(scene.folded, found.start(), found.end()) == "future"
    return intervals.nearest_day(scene.today, month, day, ahead=ahead)


_AFTER_MAY = regex(r"\s*(?:$|[^\w\s]|(?:and|i|we|he|she|they|of|this|last|next|with|for|at|when|because)\b)")


def _is_verb(found: re.Match[str], scene: Scene) -> bool:
    """Whether a small "may" or "march" is one: "this may break", "the state we are in may change"."""
    is_may = found["cued_month_name"] == "may"
    return found["cued_month_cue"] == "this" or (is_may and not _AFTER_MAY.match(scene.folded, found.end()))


def _cued_month(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "in March": with "last" and "next" never the current one, else as the tense of the sentence wants."""
    name, cue = found["cued_month_name"], found["cued_month_cue"]
    number, today = month_number(name), scene.today
    if name[:3] in VERBS and not scene.is_capital(found.start("cued_month_name")) and _is_verb(found, scene):
        return None
    if cue == "last":
        return intervals.month(today.year - (number >= today.month), number)
    if cue == "next":
        return intervals.month(today.year + (number <= today.month), number)
    if cue == "this":
        return intervals.month(today.year, number)
    return intervals.nearest_month(today, number, ahead=tense(scene.folded, found.start(), found.end()) == "future")


def _quarter(found: re.Match[str], scene: Scene) -> Interval | None:
    year, number = found["quarter_year"] or found["quarter_first"], found["quarter_n"] or found["quarter_last"]
    return intervals.quarter(int(year), int(number))


def _season(found: re.Match[str], scene: Scene) -> Interval | None:
    name = found["season_name"].replace("fall", "autumn")
    return intervals.season(int(found["season_year"]), intervals.SEASONS.index(name))


def _year(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.year(int(found["year_n"]))


_WHOLE_RULES = (
    Rule(
        "iso",
        r"(?P<iso_year>\d{4})(?P<iso_sep>[-/.])(?P<iso_month>\d\d)(?P=iso_sep)(?P<iso_day>\d\d)"
        r"(?:(?=t\d\d)|(?![-/.]?[a-z0-9_]))",
        _whole_date,
    ),
    Rule(
        "hanzi", r"(?P<hanzi_year>\d{4})年\s?(?P<hanzi_month>\d{1,2})月\s?(?P<hanzi_day>\d{1,2})[日号號]", _whole_date
    ),
    Rule(
        "dmy",
        rf"(?P<dmy_day>{_DAY})(?:\s?[-–]\s?(?P<dmy_last>{_DAY}))?\s+(?:of\s+)?(?P<dmy_month>{MONTH})\.?,?\s+(?P<dmy_year>\d{{4}})"
        rf"{RIGHT_EDGE}",
        _whole_date,
    ),
    Rule(
        "mdy",
        rf"(?P<mdy_month>{MONTH})\.?\s+(?P<mdy_day>{_DAY})(?:\s?[-–]\s?(?P<mdy_last>{_DAY}))?(?:\s?,\s?|\s+)(?P<mdy_year>\d{{4}})"
        rf"{RIGHT_EDGE}",
        _whole_date,
    ),
)
_WHOLE = compiled(_WHOLE_RULES, LEFT_EDGE)

STARTS = rf"\d|(?:{_CUE}|{_YEAR_CUE}|{MONTH}|{_SEASON}|q[1-4])(?![a-z])"
"""What every Latin date of `RULES` starts with: a cheap test before the rules are tried."""

RULES = (
    *_WHOLE_RULES,
    Rule(
        "numeric",
        r"(?P<numeric_first>\d{1,2})(?P<numeric_sep>[/.-])(?P<numeric_second>\d{1,2})(?P=numeric_sep)(?P<numeric_year>\d{4})"
        rf"(?![-/.][a-z0-9_]){RIGHT_EDGE}",
        _numeric,
    ),
    Rule(
        "numeric_short", rf"(?P<short_first>\d\d)/(?P<short_second>\d\d)(?![-/.][a-z0-9_]){RIGHT_EDGE}", _numeric_short
    ),
    Rule(
        "month_of_year",
        rf"(?:(?:{_CUE})[\s-]+)?(?P<month_of_year_month>{MONTH})\.?(?:,?\s+(?:of\s+)?)(?P<month_of_year_year>[12]\d{{3}})"
        rf"{RIGHT_EDGE}{_NO_MORE_DIGITS}",
        _month_of_year,
    ),
    Rule(
        "iso_month_only",
        rf"(?P<iso_month_only_year>(?:19|20)\d\d)-(?P<iso_month_only_month>0[1-9]|1[0-2]){RIGHT_EDGE}{_NO_MORE_DIGITS}",
        _iso_month,
    ),
    Rule(
        "day_month",
        rf"(?P<day_month_day>{_DAY})\s+(?:of\s+)?(?P<day_month_month>{MONTH}){RIGHT_EDGE}",
        _day_of_month,
    ),
    Rule(
        "month_day",
        rf"(?P<month_day_month>{MONTH})\.?\s+(?:the\s+)?(?P<month_day_day>{_DAY}){RIGHT_EDGE}{_NO_MORE_DIGITS}",
        _day_of_month,
    ),
    Rule("cued_month", rf"(?P<cued_month_cue>{_CUE})[\s-]+(?P<cued_month_name>{MONTH}){RIGHT_EDGE}", _cued_month),
    Rule(
        "quarter",
        r"(?:q(?P<quarter_n>[1-4])\s?(?P<quarter_year>(?:19|20)\d\d)|(?P<quarter_first>(?:19|20)\d\d)\s?q(?P<quarter_last>[1-4]))"
        rf"{RIGHT_EDGE}",
        _quarter,
    ),
    Rule(
        "season",
        rf"(?P<season_name>{_SEASON})\s+(?:of\s+)?(?P<season_year>(?:19|20)\d\d){RIGHT_EDGE}",
        _season,
        explicit=False,
    ),
    Rule("year", rf"(?:{_YEAR_CUE})[\s-]+(?P<year_n>(?:19|20)\d\d){RIGHT_EDGE}{_NO_MORE_DIGITS}(?!\s?[%°])", _year),
)
"""Longer forms stand before shorter ones that they start with."""


MAX_MENTIONS = 20
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


_LATIN_RULES = (*RULES, *date_phrases.RELATIVE_DATES_RULES)
_LATIN = compiled(_LATIN_RULES, f"{LEFT_EDGE}(?={STARTS}|{date_phrases.RELATIVE_DATES_STARTS})")
_CHINESE = compiled(date_phrases.CHINESE_DATES_RULES, f"(?={date_phrases.CHINESE_DATES_STARTS})")
_BY_NAME = {rule.name: rule for rule in (*_LATIN_RULES, *date_phrases.CHINESE_DATES_RULES)}

_MAY_HAVE_LATIN = regex(
    r"\d[-/.]\d|\d年|\d\d\d\d|q[1-4]|day|night|morning|noon|evening|minute|hour|week|month|year|quarter|recently|lately|soon"
    r"|tomorrow|\b(?:ago|back|mon|tues?|wed|thu|thurs|fri|spring|summer|autumn|fall|winter"
    rf"|{MONTH})\b"
)
_TELLING = words_of(
    "recently lately soon ago back weekend quarter minute minutes hour hours day days week weeks month months",
    "year years spring summer autumn fall winter",
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri",
    "january february march april may june july august september october november december",
    "jan feb mar apr jun jul aug sep sept sepember oct nov dec",
)
_TELLING_PARTS = ("today", "yesterday", "tomorrow", "night", "morning", "noon", "evening")
_TELLING_DIGITS = regex("[0-9][0-9](?:[0-9][0-9]|/[0-9][0-9])")
"""Every date of an ASCII text has one of these words, one of these parts of words ("this mornings"), or such digits."""
_HAN_DATE = regex("[年月日天周週期拜近久前晚早]")
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
    found = [one for pattern in patterns for one in islice(_readings(pattern, scene), MAX_MENTIONS)]
    return tuple(_mention(written, one) for one in _without_overlaps(found)[:MAX_MENTIONS])


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
