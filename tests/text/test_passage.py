"""The words inside names, and how much of a text asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.features import _NAME, _PART, SHORTEST_PART, inner_terms, question_share
from mnemond.text.tokens import index_terms
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("SetOption", ["set", "option"]),
        ("call setOption, then GetOptions()", ["set", "option", "get", "option"]),
        ("HTTPServer parseJSONFile", ["http", "server", "pars", "json", "file"]),
        ("iOS", ["os"]),  # a single letter is no word
        ("getX", ["get"]),
        ("London, NASA and plain words", []),
        ("snake_case and kebab-case", []),
        ("数据库SetOption数据库", ["set", "option"]),
        ("", []),
    ],
)
def test_parts_of_a_name_are_words_of_their_own(text: str, terms: list[str]) -> None:
    assert inner_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0),
        ("A statement.", 0.0),
        ("What now?", 1.0),
        ("What now? Ok.", 9 / 12),  # the blank between the two belongs to neither
        ("Ok.\nAnd you?\nFine", 8 / 15),
        ("你好。你在哪？", 4 / 7),
        ("Really??? No", 9 / 11),
        ("see https://a/b?c for more", 16 / 26),  # a question mark inside a word ends a sentence all the same
    ],
)
def test_how_much_of_a_text_asks(text: str, share: float) -> None:
    assert question_share(text) == pytest.approx(share)


@examples(100)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aA Z?？.!。\n", max_size=40)))
def test_any_text_has_a_share_and_parts(text: str) -> None:
    assert 0.0 <= question_share(text) <= 1.0
    assert (question_share(text) > 0.0) <= ("?" in text or "？" in text)
    assert all(inner_terms(text))
    assert question_share(text + "\nReally?") > 0.0


@examples(300)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aAbB éÉ中ǅ-_'7\n\x1c", max_size=40)))
def test_words_that_are_passed_over_have_no_parts(text: str) -> None:
    names = [name for name in _NAME.findall(text) if not (name[1:].islower() or name.isupper())]
    parts = [part for name in names if len(found := _PART.findall(name)) > 1 for part in found]
    assert inner_terms(text) == index_terms(" ".join(part for part in parts if len(part) >= SHORTEST_PART))
