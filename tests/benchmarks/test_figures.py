"""Percentiles, tables, synthetic notes and floors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.floors import EmbedFloor, EncodeFloor, KeywordFloor, VectorFloor
from benchmarks.report import median, percentile, table, write_json
from benchmarks.synthetic import FUNCTION_WORDS, Notes, vocabulary, words_of
from mnemond.embed.registry import DEFAULT, create


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert (percentile(values, 0.0), median(values), percentile(values, 0.95)) == (1.0, 51.0, 96.0)
    assert percentile(values, 1.0) == 100.0
    assert median([3.0]) == 3.0


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_a_table_lines_up() -> None:
    lines = table("title", ("name", "ms"), [["a", 1.23456], ["longer", None], ["many", 12345.6], ["n", 7]]).split("\n")
    assert lines[1] == "title"
    assert lines[2:] == [
        "name        ms",
        "--------------",
        "a        1.235",
        "longer       -",
        "many    12,346",
        "n            7",
    ]


def test_figures_are_written_when_asked(tmp_path: Path) -> None:
    write_json(None, {"a": 1})
    write_json(tmp_path / "out.json", {"a": 1})
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == {"a": 1}


def test_notes_follow_from_the_seed() -> None:
    assert Notes(1).take(20) == Notes(1).take(20)
    assert Notes(1).take(20) != Notes(2).take(20)
    assert len(set(Notes(1).take(500))) == 500


def test_notes_have_the_frequencies_of_language() -> None:
    counts = Counter(word for note in Notes(1).take(3000) for word in words_of(note))
    frequent = {word for word, _ in counts.most_common(20)}
    assert {"the", "of", "and", "in"} <= frequent
    assert sum(1 for count in counts.values() if count == 1) > len(counts) / 10


def test_a_question_asks_after_the_rarer_words_of_its_note() -> None:
    notes = Notes(1)
    (note,) = notes.take(1)
    asked = set(words_of(notes.question(note))) - {"what", "do", "we", "know", "about"}
    assert asked
    assert asked <= set(words_of(note)) - set(vocabulary()[:FUNCTION_WORDS])


def test_the_keyword_floor_has_a_posting_for_each_note_with_a_term() -> None:
    notes = ["Parsec tokens expire.", "Tokens and more tokens.", "Nothing here."]
    floor = KeywordFloor(notes, ["What do we know about tokens parsec?"], seed=1)
    assert floor.touched("What do we know about tokens parsec?") == 3
    assert floor.run_ms("What do we know about tokens parsec?") > 0


def test_every_floor_does_its_work() -> None:
    meta = {
        "intent": "GENERAL", "intent_source": "none", "anchor_count": 0, "traversed": 0, "mode": "none", "weights": [],
        "embedding": None, "window": None, "hint": None, "rerank": {"applied": False}, "stages_ms": {}, "took_ms": 0.1,
        "store": "default",
    }  # fmt: skip
    assert VectorFloor(100, 8, seed=1).run_ms() > 0
    assert EmbedFloor(create(DEFAULT)).run_ms("what was decided") > 0
    assert EncodeFloor({"results": [], "meta": meta}).run_ms() > 0
