"""Identifiers are UUIDs of version 4, each drawn once."""

from __future__ import annotations

import uuid

from mnemond.ids import RESERVE, RandomIds


def test_ids_are_version_4_and_unique_across_reserves() -> None:
    ids = RandomIds()
    drawn = [ids.new() for _ in range(3 * RESERVE)]
    assert len(set(drawn)) == len(drawn)
    for one in drawn:
        parsed = uuid.UUID(one)
        assert str(parsed) == one
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)
    assert {one[19] for one in drawn} == set("89ab")
