"""What is counted of the words of a memory."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.bm25 import DATED, OPENING, OPENING_SHARE, Document, day_terms, document_of, term_number
from mnemond.model.memory import Cue
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


def test_the_opening_counts_half_as_much_again() -> None:
    assert counted("redis cache redis") == {"redi": 3.0, "cach": 1.5}
    assert counted("Redis setup\nredis keeps the cache") == {"redi": 2.5, "setup": 1.5, "keep": 1.0, "cach": 1.0}
    assert counted("\n\n redis\nredis") == {"redi": 2.5}


def test_only_the_first_characters_of_a_long_line_are_its_opening() -> None:
    filler = "x" * (OPENING - 6)  # and a blank and "redis"
    assert counted(f"redis {filler} redis")["redi"] == 2 + OPENING_SHARE
    assert counted(f"redis {filler[:-6]} redis")["redi"] == 2 + 2 * OPENING_SHARE


def test_tags_entities_and_parts_of_names_are_found_as_words_are() -> None:
    found = counted("SetOption", tags=("speed",), entities=("Caroline", "SetOption"))
    [whole] = index_terms("SetOption")
    assert found == {whole: 1 + OPENING_SHARE + 1, "set": 1.0, "option": 1.0, "speed": 1.0, "carolin": 1.0}


def test_lengths_are_those_of_what_was_said_and_of_what_else_is_known() -> None:
    made = document_of(insight("a", "call SetOption for the SetOption cache", tags=("speed", "cache")))
    assert (made.own, made.breadth) == (4 + 4, 3)  # the names count once whole and once in parts
    assert made.length == made.own + 2 + len(day_terms("1970-01-01"))
    assert order(made) == [term_number(term) for term in index_terms("call SetOption for the SetOption cache")]


@pytest.mark.parametrize(("fields", "dated"), [({}, False), ({"event_start": "2023-05-08T00:00:00Z"}, True)])
def test_whether_it_speaks_of_a_date(fields: dict[str, Any], dated: bool) -> None:
    assert document_of(insight("a", "it rained", **fields)).dated is dated


def test_how_much_of_it_asks() -> None:
    assert document_of(insight("a", "What now? Ok.")).asking == pytest.approx(9 / 12)


def test_the_day_it_was_made_on_is_known_under_names_no_text_has() -> None:
    assert [term.removeprefix(DATED) for term in day_terms("2024-02-29")] == index_terms("29 february 2024 thursday")
    assert all(term.startswith(DATED) for term in day_terms("2024-02-29"))
    made = document_of(insight("a", "we met on a thursday in february"))
    assert {"thursday", DATED + "thursday", "februari"} <= set(made.counts)
    assert DATED + "februari" not in made.counts


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


def test_cues_are_found_as_words_are_and_are_no_part_of_what_was_said() -> None:
    cues = (Cue("can I push to main"), Cue("redis push", "learned"), Cue("push", "generated"))
    bare, made = document_of(insight("a", "the redis cache")), document_of(insight("a", "the redis cache", cues=cues))
    assert {term: count - bare.counts.get(term, 0.0) for term, count in made.counts.items()} == {
        **dict.fromkeys(bare.counts, 0.0), "push": 2.5, "main": 1.0, "redi": 1.0
    }  # fmt: skip
    assert made.length == bare.length + 5
    assert made.cued == ("push", "main")
    assert made._replace(counts=bare.counts, length=bare.length, cued=()) == bare
