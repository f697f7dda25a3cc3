"""What the person who speaks is called, by what they say."""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.cue_words import words_of
from mnemond.text.entity_terms import TERMS
from mnemond.text.gazetteer import LOCATIONS, ORGANIZATIONS
from mnemond.text.people import is_name

UNKNOWN: Final = "User"
"""Whoever has not said their name (spec 9)."""

LONGEST_NAME: Final = 60
"""Characters of a name; a longer one is an address."""

READ: Final = 20_000
"""Characters of a message in which somebody introduces themselves."""

_STATED: Final = re.compile(
    r"\b(?:[Mm]y name is|[Mm]y name's|I am called|I'm called|[Cc]all me)\s+([A-Za-z][\w-]{1,30}(?: [A-Z][\w-]{1,30})?)"
)
_IM: Final = re.compile(
    r"(?<!\w)(?:I'm|I am|i'm|i am) ([A-Z][\w-]{1,30}(?: [A-Z][\w-]{1,30})?)(?=\s?[,.!;]| and | from |\s?\Z)"
)
_CHINESE: Final = re.compile("我(?:叫|的名字(?:是|叫)|名叫)([\u4e00-\u9fff·]{2,4}|[A-Za-z]{2,20})(?=[，,。.！!\\s]|$)")
_NOT_NAMES: Final = words_of(
    "a an the not just very so glad sorry also really from",
)


def stated_name(text: str) -> str | None:
    """The name that somebody gives as their own in `text`, which has straight apostrophes."""
    text = text[:READ]
    found = _STATED.search(text) or _CHINESE.search(text)
    if found and found[1].split()[0].lower() not in _NOT_NAMES:
        return found[1]
    for found in _IM.finditer(text):
        words = found[1].split()
        if all(map(is_name, words)) and found[1] not in TERMS and not _is_elsewhere(found[1]):
            return found[1]
    return None


def called(name: str) -> str:
    """What a host calls somebody, as it may stand in a sentence; "" where it may not."""
    plain = " ".join(name.split())
    return plain if len(plain) <= LONGEST_NAME and plain.isprintable() else ""


def says_name(sentence: str) -> bool:
    """Whether a part of a sentence is an introduction by name and nothing else."""
    bare = sentence.strip(" .,!")
    for pattern in (_STATED, _IM):
        found = pattern.match(bare)
        if found is not None and found.end() == len(bare):
            return stated_name(bare) is not None
    return False


def _is_elsewhere(name: str) -> bool:
    """A place or a company: "I'm Berlin based"."""
    return name.lower() in LOCATIONS or name.lower() in ORGANIZATIONS
