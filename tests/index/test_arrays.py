"""A persistent list of insights: a patch leaves what older holders see, an append is behind them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.arrays import BLOCK, GrowableArray, PersistentList
from tests.examples import examples
from tests.index.worlds import insight

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("extend"), st.integers(0, BLOCK + 3)),
        st.tuples(st.just("patch"), st.integers(0, 10**6)),
    ),
    max_size=8,
)


@examples(50)
@given(STEPS)
def test_it_is_a_list_that_remembers_what_it_was(steps: list[tuple[str, int]]) -> None:
    ledger, truth, made = PersistentList(), list[str](), 0
    kept = []
    for kind, number in steps:
        if kind == "extend":
            new = [insight(f"m{made + place}") for place in range(number)]
            ledger.extend(new)
            truth = truth + [it.id for it in new]
            made += number
        elif truth:
            rows = {number % len(truth), number % 7 % len(truth)}
            ledger = ledger.patched({row: insight(f"p{number}") for row in rows})
            truth = [f"p{number}" if row in rows else name for row, name in enumerate(truth)]
        kept.append((ledger, list(truth)))
    for held, names in kept:
        assert [held[row].id for row in range(len(names))] == names
    assert len(ledger) == len(truth)


def test_patching_nothing_copies_nothing() -> None:
    ledger = PersistentList([insight("a")])
    assert ledger.patched({}) is ledger


@examples(50)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=100), st.data())
def test_a_patched_column_is_a_copy_with_some_rows_changed(values: list[int], data: st.DataObject) -> None:
    column = GrowableArray(np.zeros(0, dtype=np.int32))
    column.extend(np.array(values, dtype=np.int32))
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=4, unique=True))
    view = column.view()
    later = column.patched(rows, [100 + row for row in rows])
    assert view.tolist() == column.view().tolist() == values
    assert later.view().tolist() == [100 + row if row in rows else value for row, value in enumerate(values)]
    later.extend(np.array([7], dtype=np.int32))
    assert len(column.view()) == len(values)
    assert later.view()[-1] == 7
