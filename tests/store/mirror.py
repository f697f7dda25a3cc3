"""The index beside the file it mirrors, everything by id: contents, vectors, edges, degrees, effective importance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import EDGE_TYPES, effective_importance, parse_rfc3339
from mnemond.store.engine import Engine
from tests.store.factories import open_at

Portrait = dict[str, dict[str, Any]]


def portrait(snapshot: Snapshot) -> Portrait:
    """What a snapshot holds of each live memory."""
    found: Portrait = {}
    columns = snapshot.columns
    for row in np.flatnonzero(snapshot.alive()).tolist():
        it, vector = snapshot.insight(row), snapshot.stored_vector(row)
        assert snapshot.row_of(it.id) == row
        found[it.id] = {
            "insight": it,
            "vector": None if vector is None else np.round(vector, 5).tolist(),
            "degree": int(columns.degree[row]),
            "columns": (
                int(columns.importance[row]), int(columns.accesses[row]), int(columns.accessed_us[row]),
                int(columns.created_us[row]), int(columns.pinned[row]),
            ),
            "links": sorted(
                (snapshot.insight(other).id, EDGE_TYPES[kind], outgoing, round(weight, 6))
                for other, weight, kind, outgoing in snapshot.neighbours(row).tolist()
            ),
        }  # fmt: skip
    return found


def of_file(path: Path) -> Portrait:
    """What the file says, read through a connection of its own."""
    opened = open_at(path)
    try:
        return portrait(opened.index.snapshot)
    finally:
        opened.connection.close()


def mirrored(engine: Engine, path: Path) -> Portrait:
    """What readers see, after it was found to be what the file says, with nothing staged besides."""
    assert engine.index.begun == 0
    assert engine.index.working is engine.index.snapshot
    seen, stored = portrait(engine.index.snapshot), of_file(path)
    assert seen == stored
    return seen


def importance_at(found: Portrait, insight_id: str, now: str) -> float:
    """The formula of spec 7.14 for one memory at `now`."""
    it, degree = found[insight_id]["insight"], found[insight_id]["degree"]
    days = (parse_rfc3339(now) - parse_rfc3339(it.last_accessed_at or it.created_at)) / 86_400e6
    return round(effective_importance(it.importance, it.access_count, days, degree), 6)
