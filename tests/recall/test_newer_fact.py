"""A correction above what it corrects: when, and when not."""

from __future__ import annotations

import gc
from itertools import pairwise, permutations

import numpy as np
import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff_frames import AGAINST, judged
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight
from mnemond.recall import corrections
from mnemond.recall.corrections import (
    ASSISTANT,
    MAX_READ,
    Asked,
    by_change,
)
from mnemond.recall.question import build_question
from mnemond.recall.ranking import Ranking, Updating
from mnemond.recall.two_stage import NEWER, OLDER, rank
from mnemond.text import caches
from mnemond.text.question_time import MAX_CUE_TEXT
from mnemond.text.statements import statement
from mnemond.text.tokens import fold, index_terms
from tests.index.worlds import insight, unit
from tests.memory.correction_pairs import BOTH_TRUE, CORRECTIONS
from tests.recall.talk import ids, store
from tests.tables import each_row

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
    moves = by_change(
        snapshot, rows, before, np.eye(len(facts), dtype=np.bool_), cover.astype(np.float32), POLICY,
        {} if terms is None else terms, Asked(of_state=terms is None),
    )  # fmt: skip
    assert not moves.older.any()
    found: list[float] = moves.scores.tolist()
    assert before.tolist() == pytest.approx(scores), "what was handed in is left as it is"
    return found


def fact(at: int, text: str, source: str = "user") -> Insight:
    return insight(f"{at}", text, at=at, source=source)


OLD = fact(1, "the budget is 500 euro")
NEW = fact(2, "the budget was raised to 700 euro")


def test_a_correction_stands_just_above_what_it_corrects() -> None:
    assert moved(OLD, NEW, scores=[3.0, 1.0]) == pytest.approx([3.0, 3.0 + 2 * STEP])
    assert moved(OLD, NEW, scores=[3.0, 4.0]) == [3.0, 4.0]  # it does already


@each_row(
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


@each_row(
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


# ------------------------------------------------------------ how things were


def asked(snapshot: Snapshot, text: str, now_us: int | None = None, window: tuple[int, int] | None = None) -> str:
    """The content of the first result."""
    question = build_question(snapshot, text, None, now_us=now_us, window=window)
    ranked = rank(snapshot, question, None, None, 1, Ranking())
    return snapshot.insight(int(ranked.rows[0])).content


FILLERS = [fact(at, f"note {at} on {word}") for at, word in ((91, "tea"), (92, "rain"), (93, "paint"))]


@each_row(
    ("older", "newer", "now", "then"),
    [
        (
            "The owner of billing is Marta", "The owner of billing is Tomas since Marta left",
            "who is the owner of billing", "who was the owner of billing before",
        ),
        (
            "We deploy on Fridays", "We moved deploys from Fridays to Tuesdays",
            "on which day do we deploy", "on which day did we use to deploy",
        ),
        (
            "Die Kassenwartin ist Frau Petersen", "Die Kassenwartin ist jetzt Frau Yilmaz",
            "wer ist die Kassenwartin", "wer war früher Kassenwartin",
        ),
        ("周会在每周一上午十点", "周会改到每周三下午两点", "周会什么时候开", "周会最初是什么时候"),
    ],
)  # fmt: skip
def test_a_question_has_the_statement_of_its_time_first(older: str, newer: str, now: str, then: str) -> None:
    for facts in ([fact(1, older), fact(2, newer)], [fact(2, newer), fact(1, older)]):
        snapshot = store([*facts, *FILLERS], [None] * 5)
        assert asked(snapshot, now) == newer
        assert asked(snapshot, then) == older


def test_of_three_states_the_first_the_one_before_and_the_last_are_found() -> None:
    texts = [f"The budget is {number} euro now" for number in (500, 600, 700)]
    snapshot = store([*(fact(at, text) for at, text in enumerate(texts, 1)), *FILLERS], [ALIKE] * 3 + [None] * 3)
    assert asked(snapshot, "what is the budget") == texts[2]
    assert asked(snapshot, "what was the budget before") == texts[1]
    assert asked(snapshot, "what was the budget at first") == texts[0]


def test_a_past_time_has_the_state_that_had_begun_by_then_first() -> None:
    texts = [f"The owner of billing is {name}" for name in ("Marta", "Tomas", "Priya")]
    snapshot = store([*(fact(at * 100, text) for at, text in enumerate(texts, 1)), *FILLERS], [None] * 6)
    begun = snapshot.parts.columns.created_us[:3].tolist()
    for at, text in enumerate(texts):
        until = begun[at] + 1
        assert asked(snapshot, "owner of billing", now_us=begun[2] + 10, window=(begun[at], until)) == text
    assert asked(snapshot, "owner of billing", now_us=begun[0], window=(begun[0], begun[0] + 1)) == texts[2]


def test_a_question_of_the_present_has_the_newest_whatever_time_it_names() -> None:
    texts = ["The budget through August is 500 euro now", "The budget through August is 700 euro now"]
    snapshot = store(
        [*(fact(at, text) for at, text in enumerate(texts, 1)), *FILLERS], [ALIKE, ALIKE, None, None, None]
    )
    until = snapshot.parts.columns.created_us.tolist()[0] + 1
    past = (until - 1, until)
    assert asked(snapshot, "what is the budget through August", now_us=100, window=past) == texts[1]
    assert asked(snapshot, "budget through August", now_us=100, window=past) == texts[0]


def test_a_time_in_the_text_says_since_when_it_holds() -> None:
    stored = 1_735_689_600_000_000  # 2025-01-01
    since = {"event_start": "2024-01-01T00:00:00Z", "event_end": "2024-12-31T00:00:00Z"}
    late = insight("1", "The owner of billing is Tomas since 2024", at=stored, **since)
    until = {"event_start": "2022-01-01T00:00:00Z", "event_end": "2022-12-31T00:00:00Z"}
    early = insight("2", "The owner of billing is Marta until 2022", at=stored + 1, **until)
    snapshot = store([late, early, *FILLERS], [None] * 5)
    assert asked(snapshot, "who is the owner of billing") == late.content
    assert asked(snapshot, "who was the owner of billing before") == early.content


def test_the_parts_say_that_the_older_one_was_moved() -> None:
    snapshot = store(
        [fact(1, "The owner of billing is Marta"), fact(2, "The owner of billing is Tomas"), *FILLERS], [None] * 5
    )
    ranked = rank(
        snapshot, build_question(snapshot, "who used to be the owner of billing", None), None, None, 2, Ranking()
    )
    assert ids(snapshot, ranked.rows)[0] == "1"
    assert ranked.parts[OLDER, 0] > 0.0
    assert not ranked.parts[NEWER].any()
    np.testing.assert_allclose(ranked.parts.sum(axis=0), ranked.scores, rtol=1e-6)


def test_another_number_of_a_thing_that_the_question_names_needs_no_word_of_change() -> None:
    facts = fact(1, "I have done 10 problems so far and like them"), fact(2, "solved 15 problems with some help of Ana")
    near: list[Vector | None] = [ALIKE, unit(0.65, 0.76, 0, 0)]
    snapshot = store([*facts, *FILLERS], [*near, None, None, None])
    assert asked(snapshot, "how many problems have I done") == facts[1].content
    far: list[Vector | None] = [ALIKE, unit(0.55, 0.83, 0, 0)]
    assert (
        asked(store([*facts, *FILLERS], [*far, None, None, None]), "how many problems have I done") == facts[0].content
    )


def test_talk_is_not_read_for_contradictions() -> None:
    talk = [
        insight("1", "Your store looks empty, Ana", at=1, conversation_id="c"),
        insight("2", "Your store looks great, Ana", at=2, conversation_id="c"),
    ]
    snapshot = store([*talk, *FILLERS], [None] * 5)
    ranked = rank(snapshot, build_question(snapshot, "how does the store look", None), None, None, 2, Ranking())
    assert not ranked.parts[NEWER].any()


def against(old: str, new: str, terms: dict[str, float], least: float) -> bool:
    """What is true of two memories that are compared as a whole, whatever their clauses are."""
    pair = judged(old, new)
    weight = sum(terms.get(term, 0.0) for term in set(index_terms(pair.old)))
    states = all(statement(each).state != "" or corrections._STATE.search(fold(each)) for each in (pair.old, pair.new))
    return pair.relation in AGAINST and (pair.announced or states) and weight >= least


def test_clauses_are_compared_first_and_decide_the_same_as_whole_memories() -> None:
    pairs = [*CORRECTIONS.values(), *BOTH_TRUE.values()]
    texts = [(each.old, each.new, each.question) for each in pairs]
    texts += [(one.old, other.new, one.question) for one, other in pairwise(pairs)]
    found = 0
    for old, new, question in texts:
        if any(corrections._DATE_OF_STATE.search(each) for each in (old, new)):
            continue
        terms = dict.fromkeys(index_terms(question), 1.0)
        for least in (0.4, 1.5):
            expected = against(old, new, terms, least)
            assert corrections._is_against(old, new, terms, least) is expected, (old, new)
            found += expected
    assert found > 20
