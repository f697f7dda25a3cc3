"""Embedding over Ollama, against a server that behaves like one and one that misbehaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.embedder import Embedder, try_embed
from mnemond.embed.registry import Embedders
from mnemond.errors import UNAVAILABLE, MnemonError
from tests.embed import ollama_fake
from tests.embed.hand_clock import HandClock
from tests.embed.ollama_fake import DIGEST, DIMENSION, Ollama, vector
from tests.embed.servers import Answer, as_json, closed_port


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    with ollama_fake.running() as fake:
        yield fake


def embedders(url: str, clock: HandClock | None = None, **settings: object) -> Embedders:
    wanted = {"provider": "ollama", "endpoint": url, "timeout_s": 5.0, "probe_timeout_s": 5.0, **settings}
    return Embedders(EmbeddingSettings(**wanted), {}, clock or HandClock())  # type: ignore[arg-type]


def connected(fake: Ollama, clock: HandClock | None = None, **settings: object) -> Embedder:
    found = embedders(fake.url, clock, **settings).preferred()
    assert found is not None
    return found


def complaint(embedder: Embedder, *texts: str) -> str:
    with pytest.raises(MnemonError) as caught:
        embedder.embed(texts or ("green tea",))
    assert caught.value.kind is UNAVAILABLE
    assert caught.value.hint
    return caught.value.message


def test_texts_become_unit_vectors_in_order(ollama: Ollama) -> None:
    embedder = connected(ollama, batch_size=2)
    first, blank, second, third = embedder.embed(["green tea", " \n", "black coffee", "green tea"])
    assert blank is None
    assert first is not None
    assert second is not None
    assert first.dtype == np.float32
    assert first.flags.c_contiguous
    assert float(first @ first) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(first, third)
    np.testing.assert_allclose(second, vector("search_document: black coffee"), atol=1e-6)
    assert [len(asked) for asked in ollama.inputs()] == [2, 1]


def test_an_older_server_is_asked_one_by_one(ollama: Ollama) -> None:
    ollama.batches = False
    embedder = connected(ollama)
    first, second = embedder.embed(["green tea", "black coffee"])
    assert first is not None
    np.testing.assert_allclose(first, vector("search_document: green tea"), atol=1e-6)
    assert second is not None
    embedder.embed(["more"])
    assert ollama.paths.count("/api/embed") == 1  # it is not tried again
    assert ollama.inputs("/api/embeddings") == [
        "search_document: green tea",
        "search_document: black coffee",
        "search_document: more",
    ]


def test_the_older_route_may_refuse_too(ollama: Ollama) -> None:
    ollama.batches = False
    embedder = connected(ollama)
    ollama.rules["/api/embeddings"] = lambda request: as_json({"error": "boom"}, 500)
    assert complaint(embedder).endswith("failed (status 500)")


def test_more_dimensions_than_there_are_cannot_be_had(ollama: Ollama) -> None:
    with pytest.raises(MnemonError, match=r"gave 8 dimensions, fewer than embedding\.dimensions = 9"):
        connected(ollama, dimensions=9)


def test_a_dimension_that_is_not_told_is_learned(ollama: Ollama) -> None:
    ollama.tells_dimension = False
    assert connected(ollama).dimension == DIMENSION
    ollama.rules["/api/show"] = lambda request: Answer(404)
    assert connected(ollama).dimension == DIMENSION


@pytest.mark.parametrize("told", ["768", 0, -1, 10**9, True])
def test_a_dimension_that_cannot_be_is_not_believed(ollama: Ollama, told: object) -> None:
    ollama.rules["/api/show"] = lambda request: as_json({"model_info": {"x.embedding_length": told}})
    if isinstance(told, int) and not isinstance(told, bool):
        with pytest.raises(MnemonError, match="dimensions, where 1 … 16,384 can be used"):
            connected(ollama)
    else:
        assert connected(ollama).dimension == DIMENSION


def test_a_model_that_vanishes_is_missed_at_once(ollama: Ollama) -> None:
    embedder = connected(ollama)
    ollama.models.clear()
    assert complaint(embedder).endswith("has no model nomic-embed-text")


def test_a_model_that_was_replaced_embeds_nothing(ollama: Ollama) -> None:
    clock = HandClock()
    embedder = connected(ollama, clock)
    ollama.models["nomic-embed-text:latest"] = "sha of another build"
    embedder.embed(["still within the thirty seconds"])
    clock.now += 30
    assert "another build of nomic-embed-text" in complaint(embedder)
    assert len(ollama.inputs()) == 1


def test_nobody_there() -> None:
    nowhere = embedders(f"http://localhost:{closed_port()}")
    with pytest.raises(MnemonError, match=r"Ollama at http://localhost:\d+ cannot be reached") as caught:
        nowhere.preferred()
    assert caught.value.kind is UNAVAILABLE


def test_a_hanging_write_stops_the_next_ones(ollama: Ollama) -> None:
    clock = HandClock()
    embedder = connected(ollama, clock, timeout_s=0.5)
    ollama.rules["/api/embed"] = lambda request: Answer(hang=True)
    assert "did not answer within 0.5 s" in complaint(embedder)
    asked = len(ollama.paths)
    assert "did not answer within 0.5 s" in complaint(embedder)
    with pytest.raises(MnemonError, match="too slow"):
        embedder.embed(["tea"], purpose="query")
    assert len(ollama.paths) == asked
    clock.now += 30
    del ollama.rules["/api/embed"]
    assert embedder.embed(["tea"], purpose="query")[0] is not None


def test_a_slow_query_stops_queries_alone(ollama: Ollama) -> None:
    """While a model is being loaded a query gives up early; what is written can wait longer."""
    embedder = connected(ollama, timeout_s=0.5)
    ollama.rules["/api/embed"] = lambda request: Answer(hang=True)
    with pytest.raises(MnemonError, match=r"did not answer within 0\.5 s"):
        embedder.embed(["tea"], purpose="query")
    del ollama.rules["/api/embed"]
    with pytest.raises(MnemonError, match="too slow"):
        embedder.embed(["tea"], purpose="query")
    assert embedder.embed(["tea"])[0] is not None
    assert embedder.embed(["tea"], purpose="query")[0] is not None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (as_json({"embeddings": [[1.0] * 7]}), "gave 7 dimensions where 8 were expected"),
        (as_json({"embeddings": [[1.0] * 9]}), "gave 9 dimensions where 8 were expected"),
        (as_json({"embeddings": [[]]}), "gave 0 dimensions where 8 were expected"),
        (as_json({"embeddings": []}), "answered 1 texts with 0 vectors"),
        (as_json({"embeddings": [[1.0] * 8] * 2}), "answered 1 texts with 2 vectors"),
        (as_json({"embeddings": [[float("nan")] * 8]}), "not the JSON it should send, or not finite numbers"),
        (as_json({"embeddings": [[None] * 8]}), "not the JSON it should send"),
        (as_json({"embeddings": [["1.0"] * 8]}), "not the JSON it should send"),
        (as_json({"embeddings": {"0": 1}}), "not the JSON it should send"),
        (as_json({"vectors": [[1.0] * 8]}), "not the JSON it should send"),
        (as_json([]), "not the JSON it should send"),
        (Answer(body=b""), "answered with 0 bytes that are not the JSON"),
        (Answer(body=b'{"embeddings": [[1.0'), "not the JSON it should send"),
        (Answer(body=b"\xff\xfe"), "not the JSON it should send"),
        (Answer(body=b"[" * 100_000), "not the JSON it should send"),
        (Answer(body=b'{"embeddings":[[' + b"1," * 4_000_000 + b"1]]}"), "answered with more than 524,288 bytes"),
        (Answer(307, b"", (("Location", "http://127.0.0.1:1/"),)), "a redirect, which is not followed"),
        (as_json({"error": "secret words"}, 500), "failed (status 500)"),
        (Answer(401), "refused the key (status 401)"),
        (Answer(429), "has had too many requests (status 429)"),
        (as_json({"error": 'model "nomic-embed-text" not found'}, 404), "has no model nomic-embed-text"),
    ],
)
def test_what_cannot_be_right_is_not_believed(ollama: Ollama, answer: Answer, said: str) -> None:
    embedder = connected(ollama)
    ollama.rules["/api/embed"] = lambda request: answer
    message = complaint(embedder, "secret words")
    assert said in message
    assert "secret" not in message
    del ollama.rules["/api/embed"]
    assert embedder.embed(["tea"])[0] is not None  # one bad answer is not the end


@pytest.mark.parametrize("numbers", [[0.0] * 8, [-0.0] * 8])
def test_a_vector_without_direction_is_none(ollama: Ollama, numbers: list[float]) -> None:
    embedder = connected(ollama)
    ollama.rules["/api/embed"] = lambda request: as_json({"embeddings": [numbers, [1.0] * 8]})
    none, some = embedder.embed(["a", "b"])
    assert none is None
    assert some is not None


@pytest.mark.parametrize("size", [1e-300, 1e-40, 1e39, 1e308])
def test_the_length_of_a_vector_does_not_matter(ollama: Ollama, size: float) -> None:
    embedder = connected(ollama)
    ollama.rules["/api/embed"] = lambda request: as_json({"embeddings": [[size, -size, *[0.0] * 6]]})
    (found,) = embedder.embed(["a"])
    assert found is not None
    np.testing.assert_allclose(found[:2], [0.5**0.5, -(0.5**0.5)], atol=1e-6)


def test_a_text_too_long_is_shortened_alone(ollama: Ollama) -> None:
    ollama.context = 2_000
    embedder = connected(ollama)
    short, long = embedder.embed(["green tea", "green tea " * 800])
    assert short is not None
    assert long is not None
    sizes = [[len(text) for text in asked] for asked in ollama.inputs()]
    assert sizes == [[26, 8_017], [26], [8_017], [4_008], [2_004], [1_002]]


def test_a_model_that_takes_nothing_is_said_so(ollama: Ollama) -> None:
    ollama.context = 10
    assert complaint(connected(ollama), "green tea " * 800).endswith("takes no text of this length")


def test_trying_never_stops_the_caller(ollama: Ollama) -> None:
    embedder = connected(ollama)
    vectors, reason = try_embed(embedder, ["tea", ""])
    assert [found is None for found in vectors] == [False, True]
    assert reason is None
    ollama.rules["/api/embed"] = lambda request: Answer(500)
    vectors, reason = try_embed(embedder, ["tea", "coffee"], "query")
    assert vectors == [None, None]
    assert reason is not None
    assert reason.endswith("failed (status 500); see its log")


def test_many_threads_ask_once_whether_it_is_there(ollama: Ollama) -> None:
    clock = HandClock()
    embedder = connected(ollama, clock)
    clock.now += 30
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed(["tea"])[0] is not None)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8
    assert ollama.paths.count("/api/tags") == 2


def test_the_api_may_lie_below_a_path(ollama: Ollama) -> None:
    ollama.rules["/proxy/api/tags"] = lambda request: as_json(
        {"models": [{"name": "nomic-embed-text", "digest": DIGEST}]}
    )
    ollama.rules["/proxy/api/show"] = lambda request: as_json({"model_info": {"a.embedding_length": 8}})
    for path in ("/proxy", "/proxy/", "/proxy/api"):
        found = embedders(f"{ollama.url}{path}").preferred()
        assert found is not None
        assert found.dimension == DIMENSION
