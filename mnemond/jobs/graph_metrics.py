"""The job that stores PageRank, degree and community of every memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.communities import communities
from mnemond.index.pagerank import pagerank
from mnemond.index.snapshot import Snapshot
from mnemond.jobs.job import DAY_S, Done, Job, Work
from mnemond.store import edges
from mnemond.store.connection import Connection
from mnemond.store.edges import Metric
from mnemond.store.store import Store

PAGERANK_DIGITS: Final = 9
"""Decimals of a PageRank, at which its iteration converges."""

PAGERANK_TOLERANCE: Final = 0.01
"""Relative error of a stored PageRank: every write moves all of them a little."""


class Difference(NamedTuple):
    """Rows to write, and memories whose row to remove."""

    put: list[Metric]
    remove: list[str]


def measured(snapshot: Snapshot, communities: Mapping[str, int]) -> list[Metric]:
    """Compute the metrics of every live memory; `communities`: their numbers, by id. Takes some ten microseconds a row:
    not for the event loop."""
    mass = np.round(pagerank(snapshot).mass, PAGERANK_DIGITS)
    degree = snapshot.columns.degree
    rows = [(snapshot.insight(row).id, row) for row in np.flatnonzero(snapshot.alive()).tolist()]
    return [Metric(each, float(mass[row]), int(degree[row]), communities.get(each)) for each, row in rows]


def difference(snapshot: Snapshot, written: Iterable[Metric], communities: Mapping[str, int]) -> Difference:
    """Compare current and stored metrics. Not for the event loop."""
    known = {each.insight_id: each for each in written}
    wanted = measured(snapshot, communities)
    put = [each for each in wanted if not _is_close(each, known.get(each.insight_id))]
    return Difference(put, sorted(known.keys() - {each.insight_id for each in wanted}))


def _is_close(one: Metric, other: Metric | None) -> bool:
    return (
        other is not None
        and (one.degree, one.community) == (other.degree, other.community)
        and math.isclose(one.pagerank, other.pagerank, rel_tol=PAGERANK_TOLERANCE, abs_tol=10**-PAGERANK_DIGITS)
    )


READ: Final = 2_000
"""Metrics rows per read."""

WRITTEN: Final = 250
"""Metrics rows per transaction: about 3 ms of the writer's time."""


class GraphMetrics(Job):
    """Store PageRank, degree and community of every memory, daily."""

    name = "graph_metrics"
    summary = "how central every memory is and which community it belongs to, written down"
    of_each_daemon = True
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Write new and changed metrics."""
        snapshot, written = work.store.snapshot, await metrics_of(work.store)
        before = {each.insight_id: each.community for each in written if each.community is not None}
        groups = await work.in_steps(communities(snapshot, before))
        found = await work.think(difference, snapshot, written, groups)
        changed = len(found.put) + len(found.remove)
        if work.dry_run:
            return work.done(changed)
        put, remove = list(found.put), list(found.remove)

        def some(connection: Connection) -> tuple[int, bool]:
            now = work.identity.now
            part = put[:WRITTEN] or remove[:WRITTEN]
            if put:
                edges.put_metrics(connection, put[:WRITTEN], now)
                del put[:WRITTEN]
            else:
                edges.remove_metrics(connection, remove[:WRITTEN])
                del remove[:WRITTEN]
            return len(part), bool(put or remove)

        return await work.in_parts(some)


async def metrics_of(store: Store) -> list[Metric]:
    """Return the stored metrics of all memories, by id, read a page at a time. Raises MnemonError."""
    found: list[Metric] = []
    while True:
        rows = await store.read(partial(edges.read_metrics, after=found[-1].insight_id if found else "", limit=READ))
        found += rows
        if len(rows) < READ:
            return found
