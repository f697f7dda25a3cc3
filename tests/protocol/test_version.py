"""Versions are compared by number."""

from __future__ import annotations

import pytest

from mnemond.protocol.version import release_key


@pytest.mark.parametrize(
    ("older", "newer"), [("0.9.9", "0.10.0"), ("0.1", "0.1.1"), ("1.2.3", "2"), ("0.1.2rc1", "0.1.3"), ("x", "0")]
)
def test_releases_are_ordered_by_number(older: str, newer: str) -> None:
    assert release_key(older) < release_key(newer)


def test_what_follows_the_digits_does_not_count() -> None:
    assert release_key("1.2.3.dev4") == release_key("1.2.3rc1") == (1, 2, 3)
