"""What an embedder promises beyond whole texts when it knows single words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from mnemond.model.changes import Vector


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder whose text is the sum of its words, so that a word can be compared and weighed by itself.

    Ask with `isinstance` once for each embedder, not for each text: the answer does not change and costs microseconds.
    """

    def alike(self, word: str) -> tuple[tuple[str, float], ...]:
        """Index terms of the words most like `word` (folded), each with its cosine in 0..1, best first.

        At most eight, none of them the word's own term, each once; empty for a word that is not known as a whole.
        """
        ...

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        """The direction of `text` with each of its words counted `weight_of` times: shape (dimension,), length 1.

        `weight_of` is called once for each word that is known, in order, with the word folded; a word is a run of
        letters and digits, a single other mark, or a single Han character. With a weight of 1 for all it is the vector
        of `Embedder.embed`. None where there is no direction: nothing known, or a sum that is zero or not finite.
        """
        ...
