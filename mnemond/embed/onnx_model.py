"""The whole MiniLM encoder, run by onnxruntime: better at paraphrases than the default, fifty times slower.

Needs the extra `onnx`. Pooling follows the model's own card: mean of the last hidden state over the attention mask.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Purpose, fingerprint, unit
from mnemond.embed.static_model import damaged, read_model, read_word_pieces
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector

MAX_TOKENS = 256
"""Maximum of tokens in a text, including [CLS] and [SEP] (`max_seq_length` of all-MiniLM-L6-v2)."""

BATCH = 8
"""Texts a run. Larger batches pad more, peak higher in memory, and gain nothing on one thread."""

ALGORITHM = "onnx-mean-1"
"""Raised when the same model files would give other vectors: tokenisation, pooling or normalisation changed."""

ERRORS_ONLY = 3
"""onnxruntime's log severity: warnings about graph details are of no use in the daemon's log."""

Ids = npt.NDArray[np.int64]


class OnnxModel:
    """Embeds with a transformer, milliseconds a text, one thread at a time; see `Embedder`."""

    inline = False

    def __init__(self, directory: Path) -> None:
        """Read `model.onnx` and `vocab.txt`; the directory's name is the model's.

        Raises MnemonError(UNAVAILABLE) if onnxruntime is not installed or a file is unusable.
        """
        self._lock = threading.Lock()
        model, vocabulary = directory / "model.onnx", directory / "vocab.txt"
        raw = read_model(model)
        self.name = directory.name
        self.fingerprint = fingerprint(ALGORITHM, raw, read_model(vocabulary))
        self._word_piece = read_word_pieces(vocabulary)
        self._session = load_session(
            model,
            raw,
            f"the embedding model {self.name} needs onnxruntime, which is not installed",
            'pip install "mnemond[onnx]", or set embedding.model to minilm_static_256_int8',
        )
        self.dimension = int(self._session.get_outputs()[0].shape[-1])

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text; None for a text without a token. Texts of similar length run together."""
        with self._lock:
            return self._embed(texts)

    def clear_cache(self) -> None:
        """Drop the cached pieces of words."""
        self._word_piece.clear_cache()

    def _embed(self, texts: Sequence[str]) -> list[Vector | None]:
        tokens = [self._encode(text) for text in texts]
        order = sorted((number for number, ids in enumerate(tokens) if ids), key=lambda number: len(tokens[number]))
        vectors: list[Vector | None] = [None] * len(texts)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            for number, vector in zip(batch, self._run([tokens[number] for number in batch]), strict=True):
                vectors[number] = vector
        return vectors

    def _encode(self, text: str) -> list[int]:
        inner = self._word_piece.encode(text, MAX_TOKENS - 2, keep_unknown=True)
        if all(number == self._word_piece.unknown for number in inner):
            return []
        return [self._word_piece.id_of("[CLS]"), *inner, self._word_piece.id_of("[SEP]")]

    def _run(self, batch: list[list[int]]) -> list[Vector | None]:
        ids, mask = _padded(batch)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feed)[0]
        weights = mask.astype(np.float32)
        totals = np.einsum("btd,bt->bd", hidden, weights) / weights.sum(axis=1, keepdims=True)
        return [unit(total) for total in totals.astype(np.float32)]


def _padded(batch: list[list[int]]) -> tuple[Ids, Ids]:
    """Token ids and attention mask, shape (texts, longest); [PAD] is 0 and masked out."""
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return ids, mask


def load_session(path: Path, raw: bytes, missing: str, hint: str) -> Any:  # noqa: ANN401 - without types
    """Return a session of onnxruntime for the model in `raw`, the bytes of `path`.

    One thread and no arena: the daemon shares its machine, and the arena never gives memory back.
    Raises MnemonError(UNAVAILABLE) if onnxruntime cannot run it, or with `missing` and `hint` if it is not installed.
    """
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MnemonError(UNAVAILABLE, missing, hint=hint) from error
    options = runtime.SessionOptions()
    options.enable_cpu_mem_arena = False
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    state = runtime.capi.onnxruntime_pybind11_state
    refusals = (state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, RuntimeError)
    try:
        return runtime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    except refusals as error:
        raise damaged(path, f"is not a model onnxruntime can run ({error})") from error
