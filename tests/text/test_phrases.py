"""Phrases are found wherever they stand, also inside other words, as a search for each of them would."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text import caches, cues
from mnemond.text.cues import CueKind, Phrases, _lists, reading
from mnemond.text.tokens import tokens
from tests.examples import examples

CUES = _lists().kinds
ALL = sorted({phrase for cue in CUES.values() for phrase in (*cue.phrases, *cue.unless)})
PIECES = st.one_of(
    st.sampled_from(ALL),
    st.sampled_from(sorted({word for phrase in ALL for word in re.split("[ ']", phrase) if word})),
    st.sampled_from(("x", " ", ".", "'", "_", "s", "re", "é", "，")),
)
TEXTS = st.tuples(st.lists(PIECES, max_size=12), st.sampled_from(("", " "))).map(lambda made: made[1].join(made[0]))


def runs(text: str) -> frozenset[str]:
    return frozenset(re.findall("[a-z0-9]+", text))


@given(TEXTS)
@examples(300)
def test_phrases_are_those_that_stand_in_the_text(text: str) -> None:
    assert Phrases(ALL).found(text, runs(text)) == {phrase for phrase in ALL if phrase in text}


@given(st.lists(st.text("ab '是", min_size=1, max_size=5), max_size=8), st.text("ab '是", max_size=20))
@examples(300)
def test_any_list_of_phrases_will_do(wanted: list[str], text: str) -> None:
    listed = [phrase for phrase in wanted if re.search("[a-z是]", phrase)]
    assert Phrases(listed).found(text, runs(text)) == {phrase for phrase in listed if phrase in text}


def test_a_phrase_is_found_where_its_ends_are_inside_other_words() -> None:
    assert Phrases(["due to"]).found("a residue tornado", runs("a residue tornado")) == {"due to"}
    assert not Phrases(["due to"]).found("to residue", runs("to residue"))


@given(st.sampled_from(sorted(CUES)), TEXTS)
@examples(300)
def test_a_cue_is_found_as_by_looking_for_all_it_has(kind: CueKind, text: str) -> None:
    cue = CUES[kind]

    def occurs(plain: str) -> bool:
        return not cue.words.isdisjoint(tokens(plain)) or any(each in plain for each in (*cue.phrases, *cue.chinese))

    plain = bare = " ".join(text.split())
    for phrase in cue.unless:
        bare = bare.replace(phrase, " ")
    assert reading(text).has(kind) == (occurs(plain) and occurs(bare))


def test_only_so_many_words_are_remembered_and_none_that_is_long() -> None:
    listed = Phrases(["due to"])
    listed.found("", frozenset({"a" * cues.MAX_CACHED_WORD, "b" * (cues.MAX_CACHED_WORD + 1)}))
    assert set(listed._by_word) == {"a" * cues.MAX_CACHED_WORD}


def test_a_purge_leaves_no_word_behind() -> None:
    reading("they said it was confidential, because")
    assert "confidential" in _lists().phrases._by_word
    assert reading.cache_info().currsize
    caches.clear_all()
    assert not _lists().phrases._by_word
    assert not reading.cache_info().currsize
