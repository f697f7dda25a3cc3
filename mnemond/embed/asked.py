"""An answer that was fetched beforehand, in the place of the embedder that gave it."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.embed.embedder import Embedder, Purpose
from mnemond.errors import MnemonError
from mnemond.model.changes import Vector


class Asked:
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


def ask(embedder: Embedder, query: str) -> Asked:
    """Embed one query; blocks as the embedder does."""
    try:
        return Asked(embedder, embedder.embed([query], purpose="query"))
    except MnemonError as error:
        return Asked(embedder, error)
