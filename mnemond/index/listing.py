"""What a store has, without a question: its newest rows, how many each category has, whom most memories name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mnemond.index import visibility
from mnemond.index.selection import Rows, at_least_kth
from mnemond.index.visibility import Mask

if TYPE_CHECKING:
    from mnemond.index.snapshot import Parts


class Place(NamedTuple):
    """Where a memory stands in the order of a listing."""

    created_us: int
    row: int


AFTER_ALL = 1 << 62
"""The row of a memory that the index does not have: whatever was made in the same microsecond is older. That may tell
one twice, and leaves none out."""


def newest(parts: Parts, mask: Mask | None, limit: int, before: Place | None = None) -> Rows:
    """The last `limit` rows of `mask` by creation time, newest first; with `before` those that are older than it.

    Of equal times the row stored later counts as newer.
    """
    created = parts.columns.created_us
    rows = np.arange(parts.corpus.rows) if mask is None else np.flatnonzero(mask)
    if before is not None:
        times = created[rows]
        rows = rows[(times < before.created_us) | ((times == before.created_us) & (rows < before.row))]
    if len(rows) > limit:
        times = created[rows]
        least = np.partition(times, len(rows) - limit)[len(rows) - limit]
        newer = rows[times > least]
        rows = np.concatenate([rows[times == least][len(newer) - limit :], newer])
    found: Rows = rows[np.lexsort((rows, created[rows]))[::-1]]
    return found


def by_category(parts: Parts) -> dict[str, int]:
    """How many live rows each category has; categories without any are left out."""
    codes = parts.columns.category
    for living in visibility.living(parts):
        codes = codes[living]
    counts = np.bincount(codes).tolist()
    return {name: count for name, count in zip(parts.table.names.categories.values(), counts, strict=False) if count}


def top_entities(parts: Parts, k: int) -> list[tuple[str, int]]:
    """The k entities that most live rows name, as first spelled, with their counts; ties by spelling."""
    columns = parts.columns
    codes = columns.mention_entity
    for living in visibility.living(parts):
        codes = codes[living[columns.mention_row]]
    counts = np.bincount(codes)
    found = at_least_kth(np.where(counts > 0, counts, -1).astype(np.float32), k)
    spellings = parts.table.names.spellings
    ranked = sorted((-int(counts[code]), spellings[code]) for code in found.tolist())
    return [(entity, -count) for count, entity in ranked[:k]]
