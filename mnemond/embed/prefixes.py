"""What a model wants to read before a text, for the models that were trained to be told its purpose."""

from __future__ import annotations

from typing import Final

from mnemond.embed.embedder import Purpose

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
