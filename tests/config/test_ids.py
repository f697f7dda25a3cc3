"""Identifiers are UUIDs of version 4, each drawn once."""

from __future__ import annotations

import uuid

from mnemond.ids import RESERVE, RandomIds, nonce


def test_ids_are_version_4_and_unique_across_reserves() -> None:
    ids = RandomIds()
    drawn = [ids.new() for _ in range(3 * RESERVE)]
    assert len(set(drawn)) == len(drawn)
    for one in drawn:
        parsed = uuid.UUID(one)
        assert str(parsed) == one
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)
    assert {one[19] for one in drawn} == set("89ab")


def test_a_nonce_is_sixteen_digits_and_never_the_same() -> None:
    ids = RandomIds()
    drawn = [nonce(ids) for _ in range(100)]
    assert len(set(drawn)) == 100
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in drawn)
    assert len({one[-15:] for one in drawn}) == 100
