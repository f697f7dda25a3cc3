"""What a snapshot answers, case by case."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from mnemond.errors import INTERNAL, NOT_FOUND, MnemonError
from mnemond.index.adjacency import CAUSAL
from mnemond.index.memory_index import Compaction, MemoryIndex
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RetireInsight,
    SetImportance,
    SetVector,
)
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight, Scope
from mnemond.model.recall import Filter
from mnemond.text.similarity import normalised
from tests.index.worlds import BM25, DIMENSION, insight, unit


def built(*insights: Insight) -> MemoryIndex:
    return MemoryIndex.build([(found, None) for found in insights], [], DIMENSION)


def seen(snapshot: Snapshot, wanted: Filter) -> list[str]:
    mask = snapshot.visible(wanted)
    rows = range(snapshot.rows) if mask is None else np.flatnonzero(mask).tolist()
    return [snapshot.insight(row).id for row in rows]


def test_an_empty_store_answers_everything_with_nothing() -> None:
    snapshot = MemoryIndex(DIMENSION).snapshot
    scores, bound = snapshot.keyword(["redis"], BM25)
    assert (snapshot.rows, snapshot.live, snapshot.embedded, snapshot.dimension) == (0, 0, 0, DIMENSION)
    assert scores.shape == (0,)
    assert bound > 0
    assert snapshot.similarity(unit(1, 0, 0, 0)).shape == (0,)
    assert snapshot.best(scores, 5).tolist() == []
    assert snapshot.newest(Filter(), 5) == []
    assert snapshot.by_category() == {}
    assert snapshot.top_entities(5) == []
    assert set(snapshot.edge_counts().values()) == {0}
    assert snapshot.row_of("nothing") is None
    assert snapshot.find("nothing") == []
    assert snapshot.visible(Filter(category="fact")) is not None


def test_no_terms_score_nothing() -> None:
    scores, bound = built(insight("m1"), insight("m2")).snapshot.keyword([], BM25)
    assert (scores.tolist(), bound) == ([0.0, 0.0], 0.0)


def test_bm25_is_the_formula() -> None:
    index = built(insight("a", "redis cache redis"), insight("b", "cache"), insight("c", "sqlite storage engine here"))
    scores, bound = index.snapshot.keyword(["redi", "cach", "cach"], BM25)
    lengths, mean = [3, 1, 3], 7 / 3
    weight = {"redi": np.log(1 + 2.5 / 1.5), "cach": 2 * np.log(1 + 1.5 / 2.5)}

    def part(term: str, times: int, row: int) -> float:
        return float(weight[term] * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[row] / mean)))

    assert scores.tolist() == pytest.approx([part("redi", 2, 0) + part("cach", 1, 0), part("cach", 1, 1), 0.0])
    assert bound == pytest.approx(2.2 * sum(weight.values()))


def test_a_word_nobody_wrote_raises_the_bound_but_no_score() -> None:
    snapshot = built(insight("a", "redis")).snapshot
    alone, bound = snapshot.keyword(["redi"], BM25)
    both, higher = snapshot.keyword(["redi", "unheard"], BM25)
    assert both.tolist() == alone.tolist()
    assert higher > bound


def test_of_a_pasted_log_only_the_rarest_terms_count() -> None:
    rows = [insight(f"m{number}", "common " + ("rare" if number == 0 else "")) for number in range(4)]
    snapshot = built(*rows).snapshot
    noise = [f"word{number}" for number in range(200)]
    scores, _ = snapshot.keyword(["common", *noise], BM25)
    assert scores.tolist() == [0.0] * 4


def test_scope_hides_what_it_must() -> None:
    index = built(
        insight("common"),
        insight("own", scope=Scope(user_id="u1")),
        insight("other", scope=Scope(user_id="u2")),
        insight("session", scope=Scope(session_id="s1")),
        insight("own-session", scope=Scope(user_id="u1", session_id="s1")),
        insight("agent", scope=Scope(agent_id="a1")),
    )
    snapshot = index.snapshot
    assert seen(snapshot, Filter()) == ["common", "own", "other", "agent"]
    assert seen(snapshot, Filter(scope=Scope(user_id="u1"))) == ["common", "own", "agent"]
    assert seen(snapshot, Filter(scope=Scope(user_id="u3"))) == ["common", "agent"]
    assert seen(snapshot, Filter(scope=Scope(session_id="s1"))) == [
        "common", "own", "other", "session", "own-session", "agent",
    ]  # fmt: skip
    assert seen(snapshot, Filter(scope=Scope(session_id="s9"))) == ["common", "own", "other", "agent"]
    assert seen(snapshot, Filter(scope=Scope(user_id="u2", session_id="s1"))) == ["common", "other", "session", "agent"]
    assert seen(snapshot, Filter(scope=Scope(agent_id="a2"))) == ["common", "own", "other"]
    assert len(seen(snapshot, Filter(all_sessions=True))) == 6


def test_nothing_hidden_costs_no_mask() -> None:
    index = built(insight("a"), insight("b"))
    assert index.snapshot.visible(Filter()) is None
    index.apply([RetireInsight("a", "forgotten")])
    assert seen(index.snapshot, Filter()) == ["b"]


def test_prefixes_find_live_ids_only() -> None:
    index = built(insight("abcdef-1"), insight("abcdef-2"), insight("abcdeg-3"), insight("abc"))
    assert index.snapshot.find("abcdef") == ["abcdef-1", "abcdef-2"]
    assert index.snapshot.find("abcdef-2") == ["abcdef-2"]
    assert index.snapshot.find("abc") == ["abc"]
    assert index.snapshot.find("abcde") == []
    before = index.snapshot
    index.apply([RetireInsight("abcdef-2", "forgotten")])
    assert index.snapshot.find("abcdef") == ["abcdef-1"]
    assert before.find("abcdef") == ["abcdef-1", "abcdef-2"]


def test_an_id_that_comes_back_is_found_once_and_old_snapshots_keep_the_old_row() -> None:
    index = built(insight("abcdef", "first"))
    first = index.snapshot
    gone = index.apply([RetireInsight("abcdef", "forgotten")])
    index.apply([AddInsight(insight("abcdef", "second"))])
    assert index.snapshot.find("abcdef") == ["abcdef"]
    rows = [first.row_of("abcdef"), gone.row_of("abcdef"), index.snapshot.row_of("abcdef")]
    assert rows == [0, None, 1]


def test_newest_pages_through_everything_once() -> None:
    rows = [insight(f"m{number}", at=number // 3) for number in (5, 1, 8, 0, 3, 7, 2, 6, 4)]
    snapshot = built(*rows).snapshot
    pages, before = [], None
    while page := snapshot.newest(Filter(), 2, before):
        pages += [found.id for found in page]
        before = pages[-1]
    assert pages == [f"m{number}" for number in (6, 7, 8, 4, 3, 5, 2, 0, 1)]


def test_a_page_goes_on_after_its_last_memory_was_forgotten() -> None:
    index = built(*[insight(f"m{number}", at=number) for number in range(4)])
    index.apply([RetireInsight("m2", "forgotten")])
    assert [found.id for found in index.snapshot.newest(Filter(), 5, "m2")] == ["m1", "m0"]
    with pytest.raises(MnemonError, match='no memory has the id "m9"') as caught:
        index.snapshot.newest(Filter(), 5, "m9")
    assert caught.value.kind is NOT_FOUND


def test_entities_are_counted_once_a_memory_whatever_their_case() -> None:
    index = built(
        insight("a", entities=("Redis", "redis", "Bob")),
        insight("b", entities=("REDIS",)),
        insight("c", entities=("Al",)),
    )
    assert index.snapshot.top_entities(2) == [("Redis", 2), ("Al", 1)]
    index.apply([RetireInsight("c", "forgotten")])
    assert index.snapshot.top_entities(5) == [("Redis", 2), ("Bob", 1)]


def test_links_are_counted_once_a_pair_and_causal_ones_once_a_direction() -> None:
    index = built(insight("a"), insight("b"), insight("c"))
    index.apply(
        [
            AddEdge(Edge("a", "b", "temporal", 0.5)),
            AddEdge(Edge("b", "a", "temporal", 0.5)),
            AddEdge(Edge("a", "b", "causal", 0.5)),
            AddEdge(Edge("b", "a", "causal", 0.5)),
            AddEdge(Edge("c", "c", "semantic", 1.0)),
            AddEdge(Edge("a", "stranger", "semantic", 1.0)),
        ]
    )
    snapshot = index.snapshot
    assert snapshot.edge_counts() == {"temporal": 1, "semantic": 0, "causal": 2, "entity": 0}
    assert [snapshot.link_count(row) for row in range(3)] == [3, 3, 0]
    index.apply(
        [RemoveEdge("b", "a", "temporal"), RemoveEdge("b", "c", "temporal"), RemoveEdge("b", "stranger", "causal")]
    )
    assert index.snapshot.edge_counts()["temporal"] == 1
    index.apply([RetireInsight("b", "forgotten")])
    assert set(index.snapshot.edge_counts().values()) == {0}
    assert len(index.snapshot.neighbours(0)) == 0
    assert snapshot.edge_counts()["causal"] == 2
    assert len(snapshot.neighbours(0)) == 4


def test_an_edge_added_again_has_the_weight_it_was_given_last_at_both_ends() -> None:
    index = built(insight("a"), insight("b"))
    for weight in (0.25, 0.5, 0.75):
        index.apply([AddEdge(Edge("a", "b", "causal", weight))])
    there, back = index.snapshot.neighbours(0), index.snapshot.neighbours(1)
    assert there.tolist() == [(1, 0.75, CAUSAL, 1)]
    assert back.tolist() == [(0, 0.75, CAUSAL, 0)]


def test_links_reach_across_blocks_of_rows() -> None:
    index = built(*[insight(f"m{number}") for number in range(600)])
    index.apply([AddEdge(Edge("m0", "m599", "entity", 1.0))])
    assert index.snapshot.neighbours(599)["row"].tolist() == [0]
    assert len(index.snapshot.neighbours(300)) == 0
    assert len(index.snapshot.neighbours(598)) == 0
    index.apply([AddEdge(Edge("m300", "m301", "entity", 1.0))])
    assert index.snapshot.neighbours(599)["row"].tolist() == [0]
    assert index.snapshot.neighbours(300)["row"].tolist() == [301]
    index.apply([RetireInsight("m599", "forgotten")])
    assert len(index.snapshot.neighbours(0)) == 0
    assert index.snapshot.neighbours(301)["row"].tolist() == [300]


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


def test_vectors_without_direction_or_of_another_dimension_are_missing() -> None:
    rows = [
        (insight("none"), None),
        (insight("other"), np.ones(DIMENSION + 1, dtype=np.float32)),
        (insight("zero"), np.zeros(DIMENSION, dtype=np.float32)),
        (insight("nan"), np.full(DIMENSION, np.nan, dtype=np.float32)),
        (insight("long"), np.array([0, 3, 0, 0], dtype=np.float32)),
    ]
    snapshot = MemoryIndex.build(rows, [], DIMENSION).snapshot
    assert snapshot.embedded == 1
    assert snapshot.without_vector().tolist() == [0, 1, 2, 3]
    assert snapshot.similarity(unit(0, 1, 0, 0)).tolist() == [0, 0, 0, 0, 1]


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
    assert [snapshot.document_frequency("redi") for snapshot in (old, new)] == [2, 2]  # of the writer's, always
    assert [snapshot.live for snapshot in (old, new)] == [1, 2]
    assert [snapshot.row_of("abcdeg") for snapshot in (old, new)] == [None, 1]
    assert [snapshot.find("abcdeg") for snapshot in (old, new)] == [[], ["abcdeg"]]
    assert [snapshot.twins("sqlite") for snapshot in (old, new)] == [[], [2]]
    assert [snapshot.edge_counts()["causal"] for snapshot in (old, new)] == [0, 1]
    assert (old.degrees.tolist(), new.degrees.tolist()[1:]) == ([0], [1, 1])
    assert (old.pinned.tolist(), new.pinned.tolist()) == ([0], [0, 0, 1])
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


@pytest.mark.parametrize(
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
    assert (int(snapshot.degrees[row]), int(snapshot.degrees[1])) == (1, 1)
    assert (int(snapshot.accesses[row]), int(snapshot.pinned[row])) == (later.access_count, later.pinned)
    assert int(snapshot.accessed_us[row]) == (86_400_000_000 if field in ("created_at", "last_accessed_at") else 0)


def test_a_text_embedded_anew_has_its_new_vector_or_none() -> None:
    index = MemoryIndex.build([(insight("a"), unit(1, 0, 0, 0))], [], DIMENSION)
    index.apply([PutInsight(insight("a"), vector=unit(0, 1, 0, 0))])
    assert index.snapshot.similarity(unit(1, 0, 0, 0)).tolist() == [1]
    index.apply([PutInsight(insight("a"), embedded=True, vector=unit(0, 1, 0, 0))])
    row = index.snapshot.row_of("a")
    assert row == 1
    assert index.snapshot.similarity(unit(0, 1, 0, 0), row).tolist() == [1]
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


def test_degrees_count_neighbours_once_a_type() -> None:
    index = built(insight("a"), insight("b"), insight("c"))
    pairs = [
        ("a", "b", "causal"),
        ("b", "a", "causal"),
        ("a", "b", "entity"),
        ("c", "a", "semantic"),
        ("a", "a", "causal"),
    ]
    edges = [Edge(source, target, kind, 0.5) for source, target, kind in pairs]  # type: ignore[arg-type]
    degrees = index.stage([AddEdge(edge) for edge in edges])
    assert degrees == {0: 3, 1: 2, 2: 1}
    loaded = MemoryIndex.build([(insight(name), None) for name in "abc"], edges, DIMENSION).snapshot
    assert loaded.degrees.tolist() == index.publish().degrees.tolist() == [3, 2, 1]
    assert index.stage([RemoveEdge("b", "a", "causal"), RemoveEdge("c", "a", "semantic")]) == {0: 2, 1: 2, 2: 0}


def test_a_new_memory_is_compared_with_what_all_its_readers_see() -> None:
    index = built(
        insight("common"), insight("own", scope=Scope("u1")), insight("other", scope=Scope("u2")),
        insight("session", scope=Scope("u1", "s1")), insight("agent", scope=Scope(agent_id="a1")),
    )  # fmt: skip

    def compared(scope: Scope) -> list[str]:
        mask = index.snapshot.comparable(scope)
        assert mask is not None
        return [index.snapshot.insight(row).id for row in np.flatnonzero(mask).tolist()]

    assert compared(Scope()) == ["common"]
    assert compared(Scope("u1")) == ["common", "own"]
    assert compared(Scope("u1", "s1")) == ["common", "own", "session"]
    assert compared(Scope("stranger", "s1")) == ["common"]
    assert compared(Scope("u2", agent_id="a1")) == ["common", "other", "agent"]
    index.apply([RetireInsight("common", "forgotten")])
    assert compared(Scope("u1")) == ["own"]
    assert built(insight("common")).snapshot.comparable(Scope("u1")) is None


def test_twins_are_equal_but_for_case_and_spaces() -> None:
    index = built(insight("a", "Redis  cache"), insight("b", "redis cache."), insight("c", "cache redis"))
    text = normalised("redis cache")
    assert index.snapshot.twins(text) == [0, 1]
    old = index.snapshot
    index.apply([RetireInsight("a", "forgotten"), AddInsight(insight("d", "REDIS CACHE"))])
    assert (old.twins(text), index.snapshot.twins(text), index.snapshot.twins("nothing")) == ([0, 1], [1, 3], [])


def test_likeness_is_the_share_of_the_smaller_text() -> None:
    index = built(insight("a", "redis cache"), insight("b", "redis cache sqlite deploy friday"), insight("c", ""))
    likeness = index.snapshot.likeness({"redi", "cach", "unheard"})
    assert likeness.tolist() == pytest.approx([1.0, 2 / 3, 0.0])
    assert index.snapshot.likeness(set()).tolist() == [0.0, 0.0, 0.0]


def test_cosines_of_several_vectors_are_those_of_each() -> None:
    rows = [(insight(f"m{number}"), unit(number, 1, 2, 0)) for number in range(3)]
    snapshot = MemoryIndex.build(rows, [], DIMENSION).snapshot
    vectors = np.stack([unit(1, 0, 0, 0), unit(0, 1, 2, 3)])
    several = snapshot.similarities(vectors)
    assert several.shape == (2, 3)
    for found, vector in zip(several, vectors, strict=True):
        assert found.tolist() == pytest.approx(snapshot.similarity(vector).tolist())
        assert snapshot.similarity(vector, 1).tolist() == pytest.approx(found[1:].tolist())
    with pytest.raises(ValueError, match="not aligned"):
        snapshot.similarity(np.ones(DIMENSION + 1, dtype=np.float32))
