"""How central every memory of a store is (spec 7.7, 13), and what of that has to be written down."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from mnemond.graph.pagerank import pagerank
from mnemond.index.snapshot import Snapshot
from mnemond.store.node_metrics import Metric

DIGITS: Final = 9
"""Decimals of a PageRank: where its rounds end (spec 7.7)."""

TOLERANCE: Final = 0.01
"""Part of a PageRank by which it may differ from the one written down: every write moves all of them a little."""


class Difference(NamedTuple):
    """Rows to write, and memories whose row has to go."""

    put: list[Metric]
    remove: list[str]


def measured(snapshot: Snapshot) -> list[Metric]:
    """Every live memory's metrics. Takes some ten microseconds a row: not for the event loop."""
    mass = np.round(pagerank(snapshot).mass, DIGITS)
    return [
        Metric(snapshot.insight(row).id, float(mass[row]), int(snapshot.degrees[row]))
        for row in np.flatnonzero(snapshot.alive()).tolist()
    ]


def difference(snapshot: Snapshot, written: Iterable[Metric]) -> Difference:
    """What has to be written down beside what is. Not for the event loop."""
    known = {each.insight_id: each for each in written}
    wanted = measured(snapshot)
    put = [each for each in wanted if not _is_close(each, known.get(each.insight_id))]
    return Difference(put, sorted(known.keys() - {each.insight_id for each in wanted}))


def _is_close(one: Metric, other: Metric | None) -> bool:
    return (
        other is not None
        and one.degree == other.degree
        and math.isclose(one.pagerank, other.pagerank, rel_tol=TOLERANCE, abs_tol=10**-DIGITS)
    )
