"""Words that say what kind of thing a text is."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.cues import CueKind, Reading, _lists, reading
from tests.examples import examples

CUES = _lists().kinds
HINTS = ["tea", "Tee", "Käse", *sorted({hint for cue in CUES.values() for hint in (*cue.words, *cue.phrases)})]


def test_every_kind_has_its_words() -> None:
    assert set(CUES) == set(get_args(CueKind))


@pytest.mark.parametrize("kind", CUES)
def test_no_text_is_silent_where_a_hint_is_found(kind: CueKind) -> None:
    cue = CUES[kind]
    for hint in (*sorted(cue.words), *cue.phrases, *cue.chinese):
        read = reading(f"a {hint} b")
        heard = Reading(read.plain, read.words, read.phrases)
        assert read.has(kind) == heard.has(kind) <= (not read.silent)


def test_a_text_that_hints_at_nothing_is_silent() -> None:
    assert reading("the billing service listens on a socket").silent
    assert not reading("die Bücher").silent  # told for ASCII alone


@examples(100)
@given(st.lists(st.sampled_from(HINTS)))
def test_nothing_is_found_in_a_silent_text(words: list[str]) -> None:
    read = reading(" ".join(words))
    heard = Reading(read.plain, read.words, read.phrases)
    assert [read.has(kind) for kind in CUES] == [heard.has(kind) for kind in CUES]
