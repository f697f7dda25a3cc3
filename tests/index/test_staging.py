"""What changes do to an index: staged, published, refused, and where a changed memory goes."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.edges import CAUSAL
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    PurgeInsight,
    PutInsight,
    RetireInsight,
    SetImportance,
    SetVector,
)
from mnemond.model.memory import Edge, Scope
from tests.index.worlds import DIMENSION, built, insight, unit
from tests.tables import each_row


def test_an_id_that_comes_back_is_found_once_and_old_snapshots_keep_the_old_row() -> None:
    index = built(insight("abcdef", "first"))
    first = index.snapshot
    gone = index.apply([RetireInsight("abcdef", "forgotten")])
    index.apply([AddInsight(insight("abcdef", "second"))])
    assert index.snapshot.find("abcdef") == ["abcdef"]
    rows = [first.row_of("abcdef"), gone.row_of("abcdef"), index.snapshot.row_of("abcdef")]
    assert rows == [0, None, 1]


def test_an_edge_added_again_has_the_weight_it_was_given_last_at_both_ends() -> None:
    index = built(insight("a"), insight("b"))
    for weight in (0.25, 0.5, 0.75):
        index.apply([AddEdge(Edge("a", "b", "causal", weight))])
    there, back = index.snapshot.neighbours(0), index.snapshot.neighbours(1)
    assert there.tolist() == [(1, 0.75, CAUSAL, 1)]
    assert back.tolist() == [(0, 0.75, CAUSAL, 0)]


def test_links_keep_their_ends_when_rows_are_renumbered() -> None:
    rows = [insight(f"m{number}") for number in range(600)]
    index = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION, Compaction(dead_rows=10, dead_share=0.0))
    index.apply([AddEdge(Edge("m20", "m599", "entity", 0.5)), AddEdge(Edge("m599", "m300", "causal", 0.25))])
    old = index.snapshot
    index.apply([RetireInsight(f"m{number}", "pruned") for number in range(11)])
    snapshot = index.snapshot
    assert (snapshot.rows, old.rows) == (589, 600)
    row = snapshot.row_of("m599")
    assert row == 588
    ends = [(snapshot.insight(int(link["row"])).id, float(link["weight"])) for link in snapshot.neighbours(row)]
    assert ends == [("m20", 0.5), ("m300", 0.25)]
    assert old.neighbours(599)["row"].tolist() == [20, 300]


def test_changes_that_do_not_fit_are_refused_and_the_published_state_stays() -> None:
    index = built(insight("a", "redis"))
    before = index.snapshot
    with pytest.raises(MnemonError, match="holds memory a already") as caught:
        index.apply([AddInsight(insight("b")), AddInsight(insight("a"))])
    assert caught.value.kind is INTERNAL
    with pytest.raises(MnemonError, match="no live memory c"):
        index.apply([RetireInsight("c", "forgotten")])
    assert index.snapshot is before
    assert before.rows == 1
    assert before.row_of("b") is None
    assert before.find("b") == []


def test_a_memory_may_come_and_go_within_one_batch() -> None:
    index = MemoryIndex(DIMENSION)
    snapshot = index.apply(
        [
            AddInsight(insight("a", "redis"), unit(1, 0, 0, 0)),
            RetireInsight("a", "superseded"),
            AddInsight(insight("b", "redis")),
            AddEdge(Edge("a", "b", "semantic", 1.0)),
        ]
    )
    assert (snapshot.generation, snapshot.live, snapshot.rows, snapshot.embedded) == (1, 1, 2, 0)
    assert snapshot.edge_counts()["semantic"] == 0


def test_nothing_staged_is_seen_before_it_is_published() -> None:
    index = built(insight("abcdef", "redis", entities=("Redis",)))
    index.stage(
        [
            AddInsight(
                insight("abcdeg", "redis cache", entities=("Kafka",), scope=Scope("u1", "s1", "a1")), unit(1, 0, 0, 0)
            ),
            AddEdge(Edge("abcdef", "abcdeg", "causal", 0.5)),
            PutInsight(insight("abcdef", "sqlite", entities=("SQLite",), pinned=True)),
        ]
    )
    for snapshot, names in ((index.snapshot, ("Redis", None, None)), (index.working, ("Redis", "Kafka", "SQLite"))):
        assert tuple(snapshot.entity_spelling(name) for name in ("redis", "kafka", "sqlite")) == names
    old, new = index.snapshot, index.working
    assert [snapshot.document_frequencies(["redi"]) for snapshot in (old, new)] == [[2], [2]]  # of the writer's, always
    assert [snapshot.live for snapshot in (old, new)] == [1, 2]
    assert [snapshot.row_of("abcdeg") for snapshot in (old, new)] == [None, 1]
    assert [snapshot.find("abcdeg") for snapshot in (old, new)] == [[], ["abcdeg"]]
    assert [snapshot.twins("sqlite") for snapshot in (old, new)] == [[], [2]]
    assert [snapshot.edge_counts()["causal"] for snapshot in (old, new)] == [0, 1]
    assert (old.columns.degree.tolist(), new.columns.degree.tolist()[1:]) == ([0], [1, 1])
    assert (old.columns.pinned.tolist(), new.columns.pinned.tolist()) == ([0], [0, 0, 1])
    assert old.comparable(Scope("u1")) in (None, [True])
    assert index.publish() is index.snapshot is index.working


def test_staging_nothing_changes_nothing() -> None:
    index = built(insight("a"))
    working = index.working
    assert index.stage([]) == {}
    assert (index.working is working, index.begun) == (True, 0)


def test_what_was_staged_in_part_counts_as_begun() -> None:
    index = built(insight("a"))
    with pytest.raises(MnemonError, match="no live memory c"):
        index.stage([AddInsight(insight("b")), SetImportance("c", 1.0)])
    assert index.begun == 1
    assert index.snapshot.row_of("b") is None


@each_row(
    ("field", "value", "moves"),
    [
        ("content", "another", True), ("category", "fact", True), ("importance", 5, True), ("tags", ("t",), True),
        ("entities", ("Redis",), True), ("source", "alice", True), ("conversation_id", "c", True),
        ("scope", Scope("u1"), True), ("created_at", "1970-01-02T00:00:00.000000Z", True),
        ("pinned", True, False), ("access_count", 7, False), ("paired_with", "b", False), ("metadata", "[]", False),
        ("last_accessed_at", "1970-01-02T00:00:00.000000Z", False), ("keywords", "redis", False),
    ],
)  # fmt: skip
def test_a_memory_moves_to_a_new_row_when_it_is_found_by_what_changed(field: str, value: object, moves: bool) -> None:
    rows = [(insight("a", "redis"), unit(1, 0, 0, 0)), (insight("b"), None)]
    index = MemoryIndex.build(rows, [Edge("a", "b", "causal", 0.5)], DIMENSION)
    old = index.snapshot
    later = msgspec.structs.replace(old.insight(0), **{field: value})
    snapshot = index.apply([PutInsight(later)])
    row = snapshot.row_of("a")
    assert row == (2 if moves else 0)
    assert (old.insight(0), snapshot.insight(row)) == (rows[0][0], later)
    assert (snapshot.embedded, snapshot.live, snapshot.has_vector(row)) == (1, 2, True)
    assert snapshot.neighbours(1)["row"].tolist() == [row]
    assert (int(snapshot.columns.degree[row]), int(snapshot.columns.degree[1])) == (1, 1)
    columns = snapshot.columns
    assert (int(columns.accesses[row]), int(columns.pinned[row])) == (later.access_count, later.pinned)
    assert int(columns.accessed_us[row]) == (86_400_000_000 if field in ("created_at", "last_accessed_at") else 0)


def test_a_text_embedded_anew_has_its_new_vector_or_none() -> None:
    index = MemoryIndex.build([(insight("a"), unit(1, 0, 0, 0))], [], DIMENSION)
    index.apply([PutInsight(insight("a"), vector=unit(0, 1, 0, 0))])
    assert index.snapshot.dense.similarity(unit(1, 0, 0, 0)).tolist() == [1]
    index.apply([PutInsight(insight("a"), embedded=True, vector=unit(0, 1, 0, 0))])
    row = index.snapshot.row_of("a")
    assert row == 1
    assert index.snapshot.dense.similarity(unit(0, 1, 0, 0), row).tolist() == [1]
    index.apply([SetVector("a", None), SetVector("nobody", unit(1, 0, 0, 0))])
    assert (index.snapshot.embedded, index.snapshot.vector(2)) == (0, None)


def test_a_row_patched_twice_in_one_operation_has_both_changes() -> None:
    index = built(insight("a"))
    changes: list[Change] = [PutInsight(insight("a", pinned=True)), SetImportance("a", 0.75)]
    index.apply(changes)
    assert (index.snapshot.insight(0).pinned, index.snapshot.insight(0).effective_importance) == (True, 0.75)
    index.apply([*changes, PutInsight(insight("a", "redis"))])
    assert index.snapshot.insight(1) == insight("a", "redis")


def test_a_memory_that_goes_takes_its_patch_along() -> None:
    index = built(insight("a"), insight("b"))
    index.apply([SetImportance("a", 0.75), RetireInsight("a", "pruned"), PurgeInsight("b"), PurgeInsight("nobody")])
    assert (index.snapshot.live, index.snapshot.insight(0).effective_importance) == (0, 0.5)


def test_causal_edges_both_ways_are_two() -> None:
    """A pair of new memories that cause each other has two causal edges, while one of another type counts once."""
    index = MemoryIndex.build([(insight("a", at=1), None)], [], DIMENSION)
    changes: list[Change] = [AddInsight(insight("b", at=2)), AddInsight(insight("c", at=3))]
    for kind in ("causal", "semantic"):
        changes += [AddEdge(Edge("b", "c", kind, 0.5)), AddEdge(Edge("c", "b", kind, 0.5))]
    index.apply(changes)
    counts = index.snapshot.edge_counts()
    assert (counts["causal"], counts["semantic"]) == (2, 1)
