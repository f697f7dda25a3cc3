"""Content words, and the list of what was left out, which says what it does not show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.extract.coverage import (
    MAX_CHARACTERS,
    MAX_SHOWN,
    SHOWN_LENGTH,
    bounded,
    content_words,
    stems,
)
from mnemond.model.answers import Dropped
from tests.examples import examples
from tests.tables import each_row


@each_row(
    ("text", "words"),
    [
        ("I'm not sure we've got it", ["sure", "got"]),
        ("Ana's tests don't pass", ["ana", "test", "pass"]),
        ("he goes, I go", ["go", "go"]),
        ("port 443, v2.3", ["port", "443", "v2", "3"]),
        ("我叫王芳 GitLab", ["叫", "王", "芳", "gitlab"]),
        ("", []),
    ],
)
def test_content_words(text: str, words: list[str]) -> None:
    assert [stem for stem, _, _ in content_words(text)] == words


def test_forms_of_a_word_have_one_stem() -> None:
    assert stems(["tests", "testing"]) == stems(["test"])


@given(st.lists(st.tuples(st.text("ab \n", max_size=900), st.sampled_from(["quote", "request"])), max_size=120))
@examples(100)
def test_the_list_that_is_shown_counts_what_it_does_not_show(parts: list[tuple[str, str]]) -> None:
    shown = bounded([Dropped(*each) for each in parts])
    assert len(shown) <= MAX_SHOWN
    assert all(len(each.text) <= SHOWN_LENGTH for each in shown)
    assert sum(len(each.text) for each in shown) <= MAX_CHARACTERS + 40
    words = sum(len(text.split()) for text, _ in parts)
    listed = [each for each in shown if each.reason != "not shown"]
    more = sum(each.omitted for each in shown if each.reason == "not shown")
    assert sum(len(each.text.split()) + each.omitted for each in listed) + more == words
