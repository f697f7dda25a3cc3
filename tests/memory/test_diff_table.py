"""The decision table of spec 7.2 and its boundaries, to the letter and as shipped."""

from __future__ import annotations

import pytest

from mnemond.config.writing import DiffSettings
from mnemond.memory.diff import CosineThresholds, DiffRules, Verdict, judge, side
from tests.memory.diff_rows import LITERAL, OFF, ROWS, SHIPPED, Row
from tests.tables import each_row

BOTH_RULES = pytest.mark.parametrize("rules", [LITERAL, SHIPPED], ids=["to the letter", "as shipped"])


def words(first: int, count: int) -> str:
    return " ".join(f"zz{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(first, first + count))


def judged(old: str, new: str, cosine: float | None = None, rules: DiffRules = LITERAL) -> Verdict:
    return judge(side(old, "general", ()), side(new, "general", ()), cosine, rules)


@BOTH_RULES
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.new[:40])
def test_the_table(row: Row, rules: DiffRules) -> None:
    old, new = row.sides()
    verdict = judge(old, new, None, rules)
    assert (verdict.action, verdict.suggestion) == (row.action, row.action)
    assert verdict.similarity == pytest.approx(row.similarity, abs=5e-5)
    assert verdict.cosine is None
    if row.novelty is not None:
        assert verdict.novelty == pytest.approx(row.novelty, abs=5e-5)


def test_only_the_row_with_two_categories_coexists() -> None:
    assert [judge(*row.sides(), None, LITERAL).related for row in ROWS] == [number == 2 for number in range(len(ROWS))]


def test_what_differs_is_said() -> None:
    friday, rate = (judge(*ROWS[place].sides(), None, LITERAL) for place in (5, 6))
    assert (friday.polarity_flip, friday.number_change) == (True, False)
    assert (rate.polarity_flip, rate.number_change) == (False, True)
    assert rate.reason == "they are 83% alike in words, but the numbers differ"


@each_row(
    ("shared", "of", "suggestion"),
    [(12, 20, "ADD"), (13, 20, "UPDATE"), (9, 10, "UPDATE"), (10, 11, "DUPLICATE")],
)
def test_the_boundaries_belong_to_the_update_zone(shared: int, of: int, suggestion: str) -> None:
    old, new = words(0, of), words(of - shared, of)
    verdict = judged(old, new)
    assert verdict.similarity == shared / of
    assert (verdict.suggestion, verdict.action) == (suggestion, suggestion)


def test_novelty_above_a_tenth_is_no_duplicate() -> None:
    assert judged(words(0, 9), words(0, 10)).suggestion == "DUPLICATE"
    assert judged(words(0, 8), words(0, 9)).suggestion == "UPDATE"


@pytest.mark.parametrize(
    ("categories", "action"),
    [(("fact", "decision"), "ADD"), (("general", "decision"), "UPDATE"), (("fact", "general"), "UPDATE")],
)
def test_general_is_compatible_with_every_category(categories: tuple[str, str], action: str) -> None:
    short, long_form = ROWS[3].old, ROWS[3].new
    verdict = judge(side(short, categories[0], ()), side(long_form, categories[1], ()), None, LITERAL)
    assert (verdict.action, verdict.related) == (action, action == "ADD")


def test_equal_texts_are_duplicates_whatever_their_categories() -> None:
    verdict = judge(side("Uses Redis.", "fact", ()), side("uses redis", "decision", ()), None, SHIPPED)
    assert (verdict.action, verdict.similarity) == ("DUPLICATE", 1.0)


def test_a_cue_the_old_text_has_too_announces_nothing() -> None:
    old = "We no longer use Jenkins for the builds"
    assert judged(old, old + " of the client").suggestion == "UPDATE"
    assert judged(old, old + ", it was replaced").suggestion == "CONFLICT"


@each_row(
    ("cosine", "similarity", "suggestion"),
    [
        (0.6999, 1 / 3, "ADD"),
        (0.70, 0.70, "UPDATE"),
        (0.90, 0.90, "UPDATE"),
        (0.9001, 0.9001, "DUPLICATE"),
        (float("nan"), 1 / 3, "ADD"),
    ],
)
def test_the_cosine_of_the_reference_embedder(cosine: float, similarity: float, suggestion: str) -> None:
    verdict = judged("The office is in Berlin", "Our bureau: Berlin office", cosine)
    assert verdict.similarity == pytest.approx(max(similarity, verdict.token_similarity))
    assert judged("The old ship sank slowly", "An ancient vessel went under", cosine).suggestion == suggestion


def test_a_cosine_below_the_words_is_not_heard() -> None:
    verdict = judged("Chose Qdrant for vector search", "Chose Qdrant for fast vector search", 0.95)
    assert (verdict.similarity, verdict.cosine) == (1.0, 0.95)


@each_row(
    ("new", "entities", "suggestion"),
    [
        ("An ancient vessel went under", (), "DUPLICATE"),
        ("An ancient vessel went under", ("titanic",), "UPDATE"),
        ("An ancient vessel went under in 1912", (), "UPDATE"),
        ("An ancient vessel went under near grey cliffs", (), "UPDATE"),
    ],
)
def test_a_duplicate_by_its_cosine_brings_nothing_new(new: str, entities: tuple[str, ...], suggestion: str) -> None:
    old = side("The old ship sank slowly", "general", ())
    assert judge(old, side(new, "general", entities), 0.95, LITERAL).suggestion == suggestion


def test_the_cosine_is_compared_on_the_scale_of_its_embedder() -> None:
    rules = DiffRules(DiffSettings(), CosineThresholds(override=0.5, update=0.4, duplicate=0.8), OFF)
    old, new = side("The old ship sank slowly", "general", ()), side("An ancient vessel went under", "general", ())
    verdict = judge(old, new, 0.6, rules)
    assert verdict.similarity == pytest.approx(0.775)
    assert (verdict.cosine, verdict.suggestion) == (0.6, "UPDATE")
    assert judge(old, new, 0.81, rules).suggestion == "DUPLICATE"
    assert judge(old, new, 0.49, rules).suggestion == "ADD"


def test_a_similarity_that_falls_short_does_not_read_as_if_it_reached_the_limit() -> None:
    short = judged(words(0, 77), words(27, 77))
    assert 0.645 < short.similarity < 0.65
    assert short.reason == "they are 64% alike in words, too little to be about the same thing (65% would do)"
