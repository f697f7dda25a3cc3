"""Models that judge a question together with a text."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mnemond.config.reading import RerankSettings
from mnemond.embed.onnx_model import BATCH
from mnemond.embed.remote import REMEMBERED_S
from mnemond.embed.reranking import (
    BYTES_AROUND,
    MAX_QUESTION_TOKENS,
    MAX_TOKENS,
    CrossEncoder,
    Pair,
    Rerankers,
    check_endpoint,
    joined,
    relevances_of,
)
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError
from tests.embed.hand_clock import HandClock
from tests.embed.servers import Answer, Request, Rule, Server, as_json, serving
from tests.embed.tiny_onnx import write_model
from tests.tables import each_row

needs_runtime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason='onnxruntime is not installed: pip install "mnemond[onnx]"'
)

TEXTS = ["tea", "redis cache", "neither"]


def sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


# In this process


def test_a_pair_is_joined_as_bert_was_trained() -> None:
    ids, mask, segment = joined([([7], [8, 9]), ([7, 7], [])], 2, 3)
    assert ids.tolist() == [[2, 7, 3, 8, 9, 3], [2, 7, 7, 3, 3, 0]]
    assert mask.tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]
    assert segment.tolist() == [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 0]]


def test_logits_become_shares() -> None:
    for logits in (np.array([2.0, -1.0]), np.array([[2.0], [-1.0]]), np.array([[1.0, 3.0], [0.5, -0.5]])):
        assert relevances_of(logits, 2) == pytest.approx([sigmoid(2.0), sigmoid(-1.0)])
    assert relevances_of(np.array([[1e4], [-1e4]]), 2) == [1.0, 0.0]


NO_RELEVANCES = (np.zeros((2, 384)), np.zeros((2, 5, 3)), np.array([[math.nan], [0.0]]), np.empty(0))


@each_row("logits", NO_RELEVANCES)
def test_an_embedding_model_is_no_cross_encoder(logits: npt.NDArray[np.float64]) -> None:
    with pytest.raises(MnemonError, match="one or two finite numbers a pair") as caught:
        relevances_of(logits, 2)
    assert caught.value.kind is UNAVAILABLE


def test_without_the_runtime_it_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    settings = RerankSettings(provider="onnx", directory=str(write_model(tmp_path)))
    with pytest.raises(MnemonError, match="needs onnxruntime") as caught:
        Rerankers({}, HandClock()).of(settings)
    assert 'pip install "mnemond[onnx]"' in (caught.value.hint or "")


def test_something_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(MnemonError, match=r"model\.onnx is no file"):
        CrossEncoder(tmp_path, HandClock())
    with pytest.raises(MnemonError, match="could not be read"):
        CrossEncoder(tmp_path / "absent", HandClock())


@needs_runtime
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_model_reads_both(tmp_path: Path, outputs: int) -> None:
    model = CrossEncoder(write_model(tmp_path, outputs), HandClock())
    found = model.relevances("redis cache", TEXTS, 1.0)
    assert found == pytest.approx([sigmoid(-3.0), sigmoid(3.0), 0.5])
    many = [TEXTS[number % 3] for number in range(50)]
    assert model.relevances("redis", many, 1.0) == pytest.approx([found[number % 3] for number in range(50)])


@needs_runtime
def test_long_texts_are_cut(tmp_path: Path) -> None:
    model = CrossEncoder(write_model(tmp_path), HandClock())
    room = MAX_TOKENS - 3 - MAX_QUESTION_TOKENS
    (cut,) = model.relevances("tea " * 500, ["neither " * room + "redis"], 1.0)
    assert cut == pytest.approx(0.5)


@needs_runtime
def test_a_deadline_ends_it_between_two_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    model = CrossEncoder(write_model(tmp_path), clock)
    run, batches = model._run, []

    def slow(pairs: list[Pair]) -> list[float]:
        batches.append(len(pairs))
        clock.now += 0.3
        return run(pairs)

    monkeypatch.setattr(model, "_run", slow)
    with pytest.raises(MnemonError, match=r"took longer than 0\.5 s"):
        model.relevances("redis cache", TEXTS * 20, 0.5)
    assert batches == [BATCH, BATCH]
    with model._lock, pytest.raises(MnemonError, match=r"took longer than 0\.01 s"):
        model.relevances("redis cache", TEXTS, 0.01)


# Behind a server


def rerankers_of(server: Server, clock: HandClock | None = None, path: str = "") -> tuple[Rerankers, RerankSettings]:
    settings = RerankSettings(provider="http", endpoint=server.url + path, model="m", api_key_env="KEY")
    return Rerankers({"KEY": "sesame"}, clock or HandClock()), settings


def judged(rule: Rule, path: str = "") -> list[float]:
    with serving(rule) as server:
        rerankers, settings = rerankers_of(server, path=path)
        return rerankers.of(settings).relevances("redis cache", TEXTS, 5.0)


def results(*scores: float) -> Answer:
    listed = [{"index": number, "relevance_score": score} for number, score in enumerate(scores)]
    return as_json({"model": "m", "results": listed[::-1]})


@each_row(("path", "called"), [("", "/rerank"), ("/v1", "/v1/rerank"), ("/v1/rerank", "/v1/rerank")])
def test_documents_are_scored_in_their_order(path: str, called: str) -> None:
    with serving(lambda _: results(0.1, 0.9, 0.2)) as server:
        rerankers, settings = rerankers_of(server, path=path)
        assert rerankers.of(settings).relevances("redis cache", TEXTS, 5.0) == [0.1, 0.9, 0.2]
        (request,) = server.requests
        assert request.path == called
        assert request.json == {"query": "redis cache", "documents": TEXTS, "top_n": 3, "model": "m"}
        assert request.headers["authorization"] == "Bearer sesame"
        assert rerankers.of(settings) is rerankers.of(settings)


def test_logits_of_a_server_become_shares() -> None:
    assert judged(lambda _: results(-3.0, 3.0, 0.0)) == pytest.approx([sigmoid(-3.0), sigmoid(3.0), 0.5])


@each_row("status", [400, 422])
def test_a_server_that_wants_texts_gets_them_and_again_at_once(status: int) -> None:
    def rule(request: Request) -> Answer:
        if "texts" not in request.json:
            return as_json({"error": "missing field `texts`"}, status)
        return as_json([{"index": 1, "score": 0.9}, {"index": 2, "score": 0.2}, {"index": 0, "score": 0.1}])

    with serving(rule) as server:
        rerankers, settings = rerankers_of(server)
        for _ in range(2):
            assert rerankers.of(settings).relevances("redis cache", TEXTS, 5.0) == [0.1, 0.9, 0.2]
        assert len(server.requests) == 3


@each_row(
    ("answer", "reason"),
    [
        (as_json({"error": "?"}, 500), "failed (status 500)"),
        (as_json({"error": "?"}, 422), "failed (status 422)"),
        (as_json({"error": "?"}, 401), "refused the key (status 401)"),
        (as_json({"error": "?"}, 404), "has no such address or model (status 404)"),
        (Answer(200, b"<html>welcome</html>"), "are not the JSON it should send"),
        (Answer(200, b'{"results": [{"index": 0, "relevance_score": NaN}]}'), "are not the JSON it should send"),
        (results(0.1, 0.2), "answered 3 texts with 2 scores"),
        (results(0.1, 0.2, 0.3, 0.4), "answered 3 texts with 4 scores"),
        (as_json({"results": [{"index": 0, "relevance_score": 0.1}] * 3}), "or of other numbers"),
        (Answer(200, b" " * (BYTES_AROUND + 100_000)), "answered with more than"),
    ],
)
def test_a_wrong_answer_is_a_reason(answer: Answer, reason: str) -> None:
    with pytest.raises(MnemonError) as caught:
        judged(lambda _: answer)
    assert caught.value.kind is UNAVAILABLE
    assert reason in caught.value.message
    assert "redis" not in caught.value.message


def test_a_server_that_hangs_is_left_alone_for_a_while() -> None:
    clock = HandClock()
    hangs = True
    with serving(lambda _: Answer(hang=True) if hangs else results(0.1, 0.9, 0.2)) as server:
        rerankers, settings = rerankers_of(server, clock)
        reranker = rerankers.of(settings)
        with pytest.raises(MnemonError, match=r"did not answer within 0\.1 s"):
            reranker.relevances("redis cache", TEXTS, 0.1)
        hangs = False
        with pytest.raises(MnemonError, match="did not answer a moment ago"):
            reranker.relevances("redis cache", TEXTS, 5.0)
        clock.now += REMEMBERED_S
        assert reranker.relevances("redis cache", TEXTS, 5.0) == [0.1, 0.9, 0.2]
        assert len(server.requests) == 2


def test_no_secret_leaves() -> None:
    key = "ghp_" + "R7kQ2mZx9LpT4vWcY8nBdF3sHjG6aEuK1oXi"
    with serving(lambda _: results(0.1)) as server:
        rerankers, settings = rerankers_of(server)
        rerankers.of(settings).relevances(f"what is {key}", [f"the token is {key}"], 5.0)
        assert key.encode() not in server.requests[0].body


@each_row(
    ("endpoint", "key", "reason"),
    [
        ("http://example.org", "k", "unencrypted"),
        ("http://169.254.169.254", "k", "keys of cloud machines"),
        ("https://example.org", "two words", "characters no key has"),
    ],
)
def test_an_endpoint_is_checked_as_any_other(endpoint: str, key: str, reason: str) -> None:
    with pytest.raises(MnemonError, match=reason) as caught:
        check_endpoint(RerankSettings(provider="http", endpoint=endpoint, api_key_env="KEY"), {"KEY": key})
    assert caught.value.kind is CONFIG
    check_endpoint(RerankSettings(), {})
