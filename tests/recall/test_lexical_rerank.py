"""The reranker without a model, with numbers worked by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.recall.rerank import MAX_WORDS, LexicalPolicy, lexical_scores
from tests.examples import examples
from tests.tables import each_row

WORDS = st.lists(st.sampled_from(["redis", "caches", "cached", "k8s", "kubernetes", "库存", "database", "databse"]))


def same(token: str) -> float:
    del token
    return 1.0


def score(question: str, candidate: str, idf: Callable[[str], float] = same) -> float:
    return lexical_scores(question.split(), [candidate.split()], idf)[0]


@each_row(
    ("question", "candidate", "expected"),
    [
        ("redis cache shop", "redis", 1 / 3),
        ("redis cache shop", "shop redis", 2 / 3),
        ("redis cache shop", "redis cache", 2 / 3 + 0.1),  # neighbours of the question side by side
        ("redis cache shop", "cache redis", 2 / 3),  # but not in its order
        ("redis cache shop", "redis shop", 2 / 3),  # nor with one left out
        ("redis cache shop", "redis cache shop", 1.0),  # 1.1 at most 1
        ("deploying apps", "deployed", 0.9 / 2),  # the stem
        ("deploying apps", "deployed app", (0.9 + 0.9) / 2 + 0.1),  # order counts in other forms too
        ("k8s pods", "kubernetes", 0.9 / 2),  # another name of the same
        ("postgres k8s", "psql kube", 0.9 + 0.1),  # two other names of the same
        ("database size", "databases", 0.9 / 2),  # the stem is worth more than 6 of 7 trigrams
        ("database size", "databasee", 6 / 7 / 2),  # dat ata tab aba bas ase | see
        ("abcdef x", "abcdxy", 0.0),  # abc bcd of six: a third
        ("abcdk x", "abcd", 2 / 3 / 2),  # abc bcd | cdk
        ("abcd x", "bcde", 0.0),  # bcd of three
        ("库存 检查", "库存", 1 / 2),
        ("redis redis cache", "redis", 1 / 2),  # a word counts once
        ("redis cache", "", 0.0),
        ("", "redis", 0.0),
    ],
)
def test_the_best_match_of_each_word_and_the_order(question: str, candidate: str, expected: float) -> None:
    assert score(question, candidate) == pytest.approx(expected)


def test_rare_words_weigh_more() -> None:
    idf = {"redis": 3.0, "cache": 1.0}.__getitem__
    assert score("redis cache", "redis", idf) == pytest.approx(3 / 4)
    assert score("redis cache", "cache", idf) == pytest.approx(1 / 4)


def test_words_that_all_weigh_nothing_weigh_the_same() -> None:
    assert score("redis cache", "redis", lambda _: 0.0) == pytest.approx(1 / 2)


def test_aliases_and_values_are_what_the_caller_says() -> None:
    policy = LexicalPolicy(stem=0.8, alias=0.7, min_similarity=1.0, adjacency=0.0)
    found = lexical_scores(["deploying", "box"], [["deployed", "crate"], ["box"]], same, {"crate": "box"}, policy)
    assert found == pytest.approx([0.75, 0.5])
    assert lexical_scores(["k8s"], [["kubernetes"]], same, {}) == [0.0]


def test_of_a_pasted_text_the_first_words_are_compared() -> None:
    pasted = [f"w{number:03}" for number in range(MAX_WORDS + 1)]
    assert lexical_scores(pasted, [pasted[-1:], pasted[:1]], same) == pytest.approx([0.0, 1 / MAX_WORDS])


@given(WORDS, st.lists(WORDS, max_size=4))
@examples(100)
def test_a_relevance_lies_between_0_and_1_and_depends_on_its_candidate_alone(
    question: list[str], candidates: list[list[str]]
) -> None:
    found = lexical_scores(question, candidates, len)
    assert all(0.0 <= value <= 1.0 for value in found)
    assert found == [lexical_scores(question, [candidate], len)[0] for candidate in candidates]
    if question:
        assert lexical_scores(question, [question], len)[0] == pytest.approx(1.0)


def test_a_score_is_the_same_to_the_last_bit_at_every_start_of_the_daemon() -> None:
    # The order of a set of words changes with the seed of Python's hashes; that of the question does not.
    words = [chr(ord("a") + number) * 5 for number in range(20)]
    weights = {word: 0.1 * 1.7**number for number, word in enumerate(words)}
    total = sum(weights.values())
    scored = lexical_scores(words, [words[-2::-1]], weights.__getitem__, policy=LexicalPolicy(adjacency=0.0))
    assert scored == [sum(weights[word] / total for word in words[:-1])]
