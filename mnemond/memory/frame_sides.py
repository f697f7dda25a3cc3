"""Compare the sides of two clauses: their words by key, in parts, by role; tables of verbs that say which may be
compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from mnemond.text.frame_lists import (
    ADDRESS,
    AMOUNTS,
    BE,
    CADENCE,
    CALL,
    CHANGE,
    HAVE,
    IDENTIFIER,
    LOCATE,
    NAME,
    NAMES,
    NUMBER,
    OTHER,
    PLACE,
    PRONOUN,
    REPORT,
    TIMES,
    TOOL,
    VERSION,
    WORD,
    WORK,
    lists,
)
from mnemond.text.frame_words import Unit
from mnemond.text.frames import Frame, Segment
from mnemond.text.resources import regex

PLACES: Final = {"to": "", "in": "", "with": "", "by": "", "from": ""}
"""Classes of prepositions before a value that may as well stand behind the verb: "is in Oslo", "moved to Bergen"."""

MAX_VALUE: Final = 4
"""Words of a value."""

MIN_SAME: Final = 2
"""Words that are the same in clauses that differ in one place."""

SUFFIX: Final = 4
"""Last letters that two adjectives of one kind share: "left-handed", "right-handed"."""

TAKEN_BACK_SHARE: Final = 0.5
"""Share of the words of the shorter clause that return in one that takes it back, more than which."""

TEMPLATE_SHARE: Final = 0.6
"""Share of the words of the longer clause that come in the other in their order, of two that are one sentence with
other words in some places."""

ABOUT_SHARE: Final = 0.5
"""Share of the words of the shorter clause that two clauses about one thing have in common."""

PERSONAL: Final = (LOCATE, WORK, CALL, REPORT)
"""Relations in which a subject stands to one thing at a time."""


MIN_STEM: Final = 5
"""Letters at the beginning or end of a word that make a compound of it a word of the same thing: "Paketsendung"."""

MAX_COMPARED: Final = 16
"""Words of a clause that are compared with each of another in parts."""


def in_common(one: frozenset[str], other: frozenset[str]) -> int:
    """Return how many words come in both, one perhaps as a part of another."""
    same = one & other
    mine, its = sorted(one - same)[:MAX_COMPARED], sorted(other - same)[:MAX_COMPARED]
    return len(same) + sum(any(part_of(word, each) for each in its) for word in mine)


def part_of(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < MIN_STEM or not short.isalpha():
        return False
    return long.startswith(short) or (not long.isascii() and long.endswith(short))


MAX_CHARACTERS: Final = 2
"""Characters of Chinese of a denial that may say more: of all food."""


def sides_of(unit: Unit, table: dict[str, tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    return table.get(unit.raw) or table.get(unit.key, ())


def keys_of(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(unit.key for unit in units)


def subject_keys(frame: Frame) -> frozenset[str]:
    """Return the keys of the subject, without pronouns."""
    return keys_of(unit for unit in frame.subject if unit.kind != PRONOUN)


def without(units: Iterable[Unit], keys: frozenset[str]) -> list[Unit]:
    weak = lists().weak
    return [
        unit
        for unit in units
        if unit.key not in keys and unit.kind != PRONOUN and not (unit.kind == WORD and unit.key in weak)
    ]


def words_said(frame: Frame) -> frozenset[str]:
    """Return the keys of words that say what a clause is about."""
    found = {unit.key for unit in (*frame.units, *frame.gone) if unit.kind not in (PRONOUN, *AMOUNTS, *TIMES)}
    found |= {unit.key for unit in frame.subject if unit.kind == CADENCE}  # the weekly, the daily
    return frozenset(found | {frame.verb}) if frame.verb.startswith("@") else frozenset(found)


def facts_of(frame: Frame) -> frozenset[str]:
    verb = frozenset({frame.verb}) if frame.relation == OTHER else frozenset()
    return verb | keys_of(unit for unit in (*frame.units, *frame.gone) if unit.kind != PRONOUN)


def values_of(frame: Frame, keys: frozenset[str]) -> list[tuple[str, Unit]]:
    return [(segment.role, unit) for segment in frame.segments for unit in without(segment.units, keys)]


def value_units(frame: Frame) -> tuple[Unit, ...]:
    return tuple(unit for segment in frame.segments for unit in segment.units)


def content_of(frame: Frame) -> frozenset[str]:
    verb = frozenset({frame.verb}) if frame.relation not in ("", BE, HAVE, CHANGE) else frozenset()
    units = (*frame.units, *frame.gone)
    return keys_of(unit for unit in units if unit.kind != PRONOUN) | verb


def pronouns_of(frame: Frame) -> frozenset[str]:
    return keys_of(unit for unit in frame.words if unit.kind == PRONOUN and unit.key not in ("it", "they"))


def persons_of(frame: Frame) -> frozenset[str]:
    """Return the pronouns before the verb."""
    return frozenset() if frame.exchanged else keys_of(unit for unit in frame.subject if unit.kind == PRONOUN)


def may_be_one(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return True if the subjects of two clauses may be one: of the same person, or one of them of none."""
    return not one or not other or bool(one & other) or one | other <= {"i", "user"} or one | other <= {"we", "they"}


def numbered_in(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(unit.key for unit in units if unit.kind in (NUMBER, IDENTIFIER, VERSION, ADDRESS, *TIMES))


def attributes_of(frame: Frame) -> frozenset[str]:
    return frozenset(key for key in (*keys_of(frame.units), frame.verb) if key.startswith("@"))


DAYPARTS: Final = frozenset({"morning", "afternoon", "evening", "night"})
"""Words beside a time of day that belong to it."""

WHEN: Final = frozenset({"winter", "summer", "spring", "autumn", "weekday", "weekend", *DAYPARTS})
"""Keys of times that are no places: "on in winter"."""


YEAR: Final = regex(r"(?:19|20)\d\d")


def is_bare(frame: Frame) -> bool:
    """Return True if the subject of a clause may be a person: a pronoun, a relative, or a name or other single word
    without an article."""
    subject = [unit for unit in frame.subject if unit.kind != PRONOUN]
    kin = any(unit.key in lists().senses.kin for unit in subject)
    bare = len(subject) <= 1 and not frame.text.lower().startswith(_ARTICLES)
    return kin or bare or all(unit.kind == NAME for unit in subject)


_ARTICLES: Final = ("the ", "our ", "a ", "an ", "der ", "die ", "das ", "unser", "ein ", "eine ")


def is_noun(frame: Frame, unit: Unit) -> bool:
    """Return True if a word is written with a capital."""
    return unit.raw.isalpha() and unit.raw.capitalize() in frame.text


def as_active(frame: Frame) -> Frame:
    """Return "the repo requires Node" of "Node is required by the repo"; another frame as it is."""
    first = frame.segments[0] if frame.segments else None
    by = next((segment for segment in frame.segments if segment.role == "by"), None)
    if first is None or by is None or first.role or frame.relation != BE or len(first.units) != 1 or not frame.subject:
        return frame
    rest = tuple(segment for segment in frame.segments[1:] if segment is not by)
    segments = (Segment("", frame.subject), *rest)
    return msgspec.structs.replace(
        frame, subject=by.units, relation=OTHER, verb=first.units[0].key, segments=segments, exchanged=False
    )


def parts_of(frame: Frame) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the subject and of what is said of it, in the order of the words."""
    subject, said = keys_of(frame.subject), keys_of(value_units(frame))
    if frame.exchanged:
        return said, subject
    return subject, said | ({frame.verb} if frame.relation not in ("", BE, HAVE, CHANGE) else frozenset())


def purposes_of(frame: Frame) -> frozenset[str]:
    return keys_of(unit for segment in frame.segments if segment.role == "for" for unit in segment.units)


def compatible(one: Unit, other: Unit) -> bool:
    """Return True if one value may stand in place of the other."""
    kinds = {one.kind, other.kind}
    return len(kinds) == 1 or (kinds <= {WORD, IDENTIFIER, *NAMES} and kinds != {PLACE, TOOL})


def comparable(one: Unit, other: Unit) -> bool:
    """Return True if two amounts or times may be values of one attribute."""
    if one.kind in TIMES or other.kind in TIMES:
        return {one.kind, other.kind} <= {NUMBER, *TIMES} and not one.dimension and not other.dimension
    return not one.dimension or not other.dimension or one.dimension == other.dimension
