"""The beam: the worked example, its limits, and the same answer as the obvious way, however links are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import PathScore, TraversalSettings
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import EDGE_TYPES
from mnemond.model.query import Intent
from mnemond.recall.beam import (
    BEAM_LIMITS,
    EDGE_WEIGHTS,
    Beam,
    BeamLimits,
    EdgeWeights,
    Reached,
    cosine_worth,
    extended,
    min_max,
    path_scores,
    search,
    type_worth,
)
from tests.examples import examples
from tests.recall.small_graph import NAMES, Link, at, graph, links, named
from tests.tables import each_row

WIDE = BeamLimits(width=100, depth=5, budget=500)
EXAMPLE: list[Link] = [("a", "b", "causal", 0.75), ("b", "c", "causal", 0.6), ("a", "d", "temporal", 0.5)]
COSINES = {"b": 0.5, "c": 0.2, "d": 0.8}

Found = dict[str, tuple[float, tuple[tuple[str, str, float], ...]]]
"""Of each row its score, and the hops of its path as (from, type, weight)."""


def found(snapshot: Snapshot, reached: Reached) -> Found:
    return {
        named(snapshot, [row]): (
            score,
            tuple((named(snapshot, [hop.row]), EDGE_TYPES[hop.kind], hop.weight) for hop in reached.path(position)),
        )
        for position, (row, score) in enumerate(zip(reached.rows.tolist(), reached.scores.tolist(), strict=True))
    }


def about(number: float) -> Any:
    """Anything so close to `number` that only rounding can be the difference."""
    return pytest.approx(number)


def cosines_of(snapshot: Snapshot, cosines: dict[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array([cosines.get(snapshot.insight(row).id, 0.0) for row in range(snapshot.rows)], dtype=np.float32)


def searched(
    snapshot: Snapshot,
    anchors: dict[str, float],
    *,
    limits: BeamLimits = WIDE,
    form: PathScore = "mean",
    intent: Intent = "WHY",
    cosines: dict[str, float] | None = None,
    hidden: str = "",
    each_anchor: bool = False,
) -> Found:
    """What is found from some anchors; whatever else may be, every row stands there once."""
    mask = np.array([snapshot.insight(row).id not in hidden for row in range(snapshot.rows)]) if hidden else None
    known = None if cosines is None else cosines_of(snapshot, cosines)
    beam = Beam(limits, EDGE_WEIGHTS[intent], TraversalSettings(path_score=form), known, mask, each_anchor)
    reached = search(snapshot, at(snapshot, anchors), np.array(list(anchors.values())), beam)
    assert (np.diff(reached.rows) > 0).all()
    assert (reached.paths.hops[reached.best] == [len(reached.path(place)) for place in range(len(reached.rows))]).all()
    return found(snapshot, reached)


@each_row(
    ("form", "expected"),
    [
        ("mean", [1.0, 0.8625, 0.741667, 0.71]),
        ("sum", [1.0, 1.725, 2.225, 1.42]),
        ("magma", [1.0, 2.564731, 2.931087, 2.021962]),
        ("activation", [1.0, 0.678571, 0.329592, 0.330612]),
    ],
)
def test_worked_example(form: PathScore, expected: list[float]) -> None:
    rows = searched(graph("abcd", EXAMPLE), {"a": 1.0}, form=form, cosines=COSINES)
    assert [rows[name][0] for name in "abcd"] == pytest.approx(expected, abs=1e-6)
    assert rows["a"][1] == ()
    assert rows["c"][1] == (("a", "causal", 0.75), ("b", "causal", about(0.6)))


def test_worked_example_on_its_scale() -> None:
    rows = searched(graph("abcd", EXAMPLE), {"a": 1.0}, cosines=COSINES)
    scaled = min_max(np.array([rows[name][0] for name in "abcd"]))
    assert scaled.tolist() == pytest.approx([1.0, 0.525862, 0.109195, 0.0], abs=1e-6)


def test_limits_of_the_specification() -> None:
    table = {intent: (limits.width, limits.depth, limits.budget) for intent, limits in BEAM_LIMITS.items()}
    assert table == {"WHY": (15, 5, 500), "WHEN": (10, 5, 400), "ENTITY": (10, 4, 400), "GENERAL": (10, 4, 500)}


def test_edges_are_followed_against_their_direction() -> None:
    rows = searched(graph("ab", [("b", "a", "causal", 0.5)]), {"a": 1.0}, form="sum")
    assert rows["b"] == (about(1.35), (("a", "causal", 0.5),))


def test_the_heavier_of_two_edges_counts() -> None:
    both: list[Link] = [("a", "b", "causal", 0.25), ("b", "a", "causal", 0.75)]
    rows = searched(graph("ab", both), {"a": 1.0}, form="sum")
    assert rows["b"] == (about(1.525), (("a", "causal", 0.75),))


def test_an_intent_prefers_its_own_edges() -> None:
    both: list[Link] = [("a", "b", "causal", 0.5), ("a", "b", "temporal", 0.75)]
    ways = {
        intent: searched(graph("ab", both), {"a": 1.0}, intent=intent)["b"][1] for intent in ("WHY", "WHEN", "GENERAL")
    }
    causal, temporal = (("a", "causal", 0.5),), (("a", "temporal", 0.75),)
    assert ways == {"WHY": causal, "WHEN": temporal, "GENERAL": temporal}


def test_a_better_way_that_is_longer_takes_the_place_of_the_first() -> None:
    triangle: list[Link] = [("a", "c", "entity", 0.25), ("a", "b", "causal", 1.0), ("b", "c", "causal", 1.0)]
    rows = searched(graph("abc", triangle), {"a": 1.0})
    assert rows["c"] == (about((1 + 0.7 + 0.7) / 3), (("a", "causal", 1.0), ("b", "causal", 1.0)))


def test_what_was_built_on_the_first_way_keeps_it() -> None:
    """Depth 2 reaches d by way of c while depth 2 also finds c a better way; d then goes on from the better one."""
    chain: list[Link] = [
        ("a", "c", "entity", 0.25), ("a", "b", "causal", 1.0), ("b", "c", "causal", 1.0), ("c", "d", "causal", 0.25),
    ]  # fmt: skip
    snapshot = graph("abcd", chain)
    two_deep = searched(snapshot, {"a": 1.0}, limits=BeamLimits(10, 2, 500))
    assert two_deep["c"][1] == (("a", "causal", 1.0), ("b", "causal", 1.0))
    assert two_deep["d"] == (about((1 + 0.0125 + 0.175) / 3), (("a", "entity", 0.25), ("c", "causal", 0.25)))
    three_deep = searched(snapshot, {"a": 1.0}, limits=BeamLimits(10, 3, 500))
    assert three_deep["d"][0] == pytest.approx((1 + 0.7 + 0.7 + 0.175) / 4)
    assert [hop[0] for hop in three_deep["d"][1]] == ["a", "b", "c"]


def test_a_sum_does_not_grow_by_going_in_circles() -> None:
    rows = searched(graph("abc", [("a", "b", "causal", 1.0), ("b", "c", "causal", 1.0)]), {"a": 1.0}, form="sum")
    assert [rows[name][0] for name in "abc"] == pytest.approx([1.0, 1.7, 2.4])


def test_an_anchor_may_be_better_as_a_neighbour() -> None:
    rows = searched(graph("ab", [("a", "b", "causal", 1.0)]), {"a": 1.0, "b": 0.1})
    assert rows["b"] == (about(0.85), (("a", "causal", 1.0),))
    assert rows["a"] == (1.0, ())


def test_a_row_that_is_hidden_is_not_walked_through() -> None:
    snapshot = graph("abcd", EXAMPLE)
    assert set(searched(snapshot, {"a": 1.0}, hidden="b")) == {"a", "d"}
    assert set(searched(snapshot, {"a": 1.0}, hidden="c")) == {"a", "b", "d"}


def test_the_width_is_kept_after_each_depth() -> None:
    fan: list[Link] = [("a", "b", "causal", 0.5), ("a", "c", "causal", 1.0), ("b", "d", "causal", 1.0)]
    fan.append(("c", "e", "causal", 0.25))
    snapshot = graph("abcde", fan)
    assert set(searched(snapshot, {"a": 1.0}, limits=BeamLimits(1, 5, 500))) == {"a", "b", "c", "e"}
    assert set(searched(snapshot, {"a": 1.0}, limits=BeamLimits(2, 5, 500))) == set("abcde")


@each_row(("budget", "expected"), [(1, "a"), (2, "ac"), (3, "acd"), (4, "abcd"), (6, "abcdef")])
def test_the_budget_goes_to_the_best(budget: int, expected: str) -> None:
    """Best first: c, then d, which its cosine puts before b, then b and e. Only what was reached leads on, to f."""
    fan: list[Link] = [
        ("a", name, "causal", weight) for name, weight in zip("bcde", (0.5, 1.0, 0.5, 0.25), strict=True)
    ]
    rows = searched(
        graph("abcdef", [*fan, ("e", "f", "causal", 0.25)]),
        {"a": 1.0},
        limits=BeamLimits(9, 4, budget),
        cosines={"d": 0.1},
    )
    assert "".join(sorted(rows)) == expected


def test_the_budget_counts_anchors_and_a_tie_goes_to_the_smaller_id() -> None:
    snapshot = graph("dcba", [])
    assert set(searched(snapshot, dict.fromkeys("dcba", 0.5), limits=BeamLimits(1, 1, 3))) == {"a", "b", "c"}
    fan: list[Link] = [("d", name, "causal", 0.5) for name in "cba"]
    assert set(searched(graph("dcba", fan), {"d": 1.0}, limits=BeamLimits(1, 1, 3))) == {"a", "b", "d"}


def test_a_full_budget_still_finds_better_ways() -> None:
    triangle: list[Link] = [("a", "c", "entity", 0.25), ("a", "b", "causal", 1.0), ("b", "c", "causal", 1.0)]
    triangle.append(("c", "d", "causal", 1.0))
    rows = searched(graph("abcd", triangle), {"a": 1.0}, limits=BeamLimits(9, 4, 3))
    assert set(rows) == {"a", "b", "c"}
    assert len(rows["c"][1]) == 2


def test_anchors_that_are_not_followed_are_results_all_the_same() -> None:
    both: list[Link] = [("a", "c", "causal", 0.5), ("b", "d", "causal", 0.5)]
    rows = searched(graph("abcd", both), {"b": 0.5, "a": 0.9}, limits=BeamLimits(9, 3, 500, starts=1))
    assert set(rows) == {"a", "b", "c"}


def test_each_anchor_has_a_beam_of_its_own() -> None:
    """From all at once, b has its best path from a, so that no path without a cycle leads from c to a. By itself a is
    credited with the way there and back, as published; b, once followed, with the way from c as well."""
    row: list[Link] = [("a", "b", "causal", 0.5), ("b", "c", "causal", 0.5)]
    anchors = {"a": 1.0, "c": 0.9}
    together = searched(graph("abc", row), anchors, form="sum")
    assert [together[name][0] for name in "abc"] == pytest.approx([1.0, 1.35, 1.7])
    apart = searched(graph("abc", row), anchors, form="sum", each_anchor=True)
    assert [apart[name][0] for name in "abc"] == pytest.approx([1.7, 2.05, 1.7])
    assert apart["a"][1] == (("a", "causal", 0.5), ("b", "causal", 0.5))


def test_the_beams_of_all_anchors_share_the_budget() -> None:
    row: list[Link] = [("a", "c", "causal", 0.5), ("b", "d", "causal", 0.5)]
    snapshot = graph("abcd", row)
    for budget, expected in ((1, "a"), (2, "ab"), (3, "abc"), (4, "abcd")):
        limits = BeamLimits(9, 4, budget)
        assert "".join(sorted(searched(snapshot, {"a": 1.0, "b": 0.5}, limits=limits, each_anchor=True))) == expected


def test_equal_ways_go_by_the_better_parent_then_its_id_then_the_type() -> None:
    roof: list[Link] = [("a", "c", "causal", 0.5), ("b", "c", "causal", 0.5)]
    assert searched(graph("bac", roof), {"b": 0.5, "a": 0.5})["c"][1] == (("a", "causal", 0.5),)
    crossed: list[Link] = [("a", "c", "entity", 0.5), ("b", "c", "semantic", 0.5)]
    assert searched(graph("bac", crossed), {"b": 0.5, "a": 0.5})["c"][1] == (("a", "entity", 0.5),)
    flat: list[Link] = [("a", "b", kind, 0.5) for kind in ("entity", "causal", "semantic", "temporal")]
    rows = searched(graph("ab", flat), {"a": 1.0}, intent="GENERAL")
    assert rows["b"][1] == (("a", EDGE_TYPES[0], 0.5),)


def test_of_links_that_are_worth_nothing_the_heavier_is_told() -> None:
    pair: list[Link] = [("a", "b", "causal", 0.25), ("b", "a", "causal", 0.75)]
    for stored in (pair, pair[::-1]):
        snapshot = graph("ab", stored, one_by_one=True)
        beam = Beam(WIDE, EdgeWeights(0.0, 1.0, 0.0, 0.0), TraversalSettings())
        reached = search(snapshot, at(snapshot, "a"), np.array([1.0]), beam)
        assert found(snapshot, reached)["b"] == (0.5, (("a", "causal", 0.75),))


def test_nothing_is_found_from_nothing() -> None:
    assert searched(graph("ab", [("a", "b", "causal", 0.5)]), {}) == {}
    assert searched(graph("a", []), {"a": 0.0}) == {"a": (0.0, ())}


def test_opposite_directions_are_unrelated() -> None:
    pair: list[Link] = [("a", "b", "causal", 0.5)]
    assert searched(graph("ab", pair), {"a": 1.0}, cosines={"b": -1.0}) == searched(graph("ab", pair), {"a": 1.0})


class Case(NamedTuple):
    """A search, and the orders in which memories and edges were written."""

    edges: list[Link]
    anchors: dict[str, float]
    cosines: dict[str, float] | None
    limits: BeamLimits
    form: PathScore
    names: list[str]
    shuffled: list[Link]
    each_anchor: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    edges = draw(links)
    scores = st.sampled_from((0.25, 0.5, 1.0))
    limits = BeamLimits(
        draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 9)), draw(st.sampled_from((None, 1, 2)))
    )
    return Case(
        edges,
        draw(st.dictionaries(st.sampled_from(NAMES), scores, min_size=1, max_size=4)),
        draw(st.none() | st.dictionaries(st.sampled_from(NAMES), st.sampled_from((-0.5, 0.25, 0.5)))),
        limits,
        draw(st.sampled_from(("mean", "sum", "magma", "activation"))),
        draw(st.permutations(NAMES)),
        draw(st.permutations(edges)),
        draw(st.booleans()),
    )


@given(cases())
@examples(150)
def test_as_the_obvious_way(case: Case) -> None:
    snapshot = graph(NAMES, case.edges)
    rows = _searched(snapshot, case, case.anchors)
    assert rows == _obviously(case)


@given(cases())
@examples(60)
def test_the_same_however_it_was_written(case: Case) -> None:
    one = graph(NAMES, case.edges)
    other = graph(case.names, case.shuffled, one_by_one=True)
    turned = dict(reversed(case.anchors.items()))
    assert _searched(one, case, case.anchors) == _searched(other, case, turned)


def _searched(snapshot: Snapshot, case: Case, anchors: dict[str, float]) -> Found:
    return searched(
        snapshot, anchors, limits=case.limits, form=case.form, cosines=case.cosines, each_anchor=case.each_anchor
    )


class _Way(NamedTuple):
    score: float
    total: float
    names: str
    hops: tuple[tuple[str, str, float], ...]


def _obviously(case: Case) -> Found:
    """The rules of the beam one row after another."""
    ranked = sorted(case.anchors.items(), key=lambda anchor: (-anchor[1], anchor[0]))[: case.limits.budget]
    anchors = [_Way(score, score, name, ()) for name, score in ranked]
    best = {way.names[-1]: way for way in anchors}
    front = anchors[: case.limits.starts]
    if case.each_anchor:
        left = case.limits.budget - len(anchors)
        for start in front:
            left = _follow_one(case, start, best, left)
    else:
        _follow(case, front, best)
    return {name: (way.score, way.hops) for name, way in best.items()}


def _follow(case: Case, front: list[_Way], best: dict[str, _Way]) -> None:
    for hops in range(1, case.limits.depth + 1):
        ways = _ways(case, front, hops, lambda way, longer: longer.names[-1] not in way.names and _better(longer, best))
        ordered = sorted(ways.values(), key=lambda way: (-way.score, way.names[-1]))
        new = [way for way in ordered if way.names[-1] not in best]
        left_out = new[max(0, case.limits.budget - len(best)) :]
        front = [way for way in ordered if way not in left_out]
        best.update({way.names[-1]: way for way in front})
        front = front[: case.limits.width]


def _follow_one(case: Case, start: _Way, best: dict[str, _Way], left: int) -> int:
    """Follow one anchor, put better paths into `best`, and return what is left of the budget."""
    front, visited = [start], {start.names[-1]}
    for hops in range(1, case.limits.depth + 1):
        ways = _ways(case, front, hops, lambda way, longer: True)
        ordered = sorted(ways.values(), key=lambda way: (-way.score, way.names[-1]))
        new = [way for way in ordered if way.names[-1] not in visited][:left]
        left -= len(new)
        visited |= {way.names[-1] for way in new}
        best.update({way.names[-1]: way for way in ordered if way.names[-1] in visited and _better(way, best)})
        front = new[: case.limits.width]
    return left


def _better(way: _Way, best: dict[str, _Way]) -> bool:
    return way.names[-1] not in best or way.score > best[way.names[-1]].score


def _ways(case: Case, front: list[_Way], hops: int, wanted: Callable[[_Way, _Way], bool]) -> dict[str, _Way]:
    """The best way to each neighbour of `front`, the first of equal ones."""
    settings, ways = TraversalSettings(path_score=case.form), dict[str, _Way]()
    for way in front:
        for name, kind, weight in sorted(_neighbours(case.edges, way.names[-1])):
            longer = _longer(way, name, (kind, weight), hops, case, settings)
            if wanted(way, longer) and (name not in ways or longer.score > ways[name].score):
                ways[name] = longer
    return ways


def _neighbours(edges: list[Link], name: str) -> list[tuple[str, int, float]]:
    """Each neighbour once a type, with the heaviest weight."""
    heaviest: dict[tuple[str, int], float] = {}
    for source, target, kind, weight in edges:
        if name in (source, target):
            key = (target if name == source else source, EDGE_TYPES.index(kind))
            heaviest[key] = max(weight, heaviest.get(key, 0.0))
    return [(other, kind, weight) for (other, kind), weight in heaviest.items()]


def _longer(way: _Way, name: str, edge: tuple[int, float], hops: int, case: Case, settings: TraversalSettings) -> _Way:
    kind, weight = edge
    step = np.array([type_worth(EDGE_WEIGHTS["WHY"], settings)[kind] * weight])
    if case.cosines is not None:
        step += cosine_worth(settings) * max(0.0, case.cosines.get(name, 0.0))
    total = extended(np.array([way.total]), step, settings)
    hop = (way.names[-1], EDGE_TYPES[kind], weight)
    return _Way(float(path_scores(total, hops, settings)[0]), float(total[0]), way.names + name, (*way.hops, hop))
