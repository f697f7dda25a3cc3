"""What is known of the text of each row, as rows come and go."""

from __future__ import annotations

import numpy as np

from mnemond.index.bm25 import Document
from mnemond.index.columns import ColumnViews, Table
from tests.index.worlds import insight


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


def test_many_at_once_are_as_one_by_one() -> None:
    made = Table()
    made.extend([insight(f"m{row}") for row in range(len(ROWS))], ROWS)
    assert (told(made.views()), made.orders) == (told(filled().views()), filled().orders)
