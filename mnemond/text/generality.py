"""Texts that say themselves that they hold in all projects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mnemond.text.resources import fill, on_first_use, read, regex

MAX_READ: Final = 2_000
"""Characters of a text that are looked at: who means all projects says so in the sentence."""


class _GeneralityWords(msgspec.Struct, frozen=True):
    phrases: Mapping[str, Sequence[str]]
    openings: Mapping[str, Sequence[str]]
    nouns: Mapping[str, str]


@on_first_use
def _words() -> _GeneralityWords:
    return read("generality", _GeneralityWords)


def _phrases() -> str:
    words = _words()
    phrases = "|".join(fill(each, words.nouns) for group in words.phrases.values() for each in group)
    openings = "|".join(each for group in words.openings.values() for each in group)
    negated = r"(?P<negated>\b(?:not|never|nicht|kein\w{0,2}|不是|并非)\s?)?"
    begins = r"(?:\b|(?<=[\u4e00-\u9fff])|(?=[\u4e00-\u9fff]))"
    opens = r"(?:\A|(?<=[.!?]\s))"
    return rf"{negated}{begins}(?:{phrases})(?!\w*[a-zäöü])|{opens}(?:{openings})\s?[,:，：]"


_GENERAL: Final = regex(_phrases, re.IGNORECASE)


def is_general(text: str) -> bool:
    """Return True if a text says that it holds in all projects, as "in all my repos" does, and does not deny it."""
    return any(not found["negated"] for found in _GENERAL.finditer(text[:MAX_READ]))
