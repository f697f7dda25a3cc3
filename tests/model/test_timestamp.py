"""RFC 3339 in, RFC 3339 out, to the microsecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import format_us, parse_rfc3339
from tests.tables import each_row


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_round_trip(us: int) -> None:
    assert parse_rfc3339(format_us(us)) == us


@each_row(
    ("text", "same_as"),
    [
        ("2026-02-18T09:30:00Z", "2026-02-18T09:30:00.000000Z"),
        ("2026-02-18T10:30:00+01:00", "2026-02-18T09:30:00.000000Z"),
        ("2026-02-17T23:30:00.5-10:00", "2026-02-18T09:30:00.500000Z"),
    ],
)
def test_offsets(text: str, same_as: str) -> None:
    assert format_us(parse_rfc3339(text)) == same_as


@each_row("text", ["", "yesterday", "2026-02-18", "2026-02-18T09:30:00", "2026-13-01T00:00:00Z", "9" * 500])
def test_what_is_not_a_timestamp_gets_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"RFC 3339|no offset") as caught:
        parse_rfc3339(text)
    assert len(str(caught.value)) < 200


@each_row("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_times_outside_the_calendar_get_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        parse_rfc3339(text)
