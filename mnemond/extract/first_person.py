"""English sentences in the first person, rewritten in the third person about their speaker.

"We" stays: a team speaks of itself, and its name is unknown.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.extract.findings import english
from mnemond.text.resources import regex

ASSISTANT: Final = "the assistant"

_CODE: Final = regex(r"(`[^`\n]*`)")
_ADVERB: Final = (
    r"no longer|always|never|often|also|just|only|still|now|then|even|ever|once|soon|already|almost|rather|sometimes"
    r"|mostly"
    r"|(?!reply|"
    r"rely|apply|supply|fly|comply|imply|multiply)[a-z]{2,16}ly"
)
_PERSON: Final = regex(
    rf"(?<![\w'’/.@-])(?:(?P<i>[Ii])(?:['’](?P<short>m|ve|d|ll|s))?(?P<adverbs>(?:\s+(?:{_ADVERB})\b)*)"
    r"(?:\s+(?P<verb>[a-z]+?n['’]t|[a-z]+)\b)?|(?P<object>me)|(?P<self>myself)|(?P<own>[Mm]y|mine)|(?P<my>Me"
    r"|Mine))(?![\w/@-]|\.\w)"
)
_TOGETHER: Final = regex(r"(?:(?:my|our|the) )?(?!I )[A-Za-z][\w-]+(?: [A-Z][\w-]+)? and ")
"""Before "I": the verb behind it is the plural's."""
_SHORT: Final = {"m": "is", "ve": "has", "d": "would", "ll": "will", "s": "is"}
_HAD: Final = frozenset({"been", "had", "gone", "done", "seen", "made", "written", "chosen", "taken", "better"})
_AND: Final = regex(rf"(\b(?:and|but|or)(?:\s+(?:{_ADVERB}))?\s+)([a-z]+?n['’]t|[a-z]+)\b(?!\s*[,.]|\s+(?:is|are)\b)")
_YOU: Final = regex(
    r"(?<![\w'’])(?P<you>[Yy]ou)(?:(?P<are>['’]re| are)|(?P<dont> don['’]t| do not| have))?(?![\w'’])"
    r"|(?<![\w'’])(?P<your>[Yy]our)(?![\w'’])"
)


def about(name: str, sentence: str, addressed: str = ASSISTANT) -> str:
    """`sentence` with its speaker called `name`, and the person it addresses `addressed`; "you" stays if that is empty.
    Code in it stays as it is."""
    parts = _CODE.split(sentence)
    return "".join(part if at % 2 else _in_third_person(name, part, addressed) for at, part in enumerate(parts))


def possessive(name: str) -> str:
    """ "Ana's", "James'"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _in_third_person(name: str, part: str, addressed: str) -> str:
    present_from: list[int] = []

    def instead(found: re.Match[str]) -> str:
        if found["self"]:
            return "themselves"
        if found["object"] or found["my"] == "Me":
            return name
        if found["own"] or found["my"]:
            return possessive(name)
        if _TOGETHER.fullmatch(part, 0, found.start()):
            return found[0].replace("I", name, 1)
        return _subject(name, found, present_from)

    rewritten = _PERSON.sub(instead, part)
    if present_from:
        rewritten = _AND.sub(_agreeing, rewritten)
    if not addressed:
        return rewritten
    return _YOU.sub(lambda found: _second_person(addressed, found), rewritten)


def _subject(name: str, found: re.Match[str], present_from: list[int]) -> str:
    verb = (found["verb"] or "").replace("’", "'")
    short = found["short"]
    if short:
        first = "had" if short == "d" and (verb in _HAD or verb.endswith("ed")) else _SHORT[short]
        return " ".join(filter(None, (name, first + (found["adverbs"] or ""), verb)))
    if not verb:
        return name + (found["adverbs"] or "")
    changed = with_name(verb)
    if changed != verb:  # a present form: a second verb joined to it changes as well
        present_from.append(found.end())
    return f"{name}{found['adverbs'] or ''} {changed}"


def _agreeing(found: re.Match[str]) -> str:
    """ "likes tea and hates coffee": verbs that can hardly be anything else."""
    verb = found[2].replace("’", "'")
    return found[1] + (with_name(verb) if verb in english().joined_verbs else found[2])


def _second_person(addressed: str, found: re.Match[str]) -> str:
    if found["your"]:
        return _capital(possessive(addressed), found["your"])
    form = " is" if found["are"] else _WITH_IT.get((found["dont"] or "").replace("’", "'"), "")
    return _capital(addressed, found["you"]) + form


_WITH_IT: Final = {" don't": " doesn't", " do not": " does not", " have": " has"}


def _capital(words: str, like: str) -> str:
    return words[0].upper() + words[1:] if like[0].isupper() else words


_IRREGULAR: Final = {
    "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "don't": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't",
}  # fmt: skip


def with_name(verb: str) -> str:
    """The form of a small-letter `verb` behind a name that `I` has with this one: "prefer" → "prefers", "was" →
    "was"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    words = english()
    if verb in words.unchanged_verbs or verb in words.past_verbs:
        return verb
    if verb.endswith("ed") and verb not in words.base_in_ed:
        return verb
    if verb.endswith("y") and verb[-2:-1] not in frozenset("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"
