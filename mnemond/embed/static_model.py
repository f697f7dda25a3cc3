"""The default embedder: one stored row a token, summed. No network, no runtime beyond numpy, microseconds a text.

The rows are a model2vec distillation of all-MiniLM-L6-v2 (see models/NOTICE): each token's own embedding, projected
to 256 components and weighted by how rare the token is. They are stored as int8 with one common scale, which is not
kept: it multiplies every component of a sum alike, and the sum is brought to length 1 anyway.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mnemond.embed.data import damaged, fingerprint, read_model, read_word_pieces
from mnemond.embed.embedder import Purpose, unit
from mnemond.model.changes import Vector

MAX_TOKENS = 512
"""Known tokens of a text that count (the default of model2vec's `encode`)."""

ALGORITHM = "static-1"
"""Raised when the same model files would give other vectors: tokenisation, pooling or normalisation changed."""


class StaticModel:
    """Embeds by table look-up; see `Embedder`.

    The sum of at most 512 rows of int8 is a whole number below 2^24, so float32 holds it exactly and the order of the
    tokens cannot change a bit of the result.
    """

    inline = True

    def __init__(self, directory: Path) -> None:
        """Reads `table.npy` and `vocab.txt`; the directory's name is the model's.

        UNAVAILABLE when a file is missing or unusable.
        """
        table, vocabulary = directory / "table.npy", directory / "vocab.txt"
        raw = read_model(table)
        self.name = directory.name
        self.fingerprint = fingerprint(ALGORITHM, raw, read_model(vocabulary))
        self._table = _rows(table, raw)
        self._word_piece = read_word_pieces(vocabulary)
        self.dimension = int(self._table.shape[1])
        if len(self._word_piece) != len(self._table):
            raise damaged(table, f"has {len(self._table)} rows for {len(self._word_piece)} tokens")

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """One vector a text; None for a text without a known token. Made for comparing alike: no purpose differs."""
        return [self._embed_one(text) for text in texts]

    def forget(self) -> None:
        """Let go of the words whose pieces are remembered."""
        self._word_piece.forget()

    def _embed_one(self, text: str) -> Vector | None:
        ids = self._word_piece.encode(text, MAX_TOKENS, keep_unknown=False)
        if not ids:
            return None
        return unit(np.add.reduce(self._table.take(ids, axis=0), axis=0, dtype=np.float32))


def _rows(path: Path, raw: bytes) -> npt.NDArray[np.int8]:
    """The array of a .npy file, as a read-only view of its bytes: shape (tokens, dimension), int8."""
    stream = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise damaged(path, f"is not an array file ({error})") from error
    if version != (1, 0) or dtype != np.int8 or fortran or len(shape) != 2:
        raise damaged(path, f"holds {dtype} of shape {shape}, expected int8 in two dimensions")
    start = stream.tell()
    if len(raw) - start != shape[0] * shape[1]:
        raise damaged(path, f"holds {len(raw) - start} bytes for shape {shape}")
    return np.frombuffer(raw, dtype=np.int8, offset=start).reshape(shape)
