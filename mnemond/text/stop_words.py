"""Words that carry grammar rather than meaning, as data."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


FUNCTION_WORDS = _words(
    "a an the this that these those",
    "i me my we us our you your he him his she her it its they them their",
    "am is are was were be been being do does did have has had",
    "will would shall should can could may might must",
    "and or but if then than so as",
    "of to in on at by for from with into about",
    "what which who whom whose when where why how",
    "not no there here also just any some all each both such only very too",
)
"""Dropped from token sets (spec 6.1). Negation is judged apart from them, so "not" and "no" are among them."""

INDEX_STOP_WORDS = FUNCTION_WORDS | _words("yes yours ours theirs hers mine")
"""Dropped from the keyword index as well, which may have a list of its own (spec 6.1)."""
