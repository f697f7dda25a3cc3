"""Texts whose words are weighed: by hand on a tiny table, then the shipped one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.embed.embedder import WordEmbedder
from mnemond.embed.onnx_model import OnnxModel
from mnemond.embed.remote import RemoteEmbedder
from mnemond.embed.static_model import StaticModel
from tests.embed.test_static_model import write_model
from tests.tables import each_row

SHIPPED = StaticModel(registry.MODELS / registry.DEFAULT)

PLAIN = (
    "When did Caroline go to the camping trip with her daughters?", "a", "don't $5 -- snake_case, C++ and e-mail!",
    "word " * 700, "tokenisation of xyzzyplugh\tand\nnewlines", "x" * 101 + " known", "a,b;c " * 2000,
)  # fmt: skip

HOSTILE = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("aé\u0301我한\u0130ßﷺ\x00\u200d \t.Σ")), max_size=300
)


@pytest.fixture
def tiny(tmp_path: Path) -> StaticModel:
    return StaticModel(write_model(tmp_path / "tiny"))


def one(_: str) -> float:
    return 1.0


class Asked(list[str]):
    """The words that were asked about; all weigh 1."""

    def __call__(self, word: str) -> float:
        self.append(word)
        return 1.0


def test_who_knows_words() -> None:
    assert isinstance(SHIPPED, WordEmbedder)
    assert not isinstance(object.__new__(OnnxModel), WordEmbedder)
    assert not isinstance(object.__new__(RemoteEmbedder), WordEmbedder)


def test_each_row_counts_with_the_weight_of_its_word(tiny: StaticModel) -> None:
    """Rows: red 3,0,4, green 0,127,0, ##er 0,0,-8."""
    weights = {"red": 127.0, "green": 3.0, "reder": 0.5}
    found = tiny.embed_weighed("Red GREEN reder", weights.__getitem__)
    total = np.array([3 * 127 + 1.5, 3 * 127, 4 * 127 + 2 - 4])
    assert found is not None
    assert found.tolist() == pytest.approx((total / np.linalg.norm(total)).tolist())
    assert found.dtype == np.float32


def test_a_weight_is_asked_once_for_each_known_word_as_it_is_folded(tiny: StaticModel) -> None:
    asked = Asked()
    tiny.embed_weighed("Red, unheard RED reder. " + "x" * 200, asked)
    tiny.embed_weighed("RÉD réd GREEN我 ÄRGER", asked)  # accents are no part of a piece, but of a word
    assert asked == ["red", "red", "reder", "réd", "réd", "green"]


def test_han_characters_are_words_and_other_scripts_keep_theirs() -> None:
    asked = Asked()
    SHIPPED.embed_weighed("Größe 中国 привет, café!", asked)
    assert asked == ["grösse", "中", "国", "привет", ",", "café", "!"]


def test_only_the_first_512_pieces_count_and_nobody_is_asked_further(tiny: StaticModel) -> None:
    asked = Asked()
    found = tiny.embed_weighed("red " * 511 + "greener " + "green " * 5000, asked)
    assert found is not None
    total = np.array([3 * 511, 127, 4 * 511])  # of "greener" the first piece alone
    assert found.tolist() == pytest.approx((total / np.linalg.norm(total)).tolist(), abs=1e-6)
    assert len(asked) == 512


@pytest.mark.parametrize("text", ["", "  \n", "unheard", "🎉", "\x00", "anti matter", "\ud83d"])
def test_what_has_no_direction_has_no_vector(tiny: StaticModel, text: str) -> None:
    assert tiny.embed_weighed(text, one) is None


@pytest.mark.parametrize("weight", [0.0, math.inf, -math.inf, math.nan])
def test_a_weight_without_a_direction_gives_none(tiny: StaticModel, weight: float) -> None:
    assert tiny.embed_weighed("red green", lambda _: weight) is None


@pytest.mark.parametrize("weight", [1e-300, 1.5e-23, 1e38, 1e300])
def test_only_the_proportion_of_the_weights_counts(tiny: StaticModel, weight: float) -> None:
    usual = tiny.embed_weighed("red green", one)
    found = tiny.embed_weighed("red green", lambda _: weight)
    assert usual is not None
    assert found is not None
    assert found.tolist() == usual.tolist()


@each_row("text", PLAIN)
def test_words_of_equal_weight_are_the_text(text: str) -> None:
    (plain,) = SHIPPED.embed([text])
    weighed = SHIPPED.embed_weighed(text, one)
    assert plain is not None
    assert weighed is not None
    assert weighed.tobytes() == plain.tobytes()


@given(HOSTILE)
def test_words_of_equal_weight_are_any_text(text: str) -> None:
    (plain,) = SHIPPED.embed([text])
    weighed = SHIPPED.embed_weighed(text, one)
    assert (weighed is None) == (plain is None)
    if plain is not None and weighed is not None:
        assert np.abs(weighed - plain).max() <= 1e-6


@given(HOSTILE, st.floats())
def test_any_text_and_weight_give_a_unit_vector_or_nothing(text: str, weight: float) -> None:
    found = SHIPPED.embed_weighed(text, lambda word: weight if len(word) % 2 else 1.0)
    if found is not None:
        assert found.shape == (256,)
        assert found.dtype == np.float32
        assert float(np.dot(found, found)) == pytest.approx(1.0, abs=1e-4)


@given(HOSTILE)
def test_any_word_has_relatives_or_none(word: str) -> None:
    assert len(SHIPPED.related_terms(word)) <= 8
