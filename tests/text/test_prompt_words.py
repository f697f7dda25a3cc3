"""Words that say nothing about the subject of a question, in three languages."""

from __future__ import annotations

from mnemond.text.prompt_words import empty_terms
from mnemond.text.tokens import index_terms
from tests.tables import each_row


def foreign(text: str) -> list[str]:
    """Return the German and Chinese terms of a question that say nothing."""
    terms = index_terms(text)
    return [term for term, empty in zip(terms, empty_terms(terms).foreign, strict=True) if empty]


@each_row(
    ("text", "empty"),
    [
        ("kannst du bitte die Tests laufen lassen", {"kannst", "du", "bitt", "die"}),
        ("who won the war, and did anyone die at the inn", set()),
        ("is Apollo under the MIT license, Hal von Moltke asked", set()),
        ("性能瓶颈在哪", {"在哪"}),
        ("现在怎么灰度发布", {"现在", "怎么"}),
        ("", set()),
    ],
)
def test_words_that_say_nothing_by_language(text: str, empty: set[str]) -> None:
    assert empty <= set(foreign(text))
    assert bool(empty) == bool(foreign(text))


def test_numbers_and_orders_tell_one_thing_from_another() -> None:
    terms = index_terms("please show the first two other things")
    assert [term for term, empty in zip(terms, empty_terms(terms).english, strict=True) if empty] == [
        "pleas", "show", "thing"
    ]  # fmt: skip
