"""Path scores against the worked example, and the scale they are put on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import PathScore, TraversalSettings
from mnemond.model.memory import EDGE_TYPES
from mnemond.recall.beam import EDGE_WEIGHTS, EdgeWeights, cosine_worth, extended, min_max, path_scores, type_worth
from tests.tables import each_row

LINKS = {"B": ("A", "causal", 0.75, 0.5, 1), "D": ("A", "temporal", 0.5, 0.8, 1), "C": ("B", "causal", 0.6, 0.2, 2)}
"""Of each row of the example: what leads there, over what type, weight, cosine and hops."""


def totals(form: PathScore) -> dict[str, float]:
    settings = TraversalSettings(path_score=form)
    worth = type_worth(EDGE_WEIGHTS["WHY"], settings)
    found = {"A": 1.0}
    for row, (parent, kind, weight, cosine, _) in LINKS.items():
        step = worth[EDGE_TYPES.index(kind)] * weight + cosine_worth(settings) * cosine
        found[row] = float(extended(np.array([found[parent]]), np.array([step]), settings)[0])
    return found


@each_row(
    ("form", "b", "d", "c"),
    [
        ("sum", 1.725, 1.42, 2.225),
        ("mean", 1.725, 1.42, 2.225),
        ("magma", 2.564731, 2.021962, 2.931087),
        ("activation", 0.678571, 0.330612, 0.329592),
    ],
)
def test_worked_totals(form: PathScore, b: float, d: float, c: float) -> None:
    assert totals(form) == pytest.approx({"A": 1.0, "B": b, "D": d, "C": c}, abs=1e-6)


def test_worked_means_put_the_anchor_first() -> None:
    settings = TraversalSettings()
    hops = {"A": 0, "B": 1, "C": 2, "D": 1}
    means = [float(path_scores(np.array([totals("mean")[row]]), hops[row], settings)[0]) for row in "ABCD"]
    assert means == pytest.approx([1.0, 0.8625, 0.741667, 0.71], abs=1e-6)
    assert min_max(np.array(means)).tolist() == pytest.approx([1.0, 0.525862, 0.109195, 0.0], abs=1e-6)


def test_worked_sums_put_the_anchor_last() -> None:
    sums = np.array([totals("sum")[row] for row in "ADBC"])
    assert path_scores(sums, 2, TraversalSettings(path_score="sum")) is sums
    assert min_max(sums).tolist() == pytest.approx([0.0, 0.342857, 0.591837, 1.0], abs=1e-6)


def test_an_intent_shares_out_all_of_its_attention() -> None:
    assert [sum(weights.by_type()) for weights in EDGE_WEIGHTS.values()] == pytest.approx([1.0] * 4)


def test_no_type_is_worth_anything() -> None:
    worth = type_worth(EdgeWeights(0, 0, 0, 0), TraversalSettings(path_score="activation"))
    assert worth.tolist() == [0.0] * len(EDGE_TYPES)


@each_row(("scores", "expected"), [([], []), ([0.0], [1.0]), ([0.3, 0.3], [1.0, 1.0]), ([2, 4], [0, 1])])
def test_scale(scores: list[float], expected: list[float]) -> None:
    assert min_max(np.array(scores, dtype=np.float64)).tolist() == expected


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_the_scale_is_from_0_to_1_and_keeps_the_order(scores: list[float]) -> None:
    scaled = min_max(np.array(scores))
    assert scaled.max() == 1.0
    assert scaled.min() == (1.0 if min(scores) == max(scores) else 0.0)
    assert (np.diff(scaled[np.argsort(scores)]) >= 0).all()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_activation_never_grows_on_its_way(total: float, weight: float, cosine: float) -> None:
    settings = TraversalSettings(path_score="activation")
    for weights in EDGE_WEIGHTS.values():
        steps = type_worth(weights, settings) * weight + cosine_worth(settings) * cosine
        assert (extended(np.full(4, total), steps, settings) <= total * (1 + 1e-12)).all()
