"""What a text must contain before a rule for secrets is worth trying: fixed strings, which are found in no time.

A hint may be wrong, an absent one may not: whatever a rule finds, it also finds when only the hinted rules are tried.
Most texts hint at nothing, and nothing more is done with them.
"""

from __future__ import annotations

import re
from itertools import groupby

import msgspec

from mnemond.text.secret_formats import AZURE_TRIGGERS, JWT_TRIGGERS
from mnemond.text.secret_names import PROGRAMS, names_secret
from mnemond.text.secret_tokens import TOKEN_FORMATS, TokenFormat

SHORTEST_TOKEN = 17
"""Characters without a space of the shortest token that a published format describes."""

LONG_RUN = 32
"""Characters of the shortest run that is random enough to be a secret beside a name alone."""


class Hints(msgspec.Struct, frozen=True):
    """Which rules are worth trying: formats of tokens in the order of their table, and the rules named like these."""

    tokens: tuple[TokenFormat, ...] = ()
    web_tokens: bool = False
    bots: bool = False
    azure: bool = False
    aws: bool = False
    long_runs: bool = False
    names: bool = False
    private_keys: bool = False
    authorizations: bool = False
    urls: bool = False
    commands: bool = False


EVERY_HINT = Hints(TOKEN_FORMATS, *[True] * 10)
"""Tries every rule."""


def hints(text: str, lowered: str) -> Hints | None:
    """What `text` hints at; None where there is nothing. `lowered`: the text in lower case."""
    mixed = _mixed_chunks(text)
    names = names_secret(text, lowered)
    authorizations = "bearer" in lowered or "basic" in lowered
    urls = "@" in text and "://" in text
    commands = "-u" in text or ("-p" in text and any(each in text for each in PROGRAMS))
    if not (mixed or names or authorizations or urls or commands):
        return None
    long = " ".join(mixed)
    long_runs = len(long) >= LONG_RUN and any(len(chunk) >= LONG_RUN for chunk in mixed)
    return Hints(
        tokens=_formats_in(long) if long else (),
        web_tokens=_any_in(JWT_TRIGGERS, long),
        bots=":" in long or "." in long,
        azure=_any_in(AZURE_TRIGGERS, long),
        aws=long_runs and "secret" in lowered,
        long_runs=long_runs and names,
        names=names,
        private_keys=names and "private key" in lowered,
        authorizations=authorizations,
        urls=urls,
        commands=commands,
    )


def _mixed_chunks(text: str) -> list[str]:
    """What stands between spaces, is as long as a token and has a digit or a capital, as everything random has."""
    chunks = text.split() if text.isascii() else _NO_TOKEN.split(text)
    return [chunk for chunk in chunks if len(chunk) >= SHORTEST_TOKEN and (not chunk.islower() or _DIGIT.search(chunk))]


def _formats_in(long: str) -> tuple[TokenFormat, ...]:
    places = {place for mark, triggers in _TRIGGERS if mark in long for trigger, place in triggers if trigger in long}
    return tuple([TOKEN_FORMATS[place] for place in sorted(places)]) if places else ()


def _any_in(triggers: tuple[str, ...], long: str) -> bool:
    return bool(long) and any(trigger in long for trigger in triggers)


def _by_mark() -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Triggers, each with the place of its format, under the sign that they contain; "" for those of letters alone.

    A text without underscores is not searched for the fifty triggers that contain one.
    """
    rows = sorted(
        (next((mark for mark in "_-.~" if mark in trigger), ""), trigger, place)
        for place, form in enumerate(TOKEN_FORMATS)
        for trigger in form.triggers
    )
    return tuple(
        (mark, tuple((trigger, place) for _, trigger, place in group))
        for mark, group in groupby(rows, key=lambda row: row[0])
    )


_NO_TOKEN = re.compile(r"[^!-~]+")
_DIGIT = re.compile(r"[0-9]")
_TRIGGERS = _by_mark()
