"""The words that tell a memory from the others of its store (spec 6.2, S2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log

from mnemond.text.tokens import tokens

MOST_CONTENT = 12
"""Keywords taken from the text itself (spec 6.2)."""

MOST_KEYWORDS = 64
"""All keywords of a memory, those of its tags and entities included."""

LEAST_DOCUMENTS = 5
"""In a smaller store frequencies say nothing, and every token is a keyword (spec 6.2)."""

LONGEST_KEYWORD = 64
"""Characters kept of a keyword: of a hash or a base64 run the beginning is enough."""


def keywords(
    text: str,
    *,
    document_frequencies: Callable[[Iterable[str]], Sequence[int]],
    documents: int,
    tags: Sequence[str],
    entities: Sequence[str],
) -> tuple[str, ...]:
    """Up to 12 tokens of `text` by tf·idf, ties alphabetical, then the tokens of `tags` and `entities` (spec 6.2).

    `document_frequencies` says in how many of the store's `documents` memories each of some tokens occurs, this one not
    counted. At most 64 in all, no repeats; in a store of fewer than 5 memories every token of the text, in its own
    order.
    """
    counts: dict[str, int] = {}
    for word in tokens(text):
        counts[word] = counts.get(word, 0) + 1
    chosen = list(counts)
    if documents >= LEAST_DOCUMENTS:
        chosen = _ranked(counts, document_frequencies(chosen), documents)
    known = frozenset(chosen[:MOST_CONTENT])
    labels = dict.fromkeys([word for word in tokens("\n".join((*tags, *entities))) if word not in known])
    extra = list(labels)[: MOST_KEYWORDS - MOST_CONTENT]
    return tuple(dict.fromkeys([word[:LONGEST_KEYWORD] for word in chosen[: MOST_KEYWORDS - len(extra)] + extra]))


def _ranked(counts: Mapping[str, int], frequencies: Sequence[int], documents: int) -> list[str]:
    """The best tokens: term frequency times ln((N + 1) / (n + 1)), the memory itself counted among the documents."""
    every = log(documents + 1)
    weighed = [
        (times * (log((min(documents, frequency)) + 1) - every), word)
        for (word, times), frequency in zip(counts.items(), frequencies, strict=True)
    ]
    weighed.sort()
    return [word for _, word in weighed[:MOST_CONTENT]]
