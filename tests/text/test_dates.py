"""Dates relative to Wednesday 2026-02-18."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text import intervals
from mnemond.text.dates import MAX_MENTIONS, DateMention, dates
from tests.tables import each_row


def microseconds(year: int, month: int, day: int, hour: int = 12) -> int:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (datetime(year, month, day, hour, tzinfo=UTC) - epoch) // timedelta(microseconds=1)


REFERENCE = microseconds(2026, 2, 18)


def spans(text: str, reference_us: int = REFERENCE, day_first: bool | None = None) -> list[str]:
    """Each mention as "start" or "start..end", with a ~ before a vague one."""
    return [shown(each) for each in dates(text, reference_us, day_first=day_first)]


def shown(mention: DateMention) -> str:
    days = mention.start if mention.start == mention.end else f"{mention.start}..{mention.end}"
    return days if mention.explicit else f"~{days}"


@each_row(
    ("text", "expected"),
    [
        ("today", "2026-02-18"),
        ("yesterday", "2026-02-17"),
        ("tomorrow", "2026-02-19"),
        ("3 days ago", "2026-02-15"),
        ("last Friday", "2026-02-13"),
        ("next Monday", "2026-02-23"),
        ("this week", "2026-02-16..2026-02-22"),
        ("last week", "2026-02-09..2026-02-15"),
        ("last month", "2026-01-01..2026-01-31"),
        ("last year", "2025-01-01..2025-12-31"),
        ("in March", "2025-03-01..2025-03-31"),
        ("We moved to Berlin in March", "2025-03-01..2025-03-31"),
        ("We will move to Berlin in March", "2026-03-01..2026-03-31"),
        ("8 May 2023", "2023-05-08"),
        ("May 8, 2023", "2023-05-08"),
        ("2023-05-08", "2023-05-08"),
        ("June 2023", "2023-06-01..2023-06-30"),
        ("昨天", "2026-02-17"),
        ("上周", "2026-02-09..2026-02-15"),
        ("三天前", "2026-02-15"),
    ],
)
def test_phrases_mean_days(text: str, expected: str) -> None:
    assert spans(text) == [expected]
    assert [each.text for each in dates(text, REFERENCE)] == [text if " to " not in text else "in March"]


@each_row(
    ("text", "expected"),
    [
        ("the day before yesterday", "2026-02-16"),
        ("the day after tomorrow", "2026-02-20"),
        ("last night", "2026-02-17"),
        ("this morning", "2026-02-18"),
        ("13 hours ago", "2026-02-17"),
        ("20 minutes ago", "2026-02-18"),
        ("a week ago", "2026-02-09..2026-02-15"),
        ("two weekends ago", "2026-02-07..2026-02-08"),
        ("two months ago", "2025-12-01..2025-12-31"),
        ("ten years ago", "2016-01-01..2016-12-31"),
        ("3 weeks from now", "2026-03-09..2026-03-15"),
        ("We will be done in 3 days", "2026-02-21"),
        ("the past 2 weeks", "2026-02-04..2026-02-18"),
        ("next 3 days", "2026-02-18..2026-02-21"),
        ("last weekend", "2026-02-14..2026-02-15"),
        ("this past weekend", "2026-02-14..2026-02-15"),
        ("this weekend", "2026-02-21..2026-02-22"),
        ("I took them to the beach over the weekend", "2026-02-14..2026-02-15"),
        ("We will hike on the weekend", "2026-02-21..2026-02-22"),
        ("next month", "2026-03-01..2026-03-31"),
        ("last quarter", "2025-10-01..2025-12-31"),
        ("this year", "2026-01-01..2026-12-31"),
        ("this Friday", "2026-02-20"),
        ("last Tues", "2026-02-17"),
        ("We met on Friday", "2026-02-13"),
        ("We will meet on Friday", "2026-02-20"),
        ("last March", "2025-03-01..2025-03-31"),
        ("last February", "2025-02-01..2025-02-28"),
        ("next February", "2027-02-01..2027-02-28"),
        ("this April", "2026-04-01..2026-04-30"),
        ("in February", "2026-02-01..2026-02-28"),
        ("I will fly in January", "2027-01-01..2027-01-31"),
        ("In March we will migrate", "2026-03-01..2026-03-31"),
        ("in may, after the release", "2025-05-01..2025-05-31"),
        ("in May", "2025-05-01..2025-05-31"),
        ("the 8th of May, 2023", "2023-05-08"),
        ("8-10 May 2023", "2023-05-08..2023-05-10"),
        ("May 8th", "2025-05-08"),
        ("8 May", "2025-05-08"),
        ("It will ship on May 8", "2026-05-08"),
        ("Feb. 29", "2024-02-29"),
        ("mid-June 2023", "2023-06-01..2023-06-30"),
        ("2026-02-18T10:00:00Z", "2026-02-18"),
        ("2026/02/18", "2026-02-18"),
        ("25/12/2025", "2025-12-25"),
        ("12/25/2025", "2025-12-25"),
        ("05/05/2025", "2025-05-05"),
        ("2025-12", "2025-12-01..2025-12-31"),
        ("Q3 2025", "2025-07-01..2025-09-30"),
        ("2025 Q4", "2025-10-01..2025-12-31"),
        ("in 2025", "2025-01-01..2025-12-31"),
        ("since 2019", "2019-01-01..2019-12-31"),
        ("2月18日发布", "2026-02-18"),
        ("在2026年2月18日上线", "2026-02-18"),
        ("2026年2月", "2026-02-01..2026-02-28"),
        ("2025年", "2025-01-01..2025-12-31"),
        ("去年三月", "2025-03-01..2025-03-31"),
        ("今年5月8号", "2026-05-08"),
        ("上周五", "2026-02-13"),
        ("下周一", "2026-02-23"),
        ("这个周末", "2026-02-21..2026-02-22"),
        ("本周末", "2026-02-21..2026-02-22"),
        ("上个月", "2026-01-01..2026-01-31"),
        ("两周前", "2026-02-02..2026-02-08"),
        ("十二个月前", "2025-02-01..2025-02-28"),
        ("二十年前", "2006-01-01..2006-12-31"),
        ("前天", "2026-02-16"),
        ("大后天", "2026-02-21"),
        ("我们将在三月发布", "2026-03-01..2026-03-31"),
        ("三月", "2025-03-01..2025-03-31"),
        ("我们计划三天后发布", "2026-02-21"),
        ("前年", "2024-01-01..2024-12-31"),
    ],
)
def test_other_phrases(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_row(
    ("text", "expected"),
    [
        ("recently", "~2026-01-19..2026-02-18"),
        ("a while ago", "~2025-02-18..2026-02-11"),
        ("a few days ago", "~2026-02-11..2026-02-16"),
        ("a couple of weeks ago", "~2026-01-28..2026-02-11"),
        ("years ago", "~2019-02-20..2024-02-19"),
        ("the last few weeks", "~2025-12-31..2026-02-18"),
        ("the next couple of days", "~2026-02-18..2026-02-21"),
        ("last summer", "~2025-06-01..2025-08-31"),
        ("next fall", "~2026-09-01..2026-11-30"),
        ("this winter", "~2026-12-01..2027-02-28"),
        ("summer of 2022", "~2022-06-01..2022-08-31"),
        ("winter 2022", "~2022-12-01..2023-02-28"),
        ("最近", "~2026-01-19..2026-02-18"),
        ("几个月前", "~2025-07-23..2025-12-20"),
    ],
)
def test_vague_phrases_are_marked(text: str, expected: str) -> None:
    assert spans(text) == [expected]


@each_row(
    "text",
    [
        "",
        "2026-02-30",
        "30 February 2026",
        "31.04.2025",
        "2025年13月",
        "13月",
        "5月40日",
        "05/08",
        "05/08/2026",
        "99/99/2026",
        "it may break, and you may 8 times",
        "this may be wrong",
        "the state we are in may change",
        "they march 8 miles",
        "item 3 may fail",
        "2025 rows",
        "sha 20260218",
        "version 2024.1.15",
        "logs/2026-02-18/run",
        "backup-2026-02-18",
        "Deploys on Friday are allowed",
        "I learned it in 3 days",
        "we have time at the weekend",
        "the last week of school",
        "too soon",
        "as soon as possible",
        "in 2000.5 units",
        "3 days",
        "for two years",
        "这三天后来都很忙",
        "上线三天后崩溃",
        "一天天变好",
        "早上月亮",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert spans(text) == []


def test_a_weekday_is_never_the_day_itself() -> None:
    friday = microseconds(2026, 2, 20)
    assert spans("last Friday", friday) == ["2026-02-13"]
    assert spans("next Friday", friday) == ["2026-02-27"]
    assert spans("this Friday", friday) == ["2026-02-20"]


def test_a_known_habit_settles_slashes() -> None:
    assert spans("05/08/2026", day_first=True) == ["2026-08-05"]
    assert spans("05/08/2026", day_first=False) == ["2026-05-08"]
    assert spans("05/08", day_first=True) == ["2025-08-05"]
    assert spans("will ship 05/08", day_first=False) == ["2026-05-08"]
    assert spans("25/12/2025", day_first=False) == ["2025-12-25"]
    assert spans("50/60", day_first=True) == []


def test_the_longest_reading_wins_and_nothing_overlaps() -> None:
    found = dates("Between 8 May 2023 and the day before yesterday, 2026年2月18日", REFERENCE)
    assert [each.text for each in found] == ["8 May 2023", "the day before yesterday", "2026年2月18日"]


def test_the_text_of_a_mention_is_as_written() -> None:
    assert [each.text for each in dates("LAST Friday, café", REFERENCE)] == ["LAST Friday"]
    assert [each.text for each in dates("ﬁne LAST Friday", REFERENCE)] == ["last friday"]
    assert spans("２０２６年２月１８日") == ["2026-02-18"]


def test_mentions_are_bounded() -> None:
    assert len(dates("yesterday " * 500, REFERENCE)) == MAX_MENTIONS
    assert len(dates("三月 " * 500 + "yesterday " * 500, REFERENCE)) == MAX_MENTIONS


FAR = """yesterday; tomorrow; last week; next week; last month; next month; last year; next year; last Friday
next Friday; this Sunday; 9999 years ago; 9999 months from now; 9999 weeks from now; 9999 hours ago; 9999 hours from now
last summer; this summer; next winter; last quarter; next quarter; last weekend; next 9999 years; the last 9999 years
soon; in March; in December; 8 May; Feb 29; will be May 8; will be Feb 29; was on Friday; will be on Friday; Q4 9999
昨天; 明天; 上周; 下周五; 上上周末; 上个月; 下个月; 去年; 明年三月; 9999年前; 9999个月前; 三月
5月8日; recently; 最近; 几年前; 将在9999年后"""


@each_row("day", [(1, 1, 1), (1, 3, 1), (9999, 1, 1), (9999, 12, 31)])
@each_row("phrase", FAR.replace("\n", ";").split(";"))
def test_the_ends_of_the_calendar_raise_nothing(phrase: str, day: tuple[int, int, int]) -> None:
    for each in dates(phrase, microseconds(*day)):
        assert date.fromisoformat(each.start) <= date.fromisoformat(each.end)


def test_what_lies_beyond_the_calendar_is_no_date() -> None:
    assert spans("yesterday, last week, 去年", microseconds(1, 1, 1)) == []
    assert spans("tomorrow, next week, 明年", microseconds(9999, 12, 31)) == []
    assert spans("this month, this year", microseconds(9999, 12, 31)) == [
        "9999-12-01..9999-12-31",
        "9999-01-01..9999-12-31",
    ]


def test_a_reference_beyond_the_calendar_is_its_end() -> None:
    assert spans("today", 2**63) == ["9999-12-31"]
    assert spans("today", -(2**63)) == ["0001-01-01"]
    assert intervals.nearest_day(date(1, 1, 1), 2, 29, ahead=False) is None


PIECES = st.sampled_from(
    [
        "last",
        "next",
        "this",
        "in",
        "on",
        "may",
        "May",
        "march",
        "8",
        "31",
        "2023",
        "0000",
        "2026-02-18",
        "05/08/2026",
        "Friday",
        "week",
        "weeks",
        "month",
        "ago",
        "9999",
        "days",
        "will",
        "went",
        "summer",
        "the",
        "a",
        "few",
        "of",
        "三",
        "月",
        "天",
        "前",
        "上",
        "周",
        "去年",
        "年",
        "日",
        "recently",
        "Q3",
        "-",
        ",",
        ".",
    ]
)


@given(st.lists(PIECES, max_size=12), st.integers(-(2**63), 2**63), st.sampled_from([None, True, False]))
def test_any_text_gives_sound_intervals(pieces: list[str], reference_us: int, day_first: bool | None) -> None:
    for text in (" ".join(pieces), "".join(pieces)):
        for each in dates(text, reference_us, day_first=day_first):
            assert date.fromisoformat(each.start) <= date.fromisoformat(each.end)
            assert each.text


@given(st.text(max_size=80), st.integers(-(2**63), 2**63))
def test_no_text_raises(text: str, reference_us: int) -> None:
    assert len(dates(text, reference_us)) <= MAX_MENTIONS
