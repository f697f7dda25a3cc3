"""Stores of a few memories that are known by their names alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge, EdgeType
from tests.index.worlds import DIMENSION, insight

Link = tuple[str, str, EdgeType, float]
"""From, to, type and weight of one edge."""

NAMES = "abcdefgh"
KINDS: tuple[EdgeType, ...] = ("temporal", "semantic", "causal", "entity")
WEIGHTS = (0.25, 0.5, 0.75, 1.0)
"""Exact in binary, so that different paths are often equally good."""


def graph(names: Iterable[str], links: Iterable[Link], *, one_by_one: bool = False) -> Snapshot:
    """Memories in this order, with these edges in this order: written at once, or one edge after another."""
    rows = [(insight(name, at=at), None) for at, name in enumerate(names)]
    edges = [Edge(source, target, kind, weight) for source, target, kind, weight in links]
    if not one_by_one:
        return MemoryIndex.build(rows, edges, DIMENSION).snapshot
    index = MemoryIndex.build(rows, [], DIMENSION)
    for edge in edges:
        index.apply([AddEdge(edge)])
    return index.snapshot


def at(snapshot: Snapshot, names: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The rows of some names."""
    rows = [snapshot.row_of(name) for name in names]
    assert None not in rows
    return np.array(rows, dtype=np.int64)


def named(snapshot: Snapshot, rows: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    """The names of some rows, one after another."""
    return "".join(snapshot.insight(int(row)).id for row in rows)


def _different(link: Link) -> bool:
    return link[0] != link[1]


links: st.SearchStrategy[list[Link]] = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(KINDS), st.sampled_from(WEIGHTS)).filter(
        _different
    ),
    max_size=24,
    unique_by=lambda link: link[:3],
)
"""Edges among eight memories, at most one from one to another of a type."""
