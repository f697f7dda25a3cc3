"""Models that judge a question together with a text: a cross-encoder in this process, or one behind a server.

They read both at once, so they see what words and vectors miss, and take milliseconds a text. Nothing here decides an
order: `recall.rerank` blends their relevances with the scores of the ranking.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import RerankSettings
from mnemond.embed.onnx_model import BATCH, load_session
from mnemond.embed.remote import REMEMBERED_S
from mnemond.embed.static_model import read_model, read_word_pieces
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Address, Deadline, HttpClient, NoAnswerError, Reply, key_of, parse, refusal
from mnemond.model_servers import decoded
from mnemond.text.secrets import redact


class Reranker(Protocol):
    """Judges texts for a question. For any thread."""

    def relevances(self, question: str, texts: Sequence[str], timeout_s: float) -> list[float]:
        """Return the relevance of each text, in [0, 1], in their order. Blocks, hardly longer than `timeout_s`.

        Raises MnemonError(UNAVAILABLE) with the reason why there is none.
        """
        ...


class Rerankers:
    """The rerankers that settings name, each made when it is first needed. For any thread."""

    def __init__(self, environment: Mapping[str, str], now_s: Callable[[], float]) -> None:
        """`environment` holds the keys of servers; `now_s` is a monotonic clock in seconds."""
        self._environment = environment
        self._now_s = now_s
        self._lock = threading.Lock()
        self._made: dict[tuple[str | None, ...], Reranker] = {}

    def of(self, settings: RerankSettings) -> Reranker:
        """Return the reranker of a provider other than `lexical`; one made before for the same settings.

        Raises MnemonError(CONFIG) for an endpoint or a key that is refused, MnemonError(UNAVAILABLE) if a model cannot
        be loaded.
        """
        key = (settings.provider, settings.directory, settings.endpoint, settings.model, settings.api_key_env)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(settings)
            return self._made[key]

    def _make(self, settings: RerankSettings) -> Reranker:
        if settings.provider == "onnx":
            return CrossEncoder(Path(settings.directory or ""), self._now_s)
        return RerankServer(*_target(settings, self._environment), settings.model, self._now_s)


def check_endpoint(settings: RerankSettings, environment: Mapping[str, str]) -> None:
    """Raise MnemonError(CONFIG) if the endpoint or the key of a server is refused."""
    if settings.provider == "http":
        _target(settings, environment)


def _target(settings: RerankSettings, environment: Mapping[str, str]) -> tuple[Address, str | None]:
    address = parse(settings.endpoint or "", "retrieval.rerank.endpoint")
    return address, key_of(settings.api_key_env, environment, "retrieval.rerank.api_key_env")


# A cross-encoder of BERT's kind in this process


MAX_TOKENS: Final = 512
"""Maximum of tokens of a question with a text, with [CLS] and twice [SEP] (positions of BERT)."""

MAX_QUESTION_TOKENS: Final = 128
"""Tokens of a question that are read, so that a pasted log leaves room for the text it is compared with."""

SPECIAL: Final = 3
"""[CLS] question [SEP] text [SEP] (Devlin et al., BERT, 2019, figure 1)."""

INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
"""Inputs of models of BERT's kind; some lack the last."""

Ids = npt.NDArray[np.int64]
Pair = tuple[list[int], list[int]]


class CrossEncoder:
    """A model with one logit (relevance) or two (irrelevant, relevant) for a pair; see `Reranker`."""

    def __init__(self, directory: Path, now_s: Callable[[], float]) -> None:
        """Read `model.onnx` and `vocab.txt` of `directory`. `now_s` is a monotonic clock in seconds.

        Raises MnemonError(UNAVAILABLE) if onnxruntime is not installed or a file is unusable.
        """
        model = directory / "model.onnx"
        self._session = load_session(
            model,
            read_model(model),
            'retrieval.rerank.provider = "onnx" needs onnxruntime, which is not installed',
            'pip install "mnemond[onnx]", or set retrieval.rerank.provider to lexical',
        )
        self._word_piece = read_word_pieces(directory / "vocab.txt")
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._now_s = now_s
        self._lock = threading.Lock()

    def relevances(self, question: str, texts: Sequence[str], timeout_s: float) -> list[float]:
        """Judge texts one call at a time; see `Reranker`."""
        deadline = Deadline(self._now_s, timeout_s)
        if not self._lock.acquire(timeout=timeout_s):
            raise _late(deadline)
        try:
            return self._judge(question, texts, deadline)
        finally:
            self._lock.release()

    def _judge(self, question: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        """Run batches of texts of similar length; each ends before the next begins, so that the deadline holds."""
        start = self._word_piece.encode(question, MAX_QUESTION_TOKENS, keep_unknown=True)
        room = MAX_TOKENS - SPECIAL - len(start)
        ends = [self._word_piece.encode(text, room, keep_unknown=True) for text in texts]
        order = sorted(range(len(ends)), key=lambda number: len(ends[number]))
        found = [0.0] * len(ends)
        for at in range(0, len(order), BATCH):
            if deadline.left() <= 0.0:
                raise _late(deadline)
            batch = order[at : at + BATCH]
            for number, relevance in zip(batch, self._run([(start, ends[number]) for number in batch]), strict=True):
                found[number] = relevance
        return found

    def _run(self, pairs: list[Pair]) -> list[float]:
        first, separator = self._word_piece.id_of("[CLS]"), self._word_piece.id_of("[SEP]")
        feed = dict(zip(INPUTS, joined(pairs, first, separator), strict=True))
        logits = self._session.run(None, {name: value for name, value in feed.items() if name in self._inputs})[0]
        return relevances_of(logits, len(pairs))


def _late(deadline: Deadline) -> MnemonError:
    return MnemonError(
        UNAVAILABLE,
        f"the reranking model took longer than {deadline.seconds:g} s",
        hint="lower retrieval.rerank.shortlist, or raise retrieval.rerank.timeout_s",
    )


def joined(pairs: Sequence[Pair], first: int, separator: int) -> tuple[Ids, Ids, Ids]:
    """Return ids, attention mask and segment of the pairs, each of shape (pairs, longest); [PAD] is 0, masked out."""
    width = max(len(start) + len(end) + SPECIAL for start, end in pairs)
    ids, mask, segment = (np.zeros((len(pairs), width), dtype=np.int64) for _ in range(3))
    for row, (start, end) in enumerate(pairs):
        tokens = [first, *start, separator, *end, separator]
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
        segment[row, len(start) + 2 : len(tokens)] = 1
    return ids, mask, segment


def relevances_of(logits: Any, count: int) -> list[float]:  # noqa: ANN401 - the answer of a package without types
    """Return σ of one logit a pair, of the difference if there are two.

    Raises MnemonError(UNAVAILABLE) if `logits` has another shape than (count,), (count, 1) or (count, 2), or a value
    that is not finite.
    """
    values = np.asarray(logits, dtype=np.float64).reshape(count, -1) if np.size(logits) else np.empty((count, 0))
    if values.shape[1] not in (1, 2) or not np.isfinite(values).all():
        raise MnemonError(
            UNAVAILABLE,
            "the reranking model does not answer with one or two finite numbers a pair",
            hint="retrieval.rerank.directory wants a cross-encoder, not an embedding model",
        )
    return [_sigmoid(value) for value in (values[:, -1] - (values[:, 0] if values.shape[1] == 2 else 0.0)).tolist()]


def _sigmoid(value: float) -> float:
    """Return 1 / (1 + e^-value) without overflow."""
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0.0 else 1.0 - 1.0 / (1.0 + math.exp(value))


# A server with /rerank
#
# Sources: Jina's and Cohere's rerank API as llama.cpp (tools/server/README.md, POST /reranking) and vLLM (docs, score
# and rerank API) serve it: `documents` → `results[].{index, relevance_score}`; the API of text-embeddings-inference
# (docs/openapi.json): `texts` → `[].{index, score}`.


BYTES_A_TEXT: Final = 16_384
"""Bytes of an answer for each text: servers of the first kind may send it back, escaped."""

BYTES_AROUND: Final = 65_536
"""Bytes of an answer besides."""

OTHER_FORM: Final = (400, 422)
"""Statuses of a server that misses a field it needs: text-embeddings-inference says 422, some proxies 400."""


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Results(msgspec.Struct):
    results: list[_Result]


class _Score(msgspec.Struct):
    index: int
    score: float


class RerankServer:
    """One model of a server; see `Reranker`. Secrets are cut from what is sent, as in everything that leaves."""

    def __init__(self, address: Address, key: str | None, model: str | None, now_s: Callable[[], float]) -> None:
        """`address` may end in `/rerank`; `now_s` is a monotonic clock in seconds."""
        self._client = HttpClient(address, "the reranking server at", key)
        self._path = address.path if address.path.endswith(("/rerank", "/reranking")) else f"{address.path}/rerank"
        self._model = model
        self._now_s = now_s
        self._takes_texts = False
        self._slow_until = 0.0

    def relevances(self, question: str, texts: Sequence[str], timeout_s: float) -> list[float]:
        """Send one request, none while the last one had no answer less than REMEMBERED_S ago; see `Reranker`."""
        if self._now_s() < self._slow_until:
            raise self._invalid("did not answer a moment ago", "it is tried again soon")
        deadline = Deadline(self._now_s, timeout_s)
        try:
            scores = self._scores(redact(question).text, [redact(text).text for text in texts], deadline)
        except NoAnswerError:
            self._slow_until = self._now_s() + REMEMBERED_S
            raise
        # Servers differ, and llama.cpp among its models, in whether they apply the sigmoid themselves.
        return scores if all(0.0 <= score <= 1.0 for score in scores) else [_sigmoid(score) for score in scores]

    def _scores(self, question: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        max_bytes = BYTES_AROUND + BYTES_A_TEXT * len(texts)
        for takes_texts in (self._takes_texts, not self._takes_texts):
            body = msgspec.json.encode(self._body(question, texts, takes_texts=takes_texts))
            reply = self._client.post(self._path, body, deadline=deadline, max_bytes=max_bytes)
            if reply.status == 200:
                self._takes_texts = takes_texts
                return self._in_order(self._pairs(reply, takes_texts=takes_texts), len(texts))
            if reply.status not in OTHER_FORM:
                break
        what, hint = refusal(reply.status, "retrieval.rerank")
        raise self._invalid(f"{what} (status {reply.status})", hint)

    def _body(self, question: str, texts: Sequence[str], *, takes_texts: bool) -> dict[str, object]:
        if takes_texts:
            return {"query": question, "texts": texts, "raw_scores": False, "truncate": True}
        named = {} if self._model is None else {"model": self._model}
        return {"query": question, "documents": texts, "top_n": len(texts), **named}

    def _pairs(self, reply: Reply, *, takes_texts: bool) -> list[tuple[int, float]]:
        read = partial(decoded, reply, service=self._client.service, section="retrieval.rerank")
        if takes_texts:
            return [(each.index, each.score) for each in read(kind=list[_Score])]
        return [(each.index, each.relevance_score) for each in read(kind=_Results).results]

    def _in_order(self, pairs: Sequence[tuple[int, float]], count: int) -> list[float]:
        if sorted(index for index, _ in pairs) != list(range(count)):
            raise self._invalid(f"answered {count} texts with {len(pairs)} scores, or of other numbers", "see its log")
        return [score for _, score in sorted(pairs)]

    def _invalid(self, what: str, hint: str) -> MnemonError:
        return MnemonError(UNAVAILABLE, f"{self._client.service} {what}", hint=hint)
