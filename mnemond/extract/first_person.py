"""Who "I" is: an English sentence in the first person told about its speaker (spec 9, "decontextualise").

"We" stays: a team speaks of itself, and nobody knows its name.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.extract.verbs import is_present, with_name
from mnemond.text.cue_words import words_of

_CODE: Final = re.compile(r"(`[^`\n]*`)")
_ADVERB: Final = (
    r"always|never|often|also|just|only|still|now|then|even|ever|once|soon|already|almost|rather|sometimes|mostly"
    r"|(?!reply|"
    r"rely|apply|supply|fly|comply|imply|multiply)[a-z]{2,16}ly"
)
_PERSON: Final = re.compile(
    rf"(?<![\w'’/.@-])(?:(?P<i>[Ii])(?:['’](?P<short>m|ve|d|ll|s))?(?P<adverbs>(?:\s+(?:{_ADVERB})\b)*)"
    r"(?:\s+(?P<verb>[a-z]+?n['’]t|[a-z]+)\b)?|(?P<object>me)|(?P<self>myself)|(?P<own>[Mm]y|mine)|(?P<my>Me"
    r"|Mine))(?![\w/@-]|\.\w)"
)
_SHORT: Final = {"m": "is", "ve": "has", "d": "would", "ll": "will", "s": "is"}
_HAD: Final = frozenset({"been", "had", "gone", "done", "seen", "made", "written", "chosen", "taken", "better"})
_JOINED: Final = words_of(
    "prefer like love hate dislike use work live want need write run keep avoid enjoy own speak study teach",
    "manage lead maintain think care follow stick rely deploy develop drink eat play read test review start",
    "finish commute have don't",
)
_AND: Final = re.compile(
    rf"(\b(?:and|but|or)(?:\s+(?:{_ADVERB}))?\s+)([a-z]+?n['’]t|[a-z]+)\b(?!\s*[,.]|\s+(?:is|are)\b)"
)
_YOU: Final = re.compile(
    r"(?<![\w'’])(?P<you>[Yy]ou)(?P<are>['’]re| are)?(?![\w'’])|(?<![\w'’])(?P<your>[Yy]our)(?![\w'’])"
)

ASSISTANT: Final = "the assistant"


def about(name: str, sentence: str, addressed: str = ASSISTANT) -> str:
    """`sentence` with its speaker called `name`, and whoever is spoken to `addressed`. Code in it stays as it is."""
    parts = _CODE.split(sentence)
    return "".join(part if at % 2 else _told(name, part, addressed) for at, part in enumerate(parts))


def possessive(name: str) -> str:
    """ "Ana's", "James'"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _told(name: str, part: str, addressed: str) -> str:
    present_from: list[int] = []

    def instead(found: re.Match[str]) -> str:
        if found["self"]:
            return "themselves"
        if found["object"] or found["my"] == "Me":
            return name
        if found["own"] or found["my"]:
            return possessive(name)
        return _subject(name, found, present_from)

    told = _PERSON.sub(instead, part)
    if present_from:
        told = _AND.sub(_agreeing, told)
    return _YOU.sub(lambda found: _other(addressed, found), told)


def _subject(name: str, found: re.Match[str], present_from: list[int]) -> str:
    verb = (found["verb"] or "").replace("’", "'")
    short = found["short"]
    if short:
        first = "had" if short == "d" and (verb in _HAD or verb.endswith("ed")) else _SHORT[short]
        return " ".join(filter(None, (name, first + (found["adverbs"] or ""), verb)))
    if not verb:
        return name + (found["adverbs"] or "")
    if is_present(verb):
        present_from.append(found.end())
    return f"{name}{found['adverbs'] or ''} {with_name(verb)}"


def _agreeing(found: re.Match[str]) -> str:
    """ "likes tea and hates coffee": verbs that can hardly be anything else."""
    verb = found[2].replace("’", "'")
    return found[1] + (with_name(verb) if verb in _JOINED else found[2])


def _other(addressed: str, found: re.Match[str]) -> str:
    if found["your"]:
        return _capital(possessive(addressed), found["your"])
    return _capital(addressed, found["you"]) + (" is" if found["are"] else "")


def _capital(words: str, like: str) -> str:
    return words[0].upper() + words[1:] if like[0].isupper() else words
