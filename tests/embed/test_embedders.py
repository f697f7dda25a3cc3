"""Which embedder a configuration gives to a new store, and which to one that was made before."""

from __future__ import annotations

import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import Embedders
from mnemond.embed.static_model import StaticModel
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from tests.embed import ollama_fake
from tests.embed.hand_clock import HandClock
from tests.embed.servers import closed_port
from tests.tables import each_row


def embedders(**settings: object) -> Embedders:
    return Embedders(EmbeddingSettings(**{"probe_timeout_s": 5.0, **settings}), {}, HandClock())  # type: ignore[arg-type]


def preferred(**settings: object) -> Embedder:
    found = embedders(**settings).preferred()
    assert found is not None
    return found


@each_row(
    ("settings", "said"),
    [
        ({"model": "minilm_static"}, 'there is no embedding model "minilm_static"'),
        ({"provider": "openai"}, 'the provider "openai" needs the name of a model'),
        ({"provider": "ollama", "endpoint": "http://example.com"}, "embedding.endpoint sends memories"),
        ({"provider": "auto", "endpoint": "gopher://x"}, "embedding.endpoint is not http"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_asked(settings: dict[str, object], said: str) -> None:
    with pytest.raises(MnemonError) as caught:
        embedders(**settings)
    assert caught.value.kind is CONFIG
    assert said in caught.value.message


def test_auto_takes_ollama_where_it_is() -> None:
    with ollama_fake.running() as fake:
        assert preferred(provider="auto", endpoint=fake.url).name == "nomic-embed-text"
        assert preferred(provider="auto", endpoint=fake.url, model=registry.DEFAULT).name == "nomic-embed-text"
        fake.models["all-minilm:latest"] = "x"
        assert preferred(provider="auto", endpoint=fake.url, model="all-minilm").name == "all-minilm"


def test_auto_takes_a_built_in_model_where_ollama_is_not_or_lacks_it() -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    assert preferred(provider="auto", endpoint=nowhere).name == registry.DEFAULT
    assert preferred(provider="auto", endpoint=nowhere, model=registry.DEFAULT).name == registry.DEFAULT
    with ollama_fake.running() as fake:
        assert preferred(provider="auto", endpoint=fake.url, model="mxbai").name == registry.DEFAULT


@each_row("provider", ["ollama", "auto"])
def test_a_store_keeps_its_remote_model_and_asks_it_only_to_embed(provider: str) -> None:
    with ollama_fake.running() as fake:
        fake.models["other:latest"] = "y"
        made = preferred(provider="ollama", endpoint=fake.url, model="other")
        asked = len(fake.paths)
        again = embedders(provider=provider, endpoint=fake.url).of_record(made.name, made.dimension, made.fingerprint)
        assert (again.name, again.dimension, again.fingerprint) == (made.name, made.dimension, made.fingerprint)
        assert len(fake.paths) == asked
        assert again.embed(["tea"])[0] is not None


def test_a_store_opens_while_its_server_is_away() -> None:
    nowhere = embedders(provider="ollama", endpoint=f"http://127.0.0.1:{closed_port()}")
    embedder = nowhere.of_record("nomic-embed-text", 768, "ollama:sha256:0")
    assert embedder.dimension == 768
    with pytest.raises(MnemonError, match="cannot be reached"):
        embedder.embed(["tea"])


@each_row(
    ("provider", "fingerprint"),
    [("builtin", "ollama:sha256:0"), ("none", "ollama:sha256:0"), ("auto", "openai:sha256:0"), ("ollama", "openai:x")],
)
def test_a_remote_model_is_not_asked_against_the_configuration(provider: str, fingerprint: str) -> None:
    with pytest.raises(MnemonError, match=f'and "{provider}" is configured') as caught:
        embedders(provider=provider).of_record("nomic-embed-text", 768, fingerprint)
    assert caught.value.kind is UNAVAILABLE
    assert caught.value.hint is not None
    assert fingerprint.partition(":")[0] in caught.value.hint


@each_row(
    ("name", "said"),
    [
        (registry.DEFAULT, "another build of minilm_static_256_int8"),
        ("gone", 'this store\'s embedder is not available: embedding.model: there is no embedding model "gone"'),
    ],
)
def test_a_built_in_model_that_is_not_the_same_is_not_used(name: str, said: str) -> None:
    with pytest.raises(MnemonError) as caught:
        embedders().of_record(name, 256, "sha256:0")
    assert caught.value.kind is UNAVAILABLE
    assert said in caught.value.message


def test_every_loaded_model_lets_go_of_what_it_kept() -> None:
    supply = embedders()
    supply.clear_cache()  # nothing is loaded yet
    found = supply.preferred()
    assert isinstance(found, StaticModel)
    found.embed(["xyzzyplugh"])
    assert found._word_piece._pieces
    supply.clear_cache()
    assert not found._word_piece._pieces
