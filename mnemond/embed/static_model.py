"""The default embedder: one stored row a token, summed. No network, no runtime beyond numpy, microseconds a text.

The rows are a model2vec distillation of all-MiniLM-L6-v2 (see models/NOTICE): each token's own embedding, projected
to 256 components and weighted by how rare the token is. They are stored as int8 with one common scale, which is not
kept: it multiplies every component of a sum alike, and the sum is brought to length 1 anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mnemond.embed.data import damaged, fingerprint, read_array, read_model, read_word_pieces
from mnemond.embed.embedder import Purpose, unit
from mnemond.embed.relatives import FILE, Relatives
from mnemond.model.changes import Vector
from mnemond.text.tokens import fold

MAX_TOKENS = 512
"""Known tokens of a text that count (the default of model2vec's `encode`)."""

ALGORITHM = "static-1"
"""Raised when the same model files would give other vectors: tokenisation, pooling or normalisation changed."""


class StaticModel:
    """Embeds by table look-up; see `Embedder` and `WordEmbedder`.

    The sum of at most 512 rows of int8 is a whole number below 2^24, so float32 holds it exactly and the order of the
    tokens cannot change a bit of the result.
    """

    inline = True

    def __init__(self, directory: Path) -> None:
        """Reads `table.npy`, `vocab.txt` and `relatives.npy`; the directory's name is the model's.

        UNAVAILABLE when a file is missing or unusable. The relatives are no part of the fingerprint: they make no
        vector.
        """
        table, vocabulary = directory / "table.npy", directory / "vocab.txt"
        raw = read_model(table)
        self.name = directory.name
        self.fingerprint = fingerprint(ALGORITHM, raw, read_model(vocabulary))
        self._table: npt.NDArray[np.int8] = read_array(table, raw, np.dtype(np.int8))
        self._word_piece = read_word_pieces(vocabulary)
        self.dimension = int(self._table.shape[1])
        if len(self._word_piece) != len(self._table):
            raise damaged(table, f"has {len(self._table)} rows for {len(self._word_piece)} tokens")
        self._relatives = Relatives(directory / FILE, self._word_piece)

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """One vector a text; None for a text without a known token. Made for comparing alike: no purpose differs."""
        return [self._embed_one(text) for text in texts]

    def alike(self, word: str) -> tuple[tuple[str, float], ...]:
        """Index terms of the words most like a folded word, with their cosines; see `WordEmbedder`."""
        return self._relatives[word]

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        """The direction of a text whose words count differently; see `WordEmbedder`."""
        unknown = self._word_piece.unknown
        ids: list[int] = []
        weights: list[float] = []
        for word, pieces in self._word_piece.written(text):
            known = pieces if unknown not in pieces else [number for number in pieces if number != unknown]
            if known:
                ids += known
                weights += [weight_of(fold(word))] * len(known)
                if len(ids) >= MAX_TOKENS:
                    break
        if not ids:
            return None
        rows = self._table.take(ids[:MAX_TOKENS], axis=0).astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite has no direction
            shares = np.array(weights[:MAX_TOKENS])
            shares /= np.abs(shares).max()  # so that float32 can hold any of them, and the squares of their sums
            return unit(shares.astype(np.float32) @ rows)

    def forget(self) -> None:
        """Let go of the words whose pieces or relatives are remembered."""
        self._word_piece.forget()
        self._relatives.clear()

    def _embed_one(self, text: str) -> Vector | None:
        ids = self._word_piece.encode(text, MAX_TOKENS, keep_unknown=False)
        if not ids:
            return None
        return unit(np.add.reduce(self._table.take(ids, axis=0), axis=0, dtype=np.float32))
