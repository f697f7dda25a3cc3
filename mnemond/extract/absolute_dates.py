"""Dates told from the day they were said, with the date itself beside them (spec 9)."""

from __future__ import annotations

from typing import Final

from mnemond.text.dates import DateMention, dates

_ELSEWHEN: Final = (-4_011 * 86_400_000_000, 2_923 * 86_400_000_000)
"""Microseconds to other days: a phrase that means something else from there is told from the day it was said."""

_FAR: Final = 400 * 365 * 86_400_000_000


def with_dates(sentence: str, said_us: int) -> tuple[str, tuple[DateMention, ...]]:
    """`sentence`, said at `said_us` (microseconds since 1970), with what its relative dates mean in parentheses behind
    them; and every date in it. A phrase that gives no more than an idea ("recently") stays as it is."""
    found = dates(sentence, said_us)
    if not found:
        return sentence, ()
    shift = _ELSEWHEN[0] if said_us > -_FAR else _ELSEWHEN[1]
    others = {(each.text, each.start, each.end) for each in dates(sentence, said_us + shift)}
    told, at = sentence, 0
    for each in found:
        place = told.find(each.text, at)
        if place < 0:
            continue
        at = place + len(each.text)
        if each.explicit and (each.text, each.start, each.end) not in others and not told.startswith((" (", "（"), at):
            note = _note(each)
            told = f"{told[:at]}{note}{told[at:]}"
            at += len(note)
    return told, found


def _note(mention: DateMention) -> str:
    days = mention.start if mention.start == mention.end else f"{mention.start} to {mention.end}"
    return f" ({days})" if mention.text.isascii() else f"（{days}）"
