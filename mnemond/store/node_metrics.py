"""The `node_metrics` table: how central each memory is, for whoever looks at the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemond.store.connection import Connection


class Metric(NamedTuple):
    """A memory's PageRank (all sum to 1), and its degree as effective importance counts it."""

    insight_id: str
    pagerank: float
    degree: int


def page(connection: Connection, after: str, limit: int) -> list[Metric]:
    """The next rows by id, behind `after`."""
    rows = connection.rows(
        "SELECT insight_id, pagerank, degree FROM node_metrics WHERE insight_id > ? ORDER BY insight_id LIMIT ?",
        (after, limit),
    )
    return [Metric(*row) for row in rows]


def put(connection: Connection, metrics: Sequence[Metric], now: str) -> None:
    """Write rows, of memories that are active still."""
    connection.run_many(
        "INSERT INTO node_metrics(insight_id, pagerank, degree, computed_at)"
        " SELECT id, ?2, ?3, ?4 FROM insights WHERE id = ?1 AND deleted_at IS NULL"
        " ON CONFLICT(insight_id) DO UPDATE SET"
        " pagerank = excluded.pagerank, degree = excluded.degree, computed_at = excluded.computed_at",
        [(*each, now) for each in metrics],
    )


def remove(connection: Connection, insight_ids: Sequence[str]) -> None:
    """Remove the rows of memories."""
    connection.run_many("DELETE FROM node_metrics WHERE insight_id = ?", [(each,) for each in insight_ids])
