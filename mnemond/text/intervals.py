"""Intervals of whole calendar days, and the calendar units around a day. Nothing here raises: years 1–9999 or None."""

from __future__ import annotations

from datetime import date, timedelta

Interval = tuple[date, date]
"""First and last day, both inclusive."""

SEASONS = ("spring", "summer", "autumn", "winter")
"""Of the northern hemisphere, three months each, spring from March; the seasons of a memory are vague anyway."""

_LEAP_CYCLE = 8
"""Years that may lie between two 29ths of February (1896 and 1904)."""


def calendar_day(year: int, month: int, day: int) -> date | None:
    """That day, or None if there is none, as on 2026-02-30."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def shifted(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def between(first: date | None, last: date | None) -> Interval | None:
    return None if first is None or last is None or last < first else (first, last)


def days(today: date, first: int, last: int) -> Interval | None:
    """The days from `first` to `last`, counted from `today`; negative ones have passed."""
    return between(shifted(today, first), shifted(today, last))


def week(today: date, offset: int) -> Interval | None:
    """Monday to Sunday (ISO 8601) of the week `offset` weeks away."""
    monday = 7 * offset - today.weekday()
    return days(today, monday, monday + 6)


def weekend(today: date, offset: int) -> Interval | None:
    """Saturday and Sunday of the week `offset` weeks away."""
    monday = 7 * offset - today.weekday()
    return days(today, monday + 5, monday + 6)


def month(year: int, number: int) -> Interval | None:
    """A calendar month; `number` may lie outside 1–12 and then counts into other years."""
    return _months(year, number, 1)


def month_around(today: date, offset: int) -> Interval | None:
    return month(today.year, today.month + offset)


def quarter(year: int, number: int) -> Interval | None:
    """Three months; `number` may lie outside 1–4 and then counts into other years."""
    return _months(year, 3 * number - 2, 3)


def season(year: int, number: int) -> Interval | None:
    """Three months of the season `SEASONS[number]` that starts in `year`."""
    return _months(year, 3 * number + 3, 3)


def year(number: int) -> Interval | None:
    return between(calendar_day(number, 1, 1), calendar_day(number, 12, 31))


def weekday_after(today: date, weekday: int) -> Interval | None:
    """The first such weekday (0 is Monday) after `today`, never today itself."""
    ahead = (weekday - today.weekday() - 1) % 7 + 1
    return days(today, ahead, ahead)


def weekday_before(today: date, weekday: int) -> Interval | None:
    """The last such weekday before `today`, never today itself."""
    behind = -((today.weekday() - weekday - 1) % 7 + 1)
    return days(today, behind, behind)


def nearest_month(today: date, number: int, *, ahead: bool) -> Interval | None:
    """The latest month of that number that has begun, or with `ahead` the first that has not ended."""
    begun = number <= today.month
    if ahead:
        return month(today.year + (number < today.month), number)
    return month(today.year if begun else today.year - 1, number)


def nearest_day(today: date, number: int, day: int, *, ahead: bool) -> Interval | None:
    """The latest such day of the year up to today, or with `ahead` the first from today on."""
    step = 1 if ahead else -1
    for tried in range(_LEAP_CYCLE + 1):
        found = calendar_day(today.year + step * tried, number, day)
        if found is not None and (found >= today if ahead else found <= today):
            return found, found
    return None


def _months(year: int, first: int, count: int) -> Interval | None:
    start = _first_of(year, first)
    end = _first_of(year, first + count)
    if end is None and start is not None and start.year == date.max.year:
        return start, date.max
    return None if start is None or end is None else (start, end - timedelta(days=1))


def _first_of(year: int, number: int) -> date | None:
    years, index = divmod(number - 1, 12)
    return calendar_day(year + years, index + 1, 1)
