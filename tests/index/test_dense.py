from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import VectorSettings
from mnemond.index.vectors import leading
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import AddInsight, RetireInsight
from tests.examples import examples
from tests.index.vector_worlds import DIMENSION, by_hand, coded, dense, unit
from tests.index.worlds import insight


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 30), st.sampled_from([None, 0, 1, 7]), st.booleans())
@examples(40)
def test_the_nearest_rows_are_the_exact_ones_however_they_are_searched(
    seed: int, rows: int, k: int, masked: int | None, quantised: bool
) -> None:
    matrix = unit(rows, seed)
    mask = None if masked is None else np.random.default_rng(seed).integers(0, 8, rows) < masked
    searched = dense(matrix, coded(matrix) if quantised else None)
    question = unit(1, seed + 1)[0]
    found, cosines = searched.nearest(question, k, mask)
    expected = by_hand(matrix, question, k, mask)
    assert np.allclose(cosines, (matrix @ question)[expected], atol=1e-6)
    assert found.tolist() == expected or np.allclose((matrix @ question)[found], cosines, atol=1e-6)
    assert mask is None or bool(mask[found].all())


def test_without_codes_every_similarity_is_exact() -> None:
    matrix = unit(50, 13)
    assert np.array_equal(dense(matrix).similarity_approximate(matrix[0], None), matrix @ matrix[0])


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 0.75, 1.0]), max_size=40), st.integers(1, 10))
@examples(60)
def test_the_leading_positions_are_those_of_a_sort(values: list[float], k: int) -> None:
    scores = np.array(values, dtype=np.float32)
    expected = sorted((row for row in range(len(values)) if values[row] > 0), key=lambda row: (-values[row], -row))[:k]
    assert sorted(leading(scores, k, None).tolist()) == sorted(expected)


# ------------------------------------------------------------ in an index

SMALL = VectorSettings(int8_from=20, exact_limit=40)


def test_an_index_keeps_codes_up_through_growth_and_compaction_and_readers_keep_their_rows() -> None:
    matrix = unit(90, 33)
    rows = [(insight(f"m{at:02}"), matrix[at]) for at in range(18)]
    index = MemoryIndex.build(rows, [], DIMENSION, Compaction(5, 0.1), search=SMALL)
    index.accelerators.end()
    small = index.snapshot
    assert small.parts.dense.codes is None
    for at in range(18, 60):
        index.apply([AddInsight(insight(f"m{at:02}"), matrix[at])])
    large = index.snapshot
    assert large.parts.dense.codes is not None
    assert large.dense.nearest(matrix[50], 1)[0].tolist() == [50]
    assert np.allclose(large.dense.similarity_approximate(matrix[3]), large.dense.similarity(matrix[3]), atol=0.02)
    assert large.dense.similarity_of(matrix[3], np.array([3])).tolist() == pytest.approx([1.0])
    assert large.dense.graph_lacking is None
    index.apply([RetireInsight(f"m{at:02}", "forgotten") for at in range(0, 60, 3)])
    kept = [at for at in range(60) if at % 3]
    compacted = index.snapshot
    assert compacted.rows == len(kept)
    assert compacted.insight(int(compacted.dense.nearest(matrix[50], 1)[0][0])).id == "m50"
    assert large.dense.nearest(matrix[51], 1)[0].tolist() == [51]
    assert small.dense.nearest(matrix[51], 100)[0].max() < 18
