"""The numbers of memories: what rows of other tables call them by, where an id would be in the way.

Ids are random, so each row that is keyed by two of them lies on a page of its own. A number is given once, in the
order of writing, and stays (docs/decisions/0013). Only the store knows about it: everybody else says the id.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from mnemond.store.connection import Connection

MOST = 65_536
"""Numbers that a connection remembers, about 10 MB; then it asks again."""

_json = msgspec.json.Encoder()


def numbers_of(connection: Connection, ids: AbstractSet[str]) -> Mapping[str, int]:
    """The number of each of `ids`, with others perhaps; an id that no row has is left out."""
    known = connection.numbers
    missing: AbstractSet[str] = {each for each in ids if each not in known}  # `ids - known.keys()` walks all of `known`
    if missing:
        if len(known) + len(missing) > MOST:
            known.clear()
            missing = ids
        known.update(
            connection.rows(
                "SELECT id, number FROM insights WHERE id IN (SELECT value FROM json_each(?))",
                (_json.encode(sorted(missing)).decode(),),
            )
        )
    return known


def number_of(connection: Connection, insight_id: str) -> int | None:
    """The number of one memory, None when there is none."""
    known = connection.numbers.get(insight_id)
    return known if known is not None else numbers_of(connection, {insight_id}).get(insight_id)
