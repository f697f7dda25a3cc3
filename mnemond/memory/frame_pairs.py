"""How a newer clause relates to an older one: it replaces or contradicts it, or is about another thing.

Of two clauses about one thing the newer replaces the older if it announces a change of the same attribute, denies the
same words, or has another amount; another value without a word of change contradicts it.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.memory.frame_sides import (
    DAYPARTS,
    MAX_VALUE,
    MIN_SAME,
    PERSONAL,
    PLACES,
    SUFFIX,
    WHEN,
    YEAR,
    as_active,
    attributes_of,
    comparable,
    compatible,
    facts_of,
    is_bare,
    is_noun,
    keys_of,
    may_be_one,
    parts_of,
    persons_of,
    purposes_of,
    subject_keys,
    value_units,
    without,
)
from mnemond.memory.frame_slots import Reading, unproven
from mnemond.memory.frame_topics import (
    ADDS,
    ATTRIBUTE,
    CHANGED,
    CONTRADICTS,
    NOTHING,
    NUMBERED,
    OTHER_VALUE,
    QUALIFIER,
    REPLACES,
    SUBJECT,
    Topic,
    Verdict,
)
from mnemond.text.frame_lists import (
    AMOUNTS,
    BE,
    CALL,
    CHANGE,
    HAN,
    HAVE,
    IDENTIFIER,
    LOCATE,
    NAME,
    NAMES,
    NUMBER,
    ORGANISATION,
    OTHER,
    PLACE,
    PREFER,
    PRONOUN,
    REPORT,
    SCHEDULE,
    TIMES,
    TOOL,
    USE,
    WEEKDAY,
    WORD,
    WORK,
    lists,
)
from mnemond.text.frame_words import Unit
from mnemond.text.frames import Frame
from mnemond.text.resources import regex


def related(old: Frame, new: Frame) -> Verdict:
    """Return how the newer clause relates to the older one, and why, in words without any of their content."""
    if old.asks or new.asks or old.supposed or new.supposed:
        return NOTHING, ""
    if old.past != new.past and all(
        unit.raw not in lists().senses.never for frame in (old, new) for unit in frame.words
    ):
        return NOTHING, ""
    active, new_active = as_active(old), as_active(new)
    if active.verb == new_active.verb and (old is active) != (new is new_active):
        old, new = active, new_active
    pair = _Pair(old, new)
    verdict, how = _read(pair)
    if verdict[0] == REPLACES and (doubt := unproven(pair, how)) is not None:
        return doubt
    return verdict


def _read(pair: _Pair) -> tuple[Verdict, Reading]:
    """Return how the newer clause relates to the older one, and by what that was seen."""
    old, new = pair.old, pair.new
    if not (
        pair.shared
        or pair.same_verb
        or pair.same_person()
        or pair.of_one_person()
        or old.verb in {unit.key for unit in new.gone}
    ):
        return (NOTHING, ""), "valued"
    if new.gone and (verdict := pair.takes_back()):
        return verdict, "denied"
    opposites = pair.opposites()
    if old.denies != new.denies and not opposites and not pair.measured():
        other = pair.other_subject()
        denied = pair.denied()
        return denied if other is None or denied[0] == CONTRADICTS else other, "denied"
    if new.additive:
        return ADDS, "valued"
    if opposites and (verdict := pair.opposed(opposites))[0]:
        return verdict, "opposed"
    if old.denies == new.denies and pair.opposed_in_topic():
        return (CONTRADICTS, "each excludes the other"), "valued"
    if opposites:
        return (NOTHING, ""), "valued"
    return pair.other_subject() or pair.valued(), "valued"


_DIFFERENCE: Final = regex(
    r"\s{1,4}(?:(?:by|more than|over|about|nearly|almost|some|another)\s{1,4}){0,3}\d", re.IGNORECASE
)
"""Words behind a verb of change that say by how much."""


class _Pair(Topic):
    """Two frames: what the newer one says of the values of the older one."""

    def takes_back(self) -> Verdict | None:
        """Return the verdict if the newer clause says that a value of the older one is no longer so."""
        old, new = self.old, self.new
        value, subject = keys_of(value_units(old)), keys_of(old.subject)
        known = value | subject | {old.verb}
        gone = self._gone - self._lists.weak
        matched = gone & known
        special = {unit.key for unit in new.gone if unit.kind in (*NAMES, *AMOUNTS)}
        if self._ends_another(matched, gone, value):
            return SUBJECT
        if matched and matched <= value <= keys_of(value_units(new)):
            return None  # what it ends is something else: it says the same of the value as the older clause
        if not matched or len(matched) * 2 < len(gone) or (special and not special & known):
            return None
        ended = subject_keys(old)
        if not matched & value and (not gone <= known or len(ended - gone) * 2 > len(ended)):
            return None
        if not may_be_one(persons_of(old), persons_of(new)) and persons_of(old) | persons_of(new) > {"i", "we"}:
            return SUBJECT
        lacked = [unit for unit in self.lacked if unit.key not in self._gone]
        added = [unit for unit in self.added if unit.key not in self._gone and unit.kind not in (*NAMES, *TIMES)]
        if (lacked and added) or any(unit.raw in self._lists.apart for unit in added) or self._of_others(lacked):
            return SUBJECT
        purposes, new_purposes = purposes_of(old) - self._gone, purposes_of(new) - self._gone
        if purposes and new_purposes and purposes.isdisjoint(new_purposes):
            return QUALIFIER
        return REPLACES, "the new text says that it is no longer so"

    def _ends_another(self, matched: frozenset[str], gone: frozenset[str], value: frozenset[str]) -> bool:
        """Return True if what the newer clause ends is another thing than the older one says: a name that it has not
        ("switched from Jira"), another letter ("Service B"), or one word exchanged ("builds the Android app")."""
        letters, new_letters = (
            {unit.key for unit in frame.units if unit.kind == IDENTIFIER} for frame in (self.old, self.new)
        )
        if letters and new_letters and letters.isdisjoint(new_letters):
            return True
        named = {unit.key for unit in self.new.gone if unit.kind in NAMES}
        if not matched:
            return bool(named) and self.new.changes and named.isdisjoint(keys_of(self.old.units))
        exchanged = bool(gone - keys_of(self.old.units)) and bool(value - gone)
        return exchanged and self.old.verb == self.new.verb

    def _of_others(self, lacked: list[Unit]) -> bool:
        """Return True if the older clause is about a person, `lacked` in the newer one, which is about another: "Ana
        drives a Volvo", "I sold the Volvo"."""
        old, new = self.old, self.new
        if old.exchanged or not any(unit.kind == NAME or unit.key in self._lists.senses.kin for unit in lacked):
            return False
        own = any(unit.kind == PRONOUN and unit.key in ("i", "user") for unit in new.words)
        return own or any(unit.kind == NAME for unit in self.added if unit.key not in self._gone)

    def measured(self) -> bool:
        """Return True if both give an amount of one thing, of which the newer one says that it changed: coverage must
        not fall below 80 percent, the required coverage was lowered to 75 percent."""
        amounts = [[unit for _, unit in each if unit.kind == NUMBER] for each in (self.values, self.new_values)]
        return self.new.strong and all(amounts) and self.other_subject() is None and self._same_attribute()

    def valued(self) -> Verdict:
        values, new_values = [unit for _, unit in self.values], [unit for _, unit in self.new_values]
        if values and new_values:
            timed = any(unit.kind in TIMES for unit in values) and any(unit.kind in TIMES for unit in new_values)
            kinds = TIMES if timed else AMOUNTS
            one = [unit for unit in values if unit.kind in kinds]
            other = [unit for unit in new_values if unit.kind in kinds]
            if one and other and self._on_dates(one, other):
                return QUALIFIER
            if one and other:
                return self._amounts(one, other)
        if self.new.changes:
            return self._changed(values, new_values)
        other_verb = not values and not new_values and self.old.verb != self.new.verb
        if self.negative() and (other_verb or self._about_one()):
            return CONTRADICTS, "one says no where the other does not"
        return self._exclusive()

    def _on_dates(self, one: list[Unit], other: list[Unit]) -> bool:
        """Return True if the amounts are the years in which two things happened: joined in 2019, promoted in 2023."""
        apart = self.old.verb != self.new.verb and self.old.relation in (CHANGE, OTHER)
        return apart and all(YEAR.fullmatch(unit.raw) for unit in (*one, *other))

    def _amounts(self, one: list[Unit], other: list[Unit]) -> Verdict:
        old, new = self.old, self.new
        if not any(comparable(first, second) for first in one for second in other) or not self._same_attribute():
            return ATTRIBUTE
        if (
            (old.event and new.event) or (old.verb in self._lists.senses.supporting and not one[0].dimension)
        ) and not new.changes:
            return QUALIFIER
        if not new.changes and all(unit.kind == WEEKDAY and unit.raw.endswith("s") for unit in (*one, *other)):
            return QUALIFIER  # on Tuesdays, and on Thursdays
        names = {f"number:{label.rpartition(' ')[2]}" for label in old.labels ^ new.labels}
        if old.labels & new.labels and not names.isdisjoint(unit.key for unit in (*one, *other)):
            return NUMBERED
        if new.relation == CHANGE and self._is_difference():
            return (CONTRADICTS, "the numbers differ") if old.relation == BE else QUALIFIER
        spent = frozenset(unit.key for unit in (*one, *other))
        if one[0].kind in TIMES:
            spent |= DAYPARTS
        rest = [unit for _, unit in self.values if unit.key not in spent]
        new_rest = [unit for _, unit in self.new_values if unit.key not in spent]
        moved = (
            new.verb in self._lists.senses.moving and old.relation in (LOCATE, BE) and not (self.lacked or self.added)
        )
        if moved and self.shared & keys_of(old.subject):
            return CHANGED
        if (rest and new_rest) or (rest and self.added) or (new_rest and self.lacked) or self._other_case(spent):
            return QUALIFIER
        if new.changes:
            return CHANGED
        if len(one) > 1 or len(other) > 1 or rest or new_rest or self.lacked or self.added:
            return CONTRADICTS, "the numbers differ"
        if one[0].kind in AMOUNTS and other[0].kind in AMOUNTS:
            return REPLACES, "the numbers differ"
        if len(old.segments) > 1 or len(new.segments) > 1:
            return QUALIFIER
        return CONTRADICTS, "the times differ"

    def _is_difference(self) -> bool:
        """Return True if the amount of a change is by how much, and not the new value: the index dropped 33.90."""
        behind = self.new.text.partition(self.new.verb_raw)[2] if self.new.verb_raw else ""
        alone = all(role in ("", "by") for role, unit in self.new_values if unit.kind in AMOUNTS)
        return alone and self.new.text.isascii() and _DIFFERENCE.match(behind) is not None

    def _same_attribute(self) -> bool:
        """Return True if what is measured may be the same: a word is shared, and neither verb is another one."""
        old, new = self.old, self.new
        if not self.shared and not (self.same_person() and old.relation == new.relation):
            return False
        read = not {"", BE, CHANGE} & {old.relation, new.relation}
        ends = self._lists.ends.get(old.verb_raw)
        one_end = ends is not None and ends == self._lists.ends.get(new.verb_raw)
        if read and old.verb != new.verb and not one_end and self._only_of_person():
            return False  # "teaches on Mondays", "works from home on Fridays"
        if new.strong or CHANGE in (old.relation, new.relation) or "" in (old.relation, new.relation):
            return True
        if new.changes and self._same_predicate():
            return True
        if old.relation == new.relation:
            if old.relation == SCHEDULE:
                return self._lists.ends.get(old.verb_raw) == self._lists.ends.get(new.verb_raw)
            return old.relation != OTHER or old.verb == new.verb
        return bool(attributes_of(old) & attributes_of(new)) or BE in (old.relation, new.relation)

    def _same_predicate(self) -> bool:
        """Return True if what is said of the subject has a word in common, or an attribute."""
        (subject, said), (new_subject, new_said) = parts_of(self.old), parts_of(self.new)
        both = (said & (new_said | new_subject)) | (new_said & subject)
        pronouns = keys_of(unit for unit in (*self.old.units, *self.new.units) if unit.kind == PRONOUN)
        about = subject & new_subject if subject and new_subject else subject | new_subject
        return bool(both - about - pronouns - self._lists.weak - {""})

    def _changed(self, values: list[Unit], new_values: list[Unit]) -> Verdict:
        """Return the verdict where the newer clause announces a change and gives no amount."""
        old, new = self.old, self.new
        if new.verb in self._lists.senses.taken and self._taken_over():
            return CHANGED
        if not new_values or old.indefinite or new.indefinite:
            return NOTHING, ""
        if not values:
            value = keys_of(value_units(old)) - {new.verb}
            if (
                new.verb in self._lists.senses.handing
                and any(role == "to" for role, _ in self.new_values)
                and self.shared
            ):
                return CHANGED
            named = bool(value) and value <= keys_of(new.subject) and old.relation in (CALL, BE) and not old.exchanged
            direct = {role for role, _ in self.new_values} <= {
                "",
                "to",
                "for",
            } and new.verb not in self._lists.senses.moving
            renamed = named and (direct or new.verb in self._lists.senses.renaming)
            return CHANGED if renamed else (NOTHING, "")
        again = self.same_verb and self.same_person()
        if not self._in_one_place() or not (again or compatible(values[0], new_values[0])):
            return NOTHING, ""
        if again and old.verb not in self._lists.several and {role for role, _ in self.values} == {"in"}:
            return CHANGED  # "I train at the barn now"
        if old.relation == LOCATE and new.relation == CHANGE and not self._moved_on():
            return NOTHING, ""
        if not self._may_end(values[0], new_values[0]):
            return NOTHING, ""
        if old.relation in PERSONAL and new.relation in (old.relation, CHANGE) and self.same_person():
            return CHANGED
        persons = old.relation != new.relation and {old.relation, new.relation} <= set(PERSONAL)
        if persons or not (self.shared or self.same_verb):
            return NOTHING, ""
        if old.verb in self._lists.several and not new.strong:
            return NOTHING, ""
        unread = new.relation == old.relation == "" or (new.relation == "" and new.text.isascii())
        alike = old.relation == new.relation not in (BE, OTHER)
        instead = new.verb != old.verb and any(unit.raw in self._lists.senses.instead for unit in new.words)
        if self._same_predicate() or new.relation == CHANGE or unread or alike or instead:
            return CHANGED
        if BE in (old.relation, new.relation):
            return self._now_is()
        return CHANGED if old.relation == new.relation and old.verb == new.verb else (NOTHING, "")

    def _now_is(self) -> Verdict:
        """Return the verdict on "is now …" where no word beside the subject is shared: it may be another attribute."""
        old, new = self.old, self.new
        roles, new_roles = ({role for role, _ in each} for each in (self.values, self.new_values))
        if roles != new_roles and "" in roles | new_roles:
            return NOTHING, ""
        one, other = self.values[0][1], self.new_values[0][1]
        if "" not in roles or self.shared & self._lists.single:
            return CHANGED
        if old.relation != new.relation or len(self.values) > MAX_VALUE:
            return NOTHING, ""
        named = all(unit.kind in NAMES or is_noun(frame, unit) for frame, unit in ((old, one), (new, other)))
        if named or one.kind == other.kind != WORD or one.raw[-SUFFIX:] == other.raw[-SUFFIX:]:
            return CHANGED
        alone = len(self.values) == len(self.new_values) == 1 and len(old.segments) == len(new.segments)
        return OTHER_VALUE if alone else (NOTHING, "")

    def _only_of_person(self) -> bool:
        """Return True if all that the clauses share is their subject, and that may be a person."""
        old, new = self.old, self.new
        return self.shared <= keys_of(old.subject) & keys_of(new.subject) and is_bare(old) and is_bare(new)

    def _may_end(self, value: Unit, goal: Unit) -> bool:
        """Return True if the newer clause may end the older one, of which all that they share is whom or what both are
        about: "Susanne plays chess" is not ended by "Susanne moved to London", nor by "she is on leave since May"."""
        old, new = self.old, self.new
        if old.relation in PERSONAL and new.relation == CHANGE:
            if without(new.subject, keys_of(old.subject) | {old.verb}):
                return False  # "I moved my savings to Revolut"
            if (
                old.relation == WORK
                and new.verb
                not in self._lists.senses.leaving | self._lists.senses.switching | self._lists.senses.resigning
            ):
                return False
        if not self._only_of_person():
            moves = new.verb in self._lists.senses.moving and old.relation == USE
            return not moves or goal.kind != PLACE or value.kind == PLACE
        alike = value.kind == goal.kind and goal.kind not in (WORD, PRONOUN)
        if old.relation == new.relation:
            same_role = [role for role, _ in self.values] == [role for role, _ in self.new_values]
            if old.relation == WORK:  # "works at Siemens", "works from home"
                return same_role or goal.kind == ORGANISATION or self.new_values[0][0] != ""
            return (
                old.relation != BE
                or self._has_one()
                or (same_role and alike)
                or value.raw[-SUFFIX:] == goal.raw[-SUFFIX:]
            )
        if old.relation == LOCATE:
            return new.verb in self._lists.senses.moving or goal.kind == PLACE
        if old.relation == WORK:
            leaves = new.verb in self._lists.senses.resigning or (
                new.verb in self._lists.senses.leaving and goal.kind != WORD
            )
            return leaves or goal.kind == ORGANISATION or (alike and goal.kind == PLACE)
        if old.relation in (REPORT, PREFER, HAVE) or new.relation in PERSONAL:
            return False
        if new.verb in self._lists.senses.becoming:
            return old.relation == BE
        return alike and (goal.kind != PLACE or old.relation == BE) and self.values[0][0] != "from"

    def _taken_over(self) -> bool:
        """Return True if what a named one does in the older clause is what another has taken over."""
        by = any(segment.role == "by" for segment in self.new.segments)
        thing = self.new.subject if by else value_units(self.new)
        holder = [unit for unit in self.old.subject if unit.kind in NAMES]
        keys = keys_of(unit for unit in thing if unit.kind != PRONOUN) - self._lists.weak
        return bool(holder) and bool(keys) and keys <= keys_of(value_units(self.old)) | keys_of(self.old.subject)

    def _moved_on(self) -> bool:
        """Return True if the newer clause tells a move to another place."""
        to = [unit for _, unit in self.new_values]
        if TOOL in {unit.kind for _, unit in self.values}:
            return True
        goal = self._lists.senses.groups.isdisjoint(unit.raw for unit in self.new.words) and all(
            unit.kind != TOOL for unit in to
        )
        return self.new.verb in self._lists.senses.moving and goal

    def _in_one_place(self) -> bool:
        """Return True if the values stand in one place: behind the verb, or behind prepositions of one class."""
        roles = {PLACES.get(role, role) for role, _ in self.values}
        new_roles = {PLACES.get(role, role) for role, _ in self.new_values}
        if self.new.relation == CHANGE:
            new_roles -= {"if"}  # "switched to English when Ana joined" tells a time
        several = min(len({role for role, _ in each}) for each in (self.values, self.new_values)) > 1
        if several or roles.isdisjoint(new_roles) or "if" in roles | new_roles:
            return False
        return not roles & new_roles <= {"for", "time"}

    def _exclusive(self) -> Verdict:
        """Return the verdict where no change is announced: a contradiction if the thing has one such value."""
        old, new = self.old, self.new
        if not self._lists.many.isdisjoint(unit.raw for unit in (*old.words, *new.words)):
            return NOTHING, ""
        if old.indefinite or new.indefinite or self.lacked or self.added:
            return NOTHING, ""
        if old.relation != new.relation and not self._both_placed():
            return NOTHING, ""
        if not self.values or not self.new_values or not (self._in_one_place() or self._reordered()):
            return NOTHING, ""
        one, other = [unit for _, unit in self.values], [unit for _, unit in self.new_values]
        if max(len(one), len(other)) > MAX_VALUE or not self._alike(one[0], other[0]):
            return NOTHING, ""
        if any(unit.kind in AMOUNTS for unit in one) != any(unit.kind in AMOUNTS for unit in other):
            return NOTHING, ""
        roles, new_roles = ({role for role, _ in each} for each in (self.values, self.new_values))
        if roles != new_roles and "" in roles | new_roles and old.relation == BE and not self._reordered():
            return NOTHING, ""
        if old.exchanged or (self._has_one() and old.relation in (BE, USE, "", OTHER, HAVE, PREFER)):
            return OTHER_VALUE
        if old.relation not in (BE, LOCATE, WORK, CALL, REPORT) and old.verb != new.verb:
            return NOTHING, ""
        if one[0].kind == other[0].kind == "language" and any(
            word in old.text.lower() for word in self._lists.senses.answering
        ):
            return OTHER_VALUE
        if old.relation == BE and len(one) == len(other) == 1 and WORD not in (one[0].kind, other[0].kind):
            subject = subject_keys(old)
            if subject and subject == subject_keys(new):
                return OTHER_VALUE
        verb = {old.verb, *(unit.key for unit in old.segments[0].units[:1])}
        direct = {role for role, _ in self.values} <= {"", "to"}
        if old.relation == USE and self._for_one_end():
            return OTHER_VALUE
        if direct and (not verb.isdisjoint(self._lists.several) or self._behind_several()):
            return NOTHING, ""
        if old.relation == PREFER:
            return OTHER_VALUE if self.shared - {old.verb} else (NOTHING, "")
        if old.relation in (WORK, CALL, REPORT, LOCATE):
            return OTHER_VALUE
        reordered = self._reordered()
        if (self._parallel() is None and not reordered) or not (self.shared or persons_of(old)):
            return NOTHING, ""
        roles = {role for role, _ in self.values}
        timed = any(unit.key in WHEN for _, unit in (*self.values, *self.new_values))
        placed = not timed and old.relation in (BE, LOCATE) and roles == {"in"} == {each.role for each in old.segments}
        firsts = (self.values[0], self.new_values[0])
        apart = any(unit.raw in self._lists.apart and role for role, unit in firsts)
        if apart and not placed:
            return QUALIFIER
        if roles != {role for role, _ in self.new_values}:
            return OTHER_VALUE if reordered else (NOTHING, "")
        if old.relation == BE and "" in roles:
            alike = one[0].kind == other[0].kind != WORD or one[0].raw[-SUFFIX:] == other[0].raw[-SUFFIX:]
            sides = len(one) == len(other) == 1 and {one[0].raw, other[0].raw} <= self._lists.apart.keys()
            return OTHER_VALUE if alike or sides else (NOTHING, "")
        return OTHER_VALUE

    def _both_placed(self) -> bool:
        """Return True if both say where a thing is: it is in Lyon, it is located in Nantes. A person may be in a place
        without living there."""
        named = all(role == "in" and unit.kind in NAMES for role, unit in (*self.values, *self.new_values))
        return named and {self.old.relation, self.new.relation} == {BE, LOCATE} and not is_bare(self.old)

    def _alike(self, one: Unit, other: Unit) -> bool:
        """Return True if one value may stand for the other: a name for a name, and a time of day for another."""
        if not compatible(one, other) or (one.key in WHEN) != (other.key in WHEN):
            return False
        if (one.kind in NAMES) == (other.kind in NAMES):
            return True
        frame, word = (self.old, one) if one.kind not in NAMES else (self.new, other)
        return not word.raw.isascii() or not word.raw.isalpha() or is_noun(frame, word)

    def _has_one(self) -> bool:
        """Return True if both speak of something of which a thing has one."""
        return bool(self.shared & self._lists.single) or any(
            key.endswith(self._lists.senses.roles) for key in self.shared
        )

    def _for_one_end(self) -> bool:
        """Return True if the clauses differ in the means alone: names are written in one case, or in another."""
        place = self._parallel()
        if place is None or place[1] == len(self.old.order):
            return False
        return self.old.order[place[1]] == "…for" or HAN.match(self.old.order[-1]) is not None

    def _reordered(self) -> bool:
        """Return True if the clauses have the same words but for one of what is said: separated by commas, comma
        separated."""
        words, new_words = facts_of(self.old), facts_of(self.new)
        gone, come = words - new_words, new_words - words
        values = keys_of(unit for _, unit in self.values), keys_of(unit for _, unit in self.new_values)
        return len(gone) == len(come) == 1 and (gone, come) == values and len(words & new_words) > MIN_SAME

    def _behind_several(self) -> bool:
        """Return True if the place where the clauses differ stands behind a verb that may have several objects."""
        place = self._parallel()
        return place is not None and place[0] > 0 and self.old.order[place[0] - 1] in self._lists.several
