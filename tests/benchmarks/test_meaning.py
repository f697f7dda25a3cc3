"""benchmarks.meaning and its embedders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.cached_embedder import CachedEmbedder, JoinedEmbedder, even_share
from benchmarks.meaning import Paraphrase, paraphrases
from benchmarks.small_stores import DATA
from mnemond.embed.embedder import Purpose
from mnemond.embed.registry import DEFAULT, MODELS
from mnemond.embed.static_model import StaticModel
from mnemond.model.changes import Vector


class ByLength:
    """Embeds a text by its length, in the plane; an empty text has no vector."""

    name = "minilm_l6_v2_int8"
    dimension = 2
    fingerprint = "sha256:0123456789abcdef"
    inline = True

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.embedded += texts
        return [
            np.array([math.cos(len(text)), math.sin(len(text))], dtype=np.float32) if text else None for text in texts
        ]

    def clear_cache(self) -> None: ...


@pytest.fixture(scope="module")
def table() -> StaticModel:
    return StaticModel(MODELS / DEFAULT)


def dot(left: Vector | None, right: Vector | None) -> float:
    assert left is not None
    assert right is not None
    return float(left @ right)


def test_a_text_is_embedded_once_for_all_runs(tmp_path: Path) -> None:
    model = ByLength()
    first = CachedEmbedder(model, tmp_path).embed(["a", "bb", "", "a"])
    again = CachedEmbedder(model, tmp_path).embed(["", "a", "bb"])
    assert sorted(model.embedded) == ["", "a", "bb"]
    assert first[2] is again[0] is None
    assert dot(first[0], again[1]) == pytest.approx(1.0)
    assert dot(first[1], again[2]) == pytest.approx(1.0)


def test_a_question_is_not_taken_for_a_memory_of_the_same_words(tmp_path: Path) -> None:
    model = ByLength()
    cached = CachedEmbedder(model, tmp_path)
    cached.embed(["a"])
    cached.embed(["a"], purpose="query")
    assert model.embedded == ["a", "a"]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_cosine_of_two_models_is_the_mean_of_theirs(table: StaticModel, share: float) -> None:
    texts = ["the cat sleeps", "a dog barks at night"]
    other = ByLength()
    expected = share * dot(*table.embed(texts)) + (1.0 - share) * dot(*other.embed(texts))
    assert dot(*JoinedEmbedder(table, other, share).embed(texts)) == pytest.approx(expected, abs=1e-5)


def test_words_of_equal_weight_are_the_plain_text(table: StaticModel) -> None:
    joined = JoinedEmbedder(table, ByLength(), 0.5)
    [plain] = joined.embed(["when does the backup run"])
    assert dot(joined.embed_weighed("when does the backup run", lambda _: 1.0), plain) == pytest.approx(1.0, abs=1e-5)


def test_both_models_count_alike_where_their_scales_differ(table: StaticModel) -> None:
    share = even_share(table, ByLength())
    assert share * (0.963 - 0.494) == pytest.approx((1.0 - share) * (0.901 - 0.134))


def test_paraphrases_of_a_file_are_ranked(tmp_path: Path, table: StaticModel) -> None:
    path = tmp_path / "paraphrases.jsonl"
    path.write_text(
        '{"language":"en","note":"the cat sleeps","question":"a feline naps"}\n'
        '{"language":"en","note":"invoices are due in May","question":"when must bills be paid"}\n'
        '{"language":"zh","note":"猫在睡觉","question":"猫在睡觉"}\n'
    )
    found = paraphrases(table, path)
    assert found["en cosine"] == found["zh"] == 1.0
    assert paraphrases(None, path).keys() == {"en", "zh"}


def test_every_paraphrase_has_one_note_of_its_own() -> None:
    lines = [msgspec.json.decode(it, type=Paraphrase) for it in (DATA / "paraphrases.jsonl").read_bytes().splitlines()]
    for language in ("en", "zh"):
        notes = [each.note for each in lines if each.language == language]
        assert len(set(notes)) == len(notes) == 60
