"""Texts that order a program to do something with its instructions or its memory: no fact follows from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from mnemond.text.resources import on_first_use, read, regex

PIECE: Final = 4_096
OVERLAP: Final = 128
"""Characters of a message that are searched for orders at once, 5 ms, so that other threads have their turn; and of the
part that two pieces share, longer than any order."""

ORDER: Final = "order"
"""Reason of what is not kept because it is an order."""


class _Instructions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/instructions.toml"""

    attacks: tuple[str, ...]
    ambiguous: tuple[str, ...]
    headings: tuple[str, ...]
    orders: tuple[str, ...]


_instructions: Final = on_first_use(lambda: read("instructions", _Instructions))


def _any_of(phrases: Sequence[str]) -> str:
    parts = (re.escape(each).replace("\\ …\\ ", r"\s[^.!?\n]{0,30}?") for each in phrases)
    return "|".join(rf"\b{each}" if each[0].isascii() and each[0].isalpha() else each for each in parts)


_ATTACK: Final = regex(lambda: _any_of(_instructions().attacks), re.IGNORECASE)
_ORDER: Final = regex(lambda: _any_of((*_instructions().attacks, *_instructions().orders)), re.IGNORECASE)
_START: Final = r"(?:^|[.!?:;\n。！？：；])[\s\"'(#>*-]{0,8}(?:please |bitte |请|now |you must |you should )?"
"""The beginning of a sentence, with what may stand before an order."""

_BEGINS: Final = regex(lambda: f"{_START}(?:{_any_of(_instructions().orders)})", re.IGNORECASE)


def _directing() -> str:
    lists = _instructions()
    apart = {*lists.ambiguous, *lists.headings}
    anywhere = _any_of([each for each in lists.attacks if each not in apart])
    return rf"{anywhere}|(?:{_any_of(lists.headings)})s?\s?[:：]|{_START}(?:{_any_of(lists.ambiguous)})"


_DIRECTS: Final = regex(_directing, re.IGNORECASE)


def is_order(text: str) -> bool:
    """Return True for a text that tells a program what to do with its instructions or its memory."""
    return _is_in(text, _ORDER)


def is_attack(text: str) -> bool:
    """Return True for an order that is made for a model, which a person hardly gives another one."""
    return _is_in(text, _ATTACK)


def is_instruction(text: str) -> bool:
    """Return True for a text that is an order, and does not only have the words of one: a sentence of it begins so."""
    return order_at(text) is not None or _is_in(text, _BEGINS)


def order_at(text: str) -> int | None:
    """Return where a text begins to direct a model that reads it, at the beginning of a sentence; None if it does not.

    What developers say of their own work ("should respond with 404") is none, unlike for `is_attack`.
    """
    plain = text.replace("’", "'")
    for at in range(0, len(plain), PIECE - OVERLAP):
        found = _DIRECTS.search(plain, at, at + PIECE)
        if found is not None:
            before = max(plain.rfind(mark, 0, found.start() + 1) for mark in ".!?\n。！？")
            return 0 if before < 0 else before + 1
    return None


def _is_in(text: str, phrases: re.Pattern[str]) -> bool:
    plain = text.replace("’", "'")
    return any(phrases.search(plain, at, at + PIECE) for at in range(0, len(plain), PIECE - OVERLAP))
