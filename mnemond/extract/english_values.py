"""Subjects and values of English clauses: whom a clause is about, and what it gives that can be remembered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from mnemond.extract.english_grammar import AUXILIARIES, Clause, Word, grammar, is_plural, words_in
from mnemond.extract.english_reference import LASTING
from mnemond.extract.findings import refers
from mnemond.text.entities import extract
from mnemond.text.resources import one_of, regex, words_of
from mnemond.text.tokens import tokens

Subject = Literal["i", "we", "own", "person", "thing", "anyone"]

# ---------------------------------------------------------------- the subject

_OWN: Final = frozenset({"my", "our", "mine", "ours"})
_GENERAL: Final = frozenset({"all", "every", "each", "any", "both", "most"})
_POINTING: Final = words_of(
    "here sounds looks seems feels guess much so things wow this that these those it you there what which such"
)
DEFINITE: Final = frozenset({"the", "this", "that", "these", "those"})


def subject_of(clause: Clause) -> Subject:
    """Return the kind of a clause's subject."""
    words, lists = words_in(clause.subject), grammar()
    smalls = [word.small for word in words]
    if not smalls or "your" in smalls or "yours" in smalls:
        return "anyone"
    if "i" in smalls:
        return "i" if smalls == ["i"] else "we"
    if smalls[0] == "we":
        return "we"
    if not _OWN.isdisjoint(smalls):
        return "own"
    if smalls[0] == "this" and LASTING.match(clause.subject):
        return "own"
    if smalls[0] in _POINTING or smalls[1:2] == ["one"] or (smalls[0] in lists.anyone and len(smalls) < 2):
        return "anyone"
    if any(small.removesuffix("'s") in lists.persons for small in smalls):
        return "person"
    return "person" if any(each.kind == "person" for each in extract(clause.subject)) else "thing"


def is_named(clause: Clause) -> bool:
    """True if the subject is a name and nothing else, of a thing or a person: "Heron", "Green Falcon"."""
    words = words_in(clause.subject)
    names = [word for word in words if word.small not in ("and", "&", "from", "of", "the")]
    if not names or len(names) > 3 or not all(word.text[:1].isupper() for word in names):
        return False
    return not (len(names) == 1 and (names[0].small.endswith("ing") or names[0].small in grammar().plurals))


def is_at_hand(clause: Clause, about: Subject) -> bool:
    """True if the subject is a piece of the text, the code or the conversation at hand: "the page", "the second
    example", "the error message". One that is described otherwise is not: "the parcel locker code"."""
    words, lists = words_in(clause.subject), grammar()
    if about not in ("thing", "own") or not words or words[-1].small not in lists.at_hand.nouns:
        return False
    plural = words[-1].small.endswith("s") and words[0].small not in DEFINITE
    if plural or words[0].small in _GENERAL or (about == "own" and is_habit(clause.text)):
        return False
    described = [word.small for word in words[:-1] if word.small not in lists.determiners]
    return words[-1].small in lists.at_hand.always or all(
        each in lists.at_hand.nouns | lists.ordinals | lists.moods | lists.adverbs for each in described
    )


def is_general(clause: Clause) -> bool:
    """True if the subject is a kind of thing: "all invoices", "contractors", "rendering code"."""
    words = words_in(clause.subject)
    if words[0].small in _GENERAL | _ANY:
        return True
    bare = words[0].small not in DEFINITE | {"i", "we", "a", "an", "he", "she"}
    return bare and (is_plural(words[-1].small) or any(is_plural(word.small) for word in words[:1]) or len(words) > 1)


def is_kind(clause: Clause) -> bool:
    """True if the subject is a bare plural: "feature branches"."""
    words = words_in(clause.subject)
    return words[0].small not in DEFINITE | {"my", "our"} and is_plural(words[-1].small)


_ANY: Final = frozenset({"anything", "everything", "anyone", "everyone", "nobody", "nothing", "whoever"})
# ---------------------------------------------------------------- values

NUMBER_WORD: Final = regex(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|dozen|twice"
    r"|half|an? (?:second|minute|hour|day|week|fortnight|month|year)|noon|midnight|weekend|quarter"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|spring|summer|autumn|winter)\b",
    re.IGNORECASE,
)
_HABIT: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().habit)})(?![\w'])", re.IGNORECASE)
_TODAY: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().today)})(?![\w'])", re.IGNORECASE)
_PASSING: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().passing)})(?![\w'])", re.IGNORECASE)
SINCE: Final = regex(
    r"\b(?:since (?!i\b|we\b|he\b|she\b|it\b|they\b|you\b|that\b|this\b|then\b)|for (?:about |over |almost |nearly "
    r"|the (?:last|past) )?(?:\w+ ){0,2}(?:years?|months?|weeks?"
    r"|decades?|ages)"
    r"|all (?:my|our|her|his|their) li(?:fe|ves)|ever since)\b",
    re.IGNORECASE,
)
EVERY: Final = regex(
    r"\b(?:every|each (?!other)|daily|weekly|monthly|nightly|hourly|(?:mon|tues|wednes|thurs|fri|satur|sun)days"
    r"|once a|twice a"
    r"|times a)\b",
    re.IGNORECASE,
)


def is_habit(text: str) -> bool:
    """True if `text` says how often, or since when."""
    return _HABIT.search(text) is not None


def is_of_today(text: str, *, dated: bool = False) -> bool:
    """True if `text` is about the day on which it is said. A date of another day outweighs "already" and the like."""
    return _TODAY.search(text) is not None or (not dated and _PASSING.search(text) is not None)


def has_value(rest: str) -> bool:
    """True if `rest` gives a name, a number, a time or a habit."""
    return refers(rest) or NUMBER_WORD.search(rest) is not None or is_habit(rest)


def content_size(rest: str) -> int:
    """The number of content words of `rest`."""
    return len(tokens(rest))


def first_word(rest: str) -> Word | None:
    """The first word of `rest` that is no adverb."""
    words = words_in(rest)
    return next((word for word in words if word.small not in grammar().adverbs), words[0] if words else None)


def names_at_hand(rest: str) -> bool:
    """True if `rest` has a noun of the text, the code or the trouble at hand, outside of a habit."""
    lists, words = grammar(), words_in(rest)
    if is_habit(rest):
        return False
    for at, word in enumerate(words):
        if word.small in lists.trouble:
            return True
        if word.small in lists.at_hand.nouns and word.small not in lists.ordinals and _is_pointed_at(words, at):
            return True
    return False


_ARTICLES: Final = words_of("the this that these those a an my your any another same first second last next two three")


def _is_pointed_at(words: Sequence[Word], at: int) -> bool:
    """True for a noun that ends its phrase, with an article: "the tests", not "the test runner", "line 11"."""
    marked = any(word.small in _ARTICLES for word in words[max(0, at - 2) : at])
    following = words[at + 1] if at + 1 < len(words) and not words[at].closes else None
    ends = following is None or not (following.small.isalnum() and following.small not in _function_words())
    return marked and (ends or words[at].small in grammar().at_hand.always)


def _function_words() -> frozenset[str]:
    lists = grammar()
    return lists.prepositions | lists.subordinators | lists.determiners | lists.adverbs | AUXILIARIES | _JOINING


_JOINING: Final = frozenset({"and", "or", "but", "that", "which", "who"})


def behind_preposition(rest: str) -> bool:
    """True if `rest` begins with a preposition and says something behind it."""
    first = first_word(rest)
    prepositions = grammar().prepositions - _PARTICLES
    return first is not None and first.small in prepositions and content_size(rest) >= 1


_PARTICLES: Final = frozenset({"off", "up", "out", "down", "like"})


WRONG: Final = regex(
    r"\b(?:wrong|weird|strange|incorrect|unexpected|nothing|garbage|nonsense|joy|happiness|fun"
    r"|love|memories"
    r"|happy|sad|awesome|amazing|motivated|better|worse|sense|difference)\b",
    re.IGNORECASE,
)
"""Trouble at hand, or an opinion."""
