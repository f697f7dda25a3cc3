"""What a snapshot answers, case by case."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.index.snapshot import AFTER_ALL, Snapshot
from mnemond.index.vectors import cosines_of_all
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddEdge, AddInsight, RemoveEdge, RetireInsight
from mnemond.model.memory import Edge, Scope
from mnemond.model.query import Filter
from mnemond.text.similarity import normalised
from tests.index.worlds import BM25, DIMENSION, built, insight, unit


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
    assert snapshot.dense.similarity(unit(1, 0, 0, 0)).shape == (0,)
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
    lengths, mean = [7, 5, 7], 19 / 3  # the day of each has four terms
    weight = {"redi": np.log(1 + 2.5 / 1.5), "cach": 2 * np.log(1 + 1.5 / 2.5)}

    def part(term: str, times: float, row: int) -> float:
        return float(weight[term] * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[row] / mean)))

    # What may be a title counts half as much again.
    assert scores.tolist() == pytest.approx([part("redi", 3, 0) + part("cach", 1.5, 0), part("cach", 1.5, 1), 0.0])
    assert bound == pytest.approx(2.2 * sum(weight.values()))


def test_a_word_nobody_wrote_raises_the_bound_but_no_score() -> None:
    snapshot = built(insight("a", "redis")).snapshot
    alone, bound = snapshot.keyword(["redi"], BM25)
    both, higher = snapshot.keyword(["redi", "unheard"], BM25)
    assert both.tolist() == alone.tolist()
    assert higher > bound


def test_of_a_pasted_log_only_the_rarest_terms_count() -> None:
    noise = [f"word{number}" for number in range(200)]
    rows = [insight(f"m{number}", "common") for number in range(4)]
    snapshot = built(*rows, insight("log", " ".join(noise))).snapshot
    scores, _ = snapshot.keyword(["common", *noise], BM25)
    assert scores[:4].tolist() == [0.0] * 4
    assert scores[4] > 0.0


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


def test_newest_pages_through_everything_once() -> None:
    rows = [insight(f"m{number}", at=number // 3) for number in (5, 1, 8, 0, 3, 7, 2, 6, 4)]
    snapshot = built(*rows).snapshot
    pages: list[str] = []
    before = None
    while page := snapshot.newest(Filter(), 2, before):
        pages += [found.id for found in page]
        before = snapshot.place_of(pages[-1])
    assert pages == [f"m{number}" for number in (6, 7, 8, 4, 3, 5, 2, 0, 1)]


def test_a_page_goes_on_after_its_last_memory_was_forgotten() -> None:
    index = built(*[insight(f"m{number}", at=number) for number in range(4)])
    index.apply([RetireInsight("m2", "forgotten")])
    place = index.snapshot.place_of("m2")
    assert place is not None
    assert [found.id for found in index.snapshot.newest(Filter(), 5, place)] == ["m1", "m0"]
    unknown = place._replace(row=AFTER_ALL)
    assert [found.id for found in index.snapshot.newest(Filter(), 5, unknown)] == ["m1", "m0"]
    assert index.snapshot.place_of("m9") is None


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
    assert snapshot.dense.similarity(unit(0, 1, 0, 0)).tolist() == [0, 0, 0, 0, 1]


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
    assert degrees == {0: (0, 3), 1: (0, 2), 2: (0, 1)}
    loaded = MemoryIndex.build([(insight(name), None) for name in "abc"], edges, DIMENSION).snapshot
    assert loaded.columns.degree.tolist() == index.publish().columns.degree.tolist() == [3, 2, 1]
    assert index.stage([RemoveEdge("b", "a", "causal"), RemoveEdge("c", "a", "semantic")]) == {
        0: (3, 2),
        1: (2, 2),
        2: (1, 0),
    }


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
    for cosines, vector in zip(cosines_of_all(snapshot.dense, vectors), vectors, strict=True):
        found = cosines.of(np.arange(3))
        assert found.tolist() == pytest.approx(snapshot.dense.similarity(vector).tolist())
        assert snapshot.dense.similarity(vector, 1).tolist() == pytest.approx(found[1:].tolist())
    with pytest.raises(ValueError, match="not aligned"):
        snapshot.dense.similarity(np.ones(DIMENSION + 1, dtype=np.float32))
