"""German compounds, cut and joined."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.compounds import LONGEST, german_words, joined, rest_of, splits
from tests.tables import each_row


@each_row(
    ("word", "first", "last"),
    [
        ("rechnungslauf", "rechnung", "lauf"), ("klassenarbeit", "klass", "arbeit"), ("schulhof", "schule", "hof"),
        ("kindergarten", "kind", "garten"), ("klimakammer", "klima", "kammer"),
    ],
)  # fmt: skip
def test_a_compound_is_cut_at_the_letters_between_its_parts(word: str, first: str, last: str) -> None:
    assert any(first in each.first and last in each.last for each in splits(word))


@each_row("word", ["urlaub", "haus", "kf9-rechnung", "x" * (LONGEST + 1), "", "库存管理"])
def test_other_words_are_not_cut(word: str) -> None:
    assert splits(word) == ()


def test_words_are_joined_with_and_without_letters_between() -> None:
    assert {"rechnungslauf", "rechnunglauf"} <= set(joined("rechnung", "lauf"))
    assert "schulhof" in joined("schule", "hof")
    assert joined("tag", "lauf") == joined("lauf", "ab") == ()


def test_the_rest_of_a_compound() -> None:
    assert "rechnung" in rest_of("rechnungslauf", "lauf")
    assert "lauf" in rest_of("rechnungslauf", "rechnung")
    assert rest_of("rechnungslauf", "kammer") == ()
    assert rest_of("laufen", "lauf") == ()


@each_row(
    ("text", "german"),
    [
        ("Wann startet der Rechnungslauf", True), ("Rechnungslauf", True), ("Lauf der Rechnung", True),
        ("is the staubecken full", False), ("staubecken", False), ("the Rechnungslauf of May", False), ("", False),
        ("prüfstand", True), ("database timeout", False),
    ],
)  # fmt: skip
def test_only_german_is_cut(text: str, german: bool) -> None:
    assert bool(german_words(text)) is german


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_words(one: str, other: str) -> None:
    assert all(each.first and each.last for each in splits(one))
    assert len(joined(one, other)) <= 21
    rest_of(one, other)
    german_words(one)
