"""What a snapshot answers, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.errors import INTERNAL, NOT_FOUND, MnemonError
from mnemond.index.adjacency import CAUSAL
from mnemond.index.memory_index import Compaction, MemoryIndex
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, AddInsight, RemoveEdge, RetireInsight
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight, Scope
from mnemond.model.recall import Filter
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


def test_an_edge_added_again_keeps_the_larger_weight_at_both_ends() -> None:
    index = built(insight("a"), insight("b"))
    for weight in (0.25, 0.75, 0.5):
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
    assert snapshot.similarity(unit(0, 1, 0, 0)).tolist() == [0, 0, 0, 0, 1]


def test_changes_that_do_not_fit_are_refused_and_the_published_state_stays() -> None:
    index = built(insight("a", "redis"))
    before = index.snapshot
    with pytest.raises(MnemonError, match="holds memory a already") as caught:
        index.apply([AddInsight(insight("b")), AddInsight(insight("a"))])
    assert caught.value.kind is INTERNAL
    with pytest.raises(MnemonError, match="no live memory c to retire"):
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
