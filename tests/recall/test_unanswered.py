"""What a question asks for and no memory gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Cue, Insight
from mnemond.recall.unanswered import MOST_LOST, OF_KIND, OF_NOUN, READ, Doubt, doubt
from mnemond.text import caches
from tests.index.worlds import built, insight
from tests.recall.recall_world import ask
from tests.recall.talk import TEXTS, store
from tests.tables import each_row

NOTES = [
    insight("lisbon", "Our office is in Lisbon and opens at 8:30", at=1),
    insight("parking", "Parking costs 120 euros a month", at=2),
    insight("keys", "Ines keeps the keys of the server room", at=3),
    insight("printer", "the printer only takes small sheets", at=4),
    *(insight(f"other{at}", f"note {at} about {word}", at=9 + at) for at, word in enumerate(("tea", "rain", "paint"))),
]
OFFICE = built(*NOTES).snapshot


def doubted(snapshot: Snapshot, text: str, *names: str) -> Doubt:
    """The doubt about these memories, the best first."""
    rows = [row for name in names if (row := snapshot.row_of(name)) is not None]
    return doubt(snapshot, text, np.array(rows, dtype=np.int64))


@each_row(
    ("text", "name", "missing"),
    [
        ("when does the office in Lima open?", "lisbon", ("Lima",)),
        ("when does the office in Lisbon open?", "lisbon", ()),
        ("how much does parking cost in Porto?", "parking", ("Porto",)),
        ("when is the printer cleaned?", "printer", ("a time",)),
        ("how many sheets does the printer take?", "printer", ("a number",)),
        ("who repairs the printer?", "printer", ("a person",)),
        ("who keeps the keys?", "keys", ()),
        ("how much is parking?", "parking", ()),
        ("wann wird der printer gereinigt", "printer", ("a time",)),
        ("wie viele Blätter nimmt der printer", "printer", ("a number",)),
        ("wer repariert den printer", "printer", ("a person",)),
        ("what does the printer take?", "printer", ()),
    ],
)
def test_what_the_first_result_lacks(text: str, name: str, missing: tuple[str, ...]) -> None:
    found = doubted(OFFICE, text, name)
    assert found.missing == missing
    assert found.excludes(0) is bool(missing)
    assert (found.lost > 0.0) is bool(missing)


def test_the_memory_that_lacks_least_decides_the_score() -> None:
    apart = doubted(OFFICE, "who has the keys?", "printer", "keys")
    assert (apart.lost, apart.excluded, apart.missing) == (0.0, (True, False), ("a person",))
    alone = doubted(OFFICE, "who has the keys?", "printer")
    assert alone.lost == pytest.approx(OF_KIND)
    assert alone.excludes(READ), "no result that was read is an answer, so a worse one is none"
    assert not apart.excludes(READ)


def test_nothing_is_doubted_where_nothing_is_asked_for_or_found() -> None:
    assert doubted(OFFICE, "the printer", "printer") == Doubt()
    assert doubted(OFFICE, "when does the office in Lima open?") == Doubt()
    assert not Doubt().excludes(0)


TALK = [
    insight("t0", "Gina: I found an internship", at=1, conversation_id="c", source="Gina"),
    insight("t1", "It is at a studio in Lima", at=2, conversation_id="c", source="Jon"),
    insight("t2", "We had a debate on art", at=3, conversation_id="c", source="Gina"),
]


def test_a_turn_is_read_with_its_neighbours_and_its_source() -> None:
    snapshot = store(TALK, [None] * 3)
    assert doubted(snapshot, "where in Lima is the internship of Gina?", "t0").missing == ()
    assert doubted(snapshot, "where in Oslo is the internship of Gina?", "t0").missing == ("Oslo",)
    assert doubted(snapshot, "when did the debate begin?", "t2").missing == ()  # talk may say it elsewhere


def test_talk_without_the_noun_that_is_asked_for_loses_a_little() -> None:
    snapshot = store(TALK, [None] * 3)
    assert doubted(snapshot, "what arguments did we make in the debate?", "t2").lost == pytest.approx(OF_NOUN)
    assert doubted(snapshot, "what debate did we have?", "t2").lost == 0.0
    assert doubted(OFFICE, "what sheets or colours does the keys take", "keys").lost == 0.0  # a note


@each_row(
    ("fields", "missing"),
    [({}, ("Lima",)), ({"entities": ("Lima",)}, ()), ({"cues": (Cue("the office in Lima"),)}, ())],
)
def test_a_cue_and_an_entity_name_things_as_the_text_does(fields: dict[str, Any], missing: tuple[str, ...]) -> None:
    snapshot = built(insight("1", "the office opens at 9:00", **fields), *NOTES[1:]).snapshot
    assert doubted(snapshot, "when does the office in Lima open?", "1").missing == missing


def test_an_answer_that_lacks_a_name_is_of_low_confidence() -> None:
    sure, unsure = (ask(OFFICE, f"when does the office in {city} open?", explain=True) for city in ("Lisbon", "Lima"))
    assert (sure.meta.nothing_fits, sure.meta.missing) == (False, ())
    assert (unsure.meta.nothing_fits, unsure.meta.missing) == (True, ("Lima",))
    assert unsure.hits[0].insight.id == sure.hits[0].insight.id == "lisbon"
    assert unsure.hits[0].score < sure.hits[0].score


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
def test_of_any_texts_less_than_all_is_lost(texts: list[str], question: str) -> None:
    rows: list[Insight] = [insight(f"{at}", text, at=at) for at, text in enumerate(texts)]
    snapshot = store(rows, [None] * len(rows))
    found = doubt(snapshot, question, np.arange(len(rows)))
    assert 0.0 <= found.lost <= MOST_LOST
    assert len(found.excluded) in (0, len(rows))
    assert not found.missing or found.excluded[0]


def test_no_text_stays_when_caches_are_emptied() -> None:
    doubted(OFFICE, "who repairs the printer?", "printer")
    caches.clear_all()
    assert doubted(OFFICE, "who repairs the printer?", "printer").missing == ("a person",)
