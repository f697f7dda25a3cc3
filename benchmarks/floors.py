"""The parts of a recall that are unavoidable, each measured alone on arrays of the same size.

The vector floor is one float32 matrix-vector product; the keyword floor is one addition a posting of the question's
terms; then embedding the question, encoding the reply, and the bare round trip.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.synthetic import FUNCTION_WORDS, vocabulary, words_of
from mnemond.embed.embedder import Embedder
from mnemond.model.answers import RecallResult

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int32]


def timed_ms(work: Callable[[], object]) -> float:
    """Wall milliseconds of one call."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


class VectorFloor:
    """The product of a (memories, dimension) matrix with a question's vector."""

    def __init__(self, memories: int, dimension: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self._matrix = generator.standard_normal((memories, dimension), dtype=np.float32)
        self._question = generator.standard_normal(dimension, dtype=np.float32)
        self._out: Floats = np.empty(memories, dtype=np.float32)

    def run_ms(self) -> float:
        return timed_ms(lambda: np.dot(self._matrix, self._question, out=self._out))


class KeywordFloor:
    """Adding precomputed impacts of each term's postings into one accumulator."""

    def __init__(self, notes: Sequence[str], questions: Sequence[str], seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        self._scores: Floats = np.zeros(len(notes), dtype=np.float32)
        common = set(vocabulary()[:FUNCTION_WORDS])
        self._terms = {question: set(words_of(question)) - common for question in questions}
        wanted = set().union(*self._terms.values())
        found = Counter(word for note in notes for word in wanted.intersection(words_of(note)))
        self._postings = {word: self._posting(len(notes), found[word]) for word in sorted(wanted)}

    def run_ms(self, question: str) -> float:
        """Wall milliseconds for one question, clearing the accumulator included."""
        postings = [self._postings[term] for term in sorted(self._terms[question])]
        return timed_ms(lambda: self._add(postings))

    def touched(self, question: str) -> int:
        """Postings of the question's terms."""
        return sum(len(self._postings[term][0]) for term in self._terms[question])

    def _posting(self, memories: int, size: int) -> tuple[Places, Floats]:
        places = np.sort(self._generator.choice(memories, size=size, replace=False)).astype(np.int32)
        return places, self._generator.random(size, dtype=np.float32)

    def _add(self, postings: list[tuple[Places, Floats]]) -> None:
        self._scores.fill(0)
        for places, impacts in postings:
            self._scores[places] += impacts


class EmbedFloor:
    """Embedding a question the daemon has not just embedded in this process."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def run_ms(self, question: str) -> float:
        return timed_ms(lambda: self._embedder.embed([question]))


class EncodeFloor:
    """Encoding a reply the daemon gave, from its typed value."""

    def __init__(self, result: object) -> None:
        self._encoder = msgspec.json.Encoder()
        self._value = msgspec.convert(result, RecallResult)

    def run_ms(self) -> float:
        return timed_ms(lambda: self._encoder.encode(self._value))
