"""The tables of the graph: edges by the numbers of their memories (`edge_rows`, with the view `edges` by ids), entities
and their mentions, and how central each memory is (`node_metrics`)."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.errors import INVALID_PARAMS, rejected
from mnemond.index.edges import EDGE_CODES, EdgeArrays
from mnemond.model.changes import RemoveEdge
from mnemond.model.memory import EDGE_TYPES, MAX_METADATA, NO_METADATA, CreatedBy, Edge, Entity, Relation
from mnemond.store.connection import Connection, Insertion, Value
from mnemond.store.insights import number_of, numbers_of

_CAUSAL = EDGE_CODES["causal"]  # the table has these numbers, the view the names: they must never change

CHOSEN: tuple[CreatedBy, ...] = ("host", "user")
"""Makers whose edges no automatic edge changes."""

_REST = Edge.__struct_fields__[3:]
"""Columns beside the key of an edge."""
_INSERT = (
    f"INSERT INTO edge_rows(source, target, kind, {', '.join(_REST)}, created_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE = f"UPDATE edge_rows SET {', '.join(f'{name} = ?' for name in _REST)}"  # noqa: S608 - names only
_KEY = "source = ? AND target = ? AND kind = ?"

_OF_AUTOMATIC = ("source", "target", "kind", "weight", "metadata", "created_at")
"""Columns of a new automatic edge; the others have their defaults."""
_AUTOMATIC = Insertion(4, "edge_rows", _OF_AUTOMATIC)

MAX_AT_ONCE = 32
"""Relations inserted by one statement. Nearly every memory has fewer; 34 rows take 45 µs so, 65 one by one."""

_json = msgspec.json.Encoder()
_object = msgspec.json.Decoder(dict[str, Any])


def key(edge: Edge) -> tuple[str, str, str]:
    return edge.source_id, edge.target_id, edge.edge_type


def _row_keys(connection: Connection, edges: Sequence[Edge]) -> list[tuple[int | None, int | None, int]]:
    """The key of each edge in the table; None for an end that does not exist."""
    number = numbers_of(connection, {end for edge in edges for end in (edge.source_id, edge.target_id)}).get
    return [(number(edge.source_id), number(edge.target_id), EDGE_CODES[edge.edge_type]) for edge in edges]


# Writing.


def insert_all(connection: Connection, edges: Sequence[Edge], now: str) -> None:
    """Insert new edges. Raises ConstraintError if one exists, or has an end that does not."""
    keys = _row_keys(connection, edges)
    connection.run_many(
        _INSERT,
        [
            (*of, it.weight, it.metadata, it.created_by, it.boost_days, it.last_boosted_at, now)
            for of, it in zip(keys, edges, strict=True)
        ],
    )


def insert_relations(connection: Connection, insight_id: str, relations: Sequence[Relation], now: str) -> None:
    """Insert the first edges of a memory. Raises ConstraintError if one exists, or has an end that does not."""
    numbers = numbers_of(connection, {insight_id, *[relation[0] for relation in relations]})
    if connection.batches_inserts:
        connection.add(_AUTOMATIC, _automatic_rows(numbers, insight_id, relations, now))
        return
    number, one = numbers.get, numbers.get(insight_id)
    both = [each for each in relations if each.there is not None and each.back is not None]
    for start in range(0, len(both), MAX_AT_ONCE):
        part = both[start : start + MAX_AT_ONCE]
        values: list[Value] = [one, now]
        for other, kind, weight, there, back in part:
            values += (number(other), EDGE_CODES[kind], weight, there, back)
        connection.run(_insert_both_ways(len(part)), values)
    if len(both) < len(relations):
        single = [each for each in relations if each.there is None or each.back is None]
        connection.add(_AUTOMATIC, _automatic_rows(numbers, insight_id, single, now))


def _automatic_rows(
    numbers: Mapping[str, int], insight_id: str, relations: Iterable[Relation], now: str
) -> list[tuple[Value, ...]]:
    number_of, one = numbers.get, numbers.get(insight_id)
    rows: list[tuple[Value, ...]] = []
    for other, name, weight, there, back in relations:
        number, kind = number_of(other), EDGE_CODES[name]
        if there is not None:
            rows.append((one, number, kind, weight, there, now))
        if back is not None:
            rows.append((number, one, kind, weight, back, now))
    return rows


@cache
def _insert_both_ways(relations: int) -> str:
    """The statement for so many relations of one memory, each an edge there and one back."""
    rows = [
        f"(?1,?{at},?{at + 1},?{at + 2},?{at + 3},?2),(?{at},?1,?{at + 1},?{at + 2},?{at + 4},?2)"
        for at in range(3, 3 + 5 * relations, 5)
    ]
    return f"INSERT INTO edge_rows({', '.join(_OF_AUTOMATIC)}) VALUES {','.join(rows)}"  # noqa: S608 - names only


def upsert(connection: Connection, edge: Edge, now: str, *, strict: bool = False) -> tuple[Edge, Edge | None]:
    """Insert an edge or merge it into the existing one; return it as it is now and as it was before.

    The larger weight counts and metadata are merged, new values winning; an automatic edge changes nothing about one
    made by a host or a user. The creation time stays. If merged metadata would grow too large, the existing ones stay;
    `strict` raises MnemonError instead, for an edge that a caller requested.
    """
    before = read(connection, edge.source_id, edge.target_id, edge.edge_type)
    if before is None:
        insert_all(connection, [edge], now)
        return edge, None
    after = _merged(before, edge, strict=strict)
    if after != before:
        values = (after.weight, after.metadata, after.created_by, after.boost_days, after.last_boosted_at)
        connection.run(f"{_UPDATE} WHERE {_KEY}", (*values, *_row_keys(connection, [after])[0]))
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
            raise rejected(
                INVALID_PARAMS,
                f"metadata of this edge would be {len(merged):,} bytes; the limit is {MAX_METADATA:,}",
                "unlink the two memories first, or give less metadata",
            )
    keeps_maker = edge.created_by == "auto" or (before.created_by in CHOSEN and edge.created_by not in CHOSEN)
    return msgspec.structs.replace(
        before,
        weight=max(before.weight, edge.weight),
        metadata=metadata,
        created_by=before.created_by if keeps_maker else edge.created_by,
        boost_days=max(before.boost_days, edge.boost_days),
        last_boosted_at=edge.last_boosted_at or before.last_boosted_at,
    )


def remove(connection: Connection, change: RemoveEdge) -> Edge | None:
    """Delete one edge; return it if it existed."""
    before = read(connection, change.source_id, change.target_id, change.edge_type)
    if before is not None:
        remove_all(connection, [before])
    return before


def remove_all(connection: Connection, edges: Sequence[Edge]) -> None:
    connection.run_many(f"DELETE FROM edge_rows WHERE {_KEY}", _row_keys(connection, edges))  # noqa: S608 - names only


def remove_strays(connection: Connection, insight_id: str) -> int:
    """Delete every remaining edge of an insight, reading the whole table; return their number."""
    number = number_of(connection, insight_id)
    return connection.run("DELETE FROM edge_rows WHERE source = ?1 OR target = ?1", (number,))


# Reading.


def read(connection: Connection, source_id: str, target_id: str, edge_type: str) -> Edge | None:
    known = numbers_of(connection, {source_id, target_id})
    row = connection.row(
        f"SELECT {', '.join(_REST)} FROM edge_rows WHERE {_KEY}",  # noqa: S608 - names only
        (known.get(source_id), known.get(target_id), EDGE_CODES[edge_type]),
    )
    return None if row is None else Edge(source_id, target_id, edge_type, *row)  # type: ignore[arg-type]


def touching(connection: Connection, insight_id: str) -> list[Edge]:
    """Return every edge that starts or ends at an insight.

    Only causal edges are indexed by their target: all others exist in both directions, and the one back is found from
    the one there. An index for both would cost more than all else of a write (docs/decisions/0009).
    """
    number = number_of(connection, insight_id)
    there, back = (map(_named, connection.rows(sql, (number,))) for sql in (_STARTING, _ENDING))
    return [Edge(insight_id, *row) for row in there] + [Edge(other, insight_id, *rest) for other, *rest in back]


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{name}" for name in ("kind", *_REST))


_STARTING = (
    f"SELECT it.id, {_columns('e')} FROM edge_rows AS e JOIN insights AS it ON it.number = e.target"  # noqa: S608 - names
    " WHERE e.source = ?"
)
_ENDING = (
    f"SELECT it.id, {_columns('back')} FROM edge_rows AS there CROSS JOIN edge_rows AS back"  # noqa: S608 - names only
    " ON back.source = there.target AND back.target = ?1 AND back.kind = there.kind"
    f" JOIN insights AS it ON it.number = back.source WHERE there.source = ?1 AND there.kind <> {_CAUSAL}"
    f" UNION ALL SELECT it.id, {_columns('e')} FROM edge_rows AS e JOIN insights AS it ON it.number = e.source"
    f" WHERE e.target = ?1 AND e.kind = {_CAUSAL}"
)
"""CROSS JOIN fixes the order. The kind is a literal so that the index of causal edges serves the second half."""


def _named(row: tuple[Any, ...]) -> tuple[Any, ...]:
    other, kind, *rest = row
    return other, EDGE_TYPES[kind], *rest


def moved(edge: Edge, insight_id: str, successor: str) -> Edge | None:
    """Return the edge with `successor` in the place of an insight; None when both ends would be the same."""
    source = successor if edge.source_id == insight_id else edge.source_id
    target = successor if edge.target_id == insight_id else edge.target_id
    return None if source == target else msgspec.structs.replace(edge, source_id=source, target_id=target)


def logical_links(edges: Sequence[Edge]) -> int:
    """Count the links of these edges: unordered pair and type, but causal links keep their direction."""
    return len(
        {
            (e.edge_type, e.source_id, e.target_id)
            if e.edge_type == "causal"
            else (e.edge_type, *sorted((e.source_id, e.target_id)))
            for e in edges
        }
    )


def load_arrays(connection: Connection, without: Collection[int] = ()) -> EdgeArrays:
    """Return every edge between active insights except those numbered `without`, by their positions in the order of
    their numbers: the index is built from these in a fifth of the time that an object for each takes."""
    active = connection.rows("SELECT number FROM insights WHERE deleted_at IS NULL ORDER BY number")
    numbers = np.array([number for (number,) in active if number not in without], dtype=np.int64)
    found = connection.rows("SELECT source, target, kind, weight FROM edge_rows")
    sources, targets, kinds, weights = zip(*found, strict=True) if found else ((), (), (), ())
    source, from_active = _places(numbers, sources)
    target, to_active = _places(numbers, targets)
    kept = from_active & to_active
    kind, weight = np.array(kinds, dtype=np.uint8), np.array(weights, dtype=np.float32)
    return EdgeArrays(source[kept], target[kept], kind[kept], weight[kept])


def _places(
    numbers: npt.NDArray[np.int64], wanted: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The position of each of `wanted` in `numbers`, which are ascending, and whether it occurs there."""
    ends = np.array(wanted, dtype=np.int64)
    places = np.searchsorted(numbers, ends)
    known = places < len(numbers)
    known[known] = numbers[places[known]] == ends[known]
    return places, known


# The tables `entities` and `memory_entities`.


MAX_KNOWN = 65_536
"""Names of existing entities that a connection caches."""

_UNSPECIFIC = ("concept", "other")
"""Types that yield to any other: they say nothing about what has the name."""

_UNLESS_EXISTS = " ON CONFLICT DO NOTHING"
_UNLESS_MORE_SPECIFIC = (
    " ON CONFLICT DO UPDATE SET entity_type = excluded.entity_type"
    f" WHERE entities.entity_type IN {_UNSPECIFIC} AND excluded.entity_type NOT IN {_UNSPECIFIC}"
)
_ENTITY = Insertion(1, "entities", ("id", "name", "canonical_name", "entity_type", "created_at"), _UNLESS_MORE_SPECIFIC)
_MENTION = Insertion(
    2,
    "memory_entities",
    ("memory_id", "entity_id", "mention_text"),
    _UNLESS_EXISTS,
    "(?, (SELECT id FROM entities WHERE canonical_name = ? AND sense = ''), ?)",
)


def entity_id(entity: Entity) -> str:
    """Return the id of a new entity, derived from its canonical name: a name has one row whatever its type. Rows of
    earlier versions have other ids."""
    return hashlib.blake2b(entity.canonical.encode(), digest_size=16).hexdigest()


def mention(connection: Connection, insight_id: str, mentions: Sequence[Entity], now: str) -> None:
    """Record the entities that a memory names, adding those that are new to the store. A name that has a row keeps it;
    the row's type becomes that of `mentions` if it said nothing before."""
    if not mentions:
        return
    known = connection.entities
    new = [it for it in mentions if not (it.canonical in known and (known[it.canonical] or it.kind in _UNSPECIFIC))]
    if new:
        connection.add(_ENTITY, [(entity_id(it), it.name, it.canonical, it.kind, now) for it in new])
        if len(known) > MAX_KNOWN:
            known.clear()
        for it in new:
            known[it.canonical] = known.get(it.canonical, False) or it.kind not in _UNSPECIFIC
    connection.add(_MENTION, [(insight_id, it.canonical, it.name) for it in mentions])


def replace_mentions(connection: Connection, insight_id: str, mentions: Sequence[Entity], now: str) -> None:
    connection.run("DELETE FROM memory_entities WHERE memory_id = ?", (insight_id,))
    mention(connection, insight_id, mentions, now)


def purge_entities(connection: Connection) -> None:
    """Delete every entity that no memory names and nothing else refers to, also those left by earlier texts."""
    connection.entities.clear()
    connection.run(
        "DELETE FROM entities AS e WHERE entity_type <> 'user' AND attributes IS NULL AND core_summary IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM memory_entities WHERE entity_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM relationships WHERE source_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM relationships WHERE target_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM relationship_evidence WHERE source_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM relationship_evidence WHERE target_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM entity_links WHERE entity_id = e.id OR other = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM core_summaries WHERE entity_id = e.id)"
    )


# The `node_metrics` table, for programs that read the file.


class Metric(NamedTuple):
    """A memory's PageRank (all sum to 1), its degree as effective importance counts it, and the number of its
    community, None if it is in none."""

    insight_id: str
    pagerank: float
    degree: int
    community: int | None = None


def read_metrics(connection: Connection, after: str, limit: int) -> list[Metric]:
    """Return the next `limit` rows by id, behind `after`."""
    rows = connection.rows(
        "SELECT insight_id, pagerank, degree, community FROM node_metrics WHERE insight_id > ?"
        " ORDER BY insight_id LIMIT ?",
        (after, limit),
    )
    return [Metric(*row) for row in rows]


def add_reverses(connection: Connection) -> None:
    """Lead every edge back that leads both ways by its type, as all but causal ones do. Reads the whole table: for rows
    that were copied from elsewhere."""
    columns = f"kind, {', '.join(_REST)}, created_at"
    connection.run(
        f"INSERT OR IGNORE INTO edge_rows(source, target, {columns})"  # noqa: S608 - names only
        f" SELECT target, source, {columns} FROM edge_rows WHERE kind <> 2"
    )


def put_metrics(connection: Connection, metrics: Sequence[Metric], now: str) -> None:
    """Write rows of memories that are still active."""
    connection.run_many(
        "INSERT INTO node_metrics(insight_id, pagerank, degree, community, computed_at)"
        " SELECT id, ?2, ?3, ?4, ?5 FROM insights WHERE id = ?1 AND deleted_at IS NULL"
        " ON CONFLICT(insight_id) DO UPDATE SET pagerank = excluded.pagerank, degree = excluded.degree,"
        " community = excluded.community, computed_at = excluded.computed_at",
        [(*each, now) for each in metrics],
    )


def remove_metrics(connection: Connection, insight_ids: Sequence[str]) -> None:
    connection.run_many("DELETE FROM node_metrics WHERE insight_id = ?", [(each,) for each in insight_ids])


def members_of(connection: Connection, community: int) -> list[str]:
    """Return the ids of the memories of a community, as of the last run of `graph_metrics`."""
    return connection.column("SELECT insight_id FROM node_metrics WHERE community = ?", (community,))
