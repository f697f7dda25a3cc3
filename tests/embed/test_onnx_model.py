"""The transformer. Without onnxruntime only the way it refuses can be tested."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from mnemond.embed import registry
from mnemond.embed.onnx_model import OnnxModel
from mnemond.errors import UNAVAILABLE, MnemonError

NAME = "minilm_l6_v2_int8"
MODELS = registry.MODELS / NAME

needs_runtime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason='onnxruntime is not installed: pip install "mnemond[onnx]"'
)


@pytest.fixture(scope="module")
def model() -> OnnxModel:
    return OnnxModel(MODELS)


def test_without_the_runtime_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MnemonError, match="needs onnxruntime") as caught:
        registry.create(NAME)
    assert caught.value.kind is UNAVAILABLE
    assert caught.value.hint is not None
    assert 'pip install "mnemond[onnx]"' in caught.value.hint


@needs_runtime
def test_what_it_is(model: OnnxModel) -> None:
    assert (model.name, model.dimension, model.inline) == (NAME, 384, False)
    assert model.fingerprint == OnnxModel(MODELS).fingerprint


@needs_runtime
def test_paraphrases_lie_closer_than_strangers(model: OnnxModel) -> None:
    cat, kitten, revenue = model.embed(
        ["The cat sat on the mat", "A kitten was sitting on the rug", "Quarterly revenue exceeded forecasts"]
    )
    assert cat is not None
    assert kitten is not None
    assert revenue is not None
    assert float(cat @ kitten) > 0.55
    assert float(cat @ revenue) < 0.15
    assert float(cat @ cat) == pytest.approx(1.0, abs=1e-5)
    assert cat.dtype == np.float32


@needs_runtime
def test_neighbours_in_a_batch_hardly_matter(model: OnnxModel) -> None:
    """Activations are quantised per run, so a text's vector depends a little on what it is padded beside."""
    texts = [f"note number {number} about {word} " * (number + 1) for number, word in enumerate(["tea", "rust"] * 10)]
    for alone, together in zip([model.embed([text])[0] for text in texts], model.embed(texts), strict=True):
        assert alone is not None
        assert together is not None
        assert float(alone @ together) > 0.98


@needs_runtime
def test_nothing_and_very_much(model: OnnxModel) -> None:
    assert model.embed(["", "\x00", "🎉 🎉"]) == [None, None, None]
    assert model.embed([]) == []
    (long,) = model.embed(["word " * 20_000])
    assert long is not None


@needs_runtime
def test_the_words_it_met_can_be_forgotten(model: OnnxModel) -> None:
    model.embed(["xyzzyplugh"])
    assert model._word_piece._pieces
    model.clear_cache()
    assert not model._word_piece._pieces


@needs_runtime
def test_a_damaged_model_is_reported(tmp_path: Path) -> None:
    shutil.copy(MODELS / "vocab.txt", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"damaged" * 100)
    with pytest.raises(MnemonError, match="not a model onnxruntime can run"):
        OnnxModel(tmp_path)
