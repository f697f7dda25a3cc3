"""What a question asks of a store: its words and what they weigh, names, pairs, relatives, and its sense."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed.embedder import Purpose
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.index.bm25 import term_number
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight, RetireInsight, Vector
from mnemond.model.memory import Insight
from mnemond.recall.question import (
    EVERYWHERE,
    MAX_RELATED,
    MAX_TERMS,
    SHARED_BY_ALL,
    build_question,
    question_vector,
    rare_word_vector,
    rarity,
)
from mnemond.recall.ranking import Question
from mnemond.text.tokens import index_term
from tests.examples import examples
from tests.index.worlds import DIMENSION, insight, unit
from tests.recall.talk import TEXTS, WordKnower, store
from tests.recall.test_recall import OtherDimension
from tests.tables import each_row

DAY_US = 86_400_000_000
LEAP_DAY_US = 19_782 * DAY_US
"""2024-02-29, a Thursday."""

NOTES = (
    insight("a", "we chose redis for the cache"),
    insight("b", "the cache of the shop"),
    insight("c", "call SetOption at night", source="Carol Jones"),
    insight("d", "tea", at=LEAP_DAY_US),
)
SNAPSHOT = store(NOTES)


def idf(live: int, found: float) -> float:
    return math.log(1 + (live - found + 0.5) / (found + 0.5))


def exact(snapshot: Snapshot, question: Question) -> list[tuple[int, str, float]]:
    """The term, the memory and how often it counts, of every entry."""
    return [
        (each.term, snapshot.insight(row).id, times)
        for each in question.exact
        for row, times in zip(each.rows.tolist(), each.times.tolist(), strict=True)
    ]


def test_a_word_weighs_by_how_rare_it_is_and_how_often_it_is_asked_for() -> None:
    question = build_question(SNAPSHOT, "redis cache, what is redis", None)
    assert question.weights.tolist() == pytest.approx([2 * idf(4, 1), idf(4, 2)])
    assert exact(SNAPSHOT, question) == [(0, "a", 1.5), (1, "a", 1.5), (1, "b", 1.5)]  # openings
    assert question.mass == pytest.approx(2 * idf(4, 1) + idf(4, 2))


def test_a_word_that_nobody_wrote_weighs_what_one_does_that_one_row_has() -> None:
    question = build_question(SNAPSHOT, "redis zebra", None)
    assert question.weights[1] == question.weights[0]
    assert {term for term, *_ in exact(SNAPSHOT, question)} == {0}


def test_retired_rows_do_not_make_a_word_common() -> None:
    index = MemoryIndex.build([(note, None) for note in NOTES], [], DIMENSION)
    index.apply([RetireInsight("b", "forgotten")])
    assert build_question(index.snapshot, "cache", None).weights.tolist() == pytest.approx([idf(3, 1)])


@each_row("text", ["what happened on 29 February?", "thursday", "in 2024"])
def test_a_date_finds_what_was_made_then(text: str) -> None:
    assert ("d", 1.0) in [(name, times) for _, name, times in exact(SNAPSHOT, build_question(SNAPSHOT, text, None))]


def test_a_word_and_the_day_it_was_said_on_are_one_term() -> None:
    snapshot = store([insight("said", "the february sale"), insight("made", "tea", at=LEAP_DAY_US)])
    question = build_question(snapshot, "february", None)
    assert exact(snapshot, question) == [(0, "said", 1.5), (0, "made", 1.0)]
    assert question.weights.tolist() == pytest.approx([idf(2, 2)])


def test_parts_of_a_name_are_asked_for_and_found() -> None:
    by_part = build_question(SNAPSHOT, "option", None)
    assert exact(SNAPSHOT, by_part) == [(0, "c", 1.0)]  # a part is no opening
    assert len(build_question(SNAPSHOT, "SetOption", None).weights) == 3
    assert {name for _, name, _ in exact(SNAPSHOT, build_question(SNAPSHOT, "which GetOption", None))} == {"c"}


def test_without_words_only_the_sense_is_left() -> None:
    question = build_question(SNAPSHOT, "when did carol call redis", None, words=False)
    assert (question.mass, question.exact, question.soft, question.pairs, question.sources) == (0.0, [], [], (), ())
    assert question.asks_when


# ------------------------------------------------------------ names, pairs, relatives


def test_a_question_names_who_spoke() -> None:
    question = build_question(SNAPSHOT, "what did Carol like about redis", None)
    [carol] = question.sources
    row = SNAPSHOT.row_of("c")
    assert row is not None
    assert SNAPSHOT.parts.columns.source[row] == carol
    assert question.names.tolist() == [True, False, False]
    assert build_question(SNAPSHOT, "redis", None).sources == ()


def test_every_speaker_of_a_name_is_meant() -> None:
    snapshot = store([insight(name, "tea", source=name) for name in ("Anna Jones", "Carol Jones", "Bob")])
    assert len(build_question(snapshot, "jones", None).sources) == 2
    assert len(build_question(snapshot, "anna jones", None).sources) == 2


def test_pairs_weigh_what_both_words_do_but_no_more_than_what_two_of_three_rows_have() -> None:
    crowd = store([*NOTES, *(insight(f"n{number}", f"noise{number} cache") for number in range(96))])
    rare, most = build_question(SNAPSHOT, "redis cache", None), math.log(4 / SHARED_BY_ALL)
    [(first, second, weight)] = rare.pairs
    assert (first, second) == (term_number("redi"), term_number("cach"))
    assert weight == pytest.approx(most)
    assert idf(4, 1) + idf(4, 2) > most
    assert idf(100, 98) + idf(100, 1) > math.log(100 / SHARED_BY_ALL)
    [(*_, weight)] = build_question(crowd, "cache cache", None).pairs
    assert weight == pytest.approx(2 * idf(100, 98))


def test_a_pair_counts_once_and_never_with_a_name() -> None:
    pairs = build_question(SNAPSHOT, "redis cache redis cache", None).pairs
    assert [pair[:2] for pair in pairs] == [
        (term_number("redi"), term_number("cach")),
        (term_number("cach"), term_number("redi")),
    ]
    assert build_question(SNAPSHOT, "carol redis", None).pairs == ()
    assert build_question(SNAPSHOT, "redis", None).pairs == ()


KNOWER = WordKnower(
    memory=(("cach", 0.7), ("zebra", 0.9)), carol=(("redi", 0.8),), caches=(("redi", 0.5),), cache=(("redi", 0.4),)
)


def test_relatives_are_those_that_the_store_has() -> None:
    question = build_question(SNAPSHOT, "tea memory", KNOWER)
    assert [(each.term, each.rows.tolist(), each.cosine) for each in question.soft] == [(1, [0, 1], 0.7)]


def test_names_have_no_relatives() -> None:
    assert build_question(SNAPSHOT, "carol", KNOWER).soft == []
    assert build_question(store(NOTES[:2]), "carol", KNOWER).soft != []


def test_a_term_has_relatives_once_and_only_the_first_words_have_any() -> None:
    question = build_question(SNAPSHOT, "caches cache", KNOWER)
    assert [(each.term, each.cosine) for each in question.soft] == [(0, 0.5)]
    late = " ".join(chr(97 + number) * 5 for number in range(MAX_RELATED))
    assert build_question(SNAPSHOT, f"{late[6:]} memory", KNOWER).soft != []
    assert build_question(SNAPSHOT, f"{late} memory", KNOWER).soft == []


# ------------------------------------------------------------ the sense of a question


@each_row(
    ("text", "share"),
    [
        ("redis", 1.0),
        ("数据库", 0.0),
        ("数据 ab", 0.5),
        ("Élan vital", 1.0),
        ("", 1.0),
        ("가a", 0.5),
        ("где логи a", 1 / 8),
    ],
)
def test_how_much_of_it_the_embedder_may_know(text: str, share: float) -> None:
    assert build_question(SNAPSHOT, text, None).latin == pytest.approx(share)


@each_row(
    ("text", "when"),
    [
        ("When did we meet", True), ("what date is it", True), ("which YEAR", True), ("什么时候", True),
        ("哪天", True), ("whenever you like", False), ("what a day", False), ("today", False),
    ],
)  # fmt: skip
def test_whether_it_asks_for_a_time(text: str, when: bool) -> None:
    assert build_question(SNAPSHOT, text, None).asks_when is when


def test_a_window_is_handed_on() -> None:
    assert build_question(SNAPSHOT, "redis", None).window is None
    assert build_question(SNAPSHOT, "redis", None, window=(1, 5)).window == (1, 5)


# ------------------------------------------------------------ many words


def test_of_many_words_the_rarest_count() -> None:
    words = [f"word{number}" for number in range(MAX_TERMS)]
    snapshot = store([insight("long", " ".join(words)), insight("tea", "tea"), insight("more", "tea again")])
    question = build_question(snapshot, f"tea {' '.join(words)}", None)
    assert len(question.weights) == MAX_TERMS
    assert {snapshot.insight(int(row)).id for each in question.exact for row in each.rows} == {"long"}
    assert sorted(each.term for each in question.exact) == list(range(MAX_TERMS))


def test_words_that_nobody_wrote_do_not_crowd_out_the_others() -> None:
    log = " ".join(f"0x{number:08x}" for number in range(3 * MAX_TERMS))
    question = build_question(SNAPSHOT, f"redis {log} cache", None)
    assert len(question.weights) == MAX_TERMS
    assert {name for _, name, _ in exact(SNAPSHOT, question)} == {"a", "b"}


# ------------------------------------------------------------ vectors


def said(*notes: Insight) -> list[Insight]:
    """The same, as messages of one conversation."""
    return [msgspec.structs.replace(note, conversation_id="talk") for note in notes]


def test_in_talk_rare_words_count_more_in_the_direction_of_a_question() -> None:
    knower = WordKnower(("redis", "cache", "what"))
    vector, lacking = question_vector(store(said(*NOTES)), "what redis cache ?", knower)
    assert lacking is None
    assert vector == pytest.approx(unit(idf(4, 1), idf(4, 2), 0, 0))
    assert knower.weighed == pytest.approx(
        {"what": 0.0, "redis": idf(4, 1), "cache": idf(4, 2), "?": idf(4, EVERYWHERE * 4)}
    )
    assert question_vector(SNAPSHOT, "the weather", knower) == (None, None)


def test_in_notes_every_word_counts_the_same_and_in_a_mixed_store_something_between() -> None:
    knower = WordKnower(("redis", "cache", "what"))
    assert question_vector(SNAPSHOT, "what redis cache", knower)[0] == pytest.approx(unit(1, 1, 1, 0))
    mixed = store([*said(NOTES[0]), *NOTES[1:]])
    question_vector(mixed, "what redis cache", knower)
    assert knower.weighed["what"] == pytest.approx(0.75)
    assert knower.weighed["redis"] == pytest.approx(0.75 + 0.25 * idf(4, 1))


def test_what_tells_whether_a_memory_speaks_of_a_question_is_what_is_rare_in_it() -> None:
    knower = WordKnower(("redis", "cache", "what"))
    vector = rare_word_vector(SNAPSHOT, "what redis cache", knower)
    assert vector == pytest.approx(unit(idf(4, 1), idf(4, 2), 0, 0))
    assert rare_word_vector(store(said(*NOTES)), "what redis cache", knower) is None  # it is that of the question
    assert rare_word_vector(SNAPSHOT, "redis", Whole()) is None
    assert rare_word_vector(SNAPSHOT, "redis", None) is None


def test_what_is_written_later_and_what_is_retired_does_not_turn_a_question() -> None:
    knower = WordKnower(("redis", "cache"))
    index = MemoryIndex.build([(note, unit(1, 0, 0, 0)) for note in said(*NOTES)], [], DIMENSION)
    snapshot = index.snapshot
    index.apply([AddInsight(insight(f"later{at}", "redis", at=at), unit(1, 0, 0, 0)) for at in range(5)])
    assert question_vector(snapshot, "redis cache", knower)[0] == pytest.approx(unit(idf(4, 1), idf(4, 2), 0, 0))


def test_what_is_retired_does_not_make_a_word_common_in_the_direction_of_a_question() -> None:
    knower = WordKnower(("redis", "cache"))
    later = said(*(insight(f"later{at}", "redis", at=at) for at in range(5)))
    index = MemoryIndex.build([(note, unit(1, 0, 0, 0)) for note in (*said(*NOTES), *later)], [], DIMENSION)
    index.apply([RetireInsight(f"later{at}", "forgotten") for at in range(5)])
    assert question_vector(index.snapshot, "redis cache", knower)[0] == pytest.approx(unit(idf(4, 1), idf(4, 2), 0, 0))


class Whole:
    """An embedder that knows no single words."""

    name = "whole"
    dimension = DIMENSION
    fingerprint = "sha256:whole"
    inline = True

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        assert purpose == "query"
        if texts == ["away"]:
            raise MnemonError(UNAVAILABLE, "it is away")
        return [unit(1, 0, 0, 0) for _ in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""


def test_an_embedder_of_whole_texts_is_asked_for_the_question() -> None:
    vector, _ = question_vector(SNAPSHOT, "redis", Whole())
    assert vector == pytest.approx(unit(1, 0, 0, 0))
    vector, lacking = question_vector(SNAPSHOT, "away", Whole())
    assert (vector, lacking) == (None, "it is away")
    assert question_vector(SNAPSHOT, "redis", OtherDimension()) == (None, None)
    assert build_question(SNAPSHOT, "memory", Whole()).soft == []


# ------------------------------------------------------------ any question


@examples(150)
@given(TEXTS, st.lists(TEXTS, max_size=5), st.booleans())
def test_any_question_can_be_asked_of_any_store(text: str, contents: list[str], words: bool) -> None:
    snapshot = store(insight(f"{at}", content, at=at, source=content[:5]) for at, content in enumerate(contents))
    question = build_question(snapshot, text, KNOWER, words=words)
    terms = len(question.weights)
    assert len(question.names) == terms <= MAX_TERMS
    assert np.isfinite(question.weights).all()
    assert not terms or not contents or float(question.weights.min()) > 0.0
    assert all(0 <= each.term < terms and len(each.rows) for each in question.exact)
    assert all(0 <= each.term < terms and len(each.rows) for each in question.soft)
    assert all(weight > 0.0 for *_, weight in question.pairs if len(contents) > 1)
    assert 0.0 <= question.latin <= 1.0
    again = build_question(snapshot, text, KNOWER, words=words)
    assert again.weights.tobytes() == question.weights.tobytes()
    assert again.pairs == question.pairs


def test_a_stem_finds_every_form() -> None:
    assert index_term("caches") == index_term("cache")
    assert exact(SNAPSHOT, build_question(SNAPSHOT, "caching", None)) == exact(
        SNAPSHOT, build_question(SNAPSHOT, "cached", None)
    )


def test_a_word_is_as_rare_as_the_rows_that_have_it_are_few() -> None:
    assert rarity(SNAPSHOT, 2) == pytest.approx(idf(4, 2))
    assert rarity(SNAPSHOT, 0) == rarity(SNAPSHOT, 1) == pytest.approx(idf(4, 1))
    assert rarity(SNAPSHOT, 9) == rarity(SNAPSHOT, 4) == pytest.approx(idf(4, 4))
