"""If two clauses are about one thing, and if one excludes the other: denials, opposites, kinds.

Another word in both subjects, another number, name, place or environment, and a case to which one is limited tell the
things apart.
"""

from __future__ import annotations

from typing import Final, Literal

from mnemond.memory.frame_sides import (
    ABOUT_SHARE,
    MAX_CHARACTERS,
    MAX_VALUE,
    MIN_SAME,
    TAKEN_BACK_SHARE,
    TEMPLATE_SHARE,
    attributes_of,
    content_of,
    facts_of,
    in_common,
    keys_of,
    may_be_one,
    numbered_in,
    persons_of,
    pronouns_of,
    sides_of,
    subject_keys,
    value_units,
    values_of,
    without,
    words_said,
)
from mnemond.text.frame_lists import CADENCE, CHANGE, CLOCK, HAN, ORGANISATION, OTHER, PLACE, PRONOUN, lists
from mnemond.text.frame_words import Unit
from mnemond.text.frames import Frame

Relation = Literal["replaces", "contradicts", "other", ""]

REPLACES: Final[Relation] = "replaces"
CONTRADICTS: Final[Relation] = "contradicts"
ANOTHER: Final[Relation] = "other"
NOTHING: Final[Relation] = ""


Verdict = tuple[Relation, str]

ADDS: Final[Verdict] = (ANOTHER, "the new text adds to it")
SUBJECT: Final[Verdict] = (ANOTHER, "they are about different things")
NUMBERED: Final[Verdict] = (ANOTHER, "they are about things with different numbers")
QUALIFIER: Final[Verdict] = (ANOTHER, "they hold in different cases")
ATTRIBUTE: Final[Verdict] = (ANOTHER, "they are about different attributes")
OTHER_TIMES: Final[Verdict] = (ANOTHER, "they tell of different times")
CHANGED: Final[Verdict] = (REPLACES, "the new text says that it changed")
OTHER_VALUE: Final[Verdict] = (CONTRADICTS, "they give different values")


_WITHOUT: Final = ("without", "ohne")


class Topic:
    """Two frames and their differences.

    `lacked`, `added`: units of one subject that the other clause has nowhere; `values`, `new_values`: the same of the
    segments, each with its role. `shared`: keys of the words that say what both are about.
    """

    def __init__(self, old: Frame, new: Frame) -> None:
        self.old, self.new = old, new
        self._lists = lists()
        keys, new_keys = keys_of(old.units) | {old.verb}, keys_of(new.units) | {new.verb}
        self._gone = keys_of(new.gone)
        self.shared = words_said(old) & words_said(new)
        self.same_verb = old.relation == new.relation == OTHER and old.verb == new.verb
        self.lacked = without(old.subject, new_keys | self._gone)
        self.added = without(new.subject or new.gone, keys)
        self.values = values_of(old, new_keys)
        self.new_values = values_of(new, keys)

    @property
    def single(self) -> frozenset[str]:
        """Keys of the attributes of which a thing has one."""
        return self._lists.single

    def same_person(self) -> bool:
        one, other = persons_of(self.old), persons_of(self.new)
        return bool(one) and bool(other) and may_be_one(one, other)

    def other_subject(self) -> Verdict | None:
        """Return why the clauses are about different things; None if they may be about one."""
        old, new = self.old, self.new
        numbered, of_new = numbered_in(old.subject), numbered_in(new.subject)
        apart = numbered != of_new and (self.lacked or (self.added and not numbered <= of_new))
        if apart or self._labelled_apart():
            return NUMBERED
        goals = {key for _, key in old.directions} & {key for _, key in new.directions}
        if any(key in goals for _, key in old.directions ^ new.directions):  # the flight to Rome, the flight from Rome
            return SUBJECT
        if not may_be_one(persons_of(old), persons_of(new)) or (self.lacked and self.added):
            return SUBJECT
        if not old.relation and not new.relation and old.order[:1] != new.order[:1]:
            return SUBJECT
        held = old.exchanged and new.exchanged and keys_of(value_units(old)) != keys_of(value_units(new))
        if held and (self._of_a_group(old) or self._of_a_group(new)):
            return SUBJECT
        if any(unit.raw in self._lists.apart for unit in (*self.lacked, *self.added)):
            return QUALIFIER
        one, other = attributes_of(old), attributes_of(new)
        return ATTRIBUTE if one and other and one.isdisjoint(other) else None

    def _labelled_apart(self) -> bool:
        """Return True if a noun has other numbers behind it, which name things: sprint 12 is not sprint 13.

        What is said to have changed may be the number itself: "we are in sprint 13 now".
        """
        old, new = self.old, self.new
        nouns = {label.rpartition(" ")[0] for label in new.labels}
        apart = any(label.rpartition(" ")[0] in nouns for label in old.labels - new.labels)
        if old.verb in self._lists.senses.requiring:
            return False
        return apart and not (new.changes and self.values and self.new_values and not (self.lacked or self.added))

    def _of_a_group(self, frame: Frame) -> bool:
        """Return True if the holder of a role is one of several alike: "Squad 7"."""
        holder = value_units(frame)
        return bool(numbered_in(holder)) or any(unit.raw in self._lists.senses.groups for unit in holder)

    def _other_case(self, spent: frozenset[str]) -> bool:
        """Return True if segments beside the value differ, so that the clauses hold in different cases."""
        rest = [(role, unit) for role, unit in self.values if unit.key not in spent]
        new_rest = [(role, unit) for role, unit in self.new_values if unit.key not in spent]
        roles, new_roles = {role for role, _ in rest}, {role for role, _ in new_rest}
        if "if" in roles | new_roles or roles & new_roles:
            return True
        if not self.new.changes and not {"for", "time"}.isdisjoint(roles ^ new_roles):
            return True
        return any(role and unit.raw in self._lists.apart for role, unit in rest + new_rest)

    def opposed_in_topic(self) -> bool:
        """Return True if a word of one clause excludes one of the other, and both are about one thing."""
        table = self._lists.topics
        pairs = [
            (one, other)
            for one in self.old.words
            for number, side in sides_of(one, table)
            for other in self.new.words
            if (number, 1 - side) in sides_of(other, table)
        ]
        keys, new_keys = keys_of(self.old.words), keys_of(self.new.words)
        pairs = [(one, other) for one, other in pairs if one.key not in new_keys and other.key not in keys]
        pairs = [pair for pair in pairs if not self._in_other_cases(pair)]
        if not pairs or self._apart():
            return False
        spent = frozenset(unit.key for pair in pairs for unit in pair) | self._lists.weak
        if self.of_one_person(spent):
            return True
        one, other = facts_of(self.old) - spent, facts_of(self.new) - spent
        subject, new_subject = subject_keys(self.old) - spent, subject_keys(self.new) - spent
        if pronouns_of(self.old) & pronouns_of(self.new) & {"i", "user"} and in_common(one, other):
            return True
        if not subject and not new_subject:
            return in_common(one, other) > 1 and in_common(one, other) >= ABOUT_SHARE * min(len(one), len(other))
        # The thing that one is about is spoken of in the other.
        return bool(in_common(subject, other) or in_common(new_subject, one))

    def _in_other_cases(self, pair: tuple[Unit, Unit]) -> bool:
        """Return True if both words say for whom or when something holds: free for members, paid for guests."""
        cases, new_cases = (
            [unit for segment in frame.segments if segment.role in ("for", "if", "time") for unit in segment.units]
            for frame in (self.old, self.new)
        )
        return pair[0] in cases and pair[1] in new_cases

    def of_one_person(self, spent: frozenset[str] = frozenset()) -> bool:
        """Return True if both clauses are about what one person does, with no other subject than `spent`."""
        if not pronouns_of(self.old) & pronouns_of(self.new) & {"i", "user"}:
            return False
        others = (*without(self.old.subject, spent), *without(self.new.subject, spent))
        alone = all(len(unit.raw) == 1 and HAN.match(unit.raw) for unit in others)
        return alone and may_be_one(persons_of(self.old), persons_of(self.new))

    def _apart(self, said: frozenset[str] = frozenset()) -> bool:
        """Return True if numbers, names or environments tell the things apart that the clauses are about. `said`: keys
        of words that are no environment, but what the clauses say: "flows north"."""
        keys, new_keys = keys_of(self.old.words), keys_of(self.new.words)
        if self._labelled_apart() or (
            numbered_in(self.old.subject) - new_keys and numbered_in(self.new.subject) - keys
        ):
            return True
        lacked, added = self.lacked, self.added
        if lacked and added:
            heads = [
                [unit.key for unit in frame.subject if unit.kind != PRONOUN][-1:] for frame in (self.old, self.new)
            ]
            if heads[0] == heads[1] or any(map(self._tells_apart, (*lacked, *added))):
                return True
        marks, new_marks = (
            frozenset(
                self._lists.apart[unit.raw]
                for unit in frame.words
                if unit.raw in self._lists.apart and unit.kind != CADENCE and unit.key not in said
            )
            for frame in (self.old, self.new)
        )
        return bool(marks - new_marks) and bool(new_marks - marks)

    def _tells_apart(self, unit: Unit) -> bool:
        return unit.kind in (PLACE, ORGANISATION) or unit.raw in self._lists.apart or not unit.raw.isalpha()

    def denied(self) -> Verdict:
        """Return the verdict on two clauses of which one denies."""
        said = "one denies what the other says"
        one, other = content_of(self.old), content_of(self.new)
        both = len(one & other)
        if not one or not other or not both:
            return (CONTRADICTS, said) if self._of_kin() else (NOTHING, "")
        changes = self.new.changes and not (self.new.denies and self.new.relation == CHANGE)  # "is not dropped"
        if self._restricted():
            return QUALIFIER
        if one == other and self._one_relation() and may_be_one(pronouns_of(self.old), pronouns_of(self.new)):
            return REPLACES, said
        if self._limited():
            return NOTHING, ""
        share = both / min(len(one), len(other))
        if share == 1.0 and not (self.lacked or self.added):
            return (REPLACES if changes else CONTRADICTS), said
        if changes and both > 1 and share > TAKEN_BACK_SHARE and not self._template():
            return REPLACES, said
        if self._apart():
            return QUALIFIER
        return (CONTRADICTS, said) if self._about_one() or self._of_kin() else (NOTHING, "")

    def _one_relation(self) -> bool:
        relations = {self.old.relation, self.new.relation}
        return len(relations) == 1 or "" in relations

    def _restricted(self) -> bool:
        """Return True if the denial only says which things a clause is about: deploys without a review, and those with
        one."""
        denial = self.old if self.old.denies else self.new
        before = denial.text.partition(denial.verb_raw)[0] if denial.verb_raw else ""
        return any(word in _WITHOUT for word in before.casefold().split())

    def _limited(self) -> bool:
        """Return True if a denial is limited to a case of which the other clause does not speak."""
        denial, said = (self.old, self.new) if self.old.denies else (self.new, self.old)
        keys = keys_of(said.words)
        cases = [unit for segment in denial.segments if segment.role in ("for", "if", "time") for unit in segment.units]
        return not self.new.changes and bool(cases) and all(unit.key not in keys for unit in cases)

    def _of_kin(self) -> bool:
        """Return True if one clause denies all of a kind, of which the other names one: no siblings, a brother."""
        denial, said = (self.old, self.new) if self.old.denies else (self.new, self.old)
        table = self._lists.kin
        pairs = [
            (one, other)
            for one in denial.words
            for number, side in sides_of(one, table)
            for other in said.words
            if side == 0 and number in {each for each, _ in sides_of(other, table)}
        ]
        if not pairs or self._apart():
            return False
        spent = frozenset(unit.key for pair in pairs for unit in pair)
        one, other = (facts_of(frame) - self._lists.weak - spent - {frame.verb} for frame in (denial, said))
        rest = one - other
        if any(len(key) > 1 for key in rest) or len(rest) > MAX_CHARACTERS:  # not of that kind: no drug allergies
            return False
        return self.of_one_person(spent) or bool(in_common(one, other))

    def _about_one(self, *, by_subject: bool = False) -> bool:
        """Return True if clauses of different wording are about one thing: their words are shared, and they are not one
        sentence with other words in some places."""
        if self._parallel() is not None or self._template():
            return False
        weak = self._lists.weak
        subject = subject_keys(self.old) - weak
        if by_subject and subject and subject == subject_keys(self.new) - weak:
            return True
        one, other = facts_of(self.old) - weak, facts_of(self.new) - weak
        shared = in_common(one, other)
        if not (self._denies_said(self.old, other) and self._denies_said(self.new, one)):
            return False
        return shared > 1 and shared >= ABOUT_SHARE * min(len(one), len(other))

    def _denies_said(self, frame: Frame, facts: frozenset[str]) -> bool:
        """Return True unless a clause denies something of the subject of which the other does not speak."""
        no = self._lists.negative
        negative = keys_of(unit for unit in frame.words if unit.raw in no)
        if not frame.denies and not negative:
            return True
        said = keys_of(frame.subject) - {frame.verb} if frame.exchanged else keys_of(value_units(frame))
        denied = said - self._lists.weak - negative
        return not denied or in_common(denied, facts) > 0

    def _template(self) -> bool:
        """Return True if both clauses have the same words at the beginning or the end, and others in between."""
        rest = iter(self.new.order)
        same = sum(word in rest for word in self.old.order if word in self.new.order)
        return same >= TEMPLATE_SHARE * max(len(self.old.order), len(self.new.order))

    def opposites(self) -> list[tuple[Unit, Unit]]:
        """Return the pairs of words that exclude each other."""
        table = self._lists.opposites
        pairs = [
            (one, other)
            for one in self.old.words
            for number, side in table.get(one.raw, ())
            for other in self.new.words
            if other.key not in self._gone and (number, 1 - side) in table.get(other.raw, ())
        ]
        if all(any(unit.kind == CLOCK for unit in frame.words) for frame in (self.old, self.new)):
            return [pair for pair in pairs if pair[0].raw not in self._lists.apart]  # the morning of 8:30
        return pairs

    def opposed(self, pairs: list[tuple[Unit, Unit]]) -> Verdict:
        old, new = self.old, self.new
        pairs = [pair for pair in pairs if not self._in_other_cases(pair)]
        said = frozenset(
            segment.units[0].key
            for frame in (old, new)
            for segment in frame.segments
            if not segment.role and len(segment.units) == 1
        )
        if not pairs or self._apart(said) or all(one in old.subject and other in new.subject for one, other in pairs):
            return QUALIFIER
        classes = self._lists.classes
        if (old.denies or new.denies) and all(
            "not" not in (classes.get(one.raw), classes.get(other.raw)) for one, other in pairs
        ):
            return NOTHING, ""
        spent = frozenset(unit.key for pair in pairs for unit in pair)
        rest = [unit for _, unit in self.values if unit.key not in spent]
        new_rest = [unit for _, unit in self.new_values if unit.key not in spent]
        if ((rest or self.lacked) and (new_rest or self.added)) and not self._about_one(by_subject=True):
            return NOTHING, ""
        if new.changes and (not (rest and new_rest) or (subject_keys(old) and not self.lacked)):
            return CHANGED
        return CONTRADICTS, "each says the opposite of the other"

    def negative(self) -> bool:
        """Return True if one clause says no in its words, and the other does not."""
        no = self._lists.negative
        one, other = (any(unit.raw in no for unit in frame.words) != frame.denies for frame in (self.old, self.new))
        return one != other

    def _parallel(self) -> tuple[int, int] | None:
        """Return where the words of two clauses differ, if they differ in one place only: first and last place in the
        older one. None if they differ in several."""
        one, other = self.old.order, self.new.order
        start = 0
        while start < min(len(one), len(other)) and one[start] == other[start]:
            start += 1
        end = 0
        while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
            end += 1
        middles = len(one) - start - end, len(other) - start - end
        return (start, len(one) - end) if 0 < max(middles) <= MAX_VALUE and start + end >= MIN_SAME else None
