"""The embedder a person asks for by name, what is known of one that is not to be had, and answers kept for later."""

from __future__ import annotations

import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed import registry
from mnemond.embed import registry as supplies
from mnemond.embed.embedder import precompute
from mnemond.embed.registry import Embedders, provider_of
from mnemond.errors import CONFIG, UNAVAILABLE, Kind, MnemonError
from tests.embed import ollama_fake
from tests.embed.hand_clock import HandClock
from tests.embed.servers import Answer
from tests.tables import each_row


def supply(clock: HandClock | None = None, **settings: object) -> Embedders:
    return Embedders(EmbeddingSettings(**{"probe_timeout_s": 5.0, **settings}), {}, clock or HandClock())  # type: ignore[arg-type]


def refused(over: Embedders, provider: str, model: str | None = None) -> tuple[Kind, str]:
    with pytest.raises(MnemonError) as caught:
        over.named(provider, model)
    return caught.value.kind, caught.value.message


def test_a_built_in_model_can_always_be_asked_for_and_is_loaded_once() -> None:
    over = supply(provider="none")
    assert over.named("builtin", None).name == registry.DEFAULT
    assert over.named("builtin", None) is over.named("builtin", registry.DEFAULT)
    kind, message = refused(over, "builtin", "minilm")
    assert (kind, "there is no embedding model" in message) == (CONFIG, True)
    assert supply(model=registry.DEFAULT).named("builtin", None).name == registry.DEFAULT


def test_memories_go_only_where_the_configuration_says() -> None:
    for provider in ("none", "builtin"):
        kind, message = refused(supply(provider=provider), "ollama")
        assert (kind, "embedding.provider names it" in message) == (CONFIG, True)
    assert refused(supply(provider="ollama"), "openai", "x")[0] is CONFIG
    assert refused(supply(provider="auto"), "openai", "x")[0] is CONFIG


@each_row("provider", ["ollama", "auto"])
def test_a_server_is_asked_for_the_model(provider: str) -> None:
    with ollama_fake.running() as fake:
        over = supply(provider=provider, endpoint=fake.url, model=registry.DEFAULT if provider == "auto" else None)
        assert over.named("ollama", None).name == "nomic-embed-text"
        assert over.named("builtin", None).name == registry.DEFAULT
        assert refused(over, "ollama", "gone")[0] is UNAVAILABLE
        fake.models["mxbai:latest"] = "1" * 64
        assert supply(provider="ollama", endpoint=fake.url, model="mxbai").named("ollama", None).name == "mxbai"


def test_why_it_lacks_is_remembered_until_it_does_not() -> None:
    clock = HandClock()
    with ollama_fake.running() as fake:
        over = supply(clock, provider="ollama", endpoint=fake.url)
        assert (over.wants, over.lacking) == (True, None)
        fake.rules = {"/api/tags": lambda _: Answer(503)}
        with pytest.raises(MnemonError):
            over.preferred()
        assert "status 503" in (over.lacking or "")
        fake.rules = {}
        clock.now += 31
        assert over.preferred() is not None
        assert over.lacking is None
    assert supply(provider="none").wants is False


def test_an_embedder_is_there_or_says_why_not() -> None:
    clock = HandClock()
    with ollama_fake.running() as fake:
        over = supply(clock, provider="ollama", endpoint=fake.url)
        found = over.preferred()
        assert found is not None
        supplies.check_available(found)
        fake.models["nomic-embed-text:latest"] = "2" * 64
        clock.now += 31
        with pytest.raises(MnemonError, match="another build") as caught:
            supplies.check_available(found)
        assert caught.value.kind is UNAVAILABLE
        asked = precompute(found, "tea")
        with pytest.raises(MnemonError, match="another build"):
            asked.embed(["tea"], purpose="query")
        assert provider_of(found.fingerprint) == "ollama"
    built_in = supply().named("builtin", None)
    supplies.check_available(built_in)
    assert provider_of(built_in.fingerprint) == "builtin"
    (vector,) = precompute(built_in, "tea").embed(["tea"])
    assert vector is not None
