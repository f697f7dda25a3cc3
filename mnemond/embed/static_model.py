"""The default embedder: one stored row a token, summed. No network, no runtime beyond numpy, microseconds a text.

The rows are a model2vec distillation of all-MiniLM-L6-v2 (see models/NOTICE): each token's own embedding, projected
to 256 components and weighted by how rare the token is. They are stored as int8 with one common scale, which is not
kept: it multiplies every component of a sum alike, and the sum is brought to length 1 anyway.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Purpose, fingerprint, unit
from mnemond.embed.wordpiece import WordPiece, read_vocabulary
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector
from mnemond.text.tokens import fold, index_term

# Model files


REINSTALL = "reinstall the package: pip install --force-reinstall mnemond"


def damaged(path: Path, what: str) -> MnemonError:
    """Build the error for an unusable model file."""
    return MnemonError(UNAVAILABLE, f"a model cannot be loaded: {path} {what}", hint=REINSTALL)


def read_model(path: Path) -> bytes:
    """Read a file. Raises MnemonError(UNAVAILABLE).

    It is copied rather than mapped: replacing the file of a running daemon would kill it at the next page it touches.
    """
    if path.exists() and not path.is_file():
        raise damaged(path, "is no file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise damaged(path, f"could not be read ({error.strerror})") from error


def read_array(path: Path, raw: bytes, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the array of two dimensions in `raw`, the bytes of a .npy file, as a read-only view.

    Nothing in the file is unpickled, and its header allocates nothing. Raises MnemonError(UNAVAILABLE).
    """
    stream = io.BytesIO(raw)
    try:
        version = np.lib.format.read_magic(stream)
        shape, fortran, found = np.lib.format.read_array_header_1_0(stream)
    except ValueError as error:
        raise damaged(path, f"is not an array file ({error})") from error
    if version != (1, 0) or found != dtype or fortran or len(shape) != 2:
        raise damaged(path, f"holds {found} of shape {shape}, expected {dtype} in two dimensions")
    start = stream.tell()
    if len(raw) - start != math.prod(shape) * dtype.itemsize:
        raise damaged(path, f"holds {len(raw) - start} bytes for shape {shape}")
    return np.frombuffer(raw, dtype=dtype, offset=start).reshape(shape)


def read_word_pieces(path: Path) -> WordPiece:
    """Return the tokeniser of a `vocab.txt`. Raises MnemonError(UNAVAILABLE) if it cannot be read or lacks "[UNK]"."""
    try:
        return WordPiece(read_vocabulary(path))
    except OSError as error:
        raise damaged(path, f"could not be read ({error.strerror})") from error
    except ValueError as error:
        raise damaged(path, f"is not a vocabulary ({error})") from error


# Words similar to a word of the vocabulary, in a table made from the model's rows (models/build_relatives.py)


FILE: Final = "relatives.npy"

MAX_RELATIVES: Final = 8
"""Relatives kept for each word; with thirty-two, recall on the development data was no better."""

MIN_COSINE: Final = 0.40
"""Minimum cosine of a relative; chosen on the development data together with MAX_RELATIVES."""

FULL_COSINE: Final = 255
"""A cosine of 1 as it is stored; the steps between are .004."""

RELATIVE: Final = np.dtype([("id", "<u2"), ("cosine", "u1")])
"""A relative: its row, and its cosine in parts of `FULL_COSINE`. Row 0 ("[PAD]") means that there is none."""

MAX_CACHED: Final = 2048
"""Words whose relatives are cached as terms; the cache is cleared when it is full (about 2 MB)."""

_COSINES: Final = tuple(part / FULL_COSINE for part in range(FULL_COSINE + 1))


class Relatives(dict[str, tuple[tuple[str, float], ...]]):
    """Maps a folded word to the index terms of its relatives with their cosines, best first; () if it has none."""

    def __init__(self, path: Path, word_piece: WordPiece) -> None:
        """Read the table of a model with that vocabulary. Raises MnemonError(UNAVAILABLE) if it does not fit."""
        super().__init__()
        self._rows = _read(path, len(word_piece))
        self._word_piece = word_piece

    def __missing__(self, word: str) -> tuple[tuple[str, float], ...]:
        row = self._rows[self._word_piece.id_of(word)].tolist()
        if not row[0][0]:
            return ()
        piece_of = self._word_piece.piece_of
        found = tuple((index_term(piece_of(number)), _COSINES[part]) for number, part in row if number)
        if len(self) >= MAX_CACHED:
            self.clear()
        self[word] = found
        return found


def _read(path: Path, tokens: int) -> npt.NDArray[np.void]:
    rows: npt.NDArray[np.void] = read_array(path, read_model(path), RELATIVE)
    if rows.shape != (tokens, MAX_RELATIVES):
        raise damaged(path, f"has shape {rows.shape} for {tokens} tokens and {MAX_RELATIVES} relatives")
    highest = int(rows["id"].max(initial=0))
    if highest >= tokens:
        raise damaged(path, f"names row {highest} of {tokens}")
    return rows


# The model


MAX_TOKENS = 512
"""Maximum of known tokens in a text (the default of model2vec's `encode`)."""

ALGORITHM = "static-1"
"""Raised when the same model files would give other vectors: tokenisation, pooling or normalisation changed."""


class StaticModel:
    """Embeds by table look-up; see `Embedder` and `WordEmbedder`.

    The sum of at most 512 rows of int8 is a whole number below 2^24, so float32 holds it exactly and the order of the
    tokens cannot change a bit of the result.
    """

    inline = True

    def __init__(self, directory: Path) -> None:
        """Read `table.npy`, `vocab.txt` and `relatives.npy`; the directory's name is the model's.

        Raises MnemonError(UNAVAILABLE). The relatives are no part of the fingerprint: no vector depends on them.
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
        """Return one vector a text; None for a text without a known token. The purpose makes no difference."""
        return [self._embed_one(text) for text in texts]

    def related_terms(self, word: str) -> tuple[tuple[str, float], ...]:
        """Return the index terms of the words most similar to a folded word; see `WordEmbedder`."""
        return self._relatives[word]

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        """Return the direction of a text whose words count differently; see `WordEmbedder`."""
        unknown = self._word_piece.unknown
        ids: list[int] = []
        weights: list[float] = []
        for word, pieces in self._word_piece.words_with_ids(text):
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

    def clear_cache(self) -> None:
        """Drop the cached pieces and relatives of words."""
        self._word_piece.clear_cache()
        self._relatives.clear()

    def _embed_one(self, text: str) -> Vector | None:
        ids = self._word_piece.encode(text, MAX_TOKENS, keep_unknown=False)
        if not ids:
            return None
        return unit(np.add.reduce(self._table.take(ids, axis=0), axis=0, dtype=np.float32))
