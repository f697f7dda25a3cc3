"""Score fusion: BM25 and cosine on one scale, by how much each of them varies over the rows that can be seen."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.rank.profiles import Weights

Floats = npt.NDArray[np.float32]

SMALLEST_SPREAD = 1e-6
"""Variance as a share of the mean square below which a signal is the same for all rows: float32 noise, not meaning."""


class Fused(NamedTuple):
    """`scores` in [0, 1], shape (rows,), and the weights, summing to 1, of the signals they were made with."""

    scores: Floats
    keyword: float
    vector: float


def fuse(keyword: Floats | None, similarity: Floats | None, weights: Weights) -> Fused:
    """Rank rows by the weighted sum of z-scores, said as an absolute score.

    `keyword` and `similarity` lie in [0, 1], shape (rows,); None for a signal that takes no part. The weighted sum of
    z-scores is a·keyword + b·similarity + c with a = weight / deviation, and c alike for all rows. Divided by a + b
    it is an average of the two signals with weights of their own for each query: the same order, but comparable
    between queries, and every result can be explained by its signals. A signal that does not vary cannot rank and
    gets no weight; if none varies, the weights stay as they are given.
    """
    if keyword is None or similarity is None:
        return _alone(keyword, similarity)
    a, b = _rate(weights.keyword, keyword), _rate(weights.vector, similarity)
    if not a + b > 0.0:
        a, b = weights.keyword, weights.vector
    of_keyword, of_vector = a / (a + b), b / (a + b)
    scores = keyword * np.float32(of_keyword)
    scores += similarity * np.float32(of_vector)
    return Fused(scores, of_keyword, of_vector)


def _alone(keyword: Floats | None, similarity: Floats | None) -> Fused:
    if keyword is not None:
        return Fused(keyword, 1.0, 0.0)
    if similarity is not None:
        return Fused(similarity, 0.0, 1.0)
    return Fused(np.zeros(0, dtype=np.float32), 0.0, 0.0)


def _rate(weight: float, signal: Floats) -> float:
    """`weight` in units of the signal's standard deviation; 0 when it does not vary."""
    if not len(signal):
        return 0.0
    square = float(signal.dot(signal)) / len(signal)
    mean = float(np.add.reduce(signal)) / len(signal)
    variance = square - mean**2
    return weight / math.sqrt(variance) if variance > SMALLEST_SPREAD * square else 0.0


def evidence(keyword: float, similarity: float, weights: Weights) -> float:
    """How much speaks for one result by itself, in [0, 1], whatever the other rows look like.

    The given weights are used as they stand; with one of them 0 the other signal speaks alone.
    """
    total = weights.keyword + weights.vector
    return (weights.keyword * keyword + weights.vector * similarity) / total if total else 0.0
