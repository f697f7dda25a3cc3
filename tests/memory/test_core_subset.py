"""Clusters and the four factors of a core summary, with the published numbers worked by hand."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory import core_subset
from mnemond.memory.core_subset import Labels, Vectors, clusters, subset
from mnemond.model.memory import DAY_US
from tests.examples import examples
from tests.tables import each_row


def labels_of(vectors: Vectors, k: int, seed: int = 0) -> Labels:
    """The value of the computation."""
    steps = clusters(vectors, k, seed)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Labels = end.value
            return found


def unit(rows: int, dimension: int, seed: int, kinds: int | None = None) -> Vectors:
    """Vectors of length 1; with `kinds` only so many different ones."""
    raw = np.random.default_rng(seed).standard_normal((kinds or rows, dimension)).astype(np.float32)
    found = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    chosen: Vectors = found[np.arange(rows) % len(found)]
    return chosen


# ------------------------------------------------------------------ the factors


def test_rarity_of_words() -> None:
    assert core_subset.rarity([1, 1, 4, 9], 9) == pytest.approx(0.424743, abs=1e-6)
    assert core_subset.rarity([], 9) == 0.0
    assert core_subset.rarity([5], 0) == 0.0
    assert core_subset.rarity([12], 9) == 0.0, "a word of retired memories as well"


def test_the_weighted_sum() -> None:
    recent = core_subset.recency([14 * DAY_US], 28)
    assert recent[0] == pytest.approx(2**-0.5)
    score = core_subset.weighted([[0.75], [0.5], recent, [0.6]], (0.3, 0.3, 0.2, 0.2))
    assert score[0] == pytest.approx(0.636421, abs=1e-6)


def test_recency_is_halved_every_half_life() -> None:
    ages = [0, 28 * DAY_US, 56 * DAY_US, -DAY_US]
    assert core_subset.recency(ages, 28).tolist() == pytest.approx([1.0, 0.5, 0.25, 1.0])
    assert core_subset.recency([28 * DAY_US], 28)[0] != pytest.approx(math.exp(-1))


def test_links_count_as_a_share_of_the_others() -> None:
    assert core_subset.connectivity([3, 0, 9], 5).tolist() == [0.75, 0.0, 1.0]
    assert core_subset.connectivity([4], 1).tolist() == [0.0]


def test_boosted_links_count_as_a_share_of_the_most() -> None:
    assert core_subset.boost([1, 2, 0]).tolist() == [0.5, 1.0, 0.0]
    assert core_subset.boost([0, 0]).tolist() == [0.0, 0.0]
    assert core_subset.boost([]).tolist() == []


def test_evenness_is_nearly_constant_for_dense_vectors() -> None:
    assert core_subset.evenness(np.linspace(-1, 1, 160)) == pytest.approx(0.265070, abs=1e-6)
    assert core_subset.evenness(np.zeros(8)) == 1.0


# ------------------------------------------------------------------ clusters


@examples(100)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_no_cluster_is_empty_and_the_same_comes_out_again(rows: int, k: int, seed: int, kinds: int) -> None:
    vectors = unit(rows, 8, seed, min(kinds, rows))
    labels = labels_of(vectors, k, seed)
    assert labels.shape == (rows,)
    assert set(labels.tolist()) == set(range(min(k, rows)))
    assert np.array_equal(labels, labels_of(vectors.copy(), k, seed))


@examples(100)
@given(st.integers(1, 60), st.integers(1, 9), st.randoms(use_true_random=False))
def test_another_order_has_the_same_clusters(rows: int, k: int, random: Random) -> None:
    vectors, order = unit(rows, 8, random.randrange(99)), list(range(rows))
    random.shuffle(order)
    assert labels_of(vectors[order], k, 3).tolist() == labels_of(vectors, k, 3)[order].tolist()


def test_nothing_has_no_clusters() -> None:
    assert labels_of(unit(0, 8, 1, 1)[:0], 5).tolist() == []


def test_groups_apart_are_found() -> None:
    centres = unit(3, 32, 7)
    near = np.repeat(centres, 20, axis=0) + 0.05 * unit(60, 32, 8)
    labels = labels_of((near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32), 3)
    assert [len(set(labels[at : at + 20].tolist())) for at in (0, 20, 40)] == [1, 1, 1]
    assert len(set(labels.tolist())) == 3


# ------------------------------------------------------------------ the subset


def test_the_best_of_each_cluster_then_the_best_of_the_rest() -> None:
    labels = [0, 0, 1, 1, 2, -1]
    chosen = subset([3, 0, 5, 1, 4, 2], labels, [0] * 6, k=3, extra=2, most=20)
    assert chosen == ((3, 0, 4), (5, 1))


def test_of_too_many_the_newest_are_kept() -> None:
    chosen = subset([0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2], [5, 0, 4, 3, 2, 1], k=3, extra=2, most=3)
    assert chosen == ((0, 2), (3,))


@each_row("count", range(4))
def test_of_few_all_are_chosen(count: int) -> None:
    assert subset(range(count), [0] * count, [0] * count, k=3, extra=0, most=20) == (tuple(range(count)), ())


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 9)), max_size=40), st.integers(0, 8), st.integers(1, 12))
def test_a_subset_has_each_once_and_never_too_many(given_: list[tuple[int, int]], extra: int, most: int) -> None:
    ranked = range(len(given_))
    chosen = subset(ranked, [it[0] for it in given_], [it[1] for it in given_], k=5, extra=extra, most=most)
    both = [*chosen.of_clusters, *chosen.extra]
    assert len(set(both)) == len(both)
    if len(given_) > 5:
        found = {label for label, _ in given_ if label >= 0}
        assert len(both) == min(most, len(given_), len(found) + min(extra, len(given_) - len(found)))
