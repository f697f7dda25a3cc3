"""I4, M4: links between memories, in the database and in the mirror."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.adjacency import INWARDS, OUTWARDS, EdgeArrays, degrees_of
from mnemond.index.snapshot import Snapshot
from mnemond.store.invariants.check import DAMAGED, PAGE, RELOAD, Evidence, Steps, Tally
from mnemond.store.invariants.rows import pages_of

_DEAD = """
SELECT r.source || ' - ' || r.target FROM edge_rows AS r
  LEFT JOIN insights AS s ON s.number = r.source LEFT JOIN insights AS t ON t.number = r.target
WHERE s.deleted_at IS NOT NULL OR t.deleted_at IS NOT NULL OR r.source = r.target
"""
_ALONE = """
SELECT r.source || ' - ' || r.target FROM edge_rows AS r
WHERE r.kind <> 2 AND NOT EXISTS
  (SELECT 1 FROM edge_rows AS b WHERE b.source = r.target AND b.target = r.source AND b.kind = r.kind)
"""
_EDGES = """
SELECT r.source, r.target, r.kind, r.weight FROM edge_rows AS r
WHERE (r.source, r.target, r.kind) > (?, ?, ?) ORDER BY r.source, r.target, r.kind LIMIT ?
"""
NOWHERE = -1
"""The row of a memory that the mirror does not have."""

Keys = npt.NDArray[np.float64]
"""Edges, shape (edges, 4): source row, target row, type, weight; sorted."""


def ends(evidence: Evidence) -> Steps:
    """I4: both ends of an edge are live and not the same, and all but causal ones lead both ways."""
    dead, alone = Tally(), Tally()
    for row in evidence.connection.rows(_DEAD):
        dead.add(f"rows {row[0]}")
    yield from dead.problems("edges end at memories that left recall, or where they begin", DAMAGED)
    yield None
    for row in evidence.connection.rows(_ALONE):
        alone.add(f"rows {row[0]}")
    yield from alone.problems("edges lead one way only, and should lead both ways", DAMAGED)


def mirrored(evidence: Evidence) -> Steps:
    """M4: the mirror has the stored edges, from either end, with their weights, and counts them right."""
    mirror = evidence.mirror
    assert mirror is not None, "checks that need a mirror are asked only where there is one"  # noqa: S101
    rows = np.full(_largest(evidence) + 1, NOWHERE, dtype=np.int64)
    for page in pages_of(evidence, "id", "deleted_at IS NULL"):
        for insight_id, number in page:
            if (row := mirror.row_of(insight_id)) is not None:
                rows[number] = row
        yield None
    parts: list[Keys] = [np.zeros((0, 4))]
    last: tuple[int, int, int] = (-1 << 62, 0, 0)
    while page := evidence.connection.rows(_EDGES, (*last, PAGE)):
        part = np.array(page, dtype=np.float64)
        part[:, :2] = rows[part[:, :2].astype(np.int64)]
        parts.append(part[(part[:, :2] != NOWHERE).all(axis=1)])
        last = page[-1][:3]
        yield None
    yield from _compared(mirror, _sorted(np.concatenate(parts)))


def _largest(evidence: Evidence) -> int:
    row = evidence.connection.row("SELECT coalesce(max(number), 0) FROM insights")
    return 0 if row is None else int(row[0])


def _compared(mirror: Snapshot, stored: Keys) -> Steps:
    stored[:, 3] = stored[:, 3].astype(np.float32)
    shown: dict[int, list[Keys]] = {OUTWARDS: [np.zeros((0, 4))], INWARDS: [np.zeros((0, 4))]}
    live = np.flatnonzero(mirror.alive())
    for start in range(0, len(live), PAGE):
        some = live[start : start + PAGE]
        owners, links = mirror.fan(some.tolist())
        ends = some[owners], links["row"].astype(np.int64)
        for way, (source, target) in ((OUTWARDS, ends), (INWARDS, ends[::-1])):
            led = (links["ways"] & way) != 0
            parts = (source[led], target[led], links["type"][led], links["weight"][led])
            shown[way].append(np.stack(parts, axis=1, dtype=np.float64))
        yield None
    wrong = Tally()
    for way, word in ((OUTWARDS, "where they begin"), (INWARDS, "where they end")):
        seen = _sorted(np.concatenate(shown[way]))
        if not np.array_equal(seen, stored):
            wrong.add(f"seen from {word}: {len(seen):,} in memory, {len(stored):,} in the database")
        yield None
    degrees = _degrees(stored, mirror.rows)
    if (off := np.count_nonzero(degrees[live] != mirror.degrees[live])) > 0:
        wrong.add(f"degree of {off:,} memories")
    yield from wrong.problems("views of the links differ between memory and database", RELOAD)


def _degrees(edges: Keys, rows: int) -> npt.NDArray[np.int32]:
    if not len(edges):
        return np.zeros(rows, dtype=np.int32)
    source, target, kind = edges[:, :3].astype(np.int64).T
    return degrees_of(EdgeArrays(source, target, kind.astype(np.uint8), edges[:, 3].astype(np.float32)), rows)


def _sorted(edges: Keys) -> Keys:
    return edges[np.lexsort((edges[:, 2], edges[:, 1], edges[:, 0]))]
