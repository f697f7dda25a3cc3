"""German compounds in questions: parts and compounds find each other."""

from __future__ import annotations

import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.recall.question import IN_PARTS, build_question
from tests.index.worlds import built, insight
from tests.recall.recall_world import ask
from tests.tables import each_row

TEXTS = {
    "run": "Der Rechnungslauf startet um vier", "parts": "Um vier startet der Lauf jeder Rechnung",
    "bill": "Jede Rechnung wird geprüft", "lab": "Die Klimakammer steht im Keller", "dust": "Staub liegt in den Ecken",
    "jam": "Vor dem Becken ist ein Stau", "room": "Diese Kammer ist feucht, das Klima auch",
}  # fmt: skip


def found(text: str, **texts: str) -> list[str]:
    """The ids of memories that have words of a question, best first."""
    rows = texts or TEXTS
    snapshot = built(*(insight(name, content, at=at) for at, (name, content) in enumerate(rows.items()))).snapshot
    return [hit.insight.id for hit in ask(snapshot, text).hits if hit.signals.keyword > 0.0]


@each_row(
    ("text", "ids"),
    [
        ("Rechnungslauf", ["run", "parts"]),
        ("wann ist der Rechnungslauf", ["run", "parts"]),
        ("wo ist die Klimakammer", ["lab", "room"]),
        ("was ist mit der Feuchte im Klima der Kammer", ["room", "lab"]),
    ],
)
def test_a_compound_and_its_parts_find_each_other(text: str, ids: list[str]) -> None:
    assert found(text)[:2] == ids


def test_both_parts_must_be_words_of_the_store() -> None:
    assert found("wann ist der Rechnungslauf", a="Der Lauf beginnt", b="Ein Brief kam") == []
    assert found("Welchen Keller hat die Burg", a="Unser Kellerraum ist feucht", b="Ein Brief kam") == []
    assert found("Welchen Keller hat die Burg", a="Unser Kellerraum ist feucht", b="Ein Raum bleibt leer") == ["a"]


def test_a_word_that_can_be_cut_in_two_ways_is_not_cut() -> None:
    assert found("wo ist das Staubecken") == []
    assert found("wo ist das Staubecken", dust=TEXTS["dust"], tea="Tee um vier") == ["dust"]


def test_english_is_not_cut_or_joined() -> None:
    assert found("is the staubecken full", dust=TEXTS["dust"]) == []
    assert found("where is the data of the base", a="our database is large", b="tea") == []


def test_a_compound_counts_less_than_the_word_itself() -> None:
    snapshot: Snapshot = built(*(insight(name, text) for name, text in TEXTS.items())).snapshot
    question = build_question(snapshot, "Rechnungslauf", None)
    assert min({float(value) for each in question.exact for value in each.times}) == pytest.approx(IN_PARTS)
