"""Lists of rows on their way into arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.recall.ranking import Gathered, Question, SoftList, TermList, gathered_relatives, gathered_terms
from tests.tables import each_row


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def told(gathered: Gathered) -> list[tuple[int, int, float]]:
    values = [round(value, 6) for value in gathered.values.tolist()]
    return list(zip(gathered.terms.tolist(), gathered.rows.tolist(), values, strict=True))


def test_a_question_weighs_what_its_terms_weigh_together() -> None:
    assert Question(floats(1.5, 0.25), [], [], np.zeros(2, dtype=np.bool_)).mass == pytest.approx(1.75)
    assert Question(floats(), [], [], np.zeros(0, dtype=np.bool_)).mass == 0.0


def test_exact_lists_stand_one_behind_the_other() -> None:
    lists = [TermList(0, rows(1, 4), floats(1, 2.5)), TermList(0, rows(2), floats(1)), TermList(2, rows(4), floats(3))]
    assert told(gathered_terms(lists)) == [(0, 1, 1.0), (0, 4, 2.5), (0, 2, 1.0), (2, 4, 3.0)]
    assert told(gathered_terms([])) == []


SOFT = [SoftList(0, rows(1, 2, 3), 0.9), SoftList(0, rows(1, 5), 0.6), SoftList(1, rows(2), 0.8)]


@each_row(
    ("longest", "most", "found"),
    [
        (10, 100, [(0, 1, 0.3), (0, 5, 0.3), (1, 2, 0.4), (0, 1, 0.45), (0, 2, 0.45), (0, 3, 0.45)]),
        (2, 100, [(0, 1, 0.3), (0, 5, 0.3), (1, 2, 0.4)]),
        (10, 4, [(1, 2, 0.4), (0, 1, 0.45), (0, 2, 0.45), (0, 3, 0.45)]),  # no room is left for the worst
        (10, 3, [(0, 1, 0.45), (0, 2, 0.45), (0, 3, 0.45)]),
        (10, 2, [(1, 2, 0.4)]),  # one of two rows would still fit, but a list comes whole or not at all
        (0.5, 100, []),
    ],
)
def test_the_best_relatives_come_last_and_long_lists_are_left_out(
    longest: float, most: int, found: list[tuple[int, int, float]]
) -> None:
    assert told(gathered_relatives(SOFT, longest, most, 0.5)) == found


def test_no_relatives_are_no_entries() -> None:
    assert told(gathered_relatives([], 10, 100, 0.5)) == []
