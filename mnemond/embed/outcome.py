"""Embedding that does not stop what it is done for: vectors, and why some are missing."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.embed.embedder import Embedder, Purpose
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector

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
