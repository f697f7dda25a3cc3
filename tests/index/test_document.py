"""What is counted of the words of a memory."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.bm25 import DATED, OPENING_SHARE, Document, day_terms, document_of, term_number
from mnemond.text.features import inner_terms
from mnemond.text.tokens import index_terms
from tests.examples import examples
from tests.index.worlds import insight
from tests.tables import each_row

FIRST_DAY = Counter(day_terms("1970-01-01"))
"""What a memory made at 0 has of its day."""


def counted(content: str, **fields: Any) -> dict[str, float]:
    """The counts of a memory without those of its day."""
    counts = dict(document_of(insight("a", content, **fields)).counts)
    assert {term: counts.pop(term) for term in FIRST_DAY} == FIRST_DAY
    return counts


def order(document: Document) -> list[int]:
    return list(np.frombuffer(document.order, dtype=np.uint32).tolist())


@each_row("day", ["", "yesterday", "2023-05", "2023-13-01", "2023-xx-01", "1-2-3-4"])
def test_what_is_no_day_has_no_terms(day: str) -> None:
    assert day_terms(day) == ()


@examples(100)
@given(st.dates())
def test_a_day_has_its_weekday(day: date) -> None:
    [weekday] = index_terms(f"{day:%A}")
    assert day_terms(day.isoformat())[-1] == DATED + weekday


@examples(100)
@given(
    st.one_of(st.text(max_size=80), st.text(alphabet="aB bC\n.?", max_size=200)),
    st.lists(st.text(max_size=8), max_size=3),
    st.lists(st.text(max_size=8), max_size=3),
)
def test_nothing_is_lost_of_any_text(content: str, tags: list[str], entities: list[str]) -> None:
    made = document_of(insight("a", content, tags=tuple(tags), entities=tuple(entities)))
    terms = index_terms(content)
    assert made.own == len(terms) + len(inner_terms(content))
    assert order(made) == [term_number(term) for term in terms]
    opening = (sum(made.counts.values()) - made.length) / OPENING_SHARE
    assert opening == int(opening)
    assert 0 <= opening <= len(terms)
    assert all(times >= 1.0 for times in made.counts.values())
    assert made.breadth == len(set(terms))
    assert not any(DATED in term for term in terms)
