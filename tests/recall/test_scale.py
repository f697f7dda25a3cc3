"""Cosines mean the same in each language and with each embedder: in results, confidence and thresholds."""

from __future__ import annotations

import pytest

from mnemond.embed.registry import DEFAULT, MODELS
from mnemond.embed.static_model import StaticModel
from mnemond.model.query import Query
from mnemond.recall.question import rare_word_vector
from mnemond.recall.recall import recall
from tests.index.worlds import insight
from tests.recall.recall_world import Compass, ticks, world
from tests.tables import each_row

GERMAN = "wer darf über die Freigabe entscheiden"
ENGLISH = "who signs off releases"
CHINESE = "谁负责发布"


class E5(Compass):
    """Has the name of a model whose cosines are all high."""

    name = "multilingual_e5_small_q4"


@pytest.fixture(scope="module")
def table() -> StaticModel:
    return StaticModel(MODELS / DEFAULT)


def similarity(text: str, memory: str, cosine: float, embedder: Compass) -> tuple[float, str]:
    snapshot = world([insight("a", memory)], cosines={"a": cosine})
    [hit] = recall(snapshot, Query(text), embedder, ticks()).hits
    return hit.signals.similarity, hit.confidence


@each_row(
    ("text", "memory", "unrelated"),
    [
        (GERMAN, "die Zebras im Zoo", 0.812), (GERMAN, "the zebras", 0.768), (ENGLISH, "the zebras", 0.742),
        (CHINESE, "斑马吃草", 0.840), (CHINESE, "the zebras", 0.764),
    ],
)  # fmt: skip
def test_what_is_unrelated_is_low_in_every_language(text: str, memory: str, unrelated: float) -> None:
    found, confidence = similarity(text, memory, unrelated, E5())
    assert found == pytest.approx(0.186, abs=1e-3)
    assert confidence == "low"


def test_a_cosine_that_is_high_in_english_says_nothing_in_chinese() -> None:
    assert similarity(ENGLISH, "the zebras", 0.85, E5())[0] > 0.6
    assert similarity(CHINESE, "斑马吃草", 0.85, E5())[0] < 0.3


def test_a_memory_in_another_language_is_not_less_than_unrelated() -> None:
    assert similarity(CHINESE, "the zebras", 0.80, E5())[0] > 0.4


def test_an_embedder_that_was_not_measured_keeps_its_cosines() -> None:
    assert similarity(GERMAN, "die Zebras", 0.812, Compass())[0] == pytest.approx(0.812, abs=1e-3)


def test_what_is_in_letters_that_the_embedder_does_not_know_is_said() -> None:
    snapshot = world([insight("a", "发布 zebra")], cosines={"a": 0.5})
    assert recall(snapshot, Query("谁负责发布"), Compass(), ticks()).meta.known_share == 0.0
    assert recall(snapshot, Query("发布 zebra"), Compass(), ticks()).meta.known_share == pytest.approx(5 / 7, abs=1e-6)
    assert recall(snapshot, Query("谁负责发布"), E5(), ticks()).meta.known_share == 1.0


def test_german_function_words_are_no_part_of_what_a_german_question_is_about(table: StaticModel) -> None:
    snapshot = world([insight("a", "zebra")])
    small, own = (
        rare_word_vector(snapshot, text, table) for text in ("wann wird für die Kundin gebacken", "Kundin gebacken")
    )
    assert small is not None
    assert own is not None
    assert float(small @ own) == pytest.approx(1.0, abs=1e-5)


def test_a_german_word_in_an_english_question_counts(table: StaticModel) -> None:
    snapshot = world([insight("a", "zebra")])
    die, plain = (rare_word_vector(snapshot, text, table) for text in ("when does the die break", "when does it break"))
    assert die is not None
    assert plain is not None
    assert float(die @ plain) < 0.95
