"""Chinese dates: 昨天, 三天前, 上周五, 去年三月, 2026年2月 (spec 6.6). Simplified and traditional characters."""

from __future__ import annotations

import re

from mnemond.text import intervals
from mnemond.text.date_rules import Rule, Scene, one_of
from mnemond.text.intervals import Interval
from mnemond.text.tense import tense

_DIGITS = {"一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_N = r"\d{1,4}|[一二两兩三四五六七八九十]{1,3}"
_UPTO_12 = r"\d{1,2}|十[一二]?|[一二三四五六七八九]"

_DAY_WORDS = {
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
_VAGUE = {
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
_UNIT_DAYS = {"天": 1, "日": 1, "周": 7, "週": 7, "星期": 7, "礼拜": 7, "禮拜": 7, "月": 30, "年": 365}

_WEEK = "周|週|星期|礼拜|禮拜"
_WHICH_PATTERN = one_of(_WHICH)
_SEVERAL = (2, 7)


def number(text: str) -> int:
    """The value of digits or of 一 to 九十九."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)


def _day_word(found: re.Match[str], scene: Scene) -> Interval | None:
    offset = _DAY_WORDS[found["zh_day"]]
    return intervals.days(scene.today, offset, offset)


def _ago(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved(scene, -number(found["zh_ago_n"]), found["zh_ago_unit"])


def _later(found: re.Match[str], scene: Scene) -> Interval | None:
    """三天后 counts from today only when the sentence looks ahead; in a story it counts from what came before."""
    if tense(scene.folded, found.start(), found.end()) != "future":
        return None
    return _moved(scene, number(found["zh_later_n"]), found["zh_later_unit"])


def _moved(scene: Scene, count: int, unit: str) -> Interval | None:
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
    days = _UNIT_DAYS[found["zh_several_unit"].removeprefix("个").removeprefix("個")]
    return intervals.days(scene.today, -_SEVERAL[1] * days, -_SEVERAL[0] * days)


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


def _vague(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.days(scene.today, *_VAGUE[found["zh_vague"]])


_DAY = r"\d{1,2}|[一二三四五六七八九十]{1,3}"

STARTS = r"[\d一二两兩三四五六七八九十几幾数數大昨今明前去后後最近不很上下这這本]"
"""What every date of `RULES` starts with."""

RULES = (
    Rule("zh_vague", one_of(_VAGUE), _vague, explicit=False),
    Rule("zh_day", one_of(_DAY_WORDS), _day_word),
    Rule(
        "zh_ago", rf"(?P<zh_ago_n>{_N})\s?(?P<zh_ago_unit>天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年)[之以]?前", _ago
    ),
    Rule(
        "zh_later",
        rf"(?P<zh_later_n>{_N})\s?(?P<zh_later_unit>天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年)[之以]?[后後]",
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
