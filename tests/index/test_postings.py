"""Which rows have a term, as rows come and go, and BM25 over them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.bm25 import MAX_QUERY_TERMS, Bm25, Corpus, Postings
from tests.examples import examples

Counts = dict[str, float]
BM25 = Bm25(k1=1.2, b=0.75)
DOCUMENTS: list[Counts] = [{"a": 2.0, "b": 1.0}, {"a": 1.0}, {"c": 4.0}, {"a": 1.0, "c": 1.5}]
COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([1.0, 1.5, 3.0]), max_size=4)
STORES = st.lists(COUNTS, max_size=20)


def corpus(documents: list[Counts], alive: list[int] | None = None) -> Corpus:
    """Of documents as long as their counts."""
    lengths = np.array([sum(counts.values()) for counts in documents], dtype=np.float32)
    living = np.ones(len(documents), dtype=np.uint8) if alive is None else np.array(alive, dtype=np.uint8)
    total = round(float(lengths[living == 1].sum()))
    return Corpus(len(documents), None if alive is None else living, lengths, int(living.sum()), total)


def lists(postings: Postings, rows: int) -> dict[str, list[tuple[int, float]]]:
    found = {}
    for term in "abcdef":
        at, times = postings.of(term, rows)
        found[term] = list(zip(at.tolist(), times.tolist(), strict=True))
    return found


def expected(documents: list[Counts]) -> dict[str, list[tuple[int, float]]]:
    return {term: [(row, counts[term]) for row, counts in enumerate(documents) if term in counts] for term in "abcdef"}


def test_bm25_of_one_term_worked_out() -> None:
    documents: list[Counts] = [{"a": 2.0, "b": 1.0}, {"a": 1.0}, {"c": 4.0}]  # of lengths 3, 1 and 4: 8/3 on average
    scores, bound = Postings.build(documents).scores(["a"], corpus(documents), BM25)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    first = 2.0 * 2.2 / (2.0 + 1.2 * (0.25 + 0.75 * 3 / (8 / 3)))
    second = 1.0 * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 1 / (8 / 3)))
    assert scores.tolist() == pytest.approx([idf * first, idf * second, 0.0])
    assert bound == pytest.approx(idf * 2.2)


def test_a_term_counts_as_often_as_it_is_repeated() -> None:
    postings, told = Postings.build(DOCUMENTS), corpus(DOCUMENTS)
    once, bound = postings.scores(["a", "c"], told, BM25)
    a, _ = postings.scores(["a"], told, BM25)
    twice, higher = postings.scores(["a", "c", "a"], told, BM25)
    assert twice.tolist() == pytest.approx((once + a).tolist())
    assert higher > bound


def test_words_that_nobody_wrote_do_not_crowd_out_those_that_somebody_did() -> None:
    documents: list[Counts] = [{"a": 1.0}, {"b": 1.0}]
    unheard = [f"z{number}" for number in range(MAX_QUERY_TERMS)]
    scores, _ = Postings.build(documents).scores([*unheard, "a"], corpus(documents), BM25)
    assert scores[0] > 0.0


@examples(100)
@given(STORES, st.integers(0, 20))
def test_rows_added_one_by_one_stand_as_if_they_had_come_at_once(documents: list[Counts], at_once: int) -> None:
    postings = Postings.build(documents[:at_once])
    seen = []
    for row, counts in list(enumerate(documents))[at_once:]:
        seen.append((postings.of("a", row), expected(documents[:row])["a"]))
        postings.add(row, counts)
    assert lists(postings, len(documents)) == expected(documents) == lists(Postings.build(documents), len(documents))
    for older in range(len(documents)):
        assert lists(postings, older) == expected(documents[:older])
    # What a reader holds does not change under it.
    assert [list(zip(*(part.tolist() for part in view), strict=True)) for view, _ in seen] == [
        truth for _, truth in seen
    ]


@examples(100)
@given(STORES, st.lists(st.booleans(), min_size=20, max_size=20), COUNTS)
def test_packed_without_the_dead_it_is_the_index_of_the_living(
    documents: list[Counts], lives: list[bool], new: Counts
) -> None:
    postings = Postings.build([])
    for row, counts in enumerate(documents):
        postings.add(row, counts)
    alive = np.array(lives[: len(documents)], dtype=np.uint8)
    packed = postings.compacted(alive, np.cumsum(alive, dtype=np.int64) - 1)
    left = [counts for counts, living in zip(documents, lives, strict=False) if living]
    assert lists(packed, len(left)) == expected(left)
    packed.add(len(left), new)
    assert lists(packed, len(left) + 1) == expected([*left, new])
    assert lists(postings, len(documents)) == expected(documents)


@examples(100)
@given(STORES.filter(bool), st.lists(st.sampled_from("abcdefg"), max_size=6))
def test_no_row_reaches_the_bound_and_a_row_has_a_score_where_it_has_a_term(
    documents: list[Counts], terms: list[str]
) -> None:
    scores, bound = Postings.build(documents).scores(terms, corpus(documents), BM25)
    assert [score > 0.0 for score in scores.tolist()] == [any(term in counts for term in terms) for counts in documents]
    assert np.isfinite(scores).all()
    assert not terms or float(scores.max()) < bound
