"""Tell what is said about a conversation and its moment from what is said about people and work.

A small language model takes everything that it is shown for a fact: thanks, requests, and that someone asked.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mnemond.extract.coverage import stems
from mnemond.text.contrast import numbers
from mnemond.text.quality import courtesy_tokens
from mnemond.text.resources import on_first_use, read, regex

MIN_STEMS: Final = 3
"""Content words of a sentence that may state something; a number counts for two, so that "it has 32 GB" does."""


class _SmalltalkWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/talk.toml"""

    moment: tuple[str, ...]
    lasting: tuple[str, ...]
    told: tuple[str, ...]
    told_zh: tuple[str, ...]
    did: tuple[str, ...]
    success: tuple[str, ...]


_words: Final = on_first_use(lambda: read("talk", _SmalltalkWords))
_courtesies: Final = on_first_use(lambda: frozenset(stems(courtesy_tokens())))


def _any_of(phrases: tuple[str, ...]) -> str:
    return "|".join(rf"\b{re.escape(each)}\b" if each[0].isascii() else re.escape(each) for each in phrases)


_MOMENT: Final = regex(lambda: _any_of(_words().moment), re.IGNORECASE)
_LASTING: Final = regex(lambda: _any_of(_words().lasting), re.IGNORECASE)
_SUCCESS: Final = regex(lambda: _any_of(_words().success), re.IGNORECASE)
_SPEAKER_MARK: Final = regex(r"\A\s*(?:user|assistant|nutzer|用户)\s*[:：]\s*", re.IGNORECASE)
_TOLD: Final = regex(
    lambda: (
        r"\A(?:(?:the|der|die|dieser|this) )?(?:users?|nutzer(?:in)?|benutzer(?:in)?|assistant)"
        rf" (?:(?:is|has|was|also|then|now) )?(?:{'|'.join(map(re.escape, _words().told))}|(?:ask|request|thank)ing)\b"
        rf"|\A(?:用户|助手)(?:{'|'.join(_words().told_zh)})"
    ),
    re.IGNORECASE,
)
_DID: Final = regex(
    lambda: (
        r"\bI(?:['’]ve| have)?(?: (?:now|also|just|already))? (?!need)(?:[a-z]{2,20}ed"
        rf"|{'|'.join(_words().did)})\b"
        r"|\b[Ii]ch habe\b[^.!?\n]{1,200}?\b(?:[a-zäöüß]{0,12}ge[a-zäöüß]{2,14}(?:t|en)|[a-zäöüß]{2,20}iert)\b"
        r"|我(?:已经?)?(?:把|将|改|修|加|删|换|调|设)"
    )
)


def without_speaker(text: str) -> str:
    """Return a text without "User:" in front."""
    return _SPEAKER_MARK.sub("", text, count=1)


def is_of_the_moment(text: str) -> bool:
    """Return True for a sentence that asks for something now, or that holds little beside thanks and assent."""
    if _MOMENT.search(text) and not _LASTING.search(text):
        return True
    return len(stems([text]) - _courtesies()) + len(numbers(text)) < MIN_STEMS


def is_about_talk(text: str) -> bool:
    """Return True for a sentence that tells what a speaker does in the conversation: asks, thanks, understands."""
    return _TOLD.match(text) is not None


def tells_of_own_work(text: str) -> bool:
    """Return True for a message in which an agent says what it did, which is no general explanation."""
    return _DID.search(text.replace("’", "'")) is not None


def tells_of_success(text: str) -> bool:
    """Return True for a sentence that tells what works again."""
    return _SUCCESS.search(text) is not None
