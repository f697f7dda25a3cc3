"""Plain English statements: which clauses of a person say something that lasts, by their subject, verb and rest.

A clause is kept if its subject is the speaker, a person or thing of theirs, or a thing that is spoken of as known,
its verb tells a state, a habit, a change or a plan, and the rest gives a value: a name, a number, a place, a date, a
kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from mnemond.extract.english_grammar import AUXILIARIES, Clause, Word, grammar, is_plural, words_in
from mnemond.extract.english_reference import LASTING
from mnemond.extract.findings import refers
from mnemond.text.contrast import numbers
from mnemond.text.entities import extract
from mnemond.text.resources import one_of, regex, words_of
from mnemond.text.tokens import tokens

Subject = Literal["i", "we", "own", "person", "thing", "anyone"]

Sort = Literal["trait", "state", "change", "plan"]
"""The kind of a statement: a trait of a person; a state or habit; a change that led to a state; a plan."""

NOTHING, MOMENT, PROGRESS, REQUEST, UNCERTAIN = "nothing lasting", "of the moment", "progress", "request", "uncertain"
"""Reasons why a clause is left out."""

_WISHES: Final = frozenset({"want", "hope", "plan", "intend", "need", "aim"})


ARTICLED: Final = frozenset({"the", "this", "that", "it", "them", "these", "those"})


class Statement(msgspec.Struct, frozen=True):
    """A clause that lasts, and its subject."""

    sort: Sort
    about: Subject


def plain(clause: Clause, *, dated: bool, person: bool = False) -> Statement | str:
    """`clause` as a statement that lasts, else the reason why it is none. `dated`: it has an explicit date; `person`:
    its
    subject is somebody, whatever they are called."""
    about = subject_of(clause)
    about = "person" if person and about == "thing" else about
    if about == "anyone":
        return _of_anyone(clause)
    if _is_at_hand(clause, about):
        return NOTHING
    found = _TENSES[clause.tense](clause, about, dated)
    sort = _SORTS.get(found)
    return found if sort is None else Statement(sort, about)


_SORTS: Final[dict[str, Sort]] = {"trait": "trait", "state": "state", "change": "change", "plan": "plan"}

# ---------------------------------------------------------------- the subject

_OWN: Final = frozenset({"my", "our", "mine", "ours"})
_GENERAL: Final = frozenset({"all", "every", "each", "any", "both", "most"})
_POINTING: Final = words_of(
    "here sounds looks seems feels guess much so things wow this that these those it you there what which such"
)
_DEFINITE: Final = frozenset({"the", "this", "that", "these", "those"})


def subject_of(clause: Clause) -> Subject:
    """Whom or what a clause is about."""
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


def _is_named(clause: Clause) -> bool:
    """True if the subject is a name and nothing else, of something or somebody: "Heron", "Green Falcon"."""
    words = words_in(clause.subject)
    names = [word for word in words if word.small not in ("and", "&", "from", "of", "the")]
    if not names or len(names) > 3 or not all(word.text[:1].isupper() for word in names):
        return False
    return not (len(names) == 1 and (names[0].small.endswith("ing") or names[0].small in grammar().plurals))


def _of_anyone(clause: Clause) -> Statement | str:
    """ "There are four of us" says something; "it is raining" does not."""
    if clause.head == "there" and clause.verb == "be" and _OURS.search(clause.rest) and has_value(clause.rest):
        return Statement("state", "we")
    if clause.head == "there" and _is_there(clause):
        return Statement("state", "thing")
    first = _first(clause.rest)
    if (
        clause.head == "it"
        and clause.verb == "take"
        and clause.rest.startswith(("me ", "us "))
        and has_value(clause.rest)
    ):
        return Statement("state", "i")
    placed = clause.head == "you" and clause.verb in _FINDS and _PLACED.search(clause.rest) is not None
    if (
        placed
        and not _names_at_hand(clause.rest)
        and (refers(clause.rest) or (clause.verb == "find" and content_size(clause.rest) > 2))
    ):
        return Statement("state", "thing")
    if (
        clause.head == "everything"
        and clause.verb == "be"
        and first is not None
        and first.small in ("in", "on")
        and refers(clause.rest)
    ):
        return Statement("state", "thing")
    return NOTHING


def _is_there(clause: Clause) -> bool:
    """True for "there is no lift in the building"."""
    if clause.verb != "be" or clause.tense != "present" or not _THERE.match(clause.rest) or is_of_today(clause.text):
        return False
    return not _names_at_hand(clause.rest) and _WRONG.search(clause.rest) is None


_THERE: Final = regex(
    r"(?:no|an?|two|three|four|five|six|\d+|several|many)\b.*\b(?:in|at|on|below|near|behind|per|every)\s+\S",
    re.IGNORECASE,
)
_FINDS: Final = frozenset({"find", "get", "reach", "need"})
_PLACED: Final = regex(r"\b(?:in|at|on|from|under|via|through|for|to)\s+\S", re.IGNORECASE)
_OURS: Final = regex(r"\b(?:my|our|us)\b", re.IGNORECASE)


def _is_at_hand(clause: Clause, about: Subject) -> bool:
    """True if the subject is a piece of the text, the code or the conversation at hand: "the page", "the second
    example", "the error message". One that is described otherwise is not: "the parcel locker code"."""
    words, lists = words_in(clause.subject), grammar()
    if about not in ("thing", "own") or not words or words[-1].small not in lists.at_hand.nouns:
        return False
    plural = words[-1].small.endswith("s") and words[0].small not in _DEFINITE
    if plural or words[0].small in _GENERAL or (about == "own" and is_habit(clause.text)):
        return False
    described = [word.small for word in words[:-1] if word.small not in lists.determiners]
    return words[-1].small in lists.at_hand.always or all(
        each in lists.at_hand.nouns | lists.ordinals | lists.moods | lists.adverbs for each in described
    )


# ---------------------------------------------------------------- values

_NUMBER_WORD: Final = regex(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|dozen|twice"
    r"|half|an? (?:second|minute|hour|day|week|fortnight|month|year)|noon|midnight|weekend|quarter"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|spring|summer|autumn|winter)\b",
    re.IGNORECASE,
)
_HABIT: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().habit)})(?![\w'])", re.IGNORECASE)
_TODAY: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().today)})(?![\w'])", re.IGNORECASE)
_PASSING: Final = regex(lambda: rf"(?<![\w'])(?:{one_of(grammar().passing)})(?![\w'])", re.IGNORECASE)
_SINCE: Final = regex(
    r"\b(?:since (?!i\b|we\b|he\b|she\b|it\b|they\b|you\b|that\b|this\b|then\b)|for (?:about |over |almost |nearly "
    r"|the (?:last|past) )?(?:\w+ ){0,2}(?:years?|months?|weeks?"
    r"|decades?|ages)"
    r"|all (?:my|our|her|his|their) li(?:fe|ves)|ever since)\b",
    re.IGNORECASE,
)
_EVERY: Final = regex(
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
    return refers(rest) or _NUMBER_WORD.search(rest) is not None or is_habit(rest)


def content_size(rest: str) -> int:
    """The number of content words of `rest`."""
    return len(tokens(rest))


def _first(rest: str) -> Word | None:
    """The first word of `rest` that is no adverb."""
    words = words_in(rest)
    return next((word for word in words if word.small not in grammar().adverbs), words[0] if words else None)


def _names_at_hand(rest: str) -> bool:
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


def _behind_preposition(rest: str) -> bool:
    """True if `rest` begins with a preposition and says something behind it."""
    first = _first(rest)
    prepositions = grammar().prepositions - _PARTICLES
    return first is not None and first.small in prepositions and content_size(rest) >= 1


_PARTICLES: Final = frozenset({"off", "up", "out", "down", "like"})


# ---------------------------------------------------------------- tenses


def _present(clause: Clause, about: Subject, dated: bool) -> str:
    if clause.verb == "be":
        return _being(clause, about, dated)
    rest, lists = clause.rest, grammar()
    if clause.verb == "look" and rest.startswith("after "):
        return "state"
    if about == "thing":
        return _state_of_thing(clause, dated)
    if (
        clause.verb in _WISHES
        and (dated or (_BY.search(rest) and has_value(rest)))
        and rest.startswith("to ")
        and not is_of_today(rest)
        and not _names_at_hand(rest)
    ):
        return "plan"
    thoughts = clause.verb in lists.thoughts and not (about in ("own", "person") and clause.verb in lists.properties)
    if thoughts and not (
        is_habit(clause.text) and clause.verb in lists.properties | {"find", "ask", "wait", "hear", "worry", "hope"}
    ):
        return "plan" if dated and clause.verb == "need" else NOTHING
    if clause.negated and about == "own" and clause.verb in ("work", "know", "compile", "start", "load"):
        return MOMENT
    if is_of_today(clause.text) and not is_habit(clause.text):
        return MOMENT
    if _names_at_hand(rest) and not (
        refers(rest) and (about in ("own", "person") or clause.verb not in _AT_HAND_VERBS)
    ):
        return NOTHING
    if clause.verb == "have" and _LEFT.search(rest):
        return MOMENT
    size = content_size(rest)
    if clause.verb in ("use", "want", "make") and not has_value(rest) and size < 2:
        return "names nothing"
    return "state" if size >= 1 or is_habit(clause.text) else NOTHING


_AT_HAND_VERBS: Final = words_of("have get see open call run write read add fix change remove check show make try find")
_BY: Final = regex(r"\b(?:by|before|until|this year|next year)\b", re.IGNORECASE)
_LEFT: Final = regex(r"\b(?:some|half an?|leftover|left over|spare|enough)\b", re.IGNORECASE)


def _state_of_thing(clause: Clause, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    words = words_in(clause.subject)
    if clause.verb == "keep" and any(word.small in lists.gerunds for word in words_in(rest)[:1]):
        return MOMENT
    known = clause.verb in lists.state_verbs
    if clause.verb in lists.thoughts - lists.properties and not (
        known or (clause.verb == "mean" and refers(clause.subject))
    ):
        return NOTHING
    if clause.verb in lists.failures or _WRONG.search(rest):
        return MOMENT
    if clause.verb == "work" and (clause.negated or content_size(rest) < 2):
        return NOTHING
    if clause.verb == "take" and len(words) == 1 and not words[0].small.endswith("s") and words[0].text.islower():
        return MOMENT  # "startup takes 9 seconds"
    if is_of_today(clause.text, dated=dated) and not is_habit(clause.text):
        return MOMENT
    if content_size(rest) < 1 or _names_at_hand(rest):
        return NOTHING
    if is_habit(clause.text) or has_value(rest) or has_value(clause.subject):
        return "state"
    if _behind_preposition(rest) and (known or content_size(rest) >= 2):
        return "state"
    described = len(words) > 2 or (words[0].small not in _DEFINITE and is_plural(words[-1].small))
    return (
        "state"
        if described and content_size(rest) >= (1 if known and clause.verb not in ("need", "take") else 2)
        else "names nothing"
    )


_WRONG: Final = regex(
    r"\b(?:wrong|weird|strange|incorrect|unexpected|nothing|garbage|nonsense|joy|happiness|fun"
    r"|love|memories"
    r"|happy|sad|awesome|amazing|motivated|better|worse|sense|difference)\b",
    re.IGNORECASE,
)
"""Trouble at hand, or an opinion."""


def _being(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    first = _first(rest)
    if first is None or content_size(rest) < 1:
        return NOTHING
    small = first.small
    if small in lists.moods and not is_habit(clause.subject):
        return MOMENT
    if small == "like":
        return NOTHING
    if is_of_today(rest, dated=dated):
        return MOMENT
    bare = small.removesuffix("-")
    if bare in lists.traits or (first.text[:1].isupper() and small.endswith(lists.trait_endings)):
        return "trait" if about != "thing" or has_value(rest) else "state" if bare in lists.states else NOTHING
    if about == "thing" and small in lists.lasting:
        described = len(words_in(clause.subject)) > 2 or clause.head not in _DEFINITE or content_size(rest) > 1
        return "state" if described and not clause.head.endswith("ing") else MOMENT
    if small in ("a", "an", "the", "my", "our", "his", "her", "their", "its", "no") or rest.lower().startswith(
        "one of "
    ):
        return _kind_of_noun(clause, about)
    if small in lists.prepositions:
        return (
            "state" if has_value(rest) or dated or (about in ("thing", "own") and not _names_at_hand(rest)) else NOTHING
        )
    if small in lists.states:
        return "state"
    if about in ("thing", "own") and _NOW.search(rest) and not small.endswith("er"):
        return "state"
    if about in ("i", "we", "person") and not (
        first.text[:1].isupper() or first.text[:1].isdigit() or _NUMBER_WORD.match(small)
    ):
        return "trait" if about == "person" and has_value(rest) else NOTHING
    if has_value(rest) or dated:
        return "trait" if about in ("i", "person") else "state"
    described = _is_identified(clause.subject) or len(words_in(clause.subject)) > 3
    if about == "thing" and described and content_size(rest) >= 1 and not clause.head.endswith("ing"):
        return NOTHING if _WRONG.search(rest) or small.endswith(("ful", "ous", "er", "est", "ing", "some")) else "state"
    return NOTHING


def _is_identified(subject: str) -> bool:
    """True if a subject has a number, a name that is not its first word, or the spelling of an identifier."""
    _, _, others = subject.partition(" ")
    return bool(numbers(subject) or extract(subject)) or refers(others) or any(mark in subject for mark in "/_`")


_NOW: Final = regex(r"\bnow\b|\bthese days\b|\bany ?more\b", re.IGNORECASE)


def _kind_of_noun(clause: Clause, about: Subject) -> str:
    words = words_in(clause.rest)
    first = words[0].small if words else ""
    behind = [word.small for word in words[1:6]]
    if not behind or behind[0] in grammar().passing_nouns or _names_at_hand(" ".join(behind[:3])):
        return NOTHING
    favourite = "favourite" in behind or "favorite" in behind
    if (
        about == "thing"
        and first not in ("a", "an")
        and not (favourite or has_value(clause.rest) or numbers(clause.subject))
    ):
        return NOTHING
    return "trait" if about in ("i", "person") else "state"


def _past(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists, verb = clause.rest, grammar(), clause.verb
    if is_of_today(clause.text, dated=dated) or (_JUST.search(clause.text) is not None and not dated):
        return PROGRESS
    if about == "thing":
        changed = verb in lists.changes and verb not in ("get", "study") and (dated or has_value(rest))
        changed = changed or (verb == "go" and _UP.match(rest) is not None and has_value(rest))
        changed = changed or (verb == "be" and dated and not _WRONG.search(rest))
        ended = verb in ("close", "launch", "move") and not rest.strip(" .") and refers(clause.subject)
        return "change" if changed or ended else NOTHING
    if verb == "use" and rest.startswith("to "):
        return "state" if content_size(rest) >= 2 else NOTHING
    if verb == "be":
        first = _first(rest)
        lasting = first is not None and (first.small == "born" or _SINCE.search(rest) is not None or dated)
        return "state" if lasting and first is not None and first.small not in lists.moods else NOTHING
    if _names_at_hand(rest):
        return PROGRESS
    if (verb == "get" and not _GOT.match(rest)) or (verb in ("learn", "find") and _LEARNED.match(rest)):
        return NOTHING
    if verb in _DEPARTURES and not rest.strip(" .") and about in ("own", "person"):
        return "change"
    if verb in lists.changes and content_size(rest) >= 1:
        weak = verb in grammar().weak_changes and (_is_articled(rest) or (about == "own" and not has_value(rest)))
        return PROGRESS if weak and not dated else "change"
    if about == "person" and verb in _MADE and content_size(rest) >= 2 and not _is_articled_pronoun(rest):
        return "change"
    if verb in lists.steps:
        return PROGRESS
    if dated and content_size(rest) >= 1:
        return "change"
    return "change" if about in ("i", "we", "own") and verb not in lists.thoughts and _placed_name(rest) else NOTHING


_UP: Final = regex(r"(?:up|down|from)\b", re.IGNORECASE)


def _placed_name(rest: str) -> bool:
    """True if `rest` names a place, a person or an organisation."""
    return any(each.kind in ("location", "person", "organization") for each in extract(rest))


def _is_articled_pronoun(rest: str) -> bool:
    words = words_in(rest)
    return bool(words) and words[0].small in ("it", "them", "this", "that", "these", "those")


_MADE: Final = frozenset(
    {"write", "build", "design", "create", "prescribe", "establish", "paint", "compose", "invent", "develop"}
)
_JUST: Final = regex(r"\bjust\b", re.IGNORECASE)
_DEPARTURES: Final = frozenset({"leave", "retire", "quit", "resign", "die", "graduate"})
_GOT: Final = regex(
    r"(?:married|divorced|engaged|promoted|fired|laid off|diagnosed|rid of|vaccinated|pregnant|custody|tenure"
    r"|(?:a|an|our|my|the|two|three) (?:\w+ ){0,2}(?:job|dog|cat|puppy|kitten|place|flat|house|apartment|car|bike"
    r"|degree|visa|licen[cs]e"
    r"|scholarship|role|position|phone|laptop|loan|mortgage|grant|contract|passport|baby|horse|rabbit|tattoo"
    r"|allotment|garden))\b",
    re.IGNORECASE,
)
_LEARNED: Final = regex(r"(?:a lot|a ton|lots|tons|that|so much|about|out|it|this|something)\b", re.IGNORECASE)


def _is_articled(rest: str) -> bool:
    words = words_in(rest)
    return bool(words) and words[0].small in ARTICLED


def _perfect(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists, verb = clause.rest, grammar(), clause.verb
    since = _SINCE.search(clause.text) is not None
    first = _first(rest)
    if verb == "be":
        if clause.negated and rest.startswith("to ") and content_size(rest) >= 1:
            return "state"
        if first is None or first.small in grammar().ongoing or (first.small in lists.moods and not since):
            return MOMENT
        lasting = since or dated or (first.small in lists.pursuits and has_value(rest)) or first.small in lists.states
        return "state" if lasting and not (about == "thing" and first.small in lists.moods) else NOTHING
    just = _JUST.search(clause.text) is not None and not dated
    if _names_at_hand(rest) or just or is_of_today(clause.text, dated=dated or since):
        return PROGRESS
    if since and verb not in lists.steps:
        return "state"
    if verb == "take" and rest.lower().startswith("over "):
        return "change"
    if verb in lists.changes and content_size(rest) >= 1:
        return (
            PROGRESS
            if verb in grammar().weak_changes and (_is_articled(rest) or (about == "thing" and not has_value(rest)))
            else "change"
        )
    if (
        clause.negated
        and about in ("i", "we", "own", "person")
        and "never" in clause.text.lower()
        and content_size(rest) >= 1
    ):
        return "state"
    return PROGRESS


def _progressive(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    if about == "thing":
        return "plan" if dated and not is_of_today(clause.text, dated=True) else MOMENT
    first = _first(rest)
    if first is not None and first.small in lists.moods:
        return MOMENT
    if clause.participle not in lists.pursuits or _names_at_hand(rest) or (is_of_today(clause.text, dated=dated)):
        return MOMENT
    if dated or has_value(rest):
        return "plan" if dated else "state"
    specific = clause.participle not in grammar().unspecific
    return "state" if specific and content_size(rest) >= 1 and not _is_articled(rest) else MOMENT


def _passive(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    if clause.participle == "gone" and about in ("own", "person"):
        return "state"
    if clause.participle in lists.moods and clause.participle not in lists.states and not has_value(rest):
        return MOMENT
    if is_of_today(clause.text, dated=dated) and not is_habit(clause.text):
        return MOMENT
    known = clause.participle in lists.states or clause.participle in _USUAL
    if clause.modal == "past":
        lasts = known or clause.verb in lists.changes
        return "change" if lasts and (dated or (refers(rest) and clause.verb not in lists.steps)) else PROGRESS
    passing = clause.participle in lists.passing_participles and not _is_kind(clause)
    if passing or (_names_at_hand(rest) and not _is_kind(clause)) or about == "i":
        return "state" if known and content_size(rest) >= 1 else NOTHING
    if content_size(rest) < 1:
        described = len(words_in(clause.subject)) > 2 or clause.head not in _DEFINITE
        return "state" if clause.participle in lists.settled or (known and described) else NOTHING
    return "state"


_USUAL: Final = frozenset({"done", "looked", "taken", "given", "brought"})


def _future(clause: Clause, about: Subject, dated: bool) -> str:
    if is_of_today(clause.text, dated=dated):
        return MOMENT
    if dated or _EVERY.search(clause.text) is not None:
        return "plan"
    return "plan" if clause.verb in grammar().changes and refers(clause.rest) and about != "i" else REQUEST


def _modal(clause: Clause, about: Subject, dated: bool) -> str:
    rest, modal = clause.rest, clause.modal
    if clause.verb == "have" and any(word.small in grammar().participles for word in words_in(rest)[:1]):
        return UNCERTAIN  # "must have been"
    size = content_size(rest)
    if (_names_at_hand(rest) and not _is_general(clause)) or (is_of_today(clause.text, dated=dated)):
        return REQUEST
    if modal in ("can", "cannot", "can't"):
        if about == "thing":
            general = _is_general(clause) and clause.negated and size >= 1
            return "state" if general or (has_value(rest) and not _names_at_hand(clause.subject)) else NOTHING
        able = (clause.negated and clause.verb in grammar().tolerance) or _ONLY.search(clause.text) is not None
        return "state" if able and (size >= 1 or is_habit(rest)) else NOTHING
    general = _is_general(clause)
    if about == "thing" and _is_named(clause) and has_value(rest):
        return "state"
    if modal.startswith("should") or modal == "ought":
        return "state" if (about in ("own", "person") and has_value(rest)) or (general and size >= 1) else REQUEST
    if dated or (_EVERY.search(rest) is not None and about != "thing"):
        return "plan"
    if about in ("i", "we") and (clause.verb in grammar().tolerance or _BOUND.search(clause.text)) and size >= 1:
        return "state"
    if about in ("own", "person"):
        return "state" if size >= 1 else NOTHING
    return "state" if about == "thing" and size >= 1 and (general or has_value(rest)) else REQUEST


def _is_general(clause: Clause) -> bool:
    """True if the subject is a kind of thing: "all invoices", "contractors", "rendering code"."""
    words = words_in(clause.subject)
    if words[0].small in _GENERAL | _ANY:
        return True
    bare = words[0].small not in _DEFINITE | {"i", "we", "a", "an", "he", "she"}
    return bare and (is_plural(words[-1].small) or any(is_plural(word.small) for word in words[:1]) or len(words) > 1)


def _is_kind(clause: Clause) -> bool:
    """True if the subject is a bare plural: "feature branches"."""
    words = words_in(clause.subject)
    return words[0].small not in _DEFINITE | {"my", "our"} and is_plural(words[-1].small)


_ANY: Final = frozenset({"anything", "everything", "anyone", "everyone", "nobody", "nothing", "whoever"})
_BOUND: Final = regex(
    r"\b(?:within|per|at least|at most|by law|by contract|legally|no later than|under the contract)\b", re.IGNORECASE
)
_ONLY: Final = regex(r"\bcan only\b|\bonly (?:be|work|come|meet)\b", re.IGNORECASE)


def _conditional(clause: Clause, about: Subject, dated: bool) -> str:
    """A permission lasts: "resellers may not set prices"; a possibility does not."""
    permits = (
        clause.modal == "may" and about == "thing" and (clause.negated or has_value(clause.rest) or _is_general(clause))
    )
    possible = clause.verb in _POSSIBLE and not (clause.verb in ("have", "take") and has_value(clause.rest))
    return "state" if permits and not possible and content_size(clause.rest) >= 1 else UNCERTAIN


_POSSIBLE: Final = frozenset(
    {"be", "have", "need", "want", "help", "work", "fail", "break", "cause", "take", "become", "happen"}
)


_TENSES: Final = {
    "present": _present, "past": _past, "perfect": _perfect, "progressive": _progressive, "passive": _passive,
    "future": _future, "modal": _modal, "conditional": _conditional,
}  # fmt: skip
