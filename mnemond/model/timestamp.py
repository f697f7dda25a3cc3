"""RFC 3339 timestamps and microseconds since the epoch: the two forms of time in mnemond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

DAY_US = 86_400e6
"""Microseconds of a day."""


REMEMBERED_TIMES = 256
"""Timestamps whose microseconds are known: a write asks for the same two a dozen times."""


@lru_cache(maxsize=REMEMBERED_TIMES)
def format_us(us: int) -> str:
    """RFC 3339 in UTC with microseconds and `Z`, the one form mnemond writes."""
    seconds, micros = divmod(us, 1_000_000)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=micros)  # noqa: DTZ001 - UTC by definition
    return moment.isoformat(timespec="microseconds") + "Z"


@lru_cache(maxsize=REMEMBERED_TIMES)
def parse_rfc3339(text: str) -> int:
    """Microseconds since the epoch of an RFC 3339 timestamp; any offset is accepted, a missing one is refused.

    Raises ValueError with a sentence when `text` is not such a timestamp.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f'"{text[:40]}" is not an RFC 3339 timestamp such as 2026-02-18T09:30:00Z') from error
    if moment.tzinfo is None:
        raise ValueError(f'"{text[:40]}" has no offset; write Z for UTC, as in 2026-02-18T09:30:00Z')
    try:
        delta = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError as error:
        raise ValueError(f'"{text[:40]}" lies outside the years 1 to 9999 in UTC') from error
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
