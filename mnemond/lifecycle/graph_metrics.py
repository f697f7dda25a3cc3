"""graph_metrics: how central every memory is, written down."""

from __future__ import annotations

from typing import Final

from mnemond.lifecycle.job import DAY_S, Done, Work
from mnemond.pipelines.graph_metrics import difference
from mnemond.store import node_metrics
from mnemond.store.connection import Connection
from mnemond.store.node_metrics import Metric

READ: Final = 2_000
"""Rows read at once."""

WRITTEN: Final = 250
"""Rows a transaction: about 3 ms of the writer's time."""


class GraphMetrics:
    """Every day. Communities are not looked for: nothing asks for them."""

    name = "graph_metrics"
    summary = "how central every memory is, written down"
    first_s = 0.0
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Write down what is not known yet, or was otherwise."""
        found = await work.think(difference, work.store.snapshot, await _written(work))
        changed = len(found.put) + len(found.remove)
        if work.dry_run:
            return work.done(changed)
        put, remove = list(found.put), list(found.remove)

        def some(connection: Connection) -> tuple[int, bool]:
            now = work.identity.now
            part = put[:WRITTEN] or remove[:WRITTEN]
            if put:
                node_metrics.put(connection, put[:WRITTEN], now)
                del put[:WRITTEN]
            else:
                node_metrics.remove(connection, remove[:WRITTEN])
                del remove[:WRITTEN]
            return len(part), bool(put or remove)

        return await work.in_parts(some)


async def _written(work: Work) -> list[Metric]:
    found: list[Metric] = []
    while True:
        after = found[-1].insight_id if found else ""

        def page(connection: Connection, after: str = after) -> list[Metric]:
            return node_metrics.page(connection, after, READ)

        rows = await work.store.read(page)
        found += rows
        if len(rows) < READ:
            return found
