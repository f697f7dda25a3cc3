"""Prove that a newer clause fills the slot of an older one: what it replaces must be what the older one says.

The subject must be the same with all that belongs to it, the verb must have the same complements, and the values must
be of one kind. A denial must deny what the older clause says. Without that proof both stay.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Final, Literal

from mnemond.memory.frame_sides import (
    MIN_SAME,
    SUFFIX,
    WHEN,
    YEAR,
    content_of,
    is_bare,
    keys_of,
    persons_of,
    value_units,
    without,
)
from mnemond.memory.frame_topics import ATTRIBUTE, CONTRADICTS, OTHER_TIMES, QUALIFIER, SUBJECT, Topic, Verdict
from mnemond.text.frame_lists import (
    AMOUNTS,
    BE,
    CALL,
    CHANGE,
    COST,
    DATE,
    HAVE,
    IDENTIFIER,
    LOCATE,
    NAMES,
    NUMBER,
    OTHER,
    PREFER,
    PRONOUN,
    SCHEDULE,
    TIMES,
    USE,
    VERSION,
    WEEKDAY,
    WORD,
    WORK,
    lists,
)
from mnemond.text.frame_words import DETERMINERS, Unit
from mnemond.text.frames import Frame
from mnemond.text.tokens import fold

PERHAPS: Final[Verdict] = (CONTRADICTS, "the new text may say that it changed")
"""Same subject and attribute, but no proof that the newer value stands in place of the older one."""

LIMITING: Final = ("for", "if", "in", "with")
"""Classes of prepositions behind which a statement says for what, when, where or with whom it holds."""


Reading = Literal["denied", "opposed", "valued"]
"""By what a replacement was seen: a denial, words that exclude each other, another value."""


_PARTICLES: Final = ("up", "down", "off", "out")
"""Parts of verbs, which are no part of a subject: "turned the thermostat up"."""


def unproven(pair: Topic, reading: Reading) -> Verdict | None:
    """Return why the newer clause may speak of another slot than the older one; None if it is proven to be the same."""
    if _dated(pair.old):
        return OTHER_TIMES if _dated(pair.new) else PERHAPS
    return _other_denial(pair) if reading == "denied" else _other_slot(pair, reading)


_WAS: Final = ("was", "were", "war", "wurde", "wurden")
"""Verbs of what was once: "the church was restored in 1971"."""


def _dated(frame: Frame) -> bool:
    """Return True of something that happened on a day or in a year: it stays true whatever happens later."""
    if frame.relation != CHANGE and not frame.event and frame.verb_raw not in _WAS:
        return False
    return any(
        segment.role not in ("to", "") and (unit.kind == DATE or YEAR.fullmatch(unit.raw))
        for segment in frame.segments
        for unit in segment.units
    )


# ---------------------------------------------------------------- denials


def _other_denial(pair: Topic) -> Verdict | None:
    """Return the verdict on a denial of something else than the older clause says."""
    old, new = pair.old, pair.new
    known, said = content_of(old) | {old.verb}, content_of(new) | {new.verb}
    if old.denies and not new.denies and not new.gone:
        come = without(value_units(new), known)
        return SUBJECT if come and without((*value_units(old), *old.gone), said) else None
    ends = new.denies or lists().classes.get(new.verb) == "end"
    behind = (unit for each in new.segments if new.denies or (ends and each.role) for unit in each.units)
    denied = [*new.gone, *(unit for unit in behind if unit.raw != "mehr" and (new.denies or not _tells_when(unit)))]
    value = keys_of(value_units(old))
    gone = keys_of(new.gone)
    ended = any(unit.kind in NAMES and unit.key in value for unit in new.gone)
    if not ended and without(denied, known) and without(value_units(old) if not old.exchanged else old.subject, said):
        return SUBJECT if old.relation == new.relation else PERHAPS
    if new.denies and not ended and (without(denied, known) or (old.verb == new.verb and _belongs_to_more(pair))):
        return PERHAPS
    other_verb = old.relation == new.relation == OTHER and old.verb not in said and new.verb not in known
    if new.denies and other_verb and len(value & keys_of((*new.gone, *new.units))) < MIN_SAME:
        return PERHAPS
    for segment in new.segments:
        limits = segment.role in ("for", "if") or (new.denies and segment.role in LIMITING)
        if not limits or not [unit for unit in without(segment.units, known) if not _tells_when(unit)]:
            continue
        same_role = [unit for each in old.segments if each.role == segment.role for unit in each.units]
        if not same_role:
            return QUALIFIER
        if without(same_role, said | gone):
            return SUBJECT
    if "i" in persons_of(new) and not persons_of(old) and not old.exchanged and without(old.subject, said):
        return PERHAPS
    return None


# ---------------------------------------------------------------- changes


def _other_slot(pair: Topic, reading: Reading) -> Verdict | None:
    """Return the verdict on a change of something else than the older clause says."""
    old, new = pair.old, pair.new
    if _belongs_to_more(pair):
        return SUBJECT
    named = keys_of(unit for unit in new.gone if unit.kind not in (*AMOUNTS, *TIMES))
    if named and named.isdisjoint(keys_of(old.units) | {old.verb}):
        return SUBJECT
    if _measured_otherwise(old, new):
        return ATTRIBUTE
    if reading == "valued" and not (_same_predicate(old, new) and _read_whole(pair)):
        return PERHAPS
    if (verdict := _other_complement(pair)) is not None:
        return verdict
    if reading == "opposed":
        sides = [keys_of(unit for _, unit in each) for each in (pair.values, pair.new_values)]
        other_verbs = old.relation == new.relation == OTHER and old.verb != new.verb and not new.gone
        return PERHAPS if other_verbs and all(sides) and sides[0].isdisjoint(sides[1]) else None
    return None if _one_kind(pair) else PERHAPS


def _belongs_to_more(pair: Topic) -> bool:
    """Return True if the subject of the newer clause has a word that the older clause has not, or not as often: "the
    lead's assistant", "backups of the wiki"."""
    if any(
        unit.key not in pair.new.dating and not _tells_when(unit) and unit.raw not in _PARTICLES for unit in pair.added
    ):
        return True
    roles, new_roles = ({role for role, _ in each} for each in (pair.values, pair.new_values))
    if not (pair.old.relation or pair.new.relation) and roles and "" in new_roles - roles:
        return True  # the subject of a clause whose verb was not read stands before the first preposition
    keys = Counter(unit.key for unit in pair.new.subject if unit.kind != PRONOUN)
    known = Counter(unit.key for unit in (*pair.old.units, *pair.old.gone))
    return any(count > max(1, known[key]) for key, count in keys.items())


def _same_predicate(old: Frame, new: Frame) -> bool:
    """Return True if both verbs say the same of the subject, or the newer one that it changed."""
    if CHANGE in (old.relation, new.relation) or old.verb == new.verb or new.strong:
        return True
    keys, new_keys = keys_of(old.units), keys_of(new.units)
    if new.verb in keys or old.verb in new_keys:  # a noun that was read as the verb
        return True
    if _requires(old) and _requires(new):
        return True
    if "" in (old.relation, new.relation):
        return OTHER not in (old.relation, new.relation) or not new.text.isascii()
    ends = {lists().ends.get(old.verb_raw), lists().ends.get(new.verb_raw)}
    relations = {old.relation, new.relation}
    if BE in relations and len(relations) > 1:
        return "last" not in ends and bool(relations & {LOCATE, SCHEDULE, CALL, COST})
    return len(ends) == len(relations) == 1 and old.relation not in (OTHER, USE)


def _read_whole(pair: Topic) -> bool:
    """Return True unless the newer clause has no verb that was read, and words beside its amount that may be one."""
    if pair.new.relation or not any(unit.kind in (*AMOUNTS, *TIMES) for _, unit in pair.values):
        return True
    rest = [unit for _, unit in pair.new_values if unit.kind not in (*AMOUNTS, *TIMES)]
    return not rest


def _measured_otherwise(old: Frame, new: Frame) -> bool:
    """Return True if each clause says in which way it measures, and they differ: 30 m deep, 4 km long."""
    ways, new_ways = ({unit.raw for unit in frame.words} & lists().senses.ways for frame in (old, new))
    return bool(ways) and bool(new_ways) and ways.isdisjoint(new_ways)


def _requires(frame: Frame) -> bool:
    """Return True if a clause says how many are needed: "needs two approvals", "one approval is enough"."""
    senses = lists().senses
    return frame.verb in senses.requiring or any(unit.raw in senses.sufficing for unit in frame.words)


def _other_complement(pair: Topic) -> Verdict | None:
    """Return the verdict if the newer clause limits what it says, where the older one does not, or has another
    construction: "reports to Ana", "reports expenses to Carla"."""
    old, new = pair.old, pair.new
    roles = {segment.role for segment in old.segments}
    known = keys_of(old.units) | {old.verb}
    changed = new.relation == CHANGE
    often = not any(unit.kind in TIMES for _, unit in pair.values)
    goal = any(segment.role in ("", "to") and without(segment.units, known) for segment in new.segments)
    for segment in new.segments:
        come = [
            unit
            for unit in without(segment.units, known)
            if not _tells_when(unit) or (often and not changed and _recurs(unit))
        ]
        amount = any(unit.kind in AMOUNTS for unit in come) and any(unit.kind in AMOUNTS for _, unit in pair.values)
        if not come or segment.role in roles or amount:
            continue
        if segment.role == "if" and changed and new.verb_raw.endswith("ed"):
            continue  # "we switched to English when Ana joined"
        if segment.role in ("for", "if") or (segment.role == "in" and (goal or not changed)):
            return QUALIFIER
        if not changed and old.relation == new.relation and segment.role != "time":
            return ATTRIBUTE
    return None


def _tells_when(unit: Unit) -> bool:
    timed = lists().units.get(unit.raw) == "time"
    return timed or unit.kind in TIMES or unit.key in WHEN or YEAR.fullmatch(unit.raw) is not None


def _recurs(unit: Unit) -> bool:
    """Return True of a time that comes again, to which a statement may be limited: on Fridays, in summer."""
    return unit.key in WHEN or (unit.kind == WEEKDAY and unit.raw.endswith("s"))


def _supports(pair: Topic) -> bool:
    """Return True if the numbers are versions of what a thing works with, of which it may have several."""
    old, new = pair.old, pair.new
    if new.strong or (old.verb not in lists().senses.supporting and old.relation not in (USE, WORK)):
        return False
    behind = [
        unit
        for segment in old.segments
        if segment.role or old.verb in lists().senses.supporting
        for unit in segment.units
    ]
    return any(
        (one.kind in NAMES or one.raw in lists().apart) and other.kind in (NUMBER, VERSION) and not other.dimension
        for one, other in pairwise(behind)
    )


def _of_other_units(pair: Topic) -> bool:
    """Return True if one amount has a known unit, and the other counts something by a word: 6 people, 2 crates."""
    sides = pair.values, pair.new_values
    measured = [any(unit.kind == NUMBER and unit.dimension for _, unit in each) for each in sides]
    worded = [any(unit.kind == WORD for _, unit in each) for each in sides]
    return measured[0] != measured[1] and worded[measured[0]]


def _behind(frame: Frame, unit: Unit) -> str:
    """Return the preposition before a unit, "" if there is none."""
    words = fold(frame.text).split()
    at = words.index(unit.raw) if unit.raw in words else 0
    while at > 0 and words[at - 1] in DETERMINERS:
        at -= 1
    before = words[at - 1] if at else ""
    return before if before in _ENGLISH else ""


_ENGLISH: Final = ("at", "on", "in", "under", "with", "for")
"""Prepositions of which each makes another thing of a verb; German ones change with the noun."""


def _one_kind(pair: Topic) -> bool:
    """Return True if the newer value is of a kind with the older one, or both are values of one named attribute."""
    old, new = pair.old, pair.new
    if not pair.values or not pair.new_values:
        return True
    (role, one), (_, other) = pair.values[0], pair.new_values[0]
    if one.kind in (NUMBER, VERSION) and _supports(pair):
        return False
    role_of_one = any(key.endswith(lists().senses.roles) for key in pair.shared)
    named = (
        role_of_one
        or bool(pair.shared & pair.single)
        or bool(pair.shared - keys_of(old.subject) - {old.verb, new.verb})
    )
    counted = all(any(unit.kind in (*AMOUNTS, *TIMES) for _, unit in each) for each in (pair.values, pair.new_values))
    if not counted and one.kind != other.kind and not {one.kind, other.kind} <= {WORD, IDENTIFIER, *NAMES}:
        return False
    alike = (
        one.kind == other.kind != WORD or {one.kind, other.kind} <= NAMES or one.raw[-SUFFIX:] == other.raw[-SUFFIX:]
    )
    if counted and _of_other_units(pair):
        return False
    if not (old.relation or new.relation or new.strong or counted):
        return bool(pair.shared & pair.single)  # subject and verb were not told apart
    if named:
        return True
    if new.verb.partition(" ")[0] in lists().senses.acquiring:
        return new.verb in lists().senses.leaving and old.relation == WORK and not pair.lacked
    if old.relation in (PREFER, HAVE):
        return alike
    if old.verb == new.verb and old.relation == USE and not role:
        return alike or counted
    behind = {_behind(old, one), _behind(new, other)} - {""}
    if is_bare(old) and old.verb == new.verb and not counted and len(behind) > 1:
        return False  # "teaches at the Lycée", "teaches on Zoom"
    if is_bare(old) and (old.relation == BE or (old.verb == new.verb and old.relation == OTHER and not role)):
        return alike
    return True
