"""Versions are compared by number."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.api.types_daemon import CliRunParams, HelloParams
from mnemond.wire.params import release_key
from tests.tables import each_row


@each_row(
    ("older", "newer"), [("0.9.9", "0.10.0"), ("0.1", "0.1.1"), ("1.2.3", "2"), ("0.1.2rc1", "0.1.3"), ("x", "0")]
)
def test_releases_are_ordered_by_number(older: str, newer: str) -> None:
    assert release_key(older) < release_key(newer)


def test_what_follows_the_digits_does_not_count() -> None:
    assert release_key("1.2.3.dev4") == release_key("1.2.3rc1") == (1, 2, 3)


def test_a_version_of_any_length_is_compared() -> None:
    """int() refuses more than 4300 digits."""
    assert release_key("9" * 5000) == (10**64 - 1,)
    assert release_key("1." * 5000 + "7") == (1,) * 32


@each_row("params", [{}, {"argv": []}])
def test_a_long_version_is_refused(params: dict[str, object]) -> None:
    kind = CliRunParams if params else HelloParams
    for length, good in ((64, True), (65, False)):
        raw = msgspec.json.encode({**params, "client_version": "9" * length})
        if good:
            msgspec.json.decode(raw, type=kind)
        else:
            with pytest.raises(msgspec.ValidationError, match="client_version"):
                msgspec.json.decode(raw, type=kind)
