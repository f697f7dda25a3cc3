"""The words most like a word of the vocabulary, looked up in a table that ships beside the model's rows.

The table is worked out from the rows alone (models/build_relatives.py); looking a word up compares nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from mnemond.embed.data import damaged, read_array, read_model
from mnemond.embed.wordpiece import WordPiece
from mnemond.text.tokens import index_term

FILE: Final = "relatives.npy"

MOST_RELATIVES: Final = 8
"""Kept for each word; with thirty-two, recall on the development data was no better."""

LEAST_COSINE: Final = 0.40
"""From here on a word of the built-in model may stand for another; chosen on the development data with the number."""

FULL_COSINE: Final = 255
"""A cosine of 1 as it is stored; the steps between are .004."""

RELATIVE: Final = np.dtype([("id", "<u2"), ("cosine", "u1")])
"""A relative: its row, and its cosine in parts of `FULL_COSINE`. Row 0 is "[PAD]", nobody's relative: there is none."""

REMEMBERED: Final = 2048
"""Words whose relatives are kept as terms; the memory starts afresh when it is full (about 2 MB)."""

_COSINES: Final = tuple(part / FULL_COSINE for part in range(FULL_COSINE + 1))


class Relatives(dict[str, tuple[tuple[str, float], ...]]):
    """From a folded word to the index terms of its relatives with their cosines, best first; () when it has none."""

    def __init__(self, path: Path, word_piece: WordPiece) -> None:
        """Reads the table of a model with that vocabulary. UNAVAILABLE when it is missing or does not fit."""
        super().__init__()
        self._rows = _read(path, len(word_piece))
        self._word_piece = word_piece

    def __missing__(self, word: str) -> tuple[tuple[str, float], ...]:
        row = self._rows[self._word_piece.id_of(word)].tolist()
        if not row[0][0]:
            return ()
        piece_of = self._word_piece.piece_of
        found = tuple((index_term(piece_of(number)), _COSINES[part]) for number, part in row if number)
        if len(self) >= REMEMBERED:
            self.clear()
        self[word] = found
        return found


def _read(path: Path, tokens: int) -> npt.NDArray[np.void]:
    rows: npt.NDArray[np.void] = read_array(path, read_model(path), RELATIVE)
    if rows.shape != (tokens, MOST_RELATIVES):
        raise damaged(path, f"has shape {rows.shape} for {tokens} tokens and {MOST_RELATIVES} relatives")
    highest = int(rows["id"].max(initial=0))
    if highest >= tokens:
        raise damaged(path, f"names row {highest} of {tokens}")
    return rows
