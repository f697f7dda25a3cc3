"""Shapes of words that name something in code, and the types of names.

`split` cuts a text in one pass of one regular expression; everything after that looks at one short word. Repeats are
possessive or bounded, so the time grows linearly with the length of a text.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.model.memory import EntityType
from mnemond.text.caches import text_cache
from mnemond.text.entity_lists import entity_lists
from mnemond.text.resources import regex
from mnemond.text.tokens import PAIRED_SCRIPTS, fold

MAX_NAME: Final = 200
"""Characters of an entity's name."""

MAX_TITLE_WITH_COMMA: Final = 20
"""Characters of a name in 「」 that has a comma in it; a longer one is speech."""

CACHED_WORDS: Final = 8192
"""Words whose shape is cached."""

MAX_CACHED_WORD: Final = 64
"""Characters of a cached word: the cache takes two megabytes at most."""

CACHED_NAMES: Final = 4096
"""Names whose type is cached: a store names the same things again and again."""

Shape = tuple[str, EntityType]
"""A name, and the type that its shape gives it."""

_URL: Final = r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&*+(),;=%]++"
_QUOTED: Final = rf"《[^《》]{{1,{MAX_NAME}}}》|「[^「」]{{1,{MAX_NAME}}}」"
_LEAD: Final = r"(?:(?:\.\.?/){1,8}\.?|~?/\.?|@|\.)"
_SUFFIX: Final = r"(?:['’](?:s|re|ve|ll|d|m|t)\b)?"


def _words(letters: str, others: str) -> str:
    word = rf"(?:C\+\+|[CF]#|{letters})(?:[./@#+\\-]++{letters})*{_SUFFIX}"
    return rf"{_URL}|{others}{word}|{_LEAD}{word}|[^\w ]"


_ASCII_WORDS: Final = regex(_words(r"\w++", ""), re.ASCII)
_UNICODE_WORDS: Final = regex(_words(rf"[^\W{PAIRED_SCRIPTS}]++", rf"{_QUOTED}|[{PAIRED_SCRIPTS}]++|"))


def split(text: str) -> list[str]:
    """`text` as words, with the marks between them as words of one character.

    Paths, versions, dotted names and addresses stay one word, and so do a title in its quotes and a run of Han, Kana or
    Hangul. Blanks are dropped.
    """
    return (_ASCII_WORDS if text.isascii() else _UNICODE_WORDS).findall(text)


def is_ordinary(word: str) -> bool:
    """Return True for a word that names nothing, however it is written."""
    return word.lower() in entity_lists().ordinary


# ---------------------------------------------------------------- shapes of single words

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


def mixed_shape(word: str) -> Shape | None:
    """Name and type of a word of small and capital letters: an error, a plural acronym, CamelCase."""
    return _cached_mixed_shape(word) if len(word) <= MAX_CACHED_WORD else _mixed_shape(word)


@text_cache(maxsize=CACHED_WORDS)
def _cached_mixed_shape(word: str) -> Shape | None:
    return _mixed_shape(word)


def _mixed_shape(word: str) -> Shape | None:
    lists = entity_lists()
    if word in lists.terms:
        return word, "tool"
    if word in lists.error_names or _ERROR.fullmatch(word):
        return word, "error"
    if plural := _PLURAL.fullmatch(word):
        return None if is_ordinary(plural[1]) else (plural[1], _acronym_type(plural[1]))
    if word not in lists.not_camel and not word.startswith("Mc") and len(word) <= MAX_NAME and _CAMEL.fullmatch(word):
        return word, "tool"
    return None


def acronym(word: str) -> Shape | None:
    """Name and type of an acronym of two to six capitals, perhaps with a number; None for ordinary words."""
    if word in entity_lists().error_names or _CODE.fullmatch(word):
        return word, "error"
    match = _ACRONYM.fullmatch(word)
    return None if match is None or is_ordinary(match[1]) else (word, _acronym_type(word))


def _acronym_type(word: str) -> EntityType:
    return "tool" if word in entity_lists().terms else "concept"


def address(word: str) -> Shape | None:
    """An http(s) address without the punctuation of the sentence around it; None if nothing follows the scheme."""
    if len(word) > 2 * MAX_NAME:
        return None
    end = word.rstrip(".,;:!?*_~")
    while end.endswith((")", "]")) and end.count(end[-1]) > end.count("(" if end[-1] == ")" else "["):
        end = end[:-1].rstrip(".,;:!?*_~")
    return (end, "concept") if end.partition("://")[2] else None


def title(quoted: str) -> str:
    """The title in 《》 or 「」; "" for speech in quotes, a sentence with its stops."""
    name = quoted[1:-1].strip(" \t\"“”'")
    is_speech = quoted[0] == "「" and ("。" in name or ("，" in name and len(name) > MAX_TITLE_WITH_COMMA))
    return "" if is_speech else name


def handle(word: str, following: str) -> Shape | None:
    """The person of @name, or a scoped package; None for a decorator (called, dotted, or well-known)."""
    if _SCOPED.fullmatch(word):
        return word, "tool"
    if following == "(" or not _HANDLE.fullmatch(word) or word[1:].lower() in entity_lists().not_handles:
        return None
    return word, "person"


def is_path(word: str) -> bool:
    """Return True for the path of a file: slashes and any ending, or none and a well-known ending."""
    if "/" in word:
        match = _PATH.fullmatch(word)
        return match is not None and not match[1].isdigit()
    match = _FILE.fullmatch(word)
    return word in entity_lists().file_names or (match is not None and match[1] in entity_lists().file_extensions)


def parts(word: str) -> list[str]:
    """The words that slashes, dots and hyphens join."""
    return _PARTS.split(word)


# ---------------------------------------------------------------- types of names

_USER: Final = frozenset({"i", "me", "myself", "user", "the user", "我", "本人", "用户"})
_DATED: Final = regex(
    r"\b(?:19|20)\d\d\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d|\d ?[月日]", re.IGNORECASE
)
_STATUS: Final = regex(r"HTTP [45](?:\d\d|xx)")


def kind_of(name: str) -> EntityType:
    """The type of `name`: by the lists of known names, by its shape, by an ending or a date; else a concept."""
    return _cached_kind(name) if len(name) <= MAX_NAME else _kind(name)


@text_cache(maxsize=CACHED_NAMES)
def _cached_kind(name: str) -> EntityType:
    return _kind(name)


def _kind(name: str) -> EntityType:
    lists, folded = entity_lists(), " ".join(fold(name).split())
    if folded in _USER:
        return "user"
    if folded in lists.tools:
        return "tool"
    if folded in lists.places.names:
        return "location"
    if folded in lists.organizations.names:
        return "organization"
    return _kind_by_shape(name) or _kind_by_ending(folded) or ("event" if _is_dated(folded) else "concept")


def _kind_by_shape(name: str) -> EntityType | None:
    if len(name) > MAX_NAME or "://" in name:
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


def _kind_by_ending(folded: str) -> EntityType | None:
    """Organisation or place by the first or last word of several, or by the last character of a Chinese name."""
    places, organizations = entity_lists().places, entity_lists().organizations
    words = folded.split()
    if len(words) > 1:
        if words[-1].rstrip(".") in organizations.endings or "university of" in folded:
            return "organization"
        if words[-1] in places.endings or words[0] in places.beginnings:
            return "location"
    elif not folded.isascii() and len(folded) > 2:
        if folded.endswith(organizations.suffixes):
            return "organization"
        if folded.endswith(places.suffixes):
            return "location"
    return None


def _is_dated(folded: str) -> bool:
    """Return True if a name of several words holds a date: "offsite March 2026", "2026-02-18 launch"."""
    return (" " in folded or not folded.isascii()) and _DATED.search(folded) is not None
