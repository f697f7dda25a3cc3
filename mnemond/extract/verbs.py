"""English verbs as far as "I" becomes somebody's name: which are in the past, and the form with -s."""

from __future__ import annotations

from typing import Final

from mnemond.text.cue_words import words_of

_IRREGULAR: Final = {
    "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "don't": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't",
}  # fmt: skip
_UNCHANGED: Final = words_of(
    "is was has does had did will would can could shall should may might must cannot can't won't wouldn't",
    "couldn't shouldn't didn't hadn't wasn't isn't doesn't hasn't mustn't used ought",
)
_PAST: Final = words_of(
    "became began bought broke brought built came caught chose drew drove fell felt found forgot gave got grew",
    "had heard held kept knew learnt led left lent lost made meant met moved paid put ran rode rose said sat",
    "saw sent set shook shot slept sold sought spent spoke spun stood stuck swore taught took thought threw",
    "told understood went woke won wore wrote ended grew hid cut quit split upset",
)
_BASE_IN_ED: Final = words_of(
    "need feed embed speed exceed proceed succeed seed bleed breed heed weed shed wed",
)
_VOWELS: Final = frozenset("aeiou")


def with_name(verb: str) -> str:
    """The form of a small-letter `verb` behind a name where `I` had this one: "prefer" → "prefers", "was" → "was"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _UNCHANGED or verb in _PAST or (verb.endswith("ed") and verb not in _BASE_IN_ED):
        return verb
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def is_present(verb: str) -> bool:
    """Whether `verb` behind "I" changes with the name, so that a second verb joined to it changes as well."""
    return with_name(verb) != verb
