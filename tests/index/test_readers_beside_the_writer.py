"""A snapshot read while the writer goes on is the same the second time, and whole every time."""

from __future__ import annotations

import threading

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import AddEdge, AddInsight, RetireInsight
from mnemond.model.memory import Edge
from mnemond.model.query import Filter
from tests.index.worlds import BM25, DIMENSION, insight, unit

BATCHES = 400


def read(snapshot: Snapshot) -> tuple[object, ...]:
    scores, bound = snapshot.keyword(["redi", "cach"], BM25)
    mask = snapshot.visible(Filter())
    assert len(scores) == snapshot.rows == len(snapshot.dense.similarity(unit(1, 1, 1, 1)))
    assert (snapshot.rows if mask is None else int(mask.sum())) == snapshot.live
    best = [snapshot.insight(int(row)).id for row in snapshot.best(scores, 5)]
    newest = [found.id for found in snapshot.newest(Filter(), 5)]
    assert all(snapshot.row_of(found) is not None for found in newest)
    links = [len(snapshot.neighbours(row)) for row in range(0, snapshot.rows, 7)]
    return scores.tolist(), bound, best, newest, links, snapshot.edge_counts(), snapshot.top_entities(3)


def write(index: MemoryIndex) -> None:
    for number in range(BATCHES):
        name = f"{number:06d}"
        content = "redis cache " * (1 + number % 3)
        add = AddInsight(insight(name, content, at=number, entities=(f"e{number % 5}",)), unit(1, number, 0, 1))
        index.apply([add, AddEdge(Edge(name, f"{number // 2:06d}", "semantic", 0.5))])
        if number % 3 == 2:
            index.apply([RetireInsight(f"{number - 2:06d}", "pruned")])


def test_readers_see_whole_and_lasting_snapshots() -> None:
    index = MemoryIndex(DIMENSION, Compaction(dead_rows=8, dead_share=0.1))
    writer = threading.Thread(target=write, args=(index,))
    writer.start()
    kept: list[tuple[Snapshot, tuple[object, ...]]] = []
    while writer.is_alive():
        snapshot = index.snapshot
        kept.append((snapshot, read(snapshot)))
    writer.join()
    kept.append((index.snapshot, read(index.snapshot)))
    assert kept[-1][0].generation == BATCHES + BATCHES // 3
    for snapshot, first in kept[:: 1 + len(kept) // 50]:
        assert read(snapshot) == first
