"""Causes first: worked orders, cycles, and the chain behind one result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.writer import MemoryIndex
from mnemond.model.memory import Edge
from mnemond.recall.causal_order import MAX_CHAIN, Causes, causal_links, causal_order, explanation
from tests.examples import examples
from tests.index.worlds import DIMENSION, insight
from tests.recall.small_graph import Link, at, graph
from tests.tables import each_row

SCORES = {"x": 0.9, "y": 0.8, "z": 0.7}


def ordered(names: str, links: list[Link], scores: dict[str, float], times: dict[str, int] | None = None) -> str:
    snapshot = graph(sorted(names), links)
    effects = causal_links(snapshot, at(snapshot, names).tolist()).effects
    order = causal_order([scores[name] for name in names], [(times or {}).get(name) for name in names], effects)
    return "".join(names[position] for position in order)


def test_worked_order() -> None:
    assert ordered("xyz", [("z", "x", "causal", 0.5)], SCORES) == "yzx"


def test_worked_circle() -> None:
    circle: list[Link] = [("x", "z", "causal", 0.5), ("z", "x", "causal", 0.25), ("z", "y", "causal", 0.5)]
    assert ordered("xyz", circle, SCORES) == "xzy"
    assert ordered("xyz", circle, SCORES, {"x": 2, "z": 1}) == "zxy"
    assert ordered("xyz", circle, SCORES, {"z": 1}) == "zxy"


def test_the_best_of_a_circle_speaks_for_it() -> None:
    circle: list[Link] = [("w", "z", "causal", 0.5), ("z", "w", "causal", 0.5)]
    assert ordered("xywz", circle, {**SCORES, "w": 0.85}) == "xwzy"


def test_other_links_say_nothing_about_causes() -> None:
    assert ordered("xyz", [("z", "x", "temporal", 1.0), ("y", "x", "entity", 1.0)], SCORES) == "xyz"


def test_what_prevents_is_a_cause_like_any_other() -> None:
    edge = Edge("z", "x", "causal", 0.5, '{"sub_type":"prevents"}')
    snapshot = MemoryIndex.build([(insight(name), None) for name in "xz"], [edge], DIMENSION).snapshot
    assert causal_links(snapshot, [0, 1]) == Causes(effects=((), (0,)), causes=((1,), ()))


def test_equal_scores_stay_as_they_came() -> None:
    assert ordered("zyx", [], dict.fromkeys("xyz", 0.5)) == "zyx"
    circle: list[Link] = [("x", "y", "causal", 0.5), ("y", "x", "causal", 0.5)]
    assert ordered("zyx", circle, dict.fromkeys("xyz", 0.5)) == "zyx"


def test_links_among_results_alone() -> None:
    chain: list[Link] = [("a", "b", "causal", 0.5), ("b", "c", "causal", 0.5)]
    snapshot = graph("abc", chain)
    assert causal_links(snapshot, at(snapshot, "ca").tolist()) == Causes(((), ()), ((), ()))
    assert causal_links(snapshot, at(snapshot, "cb").tolist()) == Causes(((), (0,)), ((1,), ()))
    assert causal_links(snapshot, []) == Causes((), ())
    assert causal_order([], [], ()) == []


def test_a_chain_of_explanations() -> None:
    causes = ((1, 2), (3,), (), (0, 1))
    assert explanation(0, [0.5, 0.6, 0.9, 0.1], causes) == (0, 2)
    assert explanation(0, [0.5, 0.9, 0.6, 0.1], causes) == (0, 1, 3)
    assert explanation(0, [0.5, 0.6, 0.6, 0.1], causes) == (0, 1, 3)


@each_row(("max_chain", "length"), [(MAX_CHAIN, 6), (2, 3)])
def test_a_chain_has_an_end(max_chain: int, length: int) -> None:
    causes = [(position + 1,) for position in range(9)] + [()]
    assert explanation(0, [0.5] * 10, causes, max_chain) == tuple(range(length))


def test_a_thousand_causes_in_a_row() -> None:
    count = 2000
    effects = [(), *[(position,) for position in range(count - 1)]]
    assert causal_order([0.5] * count, [None] * count, effects) == list(reversed(range(count)))


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16), st.permutations(range(8)))
@examples(100)
def test_a_cause_stands_before_its_effects_unless_they_cause_each_other(
    pairs: list[tuple[int, int]], scores: list[int]
) -> None:
    effects = [sorted({other for one, other in pairs if one == position != other}) for position in range(8)]
    order = causal_order([float(score) for score in scores], [None] * 8, effects)
    assert sorted(order) == list(range(8))
    reach = {position: _reached(position, effects) for position in range(8)}
    for one in range(8):
        for other in effects[one]:
            assert order.index(one) < order.index(other) or one in reach[other]


def _reached(start: int, effects: list[list[int]]) -> set[int]:
    seen: set[int] = set()
    ahead = list(effects[start])
    while ahead:
        position = ahead.pop()
        if position not in seen:
            seen.add(position)
            ahead += effects[position]
    return seen
