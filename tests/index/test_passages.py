"""What is known of the text of each row, as rows come and go."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.index.bm25 import Document, PassageColumns, Passages


def document(*terms: int, asking: float = 0.0, dated: bool = False) -> Document:
    order = np.array(terms, dtype=np.uint32).tobytes()
    return Document({}, len(terms), len(terms), len(set(terms)), order, asking, dated)


ROWS = [document(7, 2**32 - 1, 7, asking=0.25), document(), document(5, dated=True), document(1, 2)]


def told(view: PassageColumns) -> list[tuple[float, float, int]]:
    return list(zip(view.own.tolist(), view.asking.tolist(), view.dated.tolist(), strict=True))


def order(view: PassageColumns, rows: list[int]) -> tuple[list[int], list[int]]:
    terms, sizes = view.order(rows)
    return terms.tolist(), sizes.tolist()


def filled() -> Passages:
    made = Passages()
    for row in ROWS:
        made.append(row)
    return made


def test_each_row_has_what_its_document_says() -> None:
    assert told(filled().view()) == [(3, 0.25, 0), (0, 0.0, 0), (1, 0.0, 1), (2, 0.0, 0)]


@pytest.mark.parametrize(
    ("rows", "terms", "sizes"),
    [
        ([], [], []),
        ([1], [], [0]),
        ([0, 1, 2], [7, 2**32 - 1, 7, 5], [3, 0, 1]),
        ([3, 0, 3], [1, 2, 7, 2**32 - 1, 7, 1, 2], [2, 3, 2]),
    ],
)
def test_terms_of_several_rows_stand_one_behind_the_other(rows: list[int], terms: list[int], sizes: list[int]) -> None:
    assert order(filled().view(), rows) == (terms, sizes)


def test_a_reader_keeps_the_rows_it_came_for() -> None:
    made = Passages()
    for row in ROWS[:2]:
        made.append(row)
    before = made.view()
    for row in ROWS[2:] * 50:
        made.append(row)
    fewer = made.compacted(np.array([0]))
    assert told(before) == told(filled().view())[:2]
    assert order(before, [0, 1]) == ([7, 2**32 - 1, 7], [3, 0])
    assert len(told(made.view())) == 102
    assert told(fewer.view()) == told(filled().view())[:1]


def test_what_is_left_keeps_its_order_and_can_grow() -> None:
    fewer = filled().compacted(np.array([0, 3]))
    fewer.append(ROWS[2])
    assert told(fewer.view()) == [(3, 0.25, 0), (2, 0.0, 0), (1, 0.0, 1)]
    assert order(fewer.view(), [1, 2]) == ([1, 2, 5], [2, 1])
