"""What every embedder promises, so that pipelines need not know which one they hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, Protocol, runtime_checkable

import numpy as np

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector

Purpose = Literal["document", "query"]
"""Whether a text is to be found or to find others: some models were trained on a different prefix for each."""


class Embedder(Protocol):
    """Turns texts into directions that can be compared by their dot product.

    `fingerprint` is made of the model's data (of its name and digest where the data is out of reach) and the version
    of the algorithm: vectors of two embedders with equal fingerprints may be compared, all others have no cosine (spec
    7.3). `inline` says that a text costs so little that it may be embedded on the event loop; all others block, for
    seconds if they must, and belong into a thread.
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
        """One vector a text, in order: shape (dimension,), float32, length 1.

        None for a text that has no direction: it is empty, holds nothing the model knows, or its sum is zero or not
        finite. A query is answered or given up within seconds, since somebody waits for it.
        Raises MnemonError(UNAVAILABLE) where the model is behind something that can fail; one in process never does.
        """
        ...

    def forget(self) -> None:
        """Let go of everything that was kept of the texts it was given. Never blocks; for any thread."""
        ...


def unit(total: Vector) -> Vector | None:
    """`total` scaled to length 1; None when it has no direction (zero, or not finite)."""
    length = math.sqrt(float(np.dot(total, total)))
    if not math.isfinite(length) or length == 0.0:
        return None
    scaled: Vector = total / np.float32(length)
    return scaled


# An answer that was fetched beforehand, in the place of the embedder that gave it.


class PrecomputedEmbedder:
    """Gives one query the vector, or the error, that another embedder gave; see `Embedder`."""

    inline = True

    def __init__(self, embedder: Embedder, answer: list[Vector | None] | MnemonError) -> None:
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.fingerprint = embedder.fingerprint
        self._answer = answer

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """The answer. Raises MnemonError(UNAVAILABLE) when that was the answer."""
        if isinstance(self._answer, MnemonError):
            raise self._answer
        return self._answer

    def forget(self) -> None:
        """Nothing of the text is kept."""


def precompute(embedder: Embedder, query: str) -> PrecomputedEmbedder:
    """Embed one query; blocks as the embedder does."""
    try:
        return PrecomputedEmbedder(embedder, embedder.embed([query], purpose="query"))
    except MnemonError as error:
        return PrecomputedEmbedder(embedder, error)


# Embedding that does not stop what it is done for: vectors, and why some are missing.


UNKNOWN_WORDS = "the embedder knows no word of this text"
"""Why a text has no vector though its embedder answered."""


def try_embed(
    embedder: Embedder, texts: Sequence[str], purpose: Purpose = "document"
) -> tuple[list[Vector | None], str | None]:
    """One vector a text, and why the embedder is not to be had: None when it answered, and then a text without a
    vector has no word that it knows.

    Blocks as `embed` does. Raises what `embed` raises, MnemonError(UNAVAILABLE) excepted.
    """
    try:
        return embedder.embed(texts, purpose=purpose), None
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return [None] * len(texts), sentence(error)


def sentence(error: MnemonError) -> str:
    """What is the matter and what to do, for a field of an answer."""
    return error.message if error.hint is None else f"{error.message}; {error.hint}"


# What a model wants to read before a text, for the models that were trained to be told its purpose.


PREFIXES: Final[dict[str, dict[Purpose, str]]] = {
    "nomic-embed-text": {"document": "search_document: ", "query": "search_query: "},
    "multilingual-e5": {"document": "passage: ", "query": "query: "},
    "e5-": {"document": "passage: ", "query": "query: "},
}
"""By the beginning of the model's name, without its publisher; from the cards of nomic-ai/nomic-embed-text-v1.5 and
intfloat/multilingual-e5-small. All other models read the text as it is."""


def prefix(model: str, purpose: Purpose) -> str:
    """What goes before a text; empty for most models."""
    name = model.rpartition("/")[2].lower()
    return next((by_purpose[purpose] for start, by_purpose in PREFIXES.items() if name.startswith(start)), "")


# Where embedders come from, as those who need one see it; `Embedders` is the real one.


class Supply(Protocol):
    """For any thread without an event loop; every method may block for seconds."""

    @property
    def wants(self) -> bool:
        """Whether new stores shall have an embedder."""
        ...

    @property
    def lacking(self) -> str | None:
        """Why the embedder of new stores was not to be had when it was last asked for; None when it was."""
        ...

    def preferred(self) -> Embedder | None:
        """The embedder of new stores; None when there shall be none. Raises MnemonError(UNAVAILABLE)."""
        ...

    def named(self, provider: str, model: str | None) -> Embedder:
        """The one a person asks for. Raises MnemonError(CONFIG), MnemonError(UNAVAILABLE)."""
        ...

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        """The one a store was made with; one behind an endpoint is not asked yet. Raises MnemonError(UNAVAILABLE)."""
        ...

    def forget(self) -> None:
        """Have every embedder let go of what it kept of texts. Never blocks, unlike all else; for the event loop."""
        ...


# What an embedder promises beyond whole texts when it knows single words.


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
