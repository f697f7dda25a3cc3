"""English phrases that tell a date from the day they were said: yesterday, 3 days ago, last Friday (spec 6.6)."""

from __future__ import annotations

import re
from datetime import timedelta

from mnemond.text import intervals
from mnemond.text.date_rules import RIGHT_EDGE, Rule, Scene, one_of
from mnemond.text.intervals import Interval
from mnemond.text.tense import tense

_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_SHORT_WEEKDAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thurs": 3, "fri": 4}
_ALL_WEEKDAYS = WEEKDAYS | _SHORT_WEEKDAYS

_DAY_WORDS = {
    "the day before yesterday": -2,
    "the day after tomorrow": 2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "earlier today": 0,
    "tomorrow": 1,
}
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {name: number for number, name in enumerate(_COUNTS, start=1)} | {"a": 1, "an": 1}

_VAGUE = {
    "recently": (-30, 0),
    "lately": (-30, 0),
    "these days": (-30, 0),
    "the other day": (-14, -1),
    "a while ago": (-365, -7),
    "a while back": (-365, -7),
    "some time ago": (-365, -7),
    "not long ago": (-60, 0),
    "not so long ago": (-60, 0),
    "a long time ago": (-3650, -365),
    "long ago": (-3650, -365),
    "soon": (0, 30),
}
"""First and last day meant, from today. A guess by nature: whoever filters by it only weighs, never excludes."""

_FEW = (2, 7)
_COUPLE = (1, 3)
"""How many units "a few" and "a couple of" may stand for."""

_UNIT_DAYS = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}

_N = rf"\d{{1,4}}|{one_of(_NUMBER_WORDS)}"
_SEVERAL = r"a\s+few|few|several|(?:a\s+)?couple(?:\s+of)?"
_UNIT = "minute|hour|day|week|month|year"
_NOT_OF = r"(?!\s+of\b)"
"""The last week of June is not last week."""


def _day_word(found: re.Match[str], scene: Scene) -> Interval | None:
    offset = _DAY_WORDS[" ".join(found["day_word"].split())]
    return intervals.days(scene.today, offset, offset)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBER_WORDS[word]


def _moved(scene: Scene, count: int, unit: str) -> Interval | None:
    """The day, ISO week, month or year that lies `count` units away; hours and minutes give a day."""
    if unit in ("minute", "hour"):
        try:
            day = (scene.now + timedelta(hours=count if unit == "hour" else count / 60)).date()
        except OverflowError:
            return None
        return day, day
    if unit == "day":
        return intervals.days(scene.today, count, count)
    if unit in ("week", "weekend"):
        return (intervals.week if unit == "week" else intervals.weekend)(scene.today, count)
    return intervals.month_around(scene.today, count) if unit == "month" else intervals.year(scene.today.year + count)


def _ago(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved(scene, -_count(found["ago_n"]), found["ago_unit"])


def _from_now(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved(scene, _count(found["from_now_n"]), found["from_now_unit"])


def _within(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "in 3 days" is a date when the sentence looks ahead, else how long something took."""
    if tense(scene.folded, found.start(), found.end()) != "future":
        return None
    return _moved(scene, _count(found["within_n"]), found["within_unit"])


def _few_ago(found: re.Match[str], scene: Scene) -> Interval | None:
    least, most = _COUPLE if "couple" in (found["few_ago_n"] or "") else _FEW
    days = _UNIT_DAYS[found["few_ago_unit"]]
    return intervals.days(scene.today, -most * days, -least * days)


def _span(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "the past 3 weeks", "next two months": a stretch that touches today."""
    return _stretch(scene, found["span_which"], _count(found["span_n"] or "one"), found["span_unit"])


def _few_span(found: re.Match[str], scene: Scene) -> Interval | None:
    count = (_COUPLE if "couple" in found["few_span_n"] else _FEW)[1]
    return _stretch(scene, found["few_span_which"], count, found["few_span_unit"])


def _stretch(scene: Scene, which: str, count: int, unit: str) -> Interval | None:
    reach = count * _UNIT_DAYS[unit] or 1
    return intervals.days(scene.today, 0, reach) if which in _AHEAD else intervals.days(scene.today, -reach, 0)


_AHEAD = ("next", "coming", "upcoming")
_OFFSETS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1}


def _period(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "last week", "this month": the calendar unit before, around or after the one of today."""
    offset, today = _OFFSETS[found["period_which"]], scene.today
    match found["period_unit"]:
        case "week":
            return intervals.week(today, offset)
        case "month":
            return intervals.month_around(today, offset)
        case "year":
            return intervals.year(today.year + offset)
        case "quarter":
            return intervals.quarter(today.year, (today.month + 2) // 3 + offset)
        case _:
            return intervals.weekend(today, offset)


def _weekday(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "last" is the latest before today, "next" the first after it, "this" the one of the current week."""
    weekday, today = _ALL_WEEKDAYS[found["weekday_name"]], scene.today
    offset = _OFFSETS[found["weekday_which"]]
    if offset < 0:
        return intervals.weekday_before(today, weekday)
    if offset > 0:
        return intervals.weekday_after(today, weekday)
    ahead = weekday - today.weekday()
    return intervals.days(today, ahead, ahead)


def _on_weekday(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "on Friday" is a date only beside a verb in the past or the future: "deploys on Friday" is a habit."""
    seen = tense(scene.folded, found.start(), found.end())
    if seen is None:
        return None
    turn = intervals.weekday_before if seen == "past" else intervals.weekday_after
    return turn(scene.today, WEEKDAYS[found["on_weekday_name"]])


def _the_weekend(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "over the weekend", which needs the tense of a sentence as a weekday does."""
    seen = tense(scene.folded, found.start(), found.end())
    return None if seen is None else intervals.weekend(scene.today, -1 if seen == "past" else 0)


def _last_season(found: re.Match[str], scene: Scene) -> Interval | None:
    """The season of this year for "this", the latest that has ended for "last", the first to begin for "next"."""
    number = intervals.SEASONS.index(found["rel_season_name"].replace("fall", "autumn"))
    for year in (scene.today.year - 2 + step for step in range(5)):
        found_season = intervals.season(year, number)
        if found_season is not None and _fits(found["rel_season_which"], found_season, scene):
            following = intervals.season(year + 1, number)
            if found["rel_season_which"] == "last" and following is not None and following[1] < scene.today:
                continue
            return found_season
    return None


def _fits(which: str, season: Interval, scene: Scene) -> bool:
    match which:
        case "last":
            return season[1] < scene.today
        case "next":
            return season[0] > scene.today
        case _:
            return season[0].year == scene.today.year


def _vague(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.days(scene.today, *_VAGUE[" ".join(found["vague"].split())])


_FIRST_WORDS = tuple(sorted({phrase.split()[0] for phrase in (*_DAY_WORDS, *_VAGUE)}))
STARTS = (
    rf"\d|(?:{one_of(_NUMBER_WORDS)}|{one_of(_OFFSETS)}|few|several|couple|some|many|in|on|over|at|for|the|{_UNIT}s"
    rf"|{one_of(_FIRST_WORDS)})(?![a-z])"
)
"""What every date of `RULES` starts with: a cheap test before the rules are tried."""

RULES = (
    Rule("day_word", one_of(_DAY_WORDS) + RIGHT_EDGE, _day_word),
    Rule("ago", rf"(?P<ago_n>{_N})\s+(?P<ago_unit>weekend|{_UNIT})s?\s+(?:ago|back){RIGHT_EDGE}", _ago),
    Rule(
        "few_ago",
        rf"(?:(?P<few_ago_n>{_SEVERAL}|some|many)\s+)?(?P<few_ago_unit>{_UNIT})s\s+(?:ago|back){RIGHT_EDGE}",
        _few_ago,
        explicit=False,
    ),
    Rule(
        "from_now",
        rf"(?P<from_now_n>{_N})\s+(?P<from_now_unit>{_UNIT})s?\s+from\s+(?:now|today){RIGHT_EDGE}",
        _from_now,
    ),
    Rule("within", rf"in\s+(?P<within_n>{_N})\s+(?P<within_unit>{_UNIT})s?{RIGHT_EDGE}", _within),
    Rule(
        "span",
        rf"(?P<span_which>last|past|previous|next|coming)\s+(?P<span_n>{_N})\s+(?P<span_unit>{_UNIT})s?{RIGHT_EDGE}{_NOT_OF}",
        _span,
    ),
    Rule(
        "few_span",
        rf"(?P<few_span_which>last|past|previous|next|coming)\s+(?P<few_span_n>{_SEVERAL})\s+(?P<few_span_unit>{_UNIT})s{RIGHT_EDGE}",
        _few_span,
        explicit=False,
    ),
    Rule(
        "weekday",
        rf"(?:this\s+(?=past|coming))?(?P<weekday_which>{one_of(_OFFSETS)})\s+(?P<weekday_name>{one_of(_ALL_WEEKDAYS)}){RIGHT_EDGE}{_NOT_OF}",
        _weekday,
    ),
    Rule("the_weekend", rf"(?:over|on|at|for)\s+the\s+weekend{RIGHT_EDGE}", _the_weekend),
    Rule("on_weekday", rf"on\s+(?P<on_weekday_name>{one_of(WEEKDAYS)}){RIGHT_EDGE}", _on_weekday),
    Rule(
        "period",
        rf"(?:this\s+(?=past|coming))?(?P<period_which>{one_of(_OFFSETS)})\s+(?P<period_unit>weekend|week|month|year|quarter){RIGHT_EDGE}{_NOT_OF}",
        _period,
    ),
    Rule(
        "rel_season",
        rf"(?P<rel_season_which>last|this|next)\s+(?P<rel_season_name>spring|summer|autumn|fall|winter){RIGHT_EDGE}",
        _last_season,
        explicit=False,
    ),
    Rule("vague", rf"(?<!\btoo\s)(?<!\bas\s)(?<!\bhow\s)(?:{one_of(_VAGUE)}){RIGHT_EDGE}", _vague, explicit=False),
)
