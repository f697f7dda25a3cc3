"""What is known of the text of each row, as rows come and go."""

from __future__ import annotations

import numpy as np

from mnemond.index.bm25 import Document
from mnemond.index.columns import ColumnViews, Table
from tests.index.worlds import insight
from tests.tables import each_row


def document(*terms: int, asking: float = 0.0, dated: bool = False) -> Document:
    order = np.array(terms, dtype=np.uint32).tobytes()
    return Document({}, len(terms), len(terms), len(set(terms)), order, asking, dated)


ROWS = [document(7, 2**32 - 1, 7, asking=0.25), document(), document(5, dated=True), document(1, 2)]


def told(view: ColumnViews) -> list[tuple[float, float, int]]:
    return list(zip(view.own.tolist(), view.asking.tolist(), view.dated.tolist(), strict=True))


def order(table: Table, rows: list[int]) -> tuple[list[int], list[int]]:
    terms, sizes = table.term_order(rows)
    return terms.tolist(), sizes.tolist()


def append(table: Table, rows: list[Document]) -> None:
    for row in rows:
        table.append(insight(f"m{len(table.insights)}"), row)


def filled() -> Table:
    made = Table()
    append(made, ROWS)
    return made


def compacted(table: Table, kept: list[int]) -> Table:
    renumbered = np.full(len(table.insights), -1)
    renumbered[kept] = range(len(kept))
    return table.compacted(np.array(kept), renumbered)


def test_each_row_has_what_its_document_says() -> None:
    assert told(filled().views()) == [(3, 0.25, 0), (0, 0.0, 0), (1, 0.0, 1), (2, 0.0, 0)]


@each_row(
    ("rows", "terms", "sizes"),
    [
        ([], [], []),
        ([1], [], [0]),
        ([0, 1, 2], [7, 2**32 - 1, 7, 5], [3, 0, 1]),
        ([3, 0, 3], [1, 2, 7, 2**32 - 1, 7, 1, 2], [2, 3, 2]),
    ],
)
def test_terms_of_several_rows_stand_one_behind_the_other(rows: list[int], terms: list[int], sizes: list[int]) -> None:
    assert order(filled(), rows) == (terms, sizes)


def test_a_reader_keeps_the_rows_it_came_for() -> None:
    made = Table()
    append(made, ROWS[:2])
    before = made.views()
    append(made, ROWS[2:] * 50)
    fewer = compacted(made, [0])
    assert told(before) == told(filled().views())[:2]
    assert order(made, [0, 1]) == ([7, 2**32 - 1, 7], [3, 0])
    assert len(told(made.views())) == 102
    assert told(fewer.views()) == told(filled().views())[:1]


def test_many_at_once_are_as_one_by_one() -> None:
    made = Table()
    made.extend([insight(f"m{row}") for row in range(len(ROWS))], ROWS)
    assert (told(made.views()), made.orders) == (told(filled().views()), filled().orders)


def test_what_is_left_keeps_its_order_and_can_grow() -> None:
    fewer = compacted(filled(), [0, 3])
    fewer.append(insight("other"), ROWS[2])
    assert told(fewer.views()) == [(3, 0.25, 0), (2, 0.0, 0), (1, 0.0, 1)]
    assert order(fewer, [1, 2]) == ([1, 2, 5], [2, 1])
