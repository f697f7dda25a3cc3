"""What changes do to an index: staged, published, refused, and where a changed memory goes."""

from __future__ import annotations

import pytest

from mnemond.errors import INTERNAL, MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    PutInsight,
    RetireInsight,
    SetImportance,
)
from mnemond.model.memory import Edge, Scope
from tests.index.worlds import built, insight, unit


def test_an_id_that_comes_back_is_found_once_and_old_snapshots_keep_the_old_row() -> None:
    index = built(insight("abcdef", "first"))
    first = index.snapshot
    gone = index.apply([RetireInsight("abcdef", "forgotten")])
    index.apply([AddInsight(insight("abcdef", "second"))])
    assert index.snapshot.find("abcdef") == ["abcdef"]
    rows = [first.row_of("abcdef"), gone.row_of("abcdef"), index.snapshot.row_of("abcdef")]
    assert rows == [0, None, 1]


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


def test_what_was_staged_in_part_counts_as_begun() -> None:
    index = built(insight("a"))
    with pytest.raises(MnemonError, match="no live memory c"):
        index.stage([AddInsight(insight("b")), SetImportance("c", 1.0)])
    assert index.begun == 1
    assert index.snapshot.row_of("b") is None


def test_a_row_patched_twice_in_one_operation_has_both_changes() -> None:
    index = built(insight("a"))
    changes: list[Change] = [PutInsight(insight("a", pinned=True)), SetImportance("a", 0.75)]
    index.apply(changes)
    assert (index.snapshot.insight(0).pinned, index.snapshot.insight(0).effective_importance) == (True, 0.75)
    index.apply([*changes, PutInsight(insight("a", "redis"))])
    assert index.snapshot.insight(1) == insight("a", "redis")
