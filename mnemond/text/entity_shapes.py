"""What a word looks like when it names something in code: the patterns of spec 6.3 (b), one word at a time.

`split` cuts a text in one pass of one regular expression; everything after that looks at one short word. Repeats are
possessive or bounded, so time grows with the length of a text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from typing import Final

from mnemond.model.memory import EntityType
from mnemond.text.caches import text_cache
from mnemond.text.entity_lists import (
    ALIASES,
    ERROR_NAMES,
    FILE_EXTENSIONS,
    FILE_NAMES,
    LOCATIONS,
    NOT_CAMEL,
    NOT_HANDLES,
    ORDINARY,
    ORGANIZATION_ENDINGS,
    ORGANIZATION_SUFFIXES,
    ORGANIZATIONS,
    PHRASES,
    PLACE_BEGINNINGS,
    PLACE_ENDINGS,
    PLACE_SUFFIXES,
    TERMS,
)
from mnemond.text.resources import regex
from mnemond.text.tokens import PAIRED_SCRIPTS, fold, index_terms, tokens

LONGEST = 200
"""Characters of an entity's name (spec 6.3)."""

LONGEST_WITH_COMMA = 20
"""Characters of a name in 「」 that has a comma in it; a longer one is somebody's words."""

REMEMBERED_WORDS, LONGEST_REMEMBERED = 8192, 64
"""Words whose shape is remembered, and how many characters one may have: two megabytes at most."""

Shape = tuple[str, EntityType]
"""A name, and the type its shape tells."""

_URL: Final = r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&*+(),;=%]++"
_QUOTED: Final = rf"《[^《》]{{1,{LONGEST}}}》|「[^「」]{{1,{LONGEST}}}」"
_LEAD: Final = r"(?:(?:\.\.?/){1,8}\.?|~?/\.?|@|\.)"
_SUFFIX: Final = r"(?:['’](?:s|re|ve|ll|d|m|t)\b)?"

_ACRONYM: Final = regex(r"([A-Z]{2,6})(?:-?[0-9]{1,6})?")
_PLURAL: Final = regex(r"([A-Z]{2,6})s")
_CODE: Final = regex(r"E[0-9]{2,6}|CVE-[0-9]{4}-[0-9]{4,7}")
_ERROR: Final = regex(r"\w+(?:Error|Exception|Fault)|[Ee]rr[A-Z]\w+")
_CAMEL: Final = regex(r"(?![nrt][A-Z][a-z]*$)[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*|[A-Z]{3,}[a-z]{2,}[A-Za-z0-9]*")
_PATH: Final = regex(r"(?:~|\.\.?)?/?(?:[\w.@+-]+/)+[\w.@+#-]*\.(\w{1,10})", re.ASCII)
_FILE: Final = regex(r"\.?\w[\w.+-]*\.(\w{1,10})", re.ASCII)
_HANDLE: Final = regex(r"@[A-Za-z0-9][\w-]{0,38}", re.ASCII)
_SCOPED: Final = regex(r"@[a-z0-9-]{1,64}/[a-z0-9._-]{1,100}")
_PARTS: Final = regex(r"[./\\#+-]+")


def split(text: str) -> list[str]:
    """`text` as words, with marks between them as words of one character.

    What code joins stays one word (paths, versions, dotted names, addresses), as do a title in its quotes and a run of
    Han, Kana or Hangul. Blanks are dropped.
    """
    return (_ASCII_WORDS if text.isascii() else _WORDS).findall(text)


def _pattern(letters: str, others: str) -> str:
    word = rf"(?:C\+\+|[CF]#|{letters})(?:[./@#+\\-]++{letters})*{_SUFFIX}"
    return rf"{_URL}|{others}{word}|{_LEAD}{word}|[^\w ]"


_ASCII_WORDS: Final = regex(_pattern(r"\w++", ""), re.ASCII)
_WORDS: Final = regex(_pattern(rf"[^\W{PAIRED_SCRIPTS}]++", rf"{_QUOTED}|[{PAIRED_SCRIPTS}]++|"))


def is_ordinary(word: str) -> bool:
    """Whether a word names nothing, however it is written."""
    return word.lower() in ORDINARY


def mixed_shape(word: str) -> Shape | None:
    """Name and type of a word of small and capital letters: an error, a plural acronym, CamelCase."""
    return _mixed_remembered(word) if len(word) <= LONGEST_REMEMBERED else _mixed_shape(word)


@text_cache(maxsize=REMEMBERED_WORDS)
def _mixed_remembered(word: str) -> Shape | None:
    return _mixed_shape(word)


def _mixed_shape(word: str) -> Shape | None:
    if word in TERMS:
        return word, "tool"
    if word in ERROR_NAMES or _ERROR.fullmatch(word):
        return word, "error"
    if plural := _PLURAL.fullmatch(word):
        return None if is_ordinary(plural[1]) else (plural[1], acronym_type(plural[1]))
    if word not in NOT_CAMEL and not word.startswith("Mc") and len(word) <= LONGEST and _CAMEL.fullmatch(word):
        return word, "tool"
    return None


def acronym(word: str) -> Shape | None:
    """Name and type of an acronym of two to six capitals, perhaps with a number; None for ordinary words."""
    if word in ERROR_NAMES or _CODE.fullmatch(word):
        return word, "error"
    match = _ACRONYM.fullmatch(word)
    return None if match is None or is_ordinary(match[1]) else (word, acronym_type(word))


def acronym_type(word: str) -> EntityType:
    return "tool" if word in TERMS else "concept"


def address(word: str) -> Shape | None:
    """An http(s) address without the punctuation of the sentence around it; None where nothing follows the scheme."""
    if len(word) > 2 * LONGEST:
        return None
    end = word.rstrip(".,;:!?*_~")
    while end.endswith((")", "]")) and end.count(end[-1]) > end.count("(" if end[-1] == ")" else "["):
        end = end[:-1].rstrip(".,;:!?*_~")
    return (end, "concept") if end.partition("://")[2] else None


def title(quoted: str) -> str:
    """What stands in 《》 or 「」; "" for what somebody says there, a sentence with its stops."""
    name = quoted[1:-1].strip(" \t\"“”'")
    is_speech = quoted[0] == "「" and ("。" in name or ("，" in name and len(name) > LONGEST_WITH_COMMA))
    return "" if is_speech else name


def handle(word: str, following: str) -> Shape | None:
    """@somebody, or a scoped package. A decorator (called, dotted, or well-known) is nobody."""
    if _SCOPED.fullmatch(word):
        return word, "tool"
    if following == "(" or not _HANDLE.fullmatch(word) or word[1:].lower() in NOT_HANDLES:
        return None
    return word, "person"


def is_path(word: str) -> bool:
    """Whether a word is the path of a file: slashes and any ending, or none and a well-known ending."""
    if "/" in word:
        match = _PATH.fullmatch(word)
        return match is not None and not match[1].isdigit()
    match = _FILE.fullmatch(word)
    return word in FILE_NAMES or (match is not None and match[1] in FILE_EXTENSIONS)


def parts(word: str) -> list[str]:
    """The words that slashes, dots and hyphens join."""
    return _PARTS.split(word)


# What kind of thing a name stands for, guessed from the name alone (spec 6.3, "Type guess").


_USER: Final = frozenset({"i", "me", "myself", "user", "the user", "我", "本人", "用户"})
_DATED: Final = regex(
    r"\b(?:19|20)\d\d\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d|\d ?[月日]", re.IGNORECASE
)
_STATUS: Final = regex(r"HTTP [45](?:\d\d|xx)")
_TOOLS: Final = frozenset(fold(name) for name in (*TERMS, *PHRASES, *ALIASES, *ALIASES.values()))


REMEMBERED_NAMES = 4096
"""Names whose type is remembered: a store speaks of the same things again and again."""


def kind_of(name: str) -> EntityType:
    """The type of `name`: by the dictionary, as a place or organisation, by its shape or a date; else a concept."""
    return _remembered(name) if len(name) <= LONGEST else _kind_of(name)


@text_cache(maxsize=REMEMBERED_NAMES)
def _remembered(name: str) -> EntityType:
    return _kind_of(name)


def _kind_of(name: str) -> EntityType:
    folded = " ".join(fold(name).split())
    if folded in _USER:
        return "user"
    if folded in _TOOLS:
        return "tool"
    if folded in LOCATIONS:
        return "location"
    if folded in ORGANIZATIONS:
        return "organization"
    return _by_shape(name) or _by_ending(folded) or ("event" if _is_dated(folded) else "concept")


def _by_shape(name: str) -> EntityType | None:
    if len(name) > LONGEST or "://" in name:
        return None
    if name.startswith("@"):
        found = handle(name, "")
        return None if found is None else found[1]
    if is_path(name):
        return "tool"
    found = mixed_shape(name) or acronym(name)
    if found is not None and found[1] != "concept":
        return found[1]
    return "error" if _STATUS.fullmatch(name) else None


def _by_ending(folded: str) -> EntityType | None:
    """Organisation or place by the first or last word of several, or by the last character of a Chinese name."""
    words = folded.split()
    if len(words) > 1:
        if words[-1].rstrip(".") in ORGANIZATION_ENDINGS or "university of" in folded:
            return "organization"
        if words[-1] in PLACE_ENDINGS or words[0] in PLACE_BEGINNINGS:
            return "location"
    elif not folded.isascii() and len(folded) > 2:
        if folded.endswith(ORGANIZATION_SUFFIXES):
            return "organization"
        if folded.endswith(PLACE_SUFFIXES):
            return "location"
    return None


def _is_dated(folded: str) -> bool:
    """Whether a name of several words holds a date: "offsite March 2026", "2026-02-18 launch"."""
    return (" " in folded or not folded.isascii()) and _DATED.search(folded) is not None


# The words that tell a memory from the others of its store (spec 6.2, S2).


MAX_CONTENT = 12
"""Keywords taken from the text itself (spec 6.2)."""

MAX_KEYWORDS = 64
"""All keywords of a memory, those of its tags and entities included."""

MIN_DOCUMENTS = 5
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
    if documents >= MIN_DOCUMENTS:
        chosen = _ranked(counts, document_frequencies(chosen), documents)
    known = frozenset(chosen[:MAX_CONTENT])
    labels = dict.fromkeys([word for word in tokens("\n".join((*tags, *entities))) if word not in known])
    extra = list(labels)[: MAX_KEYWORDS - MAX_CONTENT]
    return tuple(dict.fromkeys([word[:LONGEST_KEYWORD] for word in chosen[: MAX_KEYWORDS - len(extra)] + extra]))


def _ranked(counts: Mapping[str, int], frequencies: Sequence[int], documents: int) -> list[str]:
    """The best tokens: term frequency times ln((N + 1) / (n + 1)), the memory itself counted among the documents."""
    every = log(documents + 1)
    weighed = [
        (times * (log((min(documents, frequency)) + 1) - every), word)
        for (word, times), frequency in zip(counts.items(), frequencies, strict=True)
    ]
    weighed.sort()
    return [word for _, word in weighed[:MAX_CONTENT]]


# What ranking asks of a text by itself: the words inside its names, and how much of it asks.


SHORTEST_PART: Final = 2
"""Letters of a part of a name that is a word of its own."""

_PASSAGE_CAMEL: Final = regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NAME: Final = regex(r"[A-Za-z]{2,64}")
_PART: Final = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE: Final = regex(r"[^.!?？。！\n]+[.!?？。！\n]*|[.!?？。！\n]+")


def inner_terms(text: str) -> list[str]:
    """Index terms of the parts of every name in camel case, in order: "SetOption" has "set" and "option"."""
    # What has no capital but at its beginning has no parts: told of a word three times as fast as by an expression.
    likely = " ".join([word for word in text.split() if not (word.islower() or word.istitle())])
    if not _PASSAGE_CAMEL.search(likely):
        return []
    parts = [
        part
        for name in _NAME.findall(likely)
        if not (name[1:].islower() or name.isupper()) and len(found := _PART.findall(name)) > 1
        for part in found
        if len(part) >= SHORTEST_PART
    ]
    return index_terms(" ".join(parts)) if parts else []


def asking(text: str) -> float:
    """Share of the characters that stand in sentences ending with a question mark, in [0, 1]."""
    if "?" not in text and "？" not in text:
        return 0.0
    every = asked = 0
    for sentence in _SENTENCE.findall(text):
        bare = sentence.strip()
        every += len(bare)
        if bare.endswith(("?", "？")):
            asked += len(bare)
    return asked / every if every else 0.0
