"""Whether a sentence looks back or ahead, as far as that decides which March or which Friday is meant."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Literal

from mnemond.text import intervals
from mnemond.text.intervals import RIGHT_EDGE, Interval, Rule, Scene, one_of
from mnemond.text.resources import regex

Tense = Literal["past", "future"]

_SEEN = 100
"""Characters looked at on either side: a sentence of ordinary length."""

_SENTENCE_END = regex(r"[!?;\n。！？；]|\.(?=\s|$)")
_CUE = regex(
    r"\b(?P<future>will|shall|won't|gonna|going\s+to|plan(?:s|ned|ning)?\s+(?:to|on|for)|hop(?:e|es|ing)\s+to|intends?\s+to"
    r"|wants?\s+to|about\s+to|scheduled|upcoming|due|expects?|looking\s+forward|can't\s+wait)\b|(?P<will>(?:'|’)ll)\b"
    r"|\b(?P<past>was|were|had|did|didn't|went|got|made|saw|took|came|met|said|told|began|bought|built|found|gave|left"
    r"|lost|ran|sent|spent|won|wrote|became|broke|chose|felt|held|kept|paid|sold|taught|fell"
    r"|(?<!\bis\s)(?<!\bare\s)(?<!\bbe\s)(?<!\bbeing\s)[a-z]{2,20}ed)\b"
    "|(?P<chinese_future>将|會|会|要|打算|计划|計劃|准备|準備)|(?P<chinese_past>了|过|過)"
)


def tense(folded: str, start: int, end: int) -> Tense | None:
    """The tense nearest before `folded[start:end]` in its sentence, else the first one after it, else None."""
    before = _SENTENCE_END.split(folded[max(0, start - _SEEN) : start])[-1]
    cues = list(_CUE.finditer(before))
    if cues:
        return _kind(cues[-1])
    after = _SENTENCE_END.split(folded[end : end + _SEEN], maxsplit=1)[0]
    found = _CUE.search(after)
    return None if found is None else _kind(found)


def _kind(cue: re.Match[str]) -> Tense:
    return "past" if (cue.lastgroup or "").endswith("past") else "future"


# English phrases that tell a date from the day they were said: yesterday, 3 days ago, last Friday (spec 6.6).


_WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_NAMES)}
_SHORT_WEEKDAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thurs": 3, "fri": 4}
_ALL_WEEKDAYS = WEEKDAYS | _SHORT_WEEKDAYS

_RELATIVE_DATES_DAY_WORDS = {
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

_RELATIVE_DATES_VAGUE = {
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

_RELATIVE_DATES_UNIT_DAYS = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}

_RELATIVE_DATES_N = rf"\d{{1,4}}|{one_of(_NUMBER_WORDS)}"
_RELATIVE_DATES_SEVERAL = r"a\s+few|few|several|(?:a\s+)?couple(?:\s+of)?"
_UNIT = "minute|hour|day|week|month|year"
_NOT_OF = r"(?!\s+of\b)"
"""The last week of June is not last week."""


def _day_word_relative_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    offset = _RELATIVE_DATES_DAY_WORDS[" ".join(found["day_word"].split())]
    return intervals.days(scene.today, offset, offset)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBER_WORDS[word]


def _moved_relative_dates(scene: Scene, count: int, unit: str) -> Interval | None:
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


def _ago_relative_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved_relative_dates(scene, -_count(found["ago_n"]), found["ago_unit"])


def _from_now(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved_relative_dates(scene, _count(found["from_now_n"]), found["from_now_unit"])


def _within(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "in 3 days" is a date when the sentence looks ahead, else how long something took."""
    if tense(scene.folded, found.start(), found.end()) != "future":
        return None
    return _moved_relative_dates(scene, _count(found["within_n"]), found["within_unit"])


def _few_ago(found: re.Match[str], scene: Scene) -> Interval | None:
    least, most = _COUPLE if "couple" in (found["few_ago_n"] or "") else _FEW
    days = _RELATIVE_DATES_UNIT_DAYS[found["few_ago_unit"]]
    return intervals.days(scene.today, -most * days, -least * days)


def _span(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "the past 3 weeks", "next two months": a stretch that touches today."""
    return _stretch(scene, found["span_which"], _count(found["span_n"] or "one"), found["span_unit"])


def _few_span(found: re.Match[str], scene: Scene) -> Interval | None:
    count = (_COUPLE if "couple" in found["few_span_n"] else _FEW)[1]
    return _stretch(scene, found["few_span_which"], count, found["few_span_unit"])


def _stretch(scene: Scene, which: str, count: int, unit: str) -> Interval | None:
    reach = count * _RELATIVE_DATES_UNIT_DAYS[unit] or 1
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


def _vague_relative_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.days(scene.today, *_RELATIVE_DATES_VAGUE[" ".join(found["vague"].split())])


_FIRST_WORDS = tuple(sorted({phrase.split()[0] for phrase in (*_RELATIVE_DATES_DAY_WORDS, *_RELATIVE_DATES_VAGUE)}))
RELATIVE_DATES_STARTS = (
    rf"\d|(?:{one_of(_NUMBER_WORDS)}|{one_of(_OFFSETS)}|few|several|couple|some|many|in|on|over|at|for|the|{_UNIT}s"
    rf"|{one_of(_FIRST_WORDS)})(?![a-z])"
)
"""What every date of `RULES` starts with: a cheap test before the rules are tried."""

RELATIVE_DATES_RULES = (
    Rule("day_word", one_of(_RELATIVE_DATES_DAY_WORDS) + RIGHT_EDGE, _day_word_relative_dates),
    Rule(
        "ago",
        rf"(?P<ago_n>{_RELATIVE_DATES_N})\s+(?P<ago_unit>weekend|{_UNIT})s?\s+(?:ago|back){RIGHT_EDGE}",
        _ago_relative_dates,
    ),
    Rule(
        "few_ago",
        rf"(?:(?P<few_ago_n>{_RELATIVE_DATES_SEVERAL}|some|many)\s+)?(?P<few_ago_unit>{_UNIT})s\s+(?:ago|back){RIGHT_EDGE}",
        _few_ago,
        explicit=False,
    ),
    Rule(
        "from_now",
        rf"(?P<from_now_n>{_RELATIVE_DATES_N})\s+(?P<from_now_unit>{_UNIT})s?\s+from\s+(?:now|today){RIGHT_EDGE}",
        _from_now,
    ),
    Rule("within", rf"in\s+(?P<within_n>{_RELATIVE_DATES_N})\s+(?P<within_unit>{_UNIT})s?{RIGHT_EDGE}", _within),
    Rule(
        "span",
        rf"(?P<span_which>last|past|previous|next|coming)\s+(?P<span_n>{_RELATIVE_DATES_N})\s+(?P<span_unit>{_UNIT})s?{RIGHT_EDGE}{_NOT_OF}",
        _span,
    ),
    Rule(
        "few_span",
        rf"(?P<few_span_which>last|past|previous|next|coming)\s+(?P<few_span_n>{_RELATIVE_DATES_SEVERAL})\s+(?P<few_span_unit>{_UNIT})s{RIGHT_EDGE}",
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
    Rule(
        "vague",
        rf"(?<!\btoo\s)(?<!\bas\s)(?<!\bhow\s)(?:{one_of(_RELATIVE_DATES_VAGUE)}){RIGHT_EDGE}",
        _vague_relative_dates,
        explicit=False,
    ),
)


# Chinese dates: 昨天, 三天前, 上周五, 去年三月, 2026年2月 (spec 6.6). Simplified and traditional characters.


_DIGITS = {"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_CHINESE_DATES_N = r"\d{1,4}|[一二两兩三四五六七八九十]{1,3}"
_UPTO_12 = r"\d{1,2}|十[一二]?|[一二三四五六七八九]"

_CHINESE_DATES_DAY_WORDS = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "昨晚": -1,
    "今天": 0,
    "今日": 0,
    "今晚": 0,
    "今早": 0,
    "明天": 1,
    "明日": 1,
    "明早": 1,
    "明晚": 1,
    "后天": 2,
    "後天": 2,
    "大后天": 3,
    "大後天": 3,
}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2}
_WHICH = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2}
_WEEKDAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_CHINESE_DATES_VAGUE = {
    "最近": (-30, 0),
    "近来": (-30, 0),
    "近來": (-30, 0),
    "近期": (-30, 0),
    "不久前": (-60, 0),
    "前几天": (-7, -2),
    "前幾天": (-7, -2),
    "前些天": (-14, -2),
    "前阵子": (-60, -7),
    "前陣子": (-60, -7),
    "前段时间": (-90, -7),
    "前段時間": (-90, -7),
    "一段时间前": (-365, -7),
    "很久以前": (-3650, -365),
    "很久之前": (-3650, -365),
}
_CHINESE_DATES_UNIT_DAYS = {"天": 1, "日": 1, "周": 7, "週": 7, "星期": 7, "礼拜": 7, "禮拜": 7, "月": 30, "年": 365}

_WEEK = "周|週|星期|礼拜|禮拜"
_WHICH_PATTERN = one_of(_WHICH)
_CHINESE_DATES_SEVERAL = (2, 7)


def number(text: str) -> int:
    """The value of digits or of 一 to 九十九."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)


def _day_word_chinese_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    offset = _CHINESE_DATES_DAY_WORDS[found["zh_day"]]
    return intervals.days(scene.today, offset, offset)


def _ago_chinese_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved_chinese_dates(scene, -number(found["zh_ago_n"]), found["zh_ago_unit"])


def _later(found: re.Match[str], scene: Scene) -> Interval | None:
    """三天后 counts from today only when the sentence looks ahead; in a story it counts from what came before."""
    if tense(scene.folded, found.start(), found.end()) != "future":
        return None
    return _moved_chinese_dates(scene, number(found["zh_later_n"]), found["zh_later_unit"])


def _moved_chinese_dates(scene: Scene, count: int, unit: str) -> Interval | None:
    match unit.removeprefix("个").removeprefix("個"):
        case "天" | "日":
            return intervals.days(scene.today, count, count)
        case "月":
            return intervals.month_around(scene.today, count)
        case "年":
            return intervals.year(scene.today.year + count)
        case _:
            return intervals.week(scene.today, count)


def _several_ago(found: re.Match[str], scene: Scene) -> Interval | None:
    days = _CHINESE_DATES_UNIT_DAYS[found["zh_several_unit"].removeprefix("个").removeprefix("個")]
    return intervals.days(scene.today, -_CHINESE_DATES_SEVERAL[1] * days, -_CHINESE_DATES_SEVERAL[0] * days)


def _week(found: re.Match[str], scene: Scene) -> Interval | None:
    """上周五 is the Friday of last week, whatever day it is today."""
    week = intervals.week(scene.today, _WHICH[found["zh_week_which"]])
    weekday = found["zh_week_day"]
    if week is None or weekday is None:
        return week
    first = week[0]
    if weekday == "末":
        return intervals.days(first, 5, 6)
    return intervals.days(first, _WEEKDAYS[weekday], _WEEKDAYS[weekday])


def _month(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.month_around(scene.today, _WHICH[found["zh_month_which"]])


def _year(found: re.Match[str], scene: Scene) -> Interval | None:
    """去年, 去年三月, 2026年, 2026年2月; a month and a day too (今年5月8日)."""
    word, digits = found["zh_year_word"], found["zh_year_n"]
    year = scene.today.year + _YEARS[word] if word else int(digits)
    if found["zh_year_month"] is None:
        return intervals.year(year)
    month = number(found["zh_year_month"])
    if not 1 <= month <= 12:
        return None
    if found["zh_year_day"] is None:
        return intervals.month(year, month)
    day = intervals.calendar_day(year, month, number(found["zh_year_day"]))
    return intervals.between(day, day)


def _recurring(found: re.Match[str], scene: Scene) -> Interval | None:
    """5月8日, 三月: of which year, the tense of the sentence tells; without one the latest."""
    month = number(found["zh_md_month"])
    ahead = tense(scene.folded, found.start(), found.end()) == "future"
    if not 1 <= month <= 12:
        return None
    if found["zh_md_day"] is None:
        return intervals.nearest_month(scene.today, month, ahead=ahead)
    return intervals.nearest_day(scene.today, month, number(found["zh_md_day"]), ahead=ahead)


def _vague_chinese_dates(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.days(scene.today, *_CHINESE_DATES_VAGUE[found["zh_vague"]])


_DAY = r"\d{1,2}|[一二三四五六七八九十]{1,3}"

CHINESE_DATES_STARTS = r"[\d一二两兩三四五六七八九十几幾数數大昨今明前去后後最近不很上下这這本]"
"""What every date of `RULES` starts with."""

CHINESE_DATES_RULES = (
    Rule("zh_vague", one_of(_CHINESE_DATES_VAGUE), _vague_chinese_dates, explicit=False),
    Rule("zh_day", one_of(_CHINESE_DATES_DAY_WORDS), _day_word_chinese_dates),
    Rule(
        "zh_ago",
        rf"(?P<zh_ago_n>{_CHINESE_DATES_N})\s?(?P<zh_ago_unit>天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年)[之以]?前",
        _ago_chinese_dates,
    ),
    Rule(
        "zh_later",
        rf"(?P<zh_later_n>{_CHINESE_DATES_N})\s?(?P<zh_later_unit>天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年)[之以]?[后後]",
        _later,
    ),
    Rule(
        "zh_several",
        r"[几幾数數]\s?(?P<zh_several_unit>天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年)[之以]?前",
        _several_ago,
        explicit=False,
    ),
    Rule(
        "zh_week",
        rf"(?<![早晚马馬])(?P<zh_week_which>{_WHICH_PATTERN})[个個一]?(?:{_WEEK})(?P<zh_week_day>[一二三四五六日天末])?",
        _week,
    ),
    Rule("zh_month", rf"(?<![早晚马馬])(?P<zh_month_which>{_WHICH_PATTERN})[个個]?月(?![饼餅份]?[亮])", _month),
    Rule(
        "zh_year",
        rf"(?:(?P<zh_year_word>{one_of(_YEARS)})|(?<!\d)(?P<zh_year_n>[12]\d{{3}})年)的?"
        rf"(?:\s?(?P<zh_year_month>{_UPTO_12})月(?:\s?(?P<zh_year_day>{_DAY})[日号號])?)?",
        _year,
    ),
    Rule(
        "zh_md",
        rf"(?<![\d第个個.])(?P<zh_md_month>{_UPTO_12})月(?:\s?(?P<zh_md_day>{_DAY})[日号號]|(?!\d|天))",
        _recurring,
    ),
)
