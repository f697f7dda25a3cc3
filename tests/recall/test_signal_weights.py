"""Final scores against the worked numbers."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import RetrievalSettings
from mnemond.model.query import Intent
from mnemond.recall.fusion import (
    WITH_VECTORS,
    WITHOUT_VECTORS,
    RerankWeights,
    SignalArrays,
    available,
    final_scores,
    mem0_weights,
    weights_of,
    without_entity,
)
from tests.tables import each_row

TABLE: dict[Intent, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "WHY": ((0.10, 0.10, 0.30, 0.50), (0.20, 0.10, 0, 0.70)),
    "WHEN": ((0.15, 0.15, 0.30, 0.40), (0.25, 0.15, 0, 0.60)),
    "ENTITY": ((0.20, 0.40, 0.20, 0.20), (0.30, 0.50, 0, 0.20)),
    "GENERAL": ((0.25, 0.25, 0.25, 0.25), (0.35, 0.35, 0, 0.30)),
}

MEM0 = mem0_weights(RetrievalSettings())


def signals(*values: float | None) -> SignalArrays:
    return SignalArrays(*(None if value is None else np.array([value], dtype=np.float32) for value in values))


@each_row("intent", TABLE)
def test_the_table(intent: Intent) -> None:
    with_vectors = weights_of(intent, with_vectors=True, with_entities=True)
    without = weights_of(intent, with_vectors=False, with_entities=True)
    assert (msgspec.structs.astuple(with_vectors), msgspec.structs.astuple(without)) == TABLE[intent]
    assert sum(TABLE[intent][0]) == pytest.approx(1.0)
    assert sum(TABLE[intent][1]) == pytest.approx(1.0)


def test_worked_score() -> None:
    weights = weights_of("WHY", with_vectors=True, with_entities=True)
    found = final_scores(signals(0.5, 0.0, 0.5, 0.525862), weights)
    assert found.tolist() == pytest.approx([0.462931], abs=1e-6)


def test_what_the_entity_signal_was_worth_goes_to_keyword_and_graph_pro_rata() -> None:
    why = weights_of("WHY", with_vectors=True, with_entities=False)
    assert msgspec.structs.astuple(why) == pytest.approx((0.1 + 0.1 / 6, 0.0, 0.3, 0.5 + 0.5 / 6))
    entity = weights_of("ENTITY", with_vectors=False, with_entities=False)
    assert msgspec.structs.astuple(entity) == pytest.approx((0.6, 0.0, 0.0, 0.4))


@each_row("weights", [*WITH_VECTORS.values(), *WITHOUT_VECTORS.values(), MEM0])
def test_no_weight_is_lost(weights: RerankWeights) -> None:
    assert sum(msgspec.structs.astuple(without_entity(weights))) == pytest.approx(1.0)


def test_where_nobody_can_take_the_weight_it_stays() -> None:
    alone = RerankWeights(keyword=0.0, entity=0.6, similarity=0.4, graph=0.0)
    assert without_entity(alone) == alone


def test_weights_of_mem0() -> None:
    every = signals(0.2, 0.9, 0.8, 0.5)
    assert final_scores(every, available(MEM0, every))[0] == pytest.approx(0.5 * 0.8 + 0.3 * 0.5 + 0.2 * 0.2)
    lacking = signals(0.2, 0.9, None, 0.5)
    assert final_scores(lacking, available(MEM0, lacking))[0] == pytest.approx((0.3 * 0.5 + 0.2 * 0.2) / 0.5)
    nothing = signals(None, 0.9, None, None)
    assert available(MEM0, nothing) == RerankWeights(0.0, 0.0, 0.0, 0.0)
    assert final_scores(nothing, MEM0).tolist() == [0.0]


def test_no_signal_is_no_candidate() -> None:
    with pytest.raises(ValueError, match="no signal takes part"):
        final_scores(signals(None, None, None, None), MEM0)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 4), min_size=1), st.sampled_from(sorted(TABLE)))
def test_scores_are_those_of_each_candidate_alone(rows: list[tuple[float, ...]], intent: Intent) -> None:
    weights = WITH_VECTORS[intent]
    found = final_scores(SignalArrays(*np.array(rows).T), weights)
    alone = [sum(w * s for w, s in zip(msgspec.structs.astuple(weights), row, strict=True)) for row in rows]
    assert found.tolist() == pytest.approx(alone)
    assert (found <= 1.0 + 1e-9).all()
