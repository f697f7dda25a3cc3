"""Plain English statements: which clauses of a person say something that lasts, by their subject, verb and rest.

A clause is kept if its subject is the speaker, a person or thing of theirs, or a thing that is spoken of as known,
its verb tells a state, a habit, a change or a plan, and the rest gives a value: a name, a number, a place, a date, a
kind.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from mnemond.extract.english_grammar import Clause, grammar, is_plural, words_in
from mnemond.extract.english_values import (
    DEFINITE,
    EVERY,
    NUMBER_WORD,
    SINCE,
    WRONG,
    Subject,
    behind_preposition,
    content_size,
    first_word,
    has_value,
    is_at_hand,
    is_general,
    is_habit,
    is_kind,
    is_named,
    is_of_today,
    names_at_hand,
    subject_of,
)
from mnemond.extract.findings import refers
from mnemond.text.contrast import numbers
from mnemond.text.entities import extract
from mnemond.text.resources import regex, words_of

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
    its subject is a person."""
    about = subject_of(clause)
    about = "person" if person and about == "thing" else about
    if about == "anyone":
        return _of_anyone(clause)
    if is_at_hand(clause, about):
        return NOTHING
    found = _TENSES[clause.tense](clause, about, dated)
    sort = _SORTS.get(found)
    return found if sort is None else Statement(sort, about)


_SORTS: Final[dict[str, Sort]] = {"trait": "trait", "state": "state", "change": "change", "plan": "plan"}

# ---------------------------------------------------------------- subjects without a name


def _of_anyone(clause: Clause) -> Statement | str:
    """ "There are four of us" says something; "it is raining" does not."""
    if clause.head == "there" and clause.verb == "be" and _OURS.search(clause.rest) and has_value(clause.rest):
        return Statement("state", "we")
    if clause.head == "there" and _is_there(clause):
        return Statement("state", "thing")
    first = first_word(clause.rest)
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
        and not names_at_hand(clause.rest)
        and (refers(clause.rest) or (clause.verb == "find" and content_size(clause.rest) > 2))
    ):
        return Statement("state", "thing")
    if (
        clause.head == "everything"
        and clause.verb in ("be", "go", "run", "live", "sit", "stay")
        and first is not None
        and first.small in ("in", "on", "through", "via", "at", "under", "with")
        and refers(clause.rest)
    ):
        return Statement("state", "thing")
    return NOTHING


def _is_there(clause: Clause) -> bool:
    """True for "there is no lift in the building"."""
    if clause.verb != "be" or clause.tense != "present" or not _THERE.match(clause.rest) or is_of_today(clause.text):
        return False
    return not names_at_hand(clause.rest) and WRONG.search(clause.rest) is None


_THERE: Final = regex(
    r"(?:no|an?|two|three|four|five|six|\d+|several|many)\b.*\b(?:in|at|on|below|near|behind|per|every)\s+\S",
    re.IGNORECASE,
)
_FINDS: Final = frozenset({"find", "get", "reach", "need"})
_PLACED: Final = regex(r"\b(?:in|at|on|from|under|via|through|for|to)\s+\S", re.IGNORECASE)
_OURS: Final = regex(r"\b(?:my|our|us)\b", re.IGNORECASE)


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
        and not names_at_hand(rest)
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
    if names_at_hand(rest) and not (refers(rest) and (about in ("own", "person") or clause.verb not in _AT_HAND_VERBS)):
        return NOTHING
    if clause.verb == "keep" and any(word.small in lists.gerunds for word in words_in(rest)[:1]) and not is_habit(rest):
        return MOMENT
    if clause.verb == "have" and _LEFT.search(rest):
        return MOMENT
    size = content_size(rest)
    if clause.verb in ("use", "want", "make") and not has_value(rest) and size < 2:
        return "names nothing"
    return "state" if size >= 1 or is_habit(_ALONE.sub("", clause.text)) else NOTHING


_ALONE: Final = regex(r"\bonly\b", re.IGNORECASE)
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
    if clause.verb in lists.failures or WRONG.search(rest):
        return MOMENT
    if clause.verb == "work" and (clause.negated or content_size(rest) < 2):
        return NOTHING
    bare = len(words) == 1 and not words[0].small.endswith(("s", "ing")) and not extract(clause.subject)
    if clause.verb == "take" and bare:
        return MOMENT  # "startup takes 9 seconds"
    if is_of_today(clause.text, dated=dated) and not is_habit(clause.text):
        return MOMENT
    if content_size(rest) < 1 or names_at_hand(rest):
        return NOTHING
    if is_habit(clause.text) or has_value(rest) or has_value(clause.subject):
        return "state"
    if content_size(rest) > 2:
        return "state"
    if behind_preposition(rest) and (known or content_size(rest) >= 2):
        return "state"
    described = len(words) > 2 or (words[0].small not in DEFINITE and is_plural(words[-1].small))
    return (
        "state"
        if described and content_size(rest) >= (1 if known and clause.verb not in ("need", "take") else 2)
        else "names nothing"
    )


def _being(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    first = first_word(rest)
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
        described = len(words_in(clause.subject)) > 2 or clause.head not in DEFINITE or content_size(rest) > 1
        return "state" if described else MOMENT
    if small in ("a", "an", "the", "my", "our", "his", "her", "their", "its", "no") or rest.lower().startswith(
        "one of "
    ):
        return _kind_of_noun(clause, about)
    if small == "about" and about in ("i", "we", "person"):
        return MOMENT
    if small in lists.prepositions:
        return (
            "state" if has_value(rest) or dated or (about in ("thing", "own") and not names_at_hand(rest)) else NOTHING
        )
    if small in lists.states:
        return "state"
    if about in ("thing", "own") and _NOW.search(rest) and not small.endswith("er"):
        return "state"
    if about in ("i", "we", "person") and not (
        first.text[:1].isupper() or first.text[:1].isdigit() or NUMBER_WORD.match(small)
    ):
        return "trait" if about == "person" and has_value(rest) else NOTHING
    if has_value(rest) or dated:
        return "trait" if about in ("i", "person") else "state"
    described = _is_identified(clause.subject) or len(words_in(clause.subject)) > 3
    if about == "thing" and described and content_size(rest) >= 1 and not clause.head.endswith("ing"):
        return NOTHING if WRONG.search(rest) or small.endswith(("ful", "ous", "er", "est", "ing", "some")) else "state"
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
    if not behind or behind[0] in grammar().passing_nouns or names_at_hand(" ".join(behind[:3])):
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
    if verb == "take" and rest.lower().startswith("over ") and content_size(rest) > 1:
        return "change"
    if verb == "pass" and rest.lower().startswith("away"):
        return "change"
    if about == "thing":
        changed = verb in lists.changes and verb not in ("get", "study") and (dated or has_value(rest))
        changed = changed or (verb == "go" and _UP.match(rest) is not None and has_value(rest))
        changed = changed or (verb == "be" and dated and not WRONG.search(rest))
        ended = verb in ("close", "launch", "move") and not rest.strip(" .") and refers(clause.subject)
        return "change" if changed or ended else NOTHING
    if verb == "use" and rest.startswith("to "):
        return "state" if content_size(rest) >= 2 else NOTHING
    if verb == "be":
        first = first_word(rest)
        lasting = first is not None and (first.small == "born" or SINCE.search(rest) is not None or dated)
        return "state" if lasting and first is not None and first.small not in lists.moods else NOTHING
    if names_at_hand(rest):
        return PROGRESS
    if (verb == "get" and not _GOT.match(rest)) or (verb in ("learn", "find") and _LEARNED.match(rest)):
        return NOTHING
    if verb in _DEPARTURES and not rest.strip(" .") and about in ("own", "person"):
        return "change"
    if (
        about == "own"
        and verb == "have"
        and numbers(rest)
        and any(word.small in lists.persons for word in words_in(clause.subject))
    ):
        return "change"  # "my mother had a stroke at 59"
    gerund = first_word(rest)
    if verb in ("stop", "start") and gerund is not None and gerund.small in lists.ongoing:
        return PROGRESS
    if verb in ("order", "book") and not dated:
        return PROGRESS
    if verb in lists.changes and content_size(rest) >= 1:
        weak = verb in grammar().weak_changes and (_is_articled(rest) or (about == "own" and not has_value(rest)))
        return PROGRESS if weak and not dated else "change"
    if about == "person" and verb in _MADE and content_size(rest) >= 2 and not _is_articled_pronoun(rest):
        return "change"
    if verb in lists.steps:
        return PROGRESS
    if dated and content_size(rest) >= 1:
        return "change"
    lived = about in ("i", "we", "own") and verb not in lists.thoughts and not (verb == "have" and _MEAL.match(rest))
    return "change" if lived and _placed_name(rest) else NOTHING


_MEAL: Final = regex(
    r"(?:\w+ ){0,3}(?:lunch|dinner|breakfast|coffee|drinks?|tea|a call|a chat|fun|time)\b", re.IGNORECASE
)
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
    since = SINCE.search(clause.text) is not None
    first = first_word(rest)
    if verb == "be":
        if clause.negated and rest.startswith("to ") and content_size(rest) >= 1:
            return "state"
        if first is None or first.small in grammar().ongoing or (first.small in lists.moods and not since):
            return MOMENT
        lasting = since or dated or (first.small in lists.pursuits and has_value(rest)) or first.small in lists.states
        return "state" if lasting and not (about == "thing" and first.small in lists.moods) else NOTHING
    just = _JUST.search(clause.text) is not None and not dated
    if names_at_hand(rest) or just or is_of_today(clause.text, dated=dated or since):
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
    first = first_word(rest)
    if first is not None and first.small in lists.moods:
        return MOMENT
    if clause.participle not in lists.pursuits or names_at_hand(rest) or (is_of_today(clause.text, dated=dated)):
        return MOMENT
    if first is not None and first.small in _RECEIVERS and not dated:
        return MOMENT
    if dated or has_value(rest):
        return "plan" if dated else "state"
    specific = clause.participle not in grammar().unspecific
    return "state" if specific and content_size(rest) >= 1 and not _is_articled(rest) else MOMENT


_RECEIVERS: Final = frozenset({"me", "us", "him", "her", "them", "you", "it"})
"""Objects of what a person is doing now: "getting him a radio"."""


def _passive(clause: Clause, about: Subject, dated: bool) -> str:
    rest, lists = clause.rest, grammar()
    if clause.participle == "gone" and about in ("own", "person") and not _NEARLY.search(clause.text):
        return "state"
    if clause.participle in lists.moods and clause.participle not in lists.states and not has_value(rest):
        return MOMENT
    if is_of_today(clause.text, dated=dated) and not is_habit(clause.text):
        return MOMENT
    known = clause.participle in lists.states or clause.participle in _USUAL
    if clause.modal == "past":
        lasts = known or clause.verb in lists.changes
        return "change" if lasts and (dated or (has_value(rest) and clause.verb not in lists.steps)) else PROGRESS
    passing = clause.participle in lists.passing_participles and not is_kind(clause)
    if passing or (names_at_hand(rest) and not is_kind(clause)) or about == "i":
        return "state" if known and content_size(rest) >= 1 else NOTHING
    if content_size(rest) < 1:
        described = len(words_in(clause.subject)) > 2 or clause.head not in DEFINITE
        return "state" if clause.participle in lists.settled or (known and described) else NOTHING
    return "state"


_NEARLY: Final = regex(r"\b(?:nearly|almost|still|already)\b", re.IGNORECASE)
_USUAL: Final = frozenset({"done", "looked", "taken", "given", "brought"})


def _future(clause: Clause, about: Subject, dated: bool) -> str:
    if is_of_today(clause.text, dated=dated):
        return MOMENT
    if dated or EVERY.search(clause.text) is not None:
        return "plan"
    return "plan" if clause.verb in grammar().changes and refers(clause.rest) and about != "i" else REQUEST


def _modal(clause: Clause, about: Subject, dated: bool) -> str:
    rest, modal = clause.rest, clause.modal
    if clause.verb == "have" and any(word.small in grammar().participles for word in words_in(rest)[:1]):
        return UNCERTAIN  # "must have been"
    size = content_size(rest)
    if (names_at_hand(rest) and not is_general(clause)) or (is_of_today(clause.text, dated=dated)):
        return REQUEST
    if modal in ("can", "cannot", "can't"):
        if about == "thing":
            general = is_general(clause) and clause.negated and size >= 1
            return "state" if general or (has_value(rest) and not names_at_hand(clause.subject)) else NOTHING
        able = (clause.negated and clause.verb in grammar().tolerance) or _ONLY.search(clause.text) is not None
        return "state" if able and (size >= 1 or is_habit(rest)) else NOTHING
    general = is_general(clause)
    if about == "thing" and is_named(clause) and has_value(rest):
        return "state"
    if modal.startswith("should") or modal == "ought":
        return "state" if (about in ("own", "person") and has_value(rest)) or (general and size >= 1) else REQUEST
    if dated or (EVERY.search(rest) is not None and about != "thing"):
        return "plan"
    if about in ("i", "we") and (clause.verb in grammar().tolerance or _BOUND.search(clause.text)) and size >= 1:
        return "state"
    if about in ("own", "person"):
        task = modal == "must" and clause.verb in _TASKS and not is_habit(rest)
        return REQUEST if task else "state" if size >= 1 else NOTHING
    return "state" if about == "thing" and size >= 1 and (general or has_value(rest)) else REQUEST


_TASKS: Final = words_of("write finish prepare submit send make build fix hand present read check call buy clean pick")
"""Verbs of what is to be done once."""

_BOUND: Final = regex(
    r"\b(?:within|per|at least|at most|by law|by contract|legally|no later than|under the contract)\b", re.IGNORECASE
)
_ONLY: Final = regex(r"\bcan only\b|\bonly (?:be|work|come|meet)\b", re.IGNORECASE)


def _conditional(clause: Clause, about: Subject, dated: bool) -> str:
    """A permission lasts: "resellers may not set prices"; a possibility does not."""
    only = about in ("person", "own") and _MAY_ONLY.search(clause.text) is not None
    granted = clause.negated or has_value(clause.rest) or is_general(clause)
    permits = only or (clause.modal == "may" and about == "thing" and granted)
    possible = clause.verb in _POSSIBLE and not (clause.verb in ("have", "take") and has_value(clause.rest))
    return "state" if permits and not possible and content_size(clause.rest) >= 1 else UNCERTAIN


_MAY_ONLY: Final = regex(r"\bmay (?:only|not)\b", re.IGNORECASE)
_POSSIBLE: Final = frozenset(
    {"be", "have", "need", "want", "help", "work", "fail", "break", "cause", "take", "become", "happen"}
)


_TENSES: Final = {
    "present": _present, "past": _past, "perfect": _perfect, "progressive": _progressive, "passive": _passive,
    "future": _future, "modal": _modal, "conditional": _conditional,
}  # fmt: skip
