"""Features of a text for the index and for ranking: keywords, the words inside its names, the share of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Final

from mnemond.text.resources import regex
from mnemond.text.tokens import index_terms, tokens

MAX_CONTENT: Final = 12
"""Keywords taken from the text itself."""

MAX_KEYWORDS: Final = 64
"""All keywords of a memory, those of its tags and entities included."""

MIN_DOCUMENTS: Final = 5
"""Memories of a store whose word frequencies mean something; in a smaller one every token is a keyword."""

LONGEST_KEYWORD: Final = 64
"""Characters kept of a keyword: of a hash or a base64 run the beginning is enough."""

SHORTEST_PART: Final = 2
"""Letters of a part of a name that is a word of its own."""

_CAMEL_CASE: Final = regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NAME: Final = regex(r"[A-Za-z]{2,64}")
_PART: Final = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE: Final = regex(r"[^.!?？。！\n]+[.!?？。！\n]*|[.!?？。！\n]+")


def keywords(
    text: str,
    *,
    document_frequencies: Callable[[Iterable[str]], Sequence[int]],
    documents: int,
    tags: Sequence[str],
    entities: Sequence[str],
) -> tuple[str, ...]:
    """Up to `MAX_CONTENT` tokens of `text` by tf·idf, ties alphabetical, then the tokens of `tags` and `entities`.

    `document_frequencies` returns in how many of the store's `documents` memories each of some tokens occurs, this one
    not counted. At most `MAX_KEYWORDS` in all, no repeats; in a store of fewer than `MIN_DOCUMENTS` memories every
    token of the text, in its own order.
    """
    counts: dict[str, int] = {}
    for word in tokens(text):
        counts[word] = counts.get(word, 0) + 1
    chosen = list(counts)
    if documents >= MIN_DOCUMENTS:
        chosen = _best(counts, document_frequencies(chosen), documents)
    known = frozenset(chosen[:MAX_CONTENT])
    labels = dict.fromkeys([word for word in tokens("\n".join((*tags, *entities))) if word not in known])
    extra = list(labels)[: MAX_KEYWORDS - MAX_CONTENT]
    return tuple(dict.fromkeys([word[:LONGEST_KEYWORD] for word in chosen[: MAX_KEYWORDS - len(extra)] + extra]))


def _best(counts: Mapping[str, int], frequencies: Sequence[int], documents: int) -> list[str]:
    """The best tokens: term frequency times ln((N + 1) / (n + 1)), the memory itself counted among the documents."""
    every = log(documents + 1)
    weighed = [
        (times * (log((min(documents, frequency)) + 1) - every), word)
        for (word, times), frequency in zip(counts.items(), frequencies, strict=True)
    ]
    weighed.sort()
    return [word for _, word in weighed[:MAX_CONTENT]]


def inner_terms(text: str) -> list[str]:
    """Index terms of the parts of every name in camel case, in order: "SetOption" gives "set" and "option"."""
    # A word without a capital behind its first letter has no parts; these methods are three times as fast as a pattern.
    likely = " ".join([word for word in text.split() if not (word.islower() or word.istitle())])
    if not _CAMEL_CASE.search(likely):
        return []
    parts = [
        part
        for name in _NAME.findall(likely)
        if not (name[1:].islower() or name.isupper()) and len(found := _PART.findall(name)) > 1
        for part in found
        if len(part) >= SHORTEST_PART
    ]
    return index_terms(" ".join(parts)) if parts else []


def question_share(text: str) -> float:
    """Share of the characters that belong to sentences with a question mark at their end, in [0, 1]."""
    if "?" not in text and "？" not in text:
        return 0.0
    every = asking = 0
    for sentence in _SENTENCE.findall(text):
        bare = sentence.strip()
        every += len(bare)
        if bare.endswith(("?", "？")):
            asking += len(bare)
    return asking / every if every else 0.0
