"""Words side by side, as in the question."""

from __future__ import annotations

import numpy as np

from mnemond.index.bm25 import term_number
from mnemond.recall.question import build_question
from mnemond.recall.ranking import Question, adjacent_words
from tests.index.worlds import insight
from tests.recall.talk import store
from tests.tables import each_row

TEXTS = (
    "redis cache", "cache redis", "redis for the cache", "redis", "redis cache and redis cache", "a slow redis", "",
    "cache eviction of redis cache eviction",
)  # fmt: skip
SNAPSHOT = store(insight(f"{at}", text) for at, text in enumerate(TEXTS))
EVERY = np.arange(len(TEXTS))


def question(*pairs: tuple[str, str, float]) -> Question:
    numbers = tuple((term_number(one), term_number(other), weight) for one, other, weight in pairs)
    return Question(np.zeros(0, np.float32), [], [], np.zeros(0, np.bool_), pairs=numbers)


def worth(*pairs: tuple[str, str, float]) -> list[float]:
    found: list[float] = adjacent_words(SNAPSHOT, question(*pairs), EVERY).tolist()
    return found


def test_each_row_gets_what_its_pairs_weigh() -> None:
    # Function words are not counted as being between; a pair counts once a row; the last word of a row and the first
    # of the next one (5 and 7 of the rows) are no pair.
    assert worth(("redi", "cach", 2.0)) == [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0]
    assert worth(("redi", "cach", 2.0), ("cach", "evict", 0.5)) == [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.5]
    assert worth(("cach", "redi", 1.0)) == [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert worth(("tea", "cake", 1.0)) == [0.0] * 8


def test_rows_are_told_in_the_order_they_are_asked_for() -> None:
    pair = question(("redi", "cach", 2.0))
    assert adjacent_words(SNAPSHOT, pair, np.array([3, 7, 5, 0])).tolist() == [0.0, 2.0, 0.0, 2.0]
    assert adjacent_words(SNAPSHOT, pair, np.array([5, 1])).tolist() == [0.0, 0.0]
    assert adjacent_words(SNAPSHOT, pair, np.array([6])).tolist() == [0.0]
    assert adjacent_words(SNAPSHOT, pair, np.zeros(0, dtype=np.int64)).tolist() == []
    assert adjacent_words(SNAPSHOT, question(), EVERY).tolist() == [0.0] * 8


@each_row("text", ["redis cache", "what is the Redis cache?"])
def test_a_question_finds_its_own_pairs(text: str) -> None:
    found = adjacent_words(SNAPSHOT, build_question(SNAPSHOT, text, None), EVERY)
    assert np.flatnonzero(found).tolist() == [0, 2, 4, 7]
