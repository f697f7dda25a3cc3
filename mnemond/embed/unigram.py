"""SentencePiece's segmentation of a text by a unigram language model, without its library.

Sources: Kudo, Subword Regularization, 2018; the tokens of XLM-R as the library `tokenizers` makes them: characters
replaced, words led by a mark for the blank, then the best segmentation of each word. The library itself brings a client
of a model hub.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.text.tokens import capped

MAX_TOKENS: Final = 512
"""Positions of the model, [CLS] and [SEP] (here <s> and </s>) among them."""

Ids = npt.NDArray[np.int64]

SPACE: Final = "\u2581"
"""Stands for the blank before a word (SentencePiece)."""

MARKS: Final = frozenset({"<s>", "</s>", "<pad>", "<unk>", "<mask>"})
"""Pieces with a meaning for the model. In a text they are but text, so no memory can smuggle one in."""

UNKNOWN_BELOW: Final = 10.0
"""How far the score of an unknown character lies below that of the rarest piece (SentencePiece, kUnkPenalty)."""

MAX_CACHED_WORDS: Final = 16_384
MAX_CACHED_LENGTH: Final = 32
"""Words whose pieces are cached, and their length: a sentence in Chinese is one word here and does not come again."""

MAX_READ: Final = 8_192
"""Characters of a text that are segmented: 512 tokens hardly ever have more."""


class Special(NamedTuple):
    """Ids of the start and the end of a text, of padding, and of what is unknown."""

    start: int
    end: int
    padding: int
    unknown: int


class Unigram:
    """Segmentation of a text into the pieces whose scores (log-probabilities) have the greatest sum."""

    def __init__(
        self, ids: Mapping[str, int], scores: Sequence[float], replacements: Mapping[int, str], special: Special
    ) -> None:
        """`scores` by id; `replacements` by code point."""
        self._ids = {piece: number for piece, number in ids.items() if piece not in MARKS}
        self._scores = scores
        self._replacements = replacements
        self._special = special
        self._longest = max(map(len, ids))
        self._unknown_score = min(scores) - UNKNOWN_BELOW
        self._pieces: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, at most MAX_TOKENS, between those of start and end."""
        cleaned = capped(text[:MAX_READ]).translate(self._replacements)
        ids = [self._special.start]
        for word in cleaned.split(" "):
            if word:
                ids += self._segmented(SPACE + word)
                if len(ids) >= MAX_TOKENS - 1:
                    break
        return [*ids[: MAX_TOKENS - 1], self._special.end]

    def padded(self, texts: Sequence[Sequence[int]]) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Return ids and mask of what is no padding, both of shape (texts, longest)."""
        ids = np.full((len(texts), max(map(len, texts))), self._special.padding, dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.bool_)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = True
        return ids, mask

    def clear_cache(self) -> None:
        """Drop every cached word."""
        self._pieces.clear()

    def _segmented(self, word: str) -> tuple[int, ...]:
        found = self._pieces.get(word)
        if found is None:
            found = self._best(word)
            if len(word) <= MAX_CACHED_LENGTH:
                if len(self._pieces) >= MAX_CACHED_WORDS:
                    self._pieces.clear()
                self._pieces[word] = found
        return found

    def _best(self, word: str) -> tuple[int, ...]:
        """Return the best segmentation, by dynamic programming over the ends of pieces; the first of equal ones."""
        size = len(word)
        best = [0.0, *[-float("inf")] * size]
        came: list[tuple[int, int]] = [(0, 0)] * (
            size + 1
        )  # of each end: the id of the last piece, and where it starts
        for start in range(size):
            so_far = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                number = self._ids.get(word[start:end])
                if number is not None and so_far + self._scores[number] > best[end]:
                    best[end], came[end] = so_far + self._scores[number], (number, start)
            if so_far + self._unknown_score > best[start + 1]:
                best[start + 1], came[start + 1] = so_far + self._unknown_score, (self._special.unknown, start)
        pieces = []
        end = size
        while end > 0:
            number, end = came[end]
            pieces.append(number)
        return tuple(reversed(pieces))
