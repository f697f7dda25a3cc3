"""A correction above what it corrects: when, and when not."""

from __future__ import annotations

import gc
from itertools import permutations

import numpy as np
import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight
from mnemond.recall.corrections import (
    ASSISTANT,
    MAX_CUE_TEXT,
    MAX_READ,
    asks_past,
    asks_state,
    newer_first,
)
from mnemond.recall.question import build_question
from mnemond.recall.ranking import Ranking, Updating
from mnemond.recall.two_stage import NEWER, rank
from mnemond.text import caches
from tests.index.worlds import insight, unit
from tests.recall.talk import ids, store

POLICY = Updating(rows=20, cosine=0.7, cover=0.4)
ALIKE = unit(1, 0, 0, 0)
STEP = 1e-3


def moved(
    *facts: Insight,
    scores: list[float],
    vectors: list[Vector | None] | None = None,
    covered: list[float] | None = None,
    terms: dict[str, float] | None = None,
) -> list[float]:
    """Scores of these rows, which are about one thing unless `vectors` say otherwise. Compared by their numbers, or by
    what they state where `terms` of a question are given."""
    snapshot = store(facts, [ALIKE] * len(facts) if vectors is None else vectors)
    cover = np.ones(len(facts)) if covered is None else np.array(covered)
    rows = np.arange(len(facts))
    before = np.array(scores, dtype=np.float32)
    found: list[float] = newer_first(
        snapshot,
        rows,
        before,
        cover.astype(np.float32),
        POLICY,
        {} if terms is None else terms,
        by_numbers=terms is None,
    ).tolist()
    assert before.tolist() == pytest.approx(scores), "what was handed in is left as it is"
    return found


def fact(at: int, text: str, source: str = "user") -> Insight:
    return insight(f"{at}", text, at=at, source=source)


OLD = fact(1, "the budget is 500 euro")
NEW = fact(2, "the budget was raised to 700 euro")


def test_a_correction_stands_just_above_what_it_corrects() -> None:
    assert moved(OLD, NEW, scores=[3.0, 1.0]) == pytest.approx([3.0, 3.0 + 2 * STEP])
    assert moved(OLD, NEW, scores=[3.0, 4.0]) == [3.0, 4.0]  # it does already


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (OLD, fact(2, "the budget is 700 euro")),  # no word of change
        (OLD, fact(2, "the budget was raised")),  # no number
        (OLD, fact(2, "the budget is 500 euro now")),  # no other number
        (fact(1, "the budget is large"), NEW),  # nothing that could be wrong
        (fact(3, "the budget is 500 euro"), NEW),  # not older
        (OLD, fact(2, "the budget was raised to 700 euro", "bob")),  # said by somebody else
        (fact(1, "the budget is 500 euro", ASSISTANT), fact(2, "raised to 700 euro", ASSISTANT)),
        (OLD, fact(2, f"the budget is {'x' * MAX_CUE_TEXT} raised to 700 euro")),
        (OLD, fact(2, f"raised {'x' * MAX_READ} to 700 euro")),
    ],
)
def test_what_is_no_correction_moves_nothing(older: Insight, newer: Insight) -> None:
    assert moved(older, newer, scores=[3.0, 1.0]) == [3.0, 1.0]


@pytest.mark.parametrize(
    ("vectors", "moves"),
    [
        ([ALIKE, unit(0.71, 0.7, 0, 0)], True),
        ([ALIKE, unit(0.69, 0.72, 0, 0)], False),
        ([ALIKE, None], False),
        ([None, None], False),
    ],
)
def test_both_are_about_one_thing(vectors: list[Vector | None], moves: bool) -> None:
    assert (moved(OLD, NEW, scores=[3.0, 1.0], vectors=vectors)[1] > 3.0) is moves


@pytest.mark.parametrize(("covered", "moves"), [([1.0, 0.4], True), ([1.0, 0.39], False), ([0.0, 0.0], True)])
def test_the_newer_answers_the_question_nearly_as_well(covered: list[float], moves: bool) -> None:
    assert (moved(OLD, NEW, scores=[3.0, 1.0], covered=covered)[1] > 3.0) is moves


def test_of_several_corrections_the_newest_is_highest() -> None:
    facts = [OLD, NEW, fact(3, "the budget is now 800 euro"), fact(4, "the budget moved to 900 euro")]
    for order in permutations(range(4)):
        scores = [3.0 - place for place in order]
        found = moved(*facts, scores=scores)
        assert min(range(4), key=lambda at: -found[at]) == 3
        assert max(found) == found[3]
        assert found[0] == pytest.approx(scores[0])
    assert moved(*facts, scores=[3.0, 2.0, 1.0, 0.0]) == pytest.approx([3.0, 3.002, 3.003, 3.004])


def test_what_corrects_a_correction_alone_is_above_both() -> None:
    facts = [OLD, NEW, fact(3, "what the team may spend is now 800 euro")]
    vectors: list[Vector | None] = [
        ALIKE,
        unit(0.75, 0.66, 0, 0),
        unit(0.13, 0.99, 0, 0),
    ]  # the last is like the second
    for order in permutations(range(3)):
        numbers = np.array(order)
        scores = [3.0, 1.0, 0.0]
        found = moved(
            *(facts[at] for at in order), scores=[scores[at] for at in order], vectors=[vectors[at] for at in order]
        )
        assert found == pytest.approx((np.array([3.0, 3.002, 3.003])[numbers]).tolist())


def test_of_equal_times_the_one_stored_later_is_newer() -> None:
    twin = insight("2", OLD.content, at=1), insight("1", NEW.content, at=1)
    assert moved(*twin, scores=[3.0, 1.0])[1] > 3.0
    assert moved(*reversed(twin), scores=[1.0, 3.0]) == [1.0, 3.0]


# ------------------------------------------------------------ in a question

QUIET = [fact(at, text) for at, text in ((7, "tea at four"), (8, "the shop opens at nine"), (9, "rain again"))]
LONG = fact(5, f"{NEW.content} {' '.join(f'because{at}' for at in range(30))}")
BUDGET = store([OLD, LONG, *QUIET], [ALIKE, ALIKE, None, None, None])


def first(snapshot: Snapshot, text: str) -> tuple[list[str], float]:
    """The best two, and what the first has for correcting another."""
    ranked = rank(snapshot, build_question(snapshot, text, None), None, None, 2, Ranking())
    return ids(snapshot, ranked.rows), float(ranked.parts[NEWER, 0])


def test_a_question_how_things_are_has_the_correction_first() -> None:
    best, corrects = first(BUDGET, "what is the budget?")
    assert best == ["5", "1"]
    assert corrects > 0.0


@pytest.mark.parametrize("text", ["what was the budget?", "what is the original budget?", "the budget"])
def test_a_question_how_things_were_has_what_fits_it_best(text: str) -> None:
    assert first(BUDGET, text) == (["1", "5"], 0.0)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("What is my budget?", True), ("how many cups", True), ("When do we meet", True), ("Which one", True),
        ("what car do I have", True), ("现在的预算", True), ("WHERE AM I", True),
        ("what was my budget", False), ("what is my previous budget", False), ("which did I use before", False),
        ("现在和以前", False), ("tell me of the budget", False), ("", False), ("somewhat issues", False),
    ],
)  # fmt: skip
def test_whether_a_question_asks_how_things_are(text: str, state: bool) -> None:
    assert asks_state(text) is state


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("What did we use before", True), ("what was my budget", True), ("之前用什么", True),
        ("what do we use", False), ("deploy day", False), ("what did we decide on for the queue", False),
        ("what did the whole team agree on", False), ("what did we decide on before", True),
    ],
)  # fmt: skip
def test_whether_a_question_asks_how_things_were(text: str, past: bool) -> None:
    assert asks_past(text) is past


# ------------------------------------------------------------ by what is stated

TUESDAY = fact(1, "Deploys go out on Tuesdays")
THURSDAY = fact(2, "Deploys go out on Thursdays now")
DEPLOYS = {"deploy": 1.0, "go": 0.5}


def stated(*facts: Insight, terms: dict[str, float] | None = None, covered: list[float] | None = None) -> list[float]:
    """Scores of rows that had 3, 2, 1 …, nothing known of their meaning."""
    scores = [3.0 - at for at in range(len(facts))]
    none: list[Vector | None] = [None] * len(facts)
    return moved(*facts, scores=scores, vectors=none, terms=DEPLOYS if terms is None else terms, covered=covered)


def test_a_statement_that_corrects_another_goes_just_above_it() -> None:
    assert stated(TUESDAY, THURSDAY) == pytest.approx([3.0, 3.0 + 2 * STEP])
    assert stated(THURSDAY, TUESDAY) == [3.0, 2.0]


def test_of_several_statements_the_newest_is_highest() -> None:
    friday = fact(3, "Deploys moved from Thursdays to Fridays")
    assert stated(TUESDAY, THURSDAY, friday) == pytest.approx([3.0, 3.0 + 2 * STEP, 3.0 + 3 * STEP])


def test_only_what_the_question_asks_for_is_corrected() -> None:
    story = fact(1, "The room is booked for the whole winter season. Deploys go out on Tuesdays.")
    assert stated(story, THURSDAY)[1] > 3.0
    assert stated(story, THURSDAY, terms={"room": 1.0, "winter": 1.0}) == [3.0, 2.0]
    assert stated(story, THURSDAY, terms={"room": 1.0, "deploy": 0.1}, covered=[1.1, 0.1]) == [3.0, 2.0]
    assert stated(story, THURSDAY, terms={}) == [3.0, 2.0]


def test_what_somebody_says_of_themselves_is_not_corrected_by_another() -> None:
    old, new = "I live in Oslo", "I moved to Bergen"
    place = {"live": 1.0}
    assert stated(fact(1, old), fact(2, new), terms=place)[1] > 3.0
    assert stated(fact(1, old), fact(2, new, "bob"), terms=place) == [3.0, 2.0]
    assert stated(fact(1, "Ana lives in Oslo"), fact(2, "Ana moved to Bergen", "bob"), terms=place)[1] > 3.0
    assert stated(fact(1, old, ASSISTANT), fact(2, new, ASSISTANT), terms=place) == [3.0, 2.0]


def test_what_an_assistant_told_is_corrected_once_it_is_more_than_talk() -> None:
    sorted_ = [
        insight(f"{at}", text, at=at, source=ASSISTANT, category="fact")
        for at, text in ((1, "Deploys go out on Tuesdays"), (2, "Deploys go out on Thursdays now"))
    ]
    assert stated(*sorted_)[1] > 3.0


def test_a_long_memory_corrects_only_where_it_announces_a_change() -> None:
    long = " and so on, as ever" * 10
    assert stated(TUESDAY, fact(2, f"Deploys go out on Thursdays. It went{long}.")) == [3.0, 2.0]
    assert stated(TUESDAY, fact(2, f"Deploys go out on Thursdays now. It went{long}."))[1] > 3.0


def test_nothing_of_a_text_is_kept_when_it_is_to_be_forgotten() -> None:
    secret = "the code was changed to 4711 for the purged door"
    moved(OLD, fact(2, secret), scores=[3.0, 1.0])
    stated(OLD, fact(2, secret), terms={"budget": 1.0})
    kept = [each for each in gc.get_objects() if isinstance(each, frozenset) and "4711" in each]
    assert kept, "what was read is remembered"
    del kept
    caches.clear_all()
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, frozenset) and "4711" in each]
