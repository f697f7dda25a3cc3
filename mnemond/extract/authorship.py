"""Which sentences of a person's message are their own: not what they pasted, have translated, or play."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from mnemond.extract.families import LONGEST
from mnemond.extract.prose import Sentence

LONG_MESSAGE: Final = 40
"""Sentences of a message above which most of it was not written for it."""

OWN: Final = 8
"""Sentences at either end of such a message that were."""

_TEXT: Final = (
    r"(?:text|e-?mail|message|letter|essay|story|poem|paragraph|sentences?|article|passage|abstract|draft|post|speech|"
    r"statement|review|lyrics|dialogue|conversation|excerpt|bio|cv|resume|README|changelog|commit message)"
)
_WORK_ON_TEXT: Final = re.compile(
    r"(?:\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e|correct the (?:grammar|spelling)|fix the (?:grammar"
    r"|spelling))\b"
    rf"|\b(?:rewrite|improve|shorten|polish|edit|review|continue|analy[sz]e|classify|convert|format) (?:the|this|these"
    rf"|my|following)"
    rf"(?: following| [\w-]+)? {_TEXT}\b"
    rf"|\b(?:here is|here's|here are|below is|this is) (?:the|my|a|an|our|some|his|her|their) (?:[\w-]+"
    rf" ){{0,3}}{_TEXT}\b"
    rf"|\b(?:a customer|a user|somebody|someone|he|she|they|my \w+|the \w+) (?:wrote|said|says|writes|replied"
    rf"|reported)\s?:"
    "|翻译|润色|改写|总结(?:一下)?(?:以下|下面|这)|校对)",
    re.IGNORECASE,
)
_PLAY: Final = re.compile(
    r"(?:act as|(?:from now on,? )?you are (?:an?|the|now)\b|you will (?:be|act)|pretend|imagine|let's (?:play"
    r"|role-?play)|role-?play"
    r"|write (?:me )?(?:a|an|the) (?:[\w-]+ ){0,4}(?:story|poem|essay|dialogue|scene|song|letter|speech|script|blog"
    r"|article)\b"
    "|假设你|假装|扮演|你是一[个名位]|写一[篇首封])",
    re.IGNORECASE,
)


class Authored(NamedTuple):
    """The sentences that are the person's own, and the first that is not with why it is left out, if there is one."""

    own: list[Sentence]
    left_out: tuple[str, str] | None


def authored(sentences: Sequence[Sentence]) -> Authored:
    """What the writer of a message says in their own name.

    Nothing of a game, what comes before and with the words that hand a text over, and of a long message the beginning
    and the end.
    """
    if sentences and _PLAY.match(sentences[0].text[:LONGEST]):
        return Authored([], (sentences[0].text, "role"))
    for at, sentence in enumerate(sentences[:LONG_MESSAGE]):
        if _WORK_ON_TEXT.search(sentence.text[:LONGEST]) is None:
            continue
        text = next(
            (number for number in range(at + 1, len(sentences)) if _is_handed(sentence, sentences[number])), None
        )
        if text is not None:
            return Authored(list(sentences[:text]), (sentences[text].text, "quote"))
    if len(sentences) > LONG_MESSAGE:
        return Authored([*sentences[:OWN], *sentences[-OWN:]], (sentences[OWN].text, "pasted"))
    return Authored(list(sentences), None)


def _is_handed(request: Sentence, following: Sentence) -> bool:
    """Whether a sentence behind `request` is the text it is about: behind a colon, or in a paragraph of its own."""
    return ":" in request.text or "：" in request.text or following.group != request.group
