"""The interfaces of embedders, and what all of them share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, runtime_checkable

import numpy as np

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector

Purpose = Literal["document", "query"]
"""Some models were trained with different prefixes for texts to find and texts to search for."""

UNKNOWN_WORDS = "the embedder knows no word of this text"
"""The reason why a text has no vector although its embedder answered."""


MULTILINGUAL: Final = (
    "multilingual",
    "bge-m3",
    "arctic-embed2",
    "jina-embeddings-v3",
    "embeddinggemma",
    "qwen3-embedding",
)
"""Parts of the names of models that were trained on a hundred languages, by their cards."""


def is_multilingual(name: str) -> bool:
    """Return True if a model knows scripts without spaces and Hangul as well as English, by its name."""
    return any(part in name.lower() for part in MULTILINGUAL)


class Embedder(Protocol):
    """Turns texts into directions that can be compared by their dot product.

    `fingerprint` is the hash of the model's data (of its name and digest where the data is out of reach) and of the
    version of the algorithm: vectors of two embedders with equal fingerprints may be compared, all others have no
    cosine. `inline`: a text takes so little time that it may be embedded on the event loop; all other embedders block,
    for seconds if they must, and need a thread.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def inline(self) -> bool: ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return one vector a text, in order: shape (dimension,), float32, length 1.

        None for a text without a direction: it is empty, holds nothing the model knows, or its sum is zero or not
        finite. A query is answered or given up within seconds.
        Raises MnemonError(UNAVAILABLE) if the model is behind a server; one in process never does.
        """
        ...

    def clear_cache(self) -> None:
        """Drop everything that was kept of the texts it was given. Never blocks; for any thread."""
        ...


@runtime_checkable
class WordEmbedder(Protocol):
    """An embedder whose text is the sum of its words, so that a word can be compared and weighted by itself.

    Check with `isinstance` once for each embedder, not for each text: the answer does not change and costs
    microseconds.
    """

    def related_terms(self, word: str) -> tuple[tuple[str, float], ...]:
        """Return the index terms of the words most similar to `word` (folded), with their cosines in 0..1, best first.

        At most eight, without the word's own term, each once; empty for a word that is not known as a whole.
        """
        ...

    def embed_weighed(self, text: str, weight_of: Callable[[str], float]) -> Vector | None:
        """Return the direction of `text` with each word counted `weight_of` times: shape (dimension,), length 1.

        `weight_of` is called once for each known word, in order, with the word folded; a word is a run of letters and
        digits, a single other mark, or a single Han character. With a weight of 1 for all it is the vector of
        `Embedder.embed`. None if there is no direction: nothing known, or a sum that is zero or not finite.
        """
        ...


class Supply(Protocol):
    """The source of embedders; `mnemond.embed.registry.Embedders` implements it.

    For any thread without an event loop; every method may block for seconds.
    """

    @property
    def wants(self) -> bool:
        """Return True if new stores get an embedder."""
        ...

    @property
    def lacking(self) -> str | None:
        """The reason why `preferred` failed the last time; None if it did not."""
        ...

    def preferred(self) -> Embedder | None:
        """Return the embedder of new stores; None if they get none. Raises MnemonError(UNAVAILABLE)."""
        ...

    def named(self, provider: str, model: str | None) -> Embedder:
        """Return a requested embedder. Raises MnemonError(CONFIG), MnemonError(UNAVAILABLE)."""
        ...

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        """Return the embedder a store was made with, without contacting its server. Raises MnemonError(UNAVAILABLE)."""
        ...

    def clear_cache(self) -> None:
        """Clear the cache of every embedder. Never blocks, unlike all else; for the event loop."""
        ...


def unit(total: Vector) -> Vector | None:
    """Scale `total` to length 1; None if it has no direction (zero, or not finite)."""
    length = math.sqrt(float(np.dot(total, total)))
    if not math.isfinite(length) or length == 0.0:
        return None
    scaled: Vector = total / np.float32(length)
    return scaled


def fingerprint(algorithm: str, *parts: bytes) -> str:
    """Compute the SHA-256 of the algorithm's version and the parts of the model, each preceded by its length."""
    digest = hashlib.sha256(algorithm.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def try_embed(
    embedder: Embedder, texts: Sequence[str], purpose: Purpose = "document"
) -> tuple[list[Vector | None], str | None]:
    """Return one vector a text, and why the embedder failed; None if it answered, and then a text without a vector
    has no word that it knows.

    Blocks as `embed` does. Raises what `embed` raises, except MnemonError(UNAVAILABLE).
    """
    try:
        return embedder.embed(texts, purpose=purpose), None
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return [None] * len(texts), sentence(error)


def sentence(error: MnemonError) -> str:
    """Return the message of an error with its hint, for a field of a result."""
    return error.message if error.hint is None else f"{error.message}; {error.hint}"


class PrecomputedEmbedder:
    """Gives one query the vector, or the error, that another embedder gave; see `Embedder`."""

    inline = True

    def __init__(self, embedder: Embedder, answer: list[Vector | None] | MnemonError) -> None:
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.fingerprint = embedder.fingerprint
        self._answer = answer

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """Return or raise the answer."""
        if isinstance(self._answer, MnemonError):
            raise self._answer
        return self._answer

    def clear_cache(self) -> None:
        """Do nothing: no text is kept."""


def precompute(embedder: Embedder, query: str) -> PrecomputedEmbedder:
    """Embed one query; blocks as the embedder does."""
    try:
        return PrecomputedEmbedder(embedder, embedder.embed([query], purpose="query"))
    except MnemonError as error:
        return PrecomputedEmbedder(embedder, error)
