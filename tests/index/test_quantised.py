from __future__ import annotations

import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.vectors import BLOCK, Quantised, encode
from tests.examples import examples
from tests.index.vector_worlds import DIMENSION, coded, unit


@given(st.integers(0, 2**32), st.integers(1, 40))
@examples(30)
def test_a_code_times_its_scale_is_within_half_a_scale_of_the_vector(seed: int, rows: int) -> None:
    matrix = unit(rows, seed)
    matrix[rows // 2] = 0.0
    codes, scales = encode(matrix)
    assert codes.dtype == np.int8
    assert codes.min() >= -127
    assert np.all(np.abs(codes * scales[:, np.newaxis] - matrix) <= 0.5001 * scales[:, np.newaxis])


def test_a_scan_gives_back_every_reference_it_takes() -> None:
    """A library that gives away one reference to None a scan ends a process on Python 3.11 after some thousand."""
    codes, question = coded(unit(10, 34)), unit(1, 35)[0]
    codes.cosines(question)
    before = sys.getrefcount(None), sys.getrefcount(codes.matrix), sys.getrefcount(codes.scales)
    for _ in range(500):
        codes.cosines(question)
    after = sys.getrefcount(None), sys.getrefcount(codes.matrix), sys.getrefcount(codes.scales)
    assert all(abs(now - then) < 100 for now, then in zip(after, before, strict=True))


def test_rows_coded_one_by_one_equal_rows_coded_at_once_and_readers_keep_theirs() -> None:
    matrix = unit(BLOCK + 70, 4)
    quantised = Quantised(DIMENSION)
    quantised.keep_up(matrix[:3])
    early = quantised.view()
    before = early.matrix.copy()
    for rows in (4, 5, 60, len(matrix)):
        quantised.keep_up(matrix[:rows])
    late, whole = quantised.view(), encode(matrix)
    assert np.array_equal(late.matrix, whole[0])
    assert np.array_equal(late.scales, whole[1])
    assert len(early.scales) == 3
    assert np.array_equal(early.matrix, before)
