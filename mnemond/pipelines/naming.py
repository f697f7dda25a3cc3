"""The memories that name what a question names: people, places, things (spec 11.2, entity)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mnemond.index.postings import Floats
from mnemond.index.selection import Rows, at_least_kth
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.pipelines.asking import READ
from mnemond.rank.tie_order import in_order
from mnemond.text.entities import extract


class Naming(NamedTuple):
    """`rows`, best first, and for each how much of what the question names it names, in (0, 1]; shapes (n,)."""

    rows: Rows
    shares: Floats


NOBODY = Naming(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def names_in(snapshot: Snapshot, text: str) -> dict[str, float]:
    """Names in a question, canonical, and the inverse document frequency of each; 0 for one that no memory has. Of a
    long text only its beginning is read."""
    found = extract(text[:READ], known=snapshot.entity_spelling)
    holders = {each.canonical: snapshot.live_among(snapshot.holders(each.canonical)) for each in found}
    return {name: math.log(1.0 + snapshot.live / many) if many else 0.0 for name, many in holders.items()}


def naming(snapshot: Snapshot, names: Mapping[str, float], visible: Mask | None, most: int) -> Naming:
    """The best `most` visible rows by the summed rarity of the names they have; of equal ones the more important first,
    then the newer, then the smaller id."""
    total = sum(names.values())
    if not total:
        return NOBODY
    sums = np.zeros(snapshot.rows, dtype=np.float32)
    for name, rarity in names.items():
        sums[snapshot.holders(name)] += np.float32(rarity / total)
    if visible is not None:
        sums *= visible
    rows = at_least_kth(sums, most)
    rows = rows[sums[rows] > 0.0]
    best: Rows = rows[in_order(snapshot, rows, sums[rows].astype(np.float64))[:most]]
    return Naming(best, np.minimum(sums[best], np.float32(1.0)))
