"""I2, I3, M1, M2, M3, M5, M6, M7: the mirror in memory, by itself and beside the rows it was made of.

Reading a snapshot, and the parts it is made of, is all that happens here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import UNIT_TOLERANCE, normalise
from mnemond.store.insertion import Value
from mnemond.store.invariants.check import RELOAD, Evidence, Steps, Tally
from mnemond.store.invariants.rows import pages_of

SAMPLED: Final = 100
"""Of so many memories one vector is compared by the fast tier, another one each hour."""

HOUR_US: Final = 3_600_000_000
BLOCK: Final = 2_000
"""Rows of vectors looked at together: half a million numbers of the built-in model, below a millisecond."""

_USABLE: Final = "coalesce(embedding_model IS ?3 AND ?4 > 0 AND length(embedding) = 4 * ?4, FALSE)"
"""Whether a row has a vector that the mirror takes (`insights.load_active`)."""


def _mirror(evidence: Evidence) -> Snapshot:
    assert evidence.mirror is not None, "checks that need a mirror are asked only where there is one"  # noqa: S101
    return evidence.mirror


def _embedder(evidence: Evidence) -> tuple[Value, Value]:
    record = evidence.embedder
    return (None, 0) if record is None else (record.name, record.dimension)


def totals(evidence: Evidence) -> Steps:
    """M7: what the mirror keeps count of is what can be counted in it, and all its columns are as long."""
    mirror = _mirror(evidence)
    parts, alive = mirror.parts, mirror.alive()
    counted = {
        "live": (mirror.live, int(np.count_nonzero(alive))),
        "embedded": (mirror.embedded, int(np.count_nonzero(parts.dense.present[: mirror.rows][alive]))),
        "terms": (parts.corpus.total_length, int(parts.corpus.lengths[alive].sum(dtype=np.int64))),
        "vectors": (mirror.rows, len(parts.dense.matrix)),
        "columns": (mirror.rows, len(parts.columns.importance)),
    }
    wrong = Tally()
    for name, (kept, found) in counted.items():
        if kept != found:
            wrong.add(f"{name}: {kept:,} kept, {found:,} found")
    yield from wrong.problems("totals of the mirror are not what can be counted", RELOAD)


def counts(evidence: Evidence) -> Steps:
    """I2: as many memories, vectors and links of each type in the mirror as in the database."""
    mirror = _mirror(evidence)
    row = evidence.connection.row(
        f"SELECT count(*), coalesce(sum({_USABLE.replace('?3', '?1').replace('?4', '?2')}), 0)"  # noqa: S608
        " FROM insights WHERE deleted_at IS NULL",
        _embedder(evidence),
    )
    live, embedded = row or (0, 0)
    yield None
    links = dict(evidence.connection.rows(_LINKS))
    wrong = Tally()
    pairs = {"memories": (mirror.live, live), "vectors": (mirror.embedded, embedded)}
    pairs |= {f"{kind} links": (many, links.get(kind, 0)) for kind, many in mirror.edge_counts().items()}
    for name, (shown, stored) in pairs.items():
        if shown != stored:
            wrong.add(f"{name}: {shown:,} in memory, {stored:,} in the database")
    yield from wrong.problems("counts differ between memory and database", RELOAD)


_LINKS = """
WITH retired AS MATERIALIZED (SELECT number FROM insights WHERE deleted_at IS NOT NULL)
SELECT CASE kind WHEN 0 THEN 'temporal' WHEN 1 THEN 'semantic' WHEN 2 THEN 'causal' ELSE 'entity' END, count(*)
FROM edge_rows AS r
WHERE (kind = 2 OR source < target OR NOT EXISTS
    (SELECT 1 FROM edge_rows AS b WHERE b.source = r.target AND b.target = r.source AND b.kind = r.kind))
  AND source NOT IN retired AND target NOT IN retired
GROUP BY kind
"""
"""Two memories are linked once a type, a causal link once a direction (`adjacency.Adjacency`)."""


def vectors_there(evidence: Evidence) -> Steps:
    """I3: a memory has a vector in both, or in neither."""
    mirror, wrong = _mirror(evidence), Tally()
    for rows in pages_of(evidence, f"id, {_USABLE}", "deleted_at IS NULL", _embedder(evidence)):
        for insight_id, stored, _ in rows:
            row = mirror.row_of(insight_id)
            if row is not None and mirror.has_vector(row) != bool(stored):
                wrong.add(f"{insight_id} ({'database' if stored else 'memory'} only)")
        yield None
    yield from wrong.problems("memories have a vector in one place only", RELOAD)


def ids(evidence: Evidence) -> Steps:
    """M2: the mirror has every live memory, and no other."""
    mirror = _mirror(evidence)
    missing, seen = Tally(), np.zeros(mirror.rows, dtype=np.bool_)
    for rows in pages_of(evidence, "id", "deleted_at IS NULL"):
        for insight_id, _ in rows:
            row = mirror.row_of(insight_id)
            if row is None:
                missing.add(insight_id)
            else:
                seen[row] = True
        yield None
    yield from missing.problems("memories are in the database and not in memory", RELOAD)
    extra = Tally()
    for row in np.flatnonzero(mirror.alive() & ~seen).tolist():
        extra.add(mirror.insight(row).id)
    yield from extra.problems("memories are in memory and not in the database", RELOAD)


def importances(evidence: Evidence) -> Steps:
    """M3: effective importance is the same number, bit for bit."""
    mirror, wrong = _mirror(evidence), Tally()
    for rows in pages_of(evidence, "id, effective_importance", "deleted_at IS NULL"):
        for insight_id, stored, _ in rows:
            row = mirror.row_of(insight_id)
            if row is not None and mirror.insight(row).effective_importance != stored:
                wrong.add(insight_id)
        yield None
    yield from wrong.problems("memories have another effective importance in memory", RELOAD)


def unit_vectors(evidence: Evidence) -> Steps:
    """M1: vectors are finite float32 rows of length 1 that lie one behind the other; what has none is zeros."""
    dense, rows = _mirror(evidence).parts.dense, _mirror(evidence).rows
    if dense.matrix.dtype != np.float32 or not dense.matrix.flags.c_contiguous:
        form = Tally()
        form.add(f"{dense.matrix.dtype}, {dense.matrix.shape}")
        yield from form.problems("matrix of vectors is not one of float32 rows", RELOAD)
    wrong = Tally()
    for start in range(0, rows, BLOCK):
        block = dense.matrix[start : start + BLOCK]
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        off = ~(np.abs(lengths - dense.present[start : start + len(block)]) <= 2 * UNIT_TOLERANCE)
        for row in np.flatnonzero(off).tolist():
            wrong.add(_mirror(evidence).insight(start + row).id)
        yield None
    yield from wrong.problems("vectors in memory are not of length 1", RELOAD)


def vectors(evidence: Evidence) -> Steps:
    """M5: every vector is the one that is stored."""
    yield from _vectors(evidence, "TRUE", ())


def some_vectors(evidence: Evidence) -> Steps:
    """M6: one of a hundred vectors is the one that is stored; another hundredth each hour."""
    yield from _vectors(evidence, "number % ?5 = ?6", (SAMPLED, evidence.now_us // HOUR_US % SAMPLED))


def _vectors(evidence: Evidence, which: str, values: tuple[Value, ...]) -> Steps:
    mirror, wrong = _mirror(evidence), Tally()
    where = f"deleted_at IS NULL AND {_USABLE} AND {which}"
    for rows in pages_of(evidence, "id, embedding", where, (*_embedder(evidence), *values)):
        for insight_id in _different(mirror, rows):
            wrong.add(insight_id)
        yield None
    yield from wrong.problems("vectors in memory are not the stored ones", RELOAD)


def _different(mirror: Snapshot, rows: list[tuple[str, bytes, int]]) -> Iterator[str]:
    """Ids of a page whose vectors differ. One that is stored with another length is scaled when it is loaded."""
    for insight_id, blob, _ in rows:
        row = mirror.row_of(insight_id)
        shown = None if row is None else mirror.vector(row)
        if shown is None or shown.tobytes() == blob:
            continue
        scaled = np.frombuffer(blob, "<f4").reshape(1, -1).copy()
        normalise(scaled)
        if not np.array_equal(scaled[0], shown):
            yield insight_id
