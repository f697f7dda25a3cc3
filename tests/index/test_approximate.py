from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

from mnemond.config.reading import HnswSettings
from mnemond.index import hnsw as approximates
from mnemond.index.arrays import Floats
from mnemond.index.hnsw import CHUNK, ApproximateIndex, Graph, Vertices, in_thread
from mnemond.index.vectors import Dense
from mnemond.model.changes import Vector
from tests.index.vector_worlds import (
    DIMENSION,
    Exhaustive,
    Later,
    at_once,
    by_hand,
    coded,
    dense,
    exhaustive,
    marks,
    unit,
)
from tests.tables import each_row


@pytest.fixture(autouse=True)
def _small_stores_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximates, "MIN_TAIL", 0)


def made(matrix: Floats, **options: Any) -> ApproximateIndex:
    """A graph of all rows that is there already."""
    approximate = ApproximateIndex(HnswSettings(), exhaustive, at_once)
    approximate.keep_up(matrix, options.get("present", marks(len(matrix))), options.get("alive", marks(len(matrix))))
    return approximate


def graph_of(approximate: ApproximateIndex) -> Graph:
    assert approximate.graph is not None
    return approximate.graph


def test_a_graph_and_its_tail_find_what_a_scan_finds() -> None:
    matrix = unit(900, 14)
    approximate = made(matrix[:600])
    searched = dense(matrix, coded(matrix), approximate)
    for question in (matrix[20], matrix[620], *unit(10, 15)):
        assert searched.nearest(question, 10, None)[0].tolist() == by_hand(matrix, question, 10, None)
    vertices = graph_of(approximate).vertices
    assert isinstance(vertices, Exhaustive)
    assert vertices.asked == 12


def test_a_graph_newer_than_the_snapshot_finds_no_row_beyond_it() -> None:
    matrix = unit(400, 16)
    older = dense(matrix[:300], coded(matrix[:300]), made(matrix))
    for question in (matrix[350], matrix[10]):
        assert older.nearest(question, 10, None)[0].tolist() == by_hand(matrix[:300], question, 10, None)


def test_a_mask_that_leaves_little_of_what_the_graph_found_is_answered_by_a_scan() -> None:
    matrix = unit(2000, 17)
    searched = dense(matrix, coded(matrix), made(matrix))
    for keep in (3, 400):
        mask = np.arange(2000) % keep == 0
        found, _ = searched.nearest(matrix[1], 5, mask)
        assert found.tolist() == by_hand(matrix, matrix[1], 5, mask)


def test_rows_that_are_dead_or_without_vector_do_not_enter_the_graph() -> None:
    matrix = unit(10, 18)
    graph = graph_of(made(matrix, present=marks(10, 2), alive=marks(10, 3, 4)))
    assert graph.rows.tolist() == [0, 1, 5, 6, 7, 8, 9]
    assert graph.covered == 10


def test_a_graph_is_extended_when_a_twentieth_is_new_and_the_old_one_stays_as_it_was() -> None:
    matrix = unit(1200, 19)
    approximate = made(matrix[:1000])
    first = graph_of(approximate)
    approximate.keep_up(matrix[:1050], marks(1050), marks(1050))
    assert approximate.graph is first
    approximate.keep_up(matrix, marks(1200, 1100), marks(1200))
    second = graph_of(approximate)
    assert second.covered == 1200
    assert second.rows.tolist() == [row for row in range(1200) if row != 1100]
    assert len(first.rows) == 1000
    assert isinstance(first.vertices, Exhaustive)
    assert len(first.vertices.rows) == 1000


def test_a_graph_of_mostly_dead_rows_is_made_anew() -> None:
    matrix = unit(200, 20)
    approximate = made(matrix[:100])
    alive = marks(200, *range(60))
    approximate.keep_up(matrix, marks(200), alive)
    assert graph_of(approximate).rows.tolist() == list(range(60, 200))


def test_nothing_waits_for_a_graph_and_only_one_is_made_at_a_time() -> None:
    later, matrix = Later(), unit(50, 21)
    approximate = ApproximateIndex(HnswSettings(), exhaustive, later)
    approximate.keep_up(matrix, marks(50), marks(50))
    approximate.keep_up(matrix, marks(50), marks(50))
    assert approximate.graph is None
    assert len(later.waiting) == 1
    later.run()
    assert graph_of(approximate).covered == 50


def test_a_graph_that_nobody_wants_any_more_is_not_finished() -> None:
    later, matrix = Later(), unit(50, 22)
    ended = ApproximateIndex(HnswSettings(), exhaustive, later)
    ended.keep_up(matrix, marks(50), marks(50))
    ended.end()
    later.run()
    assert ended.graph is None
    ended.keep_up(matrix, marks(50), marks(50))
    assert later.waiting == []


def test_a_graph_whose_index_was_replaced_does_not_keep_vectors_alive() -> None:
    later, matrix = Later(), unit(50, 23)
    approximate = ApproximateIndex(HnswSettings(), exhaustive, later)
    approximate.keep_up(matrix, marks(50), marks(50))
    gone = weakref.ref(approximate)
    del approximate
    gc.collect()
    assert gone() is None
    later.run()


@each_row("at", [1, 2])
def test_an_index_may_be_replaced_while_its_graph_is_made(at: int) -> None:
    owners: list[ApproximateIndex] = []
    added: list[int] = []

    class Slow(Exhaustive):
        def add(self, block: Floats) -> None:
            added.append(len(block))
            if len(added) == at:
                owners.clear()
                gc.collect()

    later, matrix = Later(), unit(CHUNK + 50, 24)
    owners.append(ApproximateIndex(HnswSettings(), lambda dimension, parameters: Slow(), later))
    owners[0].keep_up(matrix, marks(len(matrix)), marks(len(matrix)))
    later.run()
    assert added == [CHUNK, 50][:at]


def test_compacting_renumbers_what_the_graph_finds() -> None:
    matrix = unit(100, 25)
    approximate = made(matrix[:80])
    kept = np.array([row for row in range(100) if row % 3])
    renumbered = np.cumsum(np.arange(100) % 3 != 0) - 1
    fewer = approximate.compacted(kept, renumbered)
    searched = dense(matrix[kept], coded(matrix[kept]), fewer)
    assert graph_of(fewer).covered == np.count_nonzero(kept < 80)
    for question in unit(10, 26):
        assert searched.nearest(question, 5, None)[0].tolist() == by_hand(matrix[kept], question, 5, None)
    again = fewer.compacted(np.arange(10), np.arange(len(kept)))
    assert sorted(row for row in graph_of(again).rows.tolist() if row >= 0) == list(range(10))
    assert ApproximateIndex(HnswSettings()).compacted(kept, renumbered).graph is None


def test_without_the_extra_it_says_how_to_get_it_and_does_not_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    monkeypatch.delitem(sys.modules, "mnemond.index.usearch_graph", raising=False)
    later, matrix = Later(), unit(300, 27)
    approximate = ApproximateIndex(HnswSettings(), spawn=later)
    searched = dense(matrix, coded(matrix), approximate)
    assert searched.graph_lacking is None
    approximate.keep_up(matrix, marks(300), marks(300))
    later.run()
    assert "pip install 'mnemond[hnsw]'" in str(searched.graph_lacking)
    assert searched.nearest(matrix[5], 1, None)[0].tolist() == [5]
    approximate.keep_up(matrix, marks(300), marks(300))
    assert later.waiting == []
    assert approximate.compacted(np.arange(3), np.arange(300)).lacking == searched.graph_lacking


@each_row("failing", ["make", "add"])
def test_a_graph_that_cannot_be_made_says_why_and_the_store_is_scanned(failing: str) -> None:
    class Full(Exhaustive):
        def add(self, block: Floats) -> None:
            raise MemoryError("no room")

    def make(dimension: int, parameters: HnswSettings) -> Vertices:
        if failing == "make":
            raise RuntimeError("no room")
        return Full()

    approximate, matrix = ApproximateIndex(HnswSettings(), make, at_once), unit(20, 28)
    approximate.keep_up(matrix, marks(20), marks(20))
    assert approximate.graph is None
    assert "no room" in str(approximate.lacking)


def test_the_thread_does_not_keep_the_process_alive() -> None:
    seen: list[bool] = []
    done = threading.Event()

    def work() -> None:
        seen.append(threading.current_thread().daemon)
        done.set()

    in_thread(work)
    assert done.wait(10)
    assert seen == [True]


class Library(Exhaustive):
    """What is used of the class of the library."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, keys: Any, block: Floats, threads: int) -> None:  # type: ignore[override]
        assert keys.tolist() == list(range(len(self.rows), len(self.rows) + len(block)))
        assert threads == 1
        super().add(block)

    def search(self, vector: Vector, k: int, threads: int) -> Any:
        assert threads == 1
        return types.SimpleNamespace(keys=self.nearest(vector, k).astype(np.uint64))

    def copy(self) -> Library:
        fresh = Library(**self.options)
        fresh.rows = self.rows
        return fresh


def test_the_library_is_asked_with_the_parameters_and_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch", types.ModuleType("usearch"))
    monkeypatch.setitem(sys.modules, "usearch.index", types.SimpleNamespace(Index=Library))
    monkeypatch.delitem(sys.modules, "mnemond.index.usearch_graph", raising=False)
    matrix = unit(600, 29)
    approximate = ApproximateIndex(HnswSettings(m=8), spawn=at_once)
    for rows in (300, 600):
        approximate.keep_up(matrix[:rows], marks(rows), marks(rows))
    assert approximate.lacking is None
    searched = dense(matrix, coded(matrix), approximate)
    assert searched.nearest(matrix[500], 5, None)[0].tolist() == by_hand(matrix, matrix[500], 5, None)
    options = graph_of(approximate).vertices._index.options  # type: ignore[attr-defined]
    links = {"connectivity": 8, "expansion_add": 200, "expansion_search": 200}
    assert options == {"ndim": DIMENSION, "metric": "ip", "dtype": "i8", **links}
    monkeypatch.delitem(sys.modules, "mnemond.index.usearch_graph")


@pytest.mark.slow
def test_the_real_library_finds_nearly_all_of_the_nearest() -> None:
    pytest.importorskip("usearch")
    matrix, questions = unit(5000, 30, 64), unit(50, 31, 64)
    approximate = ApproximateIndex(HnswSettings(), spawn=at_once)
    for rows in (4000, 5000):
        approximate.keep_up(matrix[:rows], marks(rows), marks(rows))
    assert approximate.lacking is None
    searched = Dense(matrix, marks(5000), coded(matrix), approximate)
    hits = sum(
        len(set(searched.nearest(each, 10, None)[0].tolist()) & set(by_hand(matrix, each, 10, None)))
        for each in questions
    )
    assert hits >= 0.95 * 10 * len(questions)


def test_a_small_store_gets_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximates, "MIN_TAIL", 50)
    assert made(unit(50, 36)).graph is None
    assert made(unit(51, 36)).graph is not None
