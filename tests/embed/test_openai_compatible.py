"""Embedding over /v1/embeddings, as OpenAI, llama.cpp and others speak it."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import Embedders
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from mnemond.model_servers import path_of
from tests.embed.hand_clock import HandClock
from tests.embed.ollama_fake import vector
from tests.embed.servers import Answer, Request, Server, as_json, serving
from tests.tables import each_row


def answer(request: Request) -> Answer:
    """A compatible server that shortens vectors when asked, and answers in an order of its own."""
    if request.path != "/v1/embeddings":
        return as_json({"error": {"message": "File Not Found", "code": 404}}, 404)
    asked = request.json
    size = asked.get("dimensions", 8)
    data = [
        {"object": "embedding", "index": place, "embedding": vector(text)[:size]}
        for place, text in enumerate(asked["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return as_json({"object": "list", "model": asked["model"], "data": data[::-1], "usage": usage})


def connected(server: Server, clock: HandClock | None = None, key: str | None = None, **settings: object) -> Embedder:
    wanted: dict[str, object] = {"provider": "openai", "model": "m", "endpoint": server.url, "timeout_s": 5.0}
    made = EmbeddingSettings(**{**wanted, "probe_timeout_s": 5.0, "api_key_env": "KEY", **settings})  # type: ignore[arg-type]
    found = Embedders(made, {} if key is None else {"KEY": key}, clock or HandClock()).preferred()
    assert found is not None
    return found


def test_texts_become_vectors_in_their_own_order() -> None:
    with serving(answer) as server:
        embedder = connected(server, key="sk-1")
        first, none, second = embedder.embed(["green tea", "", "black coffee"])
    assert (embedder.name, embedder.dimension, embedder.inline) == ("m", 8, False)
    assert embedder.fingerprint.startswith("openai:sha256:")
    assert none is None
    assert first is not None
    np.testing.assert_allclose(first, vector("green tea"), atol=1e-6)
    assert second is not None
    np.testing.assert_allclose(second, vector("black coffee"), atol=1e-6)
    probe, request = server.requests
    assert probe.json == {"model": "m", "input": ["dimension"], "encoding_format": "float"}
    assert request.json["input"] == ["green tea", "black coffee"]
    assert request.headers["authorization"] == "Bearer sk-1"


def test_an_answer_is_as_good_as_a_probe() -> None:
    clock = HandClock()
    with serving(answer) as server:
        embedder = connected(server, clock)
        for _ in range(3):
            clock.now += 20
            embedder.embed(["tea"])
        assert len(server.requests) == 4
        clock.now += 31
        embedder.embed(["tea"])
    assert [request.json["input"] for request in server.requests[4:]] == [["dimension"], ["tea"]]


def test_shorter_vectors_are_asked_for() -> None:
    with serving(answer) as server:
        embedder = connected(server, dimensions=3)
        assert embedder.dimension == 3
        embedder.embed(["tea"])
    assert [request.json["dimensions"] for request in server.requests] == [3, 3]


def test_a_server_that_does_not_shorten_is_helped() -> None:
    def whole(request: Request) -> Answer:
        return as_json({"data": [{"index": 0, "embedding": [3.0, 4.0, 5.0, 6.0]}]})

    with serving(whole) as server:
        (found,) = connected(server, dimensions=2).embed(["tea"])
    assert found is not None
    np.testing.assert_allclose(found, [0.6, 0.8], atol=1e-6)


@each_row(
    ("model", "document", "query"),
    [
        ("nomic-embed-text-v1.5", "search_document: tea", "search_query: tea"),
        ("nomic-ai/nomic-embed-text-v1.5", "search_document: tea", "search_query: tea"),
        ("intfloat/multilingual-e5-small", "passage: tea", "query: tea"),
        ("e5-base-v2", "passage: tea", "query: tea"),
        ("text-embedding-3-small", "tea", "tea"),
    ],
)
def test_prefixes(model: str, document: str, query: str) -> None:
    with serving(answer) as server:
        embedder = connected(server, model=model)
        embedder.embed(["tea"])
        embedder.embed(["tea"], purpose="query")
    assert [request.json["input"] for request in server.requests[1:]] == [[document], [query]]


@each_row(
    ("reply", "said"),
    [
        (as_json({"data": [{"index": 1, "embedding": [1.0] * 8}]}), "answered 1 texts with 1 vectors of other numbers"),
        (as_json({"data": [{"index": 0, "embedding": [1.0] * 8}] * 2}), "answered 1 texts with 2 vectors"),
        (as_json({"data": []}), "answered 1 texts with 0 vectors"),
        (as_json({"data": [{"index": 0, "embedding": "AACAPw=="}]}), "not the JSON it should send"),
        (as_json({"error": {"message": "bad key sk-1"}}, 401), "refused the key (status 401)"),
        (as_json({"error": {"message": "no"}}, 501), "does not embed (status 501)"),
        (as_json({"error": {"message": "maximum context length"}}, 400), "takes no text of this length"),
    ],
)
def test_what_cannot_be_right_is_not_believed(reply: Answer, said: str) -> None:
    with serving(lambda request: reply if request.json["input"] != ["dimension"] else answer(request)) as server:
        embedder = connected(server, key="sk-1")
        with pytest.raises(MnemonError) as caught:
            embedder.embed(["tea"])
    assert caught.value.kind is UNAVAILABLE
    assert said in caught.value.message
    assert "sk-1" not in f"{caught.value.message}{caught.value.hint}"


def test_a_wrong_address_is_said_at_once() -> None:
    with serving(answer) as server, pytest.raises(MnemonError, match=r"has no such address or model \(status 404\)"):
        connected(server, endpoint=f"{server.url}/v2")


@each_row(
    ("base", "path"),
    [
        ("", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/openai/v1", "/openai/v1/embeddings"),
        ("/v1/embeddings", "/v1/embeddings"),
    ],
)
def test_where_embeddings_are_made(base: str, path: str) -> None:
    assert path_of(base, "/embeddings") == path


@each_row("key", ["two words", "line\nbreak", "schlüssel", "tab\tbed"])
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with serving(answer) as server, pytest.raises(MnemonError, match="the variable KEY") as caught:
        connected(server, key=key)
    assert caught.value.kind is CONFIG
    assert key not in caught.value.message


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_none_is_sent(key: str | None) -> None:
    with serving(answer) as server:
        connected(server, key=key)
    assert "authorization" not in server.requests[0].headers
