"""What a word looks like when it names something in code: the patterns of spec 6.3 (b), one word at a time.

`split` cuts a text in one pass of one regular expression; everything after that looks at one short word. Repeats are
possessive or bounded, so time grows with the length of a text and no faster.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from mnemond.model.entity import EntityType
from mnemond.text.entity_terms import ERROR_NAMES, FILE_EXTENSIONS, FILE_NAMES, NOT_HANDLES, TERMS
from mnemond.text.gazetteer import NOT_CAMEL, ORDINARY
from mnemond.text.tokens import PAIRED_SCRIPTS

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

_ACRONYM: Final = re.compile(r"([A-Z]{2,6})(?:-?[0-9]{1,6})?")
_PLURAL: Final = re.compile(r"([A-Z]{2,6})s")
_CODE: Final = re.compile(r"E[0-9]{2,6}|CVE-[0-9]{4}-[0-9]{4,7}")
_ERROR: Final = re.compile(r"\w+(?:Error|Exception|Fault)|[Ee]rr[A-Z]\w+")
_CAMEL: Final = re.compile(r"(?![nrt][A-Z][a-z]*$)[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*|[A-Z]{3,}[a-z]{2,}[A-Za-z0-9]*")
_PATH: Final = re.compile(r"(?:~|\.\.?)?/?(?:[\w.@+-]+/)+[\w.@+#-]*\.(\w{1,10})", re.ASCII)
_FILE: Final = re.compile(r"\.?\w[\w.+-]*\.(\w{1,10})", re.ASCII)
_HANDLE: Final = re.compile(r"@[A-Za-z0-9][\w-]{0,38}", re.ASCII)
_SCOPED: Final = re.compile(r"@[a-z0-9-]{1,64}/[a-z0-9._-]{1,100}")
_PARTS: Final = re.compile(r"[./\\#+-]+")


def split(text: str) -> list[str]:
    """`text` as words, with marks between them as words of one character.

    What code joins stays one word (paths, versions, dotted names, addresses), as do a title in its quotes and a run of
    Han, Kana or Hangul. Blanks are dropped.
    """
    return (_ascii() if text.isascii() else _unicode()).findall(text)


def _pattern(letters: str, others: str) -> str:
    word = rf"(?:C\+\+|[CF]#|{letters})(?:[./@#+\\-]++{letters})*{_SUFFIX}"
    return rf"{_URL}|{others}{word}|{_LEAD}{word}|[^\w ]"


@cache
def _ascii() -> re.Pattern[str]:
    return re.compile(_pattern(r"\w++", ""), re.ASCII)


@cache
def _unicode() -> re.Pattern[str]:
    return re.compile(_pattern(rf"[^\W{PAIRED_SCRIPTS}]++", rf"{_QUOTED}|[{PAIRED_SCRIPTS}]++|"))


def is_ordinary(word: str) -> bool:
    """Whether a word names nothing, however it is written."""
    return word.lower() in ORDINARY


def mixed_shape(word: str) -> Shape | None:
    """Name and type of a word of small and capital letters: an error, a plural acronym, CamelCase."""
    return _mixed_remembered(word) if len(word) <= LONGEST_REMEMBERED else _mixed_shape(word)


@lru_cache(maxsize=REMEMBERED_WORDS)
def _mixed_remembered(word: str) -> Shape | None:
    return _mixed_shape(word)


def forget_cached() -> None:
    """Let go of every remembered word, so that nothing of a purged memory stays."""
    _mixed_remembered.cache_clear()


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
