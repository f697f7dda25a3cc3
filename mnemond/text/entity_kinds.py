"""What kind of thing a name stands for, guessed from the name alone (spec 6.3, "Type guess")."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from mnemond.model.entity import EntityType
from mnemond.text.aliases import ALIASES
from mnemond.text.entity_shapes import LONGEST, acronym, handle, is_path, mixed_shape
from mnemond.text.entity_terms import PHRASES, TERMS
from mnemond.text.gazetteer import (
    LOCATIONS,
    ORGANIZATION_ENDINGS,
    ORGANIZATION_SUFFIXES,
    ORGANIZATIONS,
    PLACE_BEGINNINGS,
    PLACE_ENDINGS,
    PLACE_SUFFIXES,
)
from mnemond.text.tokens import fold

_USER: Final = frozenset({"i", "me", "myself", "user", "the user", "我", "本人", "用户"})
_DATED: Final = re.compile(
    r"\b(?:19|20)\d\d\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6} \d|\d ?[月日]", re.IGNORECASE
)
_STATUS: Final = re.compile(r"HTTP [45](?:\d\d|xx)")
_TOOLS: Final = frozenset(fold(name) for name in (*TERMS, *PHRASES, *ALIASES, *ALIASES.values()))


REMEMBERED_NAMES = 4096
"""Names whose type is remembered: a store speaks of the same things again and again."""


def kind_of(name: str) -> EntityType:
    """The type of `name`: by the dictionary, as a place or organisation, by its shape or a date; else a concept."""
    return _remembered(name) if len(name) <= LONGEST else _kind_of(name)


@lru_cache(maxsize=REMEMBERED_NAMES)
def _remembered(name: str) -> EntityType:
    return _kind_of(name)


def forget_cached() -> None:
    """Let go of every remembered name, so that nothing of a purged memory stays."""
    _remembered.cache_clear()


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
