"""Rules for phrases that mean days: each a pattern, and a function from its match to an interval.

Absolute dates name a month or a year ("8 May 2023", "in March", 05/08/2026); relative ones count from the day on which
they were written ("3 days ago", 上周五). English and Chinese phrases share their functions and have words of their own
(data/dates.toml).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.text import intervals
from mnemond.text.intervals import Interval
from mnemond.text.resources import on_first_use, one_of, read, regex

# ---------------------------------------------------------------- tense, which decides which March or Friday is meant

Tense = Literal["past", "future"]

_MAX_SIDE = 100
"""Characters on either side that are searched: a sentence of ordinary length."""

_SENTENCE_END = regex(r"[!?;\n。！？；]|\.(?=\s|$)")
_TENSE_CUE = regex(
    r"\b(?P<future>will|shall|won't|gonna|going\s+to|plan(?:s|ned|ning)?\s+(?:to|on|for)|hop(?:e|es|ing)\s+to"
    r"|intends?\s+to"
    r"|wants?\s+to|about\s+to|scheduled|upcoming|due|expects?|looking\s+forward|can't\s+wait)\b|(?P<will>(?:'|’)ll)\b"
    r"|\b(?P<past>was|were|had|did|didn't|went|got|made|saw|took|came|met|said|told|began|bought|built|found|gave|left"
    r"|lost|ran|sent|spent|won|wrote|became|broke|chose|felt|held|kept|paid|sold|taught|fell"
    r"|(?<!\bis\s)(?<!\bare\s)(?<!\bbe\s)(?<!\bbeing\s)[a-z]{2,20}ed)\b"
    "|(?P<chinese_future>将|會|会|要|打算|计划|計劃|准备|準備)|(?P<chinese_past>了|过|過)"
)


def tense(folded: str, start: int, end: int) -> Tense | None:
    """The tense nearest before `folded[start:end]` in its sentence, else the first one after it, else None."""
    before = _SENTENCE_END.split(folded[max(0, start - _MAX_SIDE) : start])[-1]
    cues = list(_TENSE_CUE.finditer(before))
    if cues:
        return _kind(cues[-1])
    after = _SENTENCE_END.split(folded[end : end + _MAX_SIDE], maxsplit=1)[0]
    found = _TENSE_CUE.search(after)
    return None if found is None else _kind(found)


def _kind(cue: re.Match[str]) -> Tense:
    return "past" if (cue.lastgroup or "").endswith("past") else "future"


class Scene(NamedTuple):
    """The text around a phrase, the time when it was written, and how its writer spells dates.

    `text` is as written; its positions are those of `folded`. `now` is in UTC. `day_first`: True if 05/08 is 5 August,
    False if it is 8 May, None if that is unknown.
    """

    text: str
    folded: str
    now: datetime
    day_first: bool | None

    @property
    def today(self) -> date:
        return self.now.date()

    def is_capital(self, position: int) -> bool:
        return self.text[position].isupper()


Resolve = Callable[[re.Match[str], Scene], Interval | None]


class Rule(NamedTuple):
    """`pattern` is over folded text; the names of its groups begin with the name of the rule. `explicit`: False for a
    phrase that gives no more than an idea."""

    name: str
    pattern: str
    resolve: Resolve
    explicit: bool = True


LEFT_EDGE: Final = r"(?<![a-z0-9_/.])(?<![a-z0-9_]-)"
RIGHT_EDGE: Final = r"(?!-?[a-z0-9_%])"
"""Where a word of Latin letters or digits may begin and end; Chinese is written without spaces around it."""

_NO_MORE_DIGITS: Final = r"(?![.,:/]\d)"


def any_rule(rules: Iterable[Rule], left: str = "") -> str:
    """All rules as one expression; the last group of a match is the name of its rule. Earlier rules win."""
    return left + "(?:" + "|".join(f"(?P<{rule.name}>{rule.pattern})" for rule in rules) + ")"


def _part(found: re.Match[str], part: str) -> str:
    """The text of a group of the matching rule; "" if the group does not match."""
    return found[f"{found.lastgroup}_{part}"] or ""


def _is_ahead(found: re.Match[str], scene: Scene) -> bool:
    return tense(scene.folded, found.start(), found.end()) == "future"


# ---------------------------------------------------------------- absolute dates

MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
"""English months, abbreviated or not."""

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_VERBS: Final = ("may", "mar")
"""Beginnings of months whose name, written small, may be a verb."""

_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_CUE: Final = r"in|since|until|till|during|through|before|after|by|around|early|late|mid|last|next|this"
_DAY_CUE: Final = r"(?:since|until|till|through|before|after|by|around)"
"""Before a month with a day behind it, the cue belongs to the day: "by March 15"."""
_YEAR_CUE: Final = r"in|since|during|until|till|through|before|after|by|year|early|late|mid"
_SEASON: Final = r"spring|summer|autumn|fall|winter"


def _month_number(name: str) -> int:
    """1–12 for a match of `MONTH`."""
    return _MONTHS[name[:3]]


def _single(year: int, month: int, day: str) -> Interval | None:
    found = intervals.calendar_day(year, month, int(day.rstrip("stndrh")))
    return None if found is None else (found, found)


def whole_date(found: re.Match[str], scene: Scene | None = None) -> Interval | None:
    """The days of a match of `WHOLE_RULES`: one day, or several ("8-10 May 2023")."""
    year, month = int(_part(found, "year")), _part(found, "month")
    number = int(month) if month.isdigit() else _month_number(month)
    first = _single(year, number, _part(found, "day"))
    last = _part(found, "last") if found.lastgroup in ("dmy", "mdy") else ""
    if first is None or not last:
        return first
    end = _single(year, number, last)
    return None if end is None else intervals.between(first[0], end[0])


def _numeric(found: re.Match[str], scene: Scene) -> Interval | None:
    """Day and month in the order that the numbers show, else in the writer's."""
    first, second = int(_part(found, "first")), int(_part(found, "second"))
    if first > 12 or first == second:
        day_first: bool | None = True
    else:
        day_first = False if second > 12 else scene.day_first
    if day_first is None:
        return None
    day, month = (first, second) if day_first else (second, first)
    return _single(int(_part(found, "year")), month, str(day))


def _numeric_short(found: re.Match[str], scene: Scene) -> Interval | None:
    """05/08 without a year, which is as often a fraction or a score: only for writers whose order is known."""
    if scene.day_first is None:
        return None
    first, second = int(_part(found, "first")), int(_part(found, "second"))
    day, month = (first, second) if scene.day_first else (second, first)
    return _recurring(found, scene, month, day)


def _recurring(found: re.Match[str], scene: Scene, month: int, day: int) -> Interval | None:
    """A day without a year: the tense of the sentence decides which; without one the latest."""
    return intervals.nearest_day(scene.today, month, day, ahead=_is_ahead(found, scene))


def _month_of_year(found: re.Match[str], scene: Scene) -> Interval | None:
    month = _part(found, "month")
    return intervals.month(int(_part(found, "year")), int(month) if month.isdigit() else _month_number(month))


def _day_of_month(found: re.Match[str], scene: Scene) -> Interval | None:
    name, day = _part(found, "month"), _part(found, "day")
    is_verb = name in (*_VERBS, "march") and day.isdigit()
    if is_verb and not scene.is_capital(found.start(f"{found.lastgroup}_month")):
        return None
    return _recurring(found, scene, _month_number(name), int(day.rstrip("stndrh")))


_AFTER_MAY: Final = regex(r"\s*(?:$|[^\w\s]|(?:and|i|we|he|she|they|of|this|last|next|with|for|at|when|because)\b)")


def _is_verb(found: re.Match[str], scene: Scene) -> bool:
    """Return True if a small "may" or "march" is a verb: "this may break", "the state we are in may change"."""
    is_may = _part(found, "name") == "may"
    return _part(found, "cue") == "this" or (is_may and not _AFTER_MAY.match(scene.folded, found.end()))


def _cued_month(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "in March": with "last" and "next" never the current one, else as the tense of the sentence decides."""
    name, cue = _part(found, "name"), _part(found, "cue")
    number, today = _month_number(name), scene.today
    if name[:3] in _VERBS and not scene.is_capital(found.start("cued_month_name")) and _is_verb(found, scene):
        return None
    if cue == "last":
        return intervals.month(today.year - (number >= today.month), number)
    if cue == "next":
        return intervals.month(today.year + (number <= today.month), number)
    if cue == "this":
        return intervals.month(today.year, number)
    return intervals.nearest_month(today, number, ahead=_is_ahead(found, scene))


def _quarter(found: re.Match[str], scene: Scene) -> Interval | None:
    year = _part(found, "year") or _part(found, "first")
    return intervals.quarter(int(year), int(_part(found, "n") or _part(found, "last")))


def _season(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.season(int(_part(found, "year")), _season_number(_part(found, "name")))


def _season_number(name: str) -> int:
    return intervals.SEASONS.index(name.replace("fall", "autumn"))


def _year(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.year(int(_part(found, "n")))


WHOLE_RULES: Final = (
    Rule(
        "iso",
        r"(?P<iso_year>\d{4})(?P<iso_sep>[-/.])(?P<iso_month>\d\d)(?P=iso_sep)(?P<iso_day>\d\d)"
        r"(?:(?=t\d\d)|(?![-/.]?[a-z0-9_]))",
        whole_date,
    ),
    Rule("hanzi", r"(?P<hanzi_year>\d{4})年\s?(?P<hanzi_month>\d{1,2})月\s?(?P<hanzi_day>\d{1,2})[日号號]", whole_date),
    Rule(
        "dmy",
        rf"(?P<dmy_day>{_DAY})(?:\s?[-–]\s?(?P<dmy_last>{_DAY}))?\s+(?:of\s+)?(?P<dmy_month>{MONTH})\.?,?\s+"
        rf"(?P<dmy_year>\d{{4}}){RIGHT_EDGE}",
        whole_date,
    ),
    Rule(
        "mdy",
        rf"(?P<mdy_month>{MONTH})\.?\s+(?P<mdy_day>{_DAY})(?:\s?[-–]\s?(?P<mdy_last>{_DAY}))?(?:\s?,\s?|\s+)"
        rf"(?P<mdy_year>\d{{4}}){RIGHT_EDGE}",
        whole_date,
    ),
)
"""Dates with a year, a month and a day."""

_ABSOLUTE_RULES: Final = (
    *WHOLE_RULES,
    Rule(
        "numeric",
        r"(?P<numeric_first>\d{1,2})(?P<numeric_sep>[/.-])(?P<numeric_second>\d{1,2})(?P=numeric_sep)"
        rf"(?P<numeric_year>\d{{4}})(?![-/.][a-z0-9_]){RIGHT_EDGE}",
        _numeric,
    ),
    Rule(
        "short",
        rf"(?P<short_first>\d\d)/(?P<short_second>\d\d)(?![-/.][a-z0-9_]){RIGHT_EDGE}",
        _numeric_short,
    ),
    Rule(
        "month_of_year",
        rf"(?:(?:{_CUE})[\s-]+)?(?P<month_of_year_month>{MONTH})\.?(?:,?\s+(?:of\s+)?)(?P<month_of_year_year>[12]\d{{3}})"
        rf"{RIGHT_EDGE}{_NO_MORE_DIGITS}",
        _month_of_year,
    ),
    Rule(
        "month_only",
        rf"(?P<month_only_year>(?:19|20)\d\d)-(?P<month_only_month>0[1-9]|1[0-2]){RIGHT_EDGE}{_NO_MORE_DIGITS}",
        _month_of_year,
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
    Rule(
        "cued_month",
        rf"(?!{_DAY_CUE}[\s-]+{MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\w))"
        rf"(?P<cued_month_cue>{_CUE})[\s-]+(?P<cued_month_name>{MONTH}){RIGHT_EDGE}",
        _cued_month,
    ),
    Rule(
        "quarter",
        r"(?:q(?P<quarter_n>[1-4])\s?(?P<quarter_year>(?:19|20)\d\d)"
        rf"|(?P<quarter_first>(?:19|20)\d\d)\s?q(?P<quarter_last>[1-4])){RIGHT_EDGE}",
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
"""Longer forms precede shorter ones that they start with."""


# ---------------------------------------------------------------- relative dates: words

_FEW: Final = (2, 7)
_COUPLE: Final = (1, 3)
"""How many units "a few", 几 and "a couple of" may mean."""

_UNIT_DAYS: Final = {"minute": 0, "hour": 0, "day": 1, "week": 7, "month": 30, "year": 365}
_AHEAD: Final = ("next", "coming", "upcoming")


class _DateRulesWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of a language; data/dates.toml describes the fields."""

    day_words: dict[str, int]
    vague: dict[str, tuple[int, int]]
    numbers: dict[str, int]
    units: dict[str, str]
    which: dict[str, int]
    weekdays: dict[str, int]
    years: dict[str, int] = {}


class _Languages(msgspec.Struct, frozen=True):
    """`both` has the words of both languages, of which none is common to them."""

    english: _DateRulesWords
    chinese: _DateRulesWords
    both: _DateRulesWords


@on_first_use
def _languages() -> _Languages:
    file = read("dates", dict[str, _DateRulesWords])
    english, chinese = file["english"], file["chinese"]
    both = _DateRulesWords(
        *({**getattr(english, name), **getattr(chinese, name)} for name in _DateRulesWords.__struct_fields__)
    )
    return _Languages(english, chinese, both)


def _words() -> _DateRulesWords:
    return _languages().both


def number(word: str) -> int:
    """The value of digits, of one to twelve, or of 一 to 九十九."""
    if word.isdigit():
        return int(word)
    numbers = _words().numbers
    tens, ten, ones = word.rpartition("十")
    return (numbers.get(tens, 1) * 10 if ten else 0) + numbers.get(ones, 0)


def _unit(found: re.Match[str]) -> str:
    """The English name of the unit of time of a match."""
    word = _part(found, "unit").lstrip("个個")
    return _words().units.get(word, word)


# ---------------------------------------------------------------- relative dates: meanings


def _phrase_days(found: re.Match[str], scene: Scene) -> Interval | None:
    offset = _words().day_words[" ".join(found[0].split())]
    return intervals.days(scene.today, offset, offset)


def _vague(found: re.Match[str], scene: Scene) -> Interval | None:
    return intervals.days(scene.today, *_words().vague[" ".join(found[0].split())])


def _moved(scene: Scene, count: int, unit: str) -> Interval | None:
    """The day, ISO week, month or year that is `count` units away; hours and minutes give a day."""
    if unit in ("minute", "hour"):
        try:
            day = (scene.now + timedelta(hours=count if unit == "hour" else count / 60)).date()
        except OverflowError:
            return None
        return day, day
    if unit == "day":
        return intervals.days(scene.today, count, count)
    return _calendar_unit(scene, count, unit)


def _calendar_unit(scene: Scene, offset: int, unit: str) -> Interval | None:
    today = scene.today
    match unit:
        case "week":
            return intervals.week(today, offset)
        case "weekend":
            return intervals.weekend(today, offset)
        case "month":
            return intervals.month_around(today, offset)
        case "quarter":
            return intervals.quarter(today.year, (today.month + 2) // 3 + offset)
        case _:
            return intervals.year(today.year + offset)


def _ago(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved(scene, -number(_part(found, "n")), _unit(found))


def _from_now(found: re.Match[str], scene: Scene) -> Interval | None:
    return _moved(scene, number(_part(found, "n")), _unit(found))


def _within(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "in 3 days" and 三天后 count from today only if the sentence looks ahead: else they say how long something took,
    or count from something before."""
    return _from_now(found, scene) if _is_ahead(found, scene) else None


def _few_ago(found: re.Match[str], scene: Scene) -> Interval | None:
    least, most = _COUPLE if "couple" in found[0] else _FEW
    days = _UNIT_DAYS[_unit(found)]
    return intervals.days(scene.today, -most * days, -least * days)


def _span(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "the past 3 weeks", "next two months": a span that touches today."""
    return _stretch(found, scene, number(_part(found, "n")))


def _few_span(found: re.Match[str], scene: Scene) -> Interval | None:
    return _stretch(found, scene, (_COUPLE if "couple" in found[0] else _FEW)[1])


def _stretch(found: re.Match[str], scene: Scene, count: int) -> Interval | None:
    reach = count * _UNIT_DAYS[_unit(found)] or 1
    is_ahead = _part(found, "which") in _AHEAD
    return intervals.days(scene.today, 0, reach) if is_ahead else intervals.days(scene.today, -reach, 0)


def _period(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "last week", "this month", 上个月: the calendar unit before, around or after the one of today."""
    return _calendar_unit(scene, _words().which[_part(found, "which")], _unit(found))


def _weekday(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "last" is the latest before today, "next" the first after it, "this" the one of the current week."""
    weekday, today = _words().weekdays[_part(found, "name")], scene.today
    offset = _words().which[_part(found, "which")]
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
    return turn(scene.today, _words().weekdays[_part(found, "name")])


def _the_weekend(found: re.Match[str], scene: Scene) -> Interval | None:
    """ "over the weekend", which needs the tense of a sentence as a weekday does."""
    seen = tense(scene.folded, found.start(), found.end())
    return None if seen is None else intervals.weekend(scene.today, -1 if seen == "past" else 0)


def _relative_season(found: re.Match[str], scene: Scene) -> Interval | None:
    """The season of this year for "this", the latest that has ended for "last", the first to begin for "next"."""
    which, seasons = _part(found, "which"), []
    for year in range(scene.today.year - 2, scene.today.year + 3):
        season = intervals.season(year, _season_number(_part(found, "name")))
        if season is not None:
            seasons.append(season)
    if which == "last":
        return next((season for season in reversed(seasons) if season[1] < scene.today), None)
    if which == "next":
        return next((season for season in seasons if season[0] > scene.today), None)
    return next((season for season in seasons if season[0].year == scene.today.year), None)


def _chinese_week(found: re.Match[str], scene: Scene) -> Interval | None:
    """上周五 is the Friday of last week, whatever day it is today."""
    week = intervals.week(scene.today, _words().which[_part(found, "which")])
    weekday = _part(found, "day")
    if week is None or not weekday:
        return week
    if weekday == "末":
        return intervals.days(week[0], 5, 6)
    day = _words().weekdays[weekday]
    return intervals.days(week[0], day, day)


def _chinese_year(found: re.Match[str], scene: Scene) -> Interval | None:
    """去年, 去年三月, 2026年, 2026年2月; a month and a day too (今年5月8日)."""
    word, month, day = (_part(found, part) for part in ("word", "month", "day"))
    year = scene.today.year + _words().years[word] if word else int(_part(found, "n"))
    if not month:
        return intervals.year(year)
    if not 1 <= number(month) <= 12:
        return None
    return _single(year, number(month), str(number(day))) if day else intervals.month(year, number(month))


def _chinese_month(found: re.Match[str], scene: Scene) -> Interval | None:
    """5月8日, 三月: the tense of the sentence decides of which year; without one the latest."""
    month, day = number(_part(found, "month")), _part(found, "day")
    if not 1 <= month <= 12:
        return None
    if day:
        return _recurring(found, scene, month, number(day))
    return intervals.nearest_month(scene.today, month, ahead=_is_ahead(found, scene))


# ---------------------------------------------------------------- relative dates: patterns


@on_first_use
def latin_rules() -> tuple[Rule, ...]:
    """Absolute dates and English relative ones."""
    words = _languages().english
    n, unit, which = rf"\d{{1,4}}|{one_of(words.numbers)}", "|".join(words.units), one_of(words.which)
    several = r"a\s+few|few|several|(?:a\s+)?couple(?:\s+of)?"
    not_of = r"(?!\s+of\b)"  # the last week of June is not last week
    near = r"last|past|previous|next|coming"
    full_weekdays = one_of(word for word in words.weekdays if word.endswith("day"))
    return (
        *_ABSOLUTE_RULES,
        Rule("day_word", one_of(words.day_words) + RIGHT_EDGE, _phrase_days),
        Rule("ago", rf"(?P<ago_n>{n})\s+(?P<ago_unit>weekend|{unit})s?\s+(?:ago|back){RIGHT_EDGE}", _ago),
        Rule(
            "few_ago",
            rf"(?:(?:{several}|some|many)\s+)?(?P<few_ago_unit>{unit})s\s+(?:ago|back){RIGHT_EDGE}",
            _few_ago,
            explicit=False,
        ),
        Rule(
            "from_now",
            rf"(?P<from_now_n>{n})\s+(?P<from_now_unit>{unit})s?\s+from\s+(?:now|today){RIGHT_EDGE}",
            _from_now,
        ),
        Rule("within", rf"in\s+(?P<within_n>{n})\s+(?P<within_unit>{unit})s?{RIGHT_EDGE}", _within),
        Rule(
            "span",
            rf"(?P<span_which>{near})\s+(?P<span_n>{n})\s+(?P<span_unit>{unit})s?{RIGHT_EDGE}{not_of}",
            _span,
        ),
        Rule(
            "few_span",
            rf"(?P<few_span_which>{near})\s+(?:{several})\s+(?P<few_span_unit>{unit})s{RIGHT_EDGE}",
            _few_span,
            explicit=False,
        ),
        Rule(
            "weekday",
            rf"(?:this\s+(?=past|coming))?(?P<weekday_which>{which})\s+(?P<weekday_name>{one_of(words.weekdays)})"
            rf"{RIGHT_EDGE}{not_of}",
            _weekday,
        ),
        Rule("the_weekend", rf"(?:over|on|at|for)\s+the\s+weekend{RIGHT_EDGE}", _the_weekend),
        Rule("on_weekday", rf"on\s+(?P<on_weekday_name>{full_weekdays}){RIGHT_EDGE}", _on_weekday),
        Rule(
            "period",
            rf"(?:this\s+(?=past|coming))?(?P<period_which>{which})\s+"
            rf"(?P<period_unit>weekend|week|month|year|quarter){RIGHT_EDGE}{not_of}",
            _period,
        ),
        Rule(
            "rel_season",
            rf"(?P<rel_season_which>last|this|next)\s+(?P<rel_season_name>{_SEASON}){RIGHT_EDGE}",
            _relative_season,
            explicit=False,
        ),
        Rule(
            "vague",
            rf"(?<!\btoo\s)(?<!\bas\s)(?<!\bhow\s)(?:{one_of(words.vague)}){RIGHT_EDGE}",
            _vague,
            explicit=False,
        ),
    )


def latin_starts() -> str:
    """The start of every match of `latin_rules`: a cheap test before the rules are tried."""
    words = _languages().english
    first_words = sorted({phrase.split()[0] for phrase in (*words.day_words, *words.vague)})
    return (
        rf"\d|(?:{_CUE}|{_YEAR_CUE}|{MONTH}|{_SEASON}|q[1-4]|{one_of(words.numbers)}|{one_of(words.which)}|few|several"
        rf"|couple|some|many|in|on|over|at|for|the|{'|'.join(words.units)}s|{one_of(first_words)})(?![a-z])"
    )


CHINESE_STARTS: Final = r"[\d一二两兩三四五六七八九十几幾数數大昨今明前去后後最近不很上下这這本]"
"""The start of every match of `chinese_rules`."""


@on_first_use
def chinese_rules() -> tuple[Rule, ...]:
    """Relative dates in Chinese, and dates with its months and years."""
    words = _languages().chinese
    n, month, day = (
        r"\d{1,4}|[一二两兩三四五六七八九十]{1,3}",
        r"\d{1,2}|十[一二]?|[一二三四五六七八九]",
        (r"\d{1,2}|[一二三四五六七八九十]{1,3}"),
    )
    unit = "天|日|[个個]?(?:星期|礼拜|禮拜|月)|周|週|年"
    which = rf"(?<![早晚马馬])(?P<{{}}_which>{one_of(words.which)})"
    return (
        Rule("zh_vague", one_of(words.vague), _vague, explicit=False),
        Rule("zh_day", one_of(words.day_words), _phrase_days),
        Rule("zh_ago", rf"(?P<zh_ago_n>{n})\s?(?P<zh_ago_unit>{unit})[之以]?前", _ago),
        Rule("zh_later", rf"(?P<zh_later_n>{n})\s?(?P<zh_later_unit>{unit})[之以]?[后後]", _within),
        Rule("zh_several", rf"[几幾数數]\s?(?P<zh_several_unit>{unit})[之以]?前", _few_ago, explicit=False),
        Rule(
            "zh_week",
            rf"{which.format('zh_week')}[个個一]?(?:周|週|星期|礼拜|禮拜)(?P<zh_week_day>[一二三四五六日天末])?",
            _chinese_week,
        ),
        Rule("zh_month", rf"{which.format('zh_month')}[个個]?(?P<zh_month_unit>月)(?![饼餅份]?[亮])", _period),
        Rule(
            "zh_year",
            rf"(?:(?P<zh_year_word>{one_of(words.years)})|(?<!\d)(?P<zh_year_n>[12]\d{{3}})年)的?"
            rf"(?:\s?(?P<zh_year_month>{month})月(?:\s?(?P<zh_year_day>{day})[日号號])?)?",
            _chinese_year,
        ),
        Rule(
            "zh_md",
            rf"(?<![\d第个個.])(?P<zh_md_month>{month})月(?:\s?(?P<zh_md_day>{day})[日号號]|(?!\d|天))",
            _chinese_month,
        ),
    )
