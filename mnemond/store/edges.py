"""The `edges` table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.changes import RemoveEdge
from mnemond.model.edge import MAX_METADATA, NO_METADATA, CreatedBy, Edge
from mnemond.store.connection import Connection

_COLUMNS = "source_id, target_id, edge_type, weight, metadata, created_by, boost_days, last_boosted_at"
_COLUMNS_OF_BACK = ", ".join(f"back.{name}" for name in _COLUMNS.split(", "))
_INSERT = f"INSERT INTO edges({_COLUMNS}, created_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"
_KEY = "source_id = ? AND target_id = ? AND edge_type = ?"

CHOSEN: tuple[CreatedBy, ...] = ("host", "user")
"""Makers whose edges no automatic one changes (spec 4, rules)."""

_json = msgspec.json.Encoder()
_object = msgspec.json.Decoder(dict[str, Any])


def insert_all(connection: Connection, edges: Sequence[Edge], now: str) -> None:
    """Insert edges none of which is there yet. Raises ConstraintError when one is."""
    connection.run_many(_INSERT, [(*_values(edge), now) for edge in edges])


def upsert(connection: Connection, edge: Edge, now: str, *, strict: bool = False) -> tuple[Edge, Edge | None]:
    """The edge as it stands afterwards, and as it stood before (spec 4, rules).

    The larger weight counts and metadata are merged, the new ones first; an automatic edge changes nothing about one
    that a host or a user made. The creation time stays. Where merged metadata would grow too large, those that were
    there stay; `strict` raises MnemonError instead, for somebody who asked for this edge.
    """
    before = read(connection, edge.source_id, edge.target_id, edge.edge_type)
    if before is None:
        insert_all(connection, [edge], now)
        return edge, None
    after = _merged(before, edge, strict=strict)
    if after != before:
        connection.run(
            "UPDATE edges SET weight = ?, metadata = ?, created_by = ?, boost_days = ?, last_boosted_at = ?"  # noqa: S608 - names only
            f" WHERE {_KEY}",
            (after.weight, after.metadata, after.created_by, after.boost_days, after.last_boosted_at, *key(after)),
        )
    return after, before


def _merged(before: Edge, edge: Edge, *, strict: bool) -> Edge:
    if edge.created_by == "auto" and before.created_by in CHOSEN:
        return before
    metadata = before.metadata
    if edge.metadata not in (NO_METADATA, before.metadata):
        merged = _json.encode(_object.decode(before.metadata) | _object.decode(edge.metadata))
        if len(merged) <= MAX_METADATA:
            metadata = merged.decode()
        elif strict:
            raise MnemonError(
                INVALID_PARAMS,
                f"metadata of this edge would be {len(merged):,} bytes; the limit is {MAX_METADATA:,}",
                hint="unlink the two memories first, or give less metadata",
                outcome="rejected",
            )
    return msgspec.structs.replace(
        before,
        weight=max(before.weight, edge.weight),
        metadata=metadata,
        created_by=_maker(before, edge),
        boost_days=max(before.boost_days, edge.boost_days),
        last_boosted_at=edge.last_boosted_at or before.last_boosted_at,
    )


def _maker(before: Edge, edge: Edge) -> CreatedBy:
    """Who counts as the maker of both: what somebody chose stays chosen."""
    keeps = edge.created_by == "auto" or (before.created_by in CHOSEN and edge.created_by not in CHOSEN)
    return before.created_by if keeps else edge.created_by


def read(connection: Connection, source_id: str, target_id: str, edge_type: str) -> Edge | None:
    """One edge, if it is there."""
    row = connection.row(f"SELECT {_COLUMNS} FROM edges WHERE {_KEY}", (source_id, target_id, edge_type))  # noqa: S608
    return None if row is None else Edge(*row)


def remove(connection: Connection, change: RemoveEdge) -> Edge | None:
    """Delete one edge; what it was, if it was there."""
    before = read(connection, change.source_id, change.target_id, change.edge_type)
    if before is not None:
        connection.run(f"DELETE FROM edges WHERE {_KEY}", key(before))  # noqa: S608 - names only
    return before


def touching(connection: Connection, insight_id: str) -> list[Edge]:
    """Every edge that starts or ends at an insight.

    Only causal edges are indexed by their target: all others come in twos (spec 4, rules), and the way back is found
    from the way there. An index of both halves would cost more than all else of a write (docs/decisions/0009).
    """
    there = [Edge(*row) for row in connection.rows(f"SELECT {_COLUMNS} FROM edges WHERE source_id = ?", (insight_id,))]  # noqa: S608
    back = connection.rows(
        f"SELECT {_COLUMNS_OF_BACK} FROM edges AS there JOIN edges AS back ON back.source_id = there.target_id"  # noqa: S608
        " AND back.target_id = ?1 AND back.edge_type = there.edge_type"
        " WHERE there.source_id = ?1 AND there.edge_type <> 'causal'"
        f" UNION ALL SELECT {_COLUMNS} FROM edges WHERE target_id = ?1 AND edge_type = 'causal'",
        (insight_id,),
    )
    return there + [Edge(*row) for row in back]


def remove_all(connection: Connection, edges: Sequence[Edge]) -> None:
    """Delete edges that are there."""
    connection.run_many(f"DELETE FROM edges WHERE {_KEY}", [key(edge) for edge in edges])  # noqa: S608


def remove_strays(connection: Connection, insight_id: str) -> int:
    """Delete every edge that still ends at an insight, wherever it is: reads the whole table. How many."""
    return connection.run("DELETE FROM edges WHERE source_id = ?1 OR target_id = ?1", (insight_id,))


def moved(edge: Edge, insight_id: str, successor: str) -> Edge | None:
    """The same edge with `successor` in the place of an insight; None when both ends would be the same."""
    source = successor if edge.source_id == insight_id else edge.source_id
    target = successor if edge.target_id == insight_id else edge.target_id
    return None if source == target else msgspec.structs.replace(edge, source_id=source, target_id=target)


def logical_links(edges: Sequence[Edge]) -> int:
    """How many relations these edges are: unordered pair and type, but causal links keep their direction."""
    return len(
        {
            (e.edge_type, e.source_id, e.target_id)
            if e.edge_type == "causal"
            else (e.edge_type, *sorted((e.source_id, e.target_id)))
            for e in edges
        }
    )


def load(connection: Connection) -> Iterator[Edge]:
    """Every edge, without its metadata: what the index needs."""
    for row in connection.rows("SELECT source_id, target_id, edge_type, weight FROM edges"):
        yield Edge(*row)


def key(edge: Edge) -> tuple[str, str, str]:
    """What no two edges of a store have in common."""
    return edge.source_id, edge.target_id, edge.edge_type


def _values(edge: Edge) -> tuple[str | float | None, ...]:
    return (
        edge.source_id, edge.target_id, edge.edge_type, edge.weight, edge.metadata, edge.created_by, edge.boost_days,
        edge.last_boosted_at,
    )  # fmt: skip
