"""Words that say what kind of thing a text is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text import cues
from mnemond.text.cues import Cue, Reading, found, reading
from tests.examples import examples

CUES = [each for each in vars(cues).values() if isinstance(each, Cue)]
HINTS = ["tea", "Tee", "Käse", *sorted({hint for cue in CUES for hint in (*cue.words, *cue.phrases)})]


@pytest.mark.parametrize("cue", CUES)
def test_no_text_is_silent_where_a_hint_is_found(cue: Cue) -> None:
    for hint in (*sorted(cue.words), *cue.phrases, *cue.chinese):
        read = reading(f"a {hint} b")
        heard = Reading(read.plain, read.words, read.phrases)
        assert found(cue, read) == found(cue, heard) <= (not read.silent)


def test_a_text_that_hints_at_nothing_is_silent() -> None:
    assert reading("the billing service listens on a socket").silent
    assert not reading("die Bücher").silent  # told for ASCII alone


@examples(100)
@given(st.lists(st.sampled_from(HINTS)))
def test_nothing_is_found_in_a_silent_text(words: list[str]) -> None:
    read = reading(" ".join(words))
    heard = Reading(read.plain, read.words, read.phrases)
    assert [found(cue, read) for cue in CUES] == [found(cue, heard) for cue in CUES]
