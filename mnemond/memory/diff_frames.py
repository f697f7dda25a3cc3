"""Comparison of two texts by what their clauses say: another thing, the same thing changed, or a contradiction.

Two clauses speak of one thing if neither has a word of a subject that the other lacks, and no identifier, environment
or other qualifier differs. Of such clauses the newer replaces the older if it announces a change, denies the
same words, or has another amount; if another value is given without a word of change, they contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.text.frame_words import (
    ADDRESS,
    AMOUNTS,
    BE,
    CALL,
    CHANGE,
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
    TIMES,
    TOOL,
    USE,
    VERSION,
    WORD,
    WORK,
    Unit,
    lists,
)
from mnemond.text.frames import Frame, frames
from mnemond.text.resources import words_of
from mnemond.text.tokens import index_terms

Relation = Literal["replaces", "contradicts", "other", ""]

REPLACES: Final[Relation] = "replaces"
CONTRADICTS: Final[Relation] = "contradicts"
ANOTHER: Final[Relation] = "other"
NOTHING: Final[Relation] = ""


class ClausePair(NamedTuple):
    """Two clauses and how the newer relates to the older: it replaces or contradicts it, or is about another thing.
    `because`: a clause of a sentence, without any of the content. `announced`: the newer clause has a verb of change,
    or is said to correct something."""

    old: str
    new: str
    relation: Relation
    because: str
    announced: bool = False


SILENT: Final = ClausePair("", "", NOTHING, "")
"""The frames of two texts say nothing of each other."""


_FORMER: Final = {
    LOCATE: words_of("live lives living based located hosted reside sit wohne wohnt lebe steht liegt 住在 位于 在"),
    WORK: words_of("work works working job employed arbeite arbeitet 工作 就职 任职"),
}
"""Words of the state that a change of place or of employer ends."""

_LEAVING: Final = words_of(
    "left leaves quit joined joins resigned hired gekündigt verlassen gewechselt 离职 离开 加入 跳槽到 辞职"
)


def former_terms(text: str) -> frozenset[str]:
    """Return index terms of statements that a change in `text` may end although they share no word with it: "I live in
    Lisbon", before "I moved to Porto". Empty if it announces no such change."""
    found: set[str] = set()
    for frame in frames(text):
        if frame.changes and frame.relation in (CHANGE, LOCATE, WORK) and frame.verb_raw:
            state = WORK if frame.verb_raw in _LEAVING or frame.relation == WORK else LOCATE
            if state == WORK or frame.verb_raw in _MOVING or frame.relation == LOCATE:
                found.update(term for word in _FORMER[state] for term in index_terms(word))
    return frozenset(found)


def _pairs(old: str, new: str, *, corrects: bool) -> Iterable[ClausePair]:
    for one in frames(old):
        for other in frames(new):
            relation, because = _related(one, msgspec.structs.replace(other, changes=True) if corrects else other)
            if relation:
                yield ClausePair(one.text, other.text, relation, because, corrects or _announces(other))


def _announces(new: Frame) -> bool:
    """Return True if a clause tells a change, or a state that holds since: "the office is on Elm Street since May"."""
    return new.strong or (new.changes and new.relation in (BE, USE, *PERSONAL))


def judged(old: str, new: str, *, corrects: bool = False) -> ClausePair:
    """Return the pair of clauses that decides: a replacement, then a contradiction, then another thing; one without a
    relation if the frames say nothing. A replacement that would lose another clause of the old text is a
    contradiction. `corrects`: the new text is said to correct something, as if each of its clauses announced a
    change."""
    found = {each.relation: each for each in reversed(list(_pairs(old, new, corrects=corrects)))}
    if (pair := found.get(REPLACES)) is not None:
        if _loses(old, new, pair):
            return pair._replace(relation=CONTRADICTS, because=f"{pair.because}, but the old text says more")
        return pair
    return found.get(CONTRADICTS) or found.get(ANOTHER) or SILENT


MAX_LOST: Final = 2
"""Content words of another clause that a replacement may lose: a reason or a remark."""


def _loses(old: str, new: str, pair: ClausePair) -> bool:
    known = {unit.key for frame in frames(new) for unit in frame.units}
    return any(
        len({unit.key for unit in frame.units} - known) > MAX_LOST
        for frame in frames(old)
        if frame.text != pair.old and not frame.inherited
    )


_Verdict = tuple[Relation, str]

_ADDS: Final[_Verdict] = (ANOTHER, "the new text adds to it")
_SUBJECT: Final[_Verdict] = (ANOTHER, "they are about different things")
_NUMBERED: Final[_Verdict] = (ANOTHER, "they are about things with different numbers")
_QUALIFIER: Final[_Verdict] = (ANOTHER, "they hold in different cases")
_ATTRIBUTE: Final[_Verdict] = (ANOTHER, "they are about different attributes")


def _related(old: Frame, new: Frame) -> _Verdict:
    if old.asks or new.asks or old.supposed or new.supposed or old.past != new.past:
        return NOTHING, ""
    pair = _Pair(old, new)
    if not pair.shared and not pair.same_person() and old.verb not in {unit.key for unit in new.gone}:
        return NOTHING, ""
    if new.gone and (verdict := pair.takes_back()):
        return verdict
    opposites = pair.opposites()
    if old.denies != new.denies and not opposites:
        other = pair.other_subject()
        return pair.denied() if other is None or pair.denied()[0] == CONTRADICTS else other
    if new.additive:
        return _ADDS
    if opposites:
        return pair.opposed(opposites)
    return pair.other_subject() or pair.valued()


class _Pair:
    """Two frames and their differences.

    `lacked`, `added`: units of one subject that the other clause has nowhere; `values`, `new_values`: the same of the
    segments, each with its role. `shared`: keys of the words that say what both are about.
    """

    def __init__(self, old: Frame, new: Frame) -> None:
        self.old, self.new = old, new
        self._lists = lists()
        keys, new_keys = _keys(old.units) | {old.verb}, _keys(new.units) | {new.verb}
        self._gone = _keys(new.gone)
        self.shared = _said(old) & _said(new)
        self.lacked = _without(old.subject, new_keys | self._gone)
        self.added = _without(new.subject, keys)
        self.values = _valued(old, new_keys)
        self.new_values = _valued(new, keys)

    # ---- subjects and qualifiers

    def same_person(self) -> bool:
        one, other = _persons(self.old), _persons(self.new)
        return bool(one) and bool(other) and _may_be_one(one, other)

    def other_subject(self) -> _Verdict | None:
        """Return why the clauses are about different things; None if they may be about one."""
        old, new = self.old, self.new
        numbered, of_new = _numbered(old.subject), _numbered(new.subject)
        apart = numbered != of_new and (self.lacked or (self.added and not numbered <= of_new))
        if apart or self._labelled_apart():
            return _NUMBERED
        if not _may_be_one(_persons(old), _persons(new)) or (self.lacked and self.added):
            return _SUBJECT
        if not old.relation and not new.relation and old.order[:1] != new.order[:1]:
            return _SUBJECT
        if old.exchanged and new.exchanged and (self._of_a_group(old) or self._of_a_group(new)):
            return _SUBJECT
        if any(unit.raw in self._lists.apart for unit in (*self.lacked, *self.added)):
            return _QUALIFIER
        one, other = _attributes(old), _attributes(new)
        return _ATTRIBUTE if one and other and one.isdisjoint(other) else None

    def _labelled_apart(self) -> bool:
        """Return True if a noun has other numbers behind it, which name things: sprint 12 is not sprint 13.
        What is said to have changed may be the number itself: "we are in sprint 13 now"."""
        old, new = self.old, self.new
        nouns = {label.rpartition(" ")[0] for label in new.labels}
        apart = any(label.rpartition(" ")[0] in nouns for label in old.labels - new.labels)
        return apart and not (new.changes and self.values and self.new_values and not (self.lacked or self.added))

    def _of_a_group(self, frame: Frame) -> bool:
        """Return True if the holder of a role is one of several alike: "Squad 7"."""
        holder = _value_units(frame)
        return bool(_numbered(holder)) or any(unit.raw in GROUPS for unit in holder)

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

    # ---- what is no longer so

    def takes_back(self) -> _Verdict | None:
        """Return the verdict if the newer clause says that a value of the older one is no longer so."""
        old, new = self.old, self.new
        value, subject = _keys(_value_units(old)), _keys(old.subject)
        known = value | subject | {old.verb}
        gone = self._gone - self._lists.weak
        matched = gone & known
        special = {unit.key for unit in new.gone if unit.kind in (*NAMES, *AMOUNTS)}
        if not matched or len(matched) * 2 < len(gone) or (special and not special & known):
            return None
        ended = {unit.key for unit in old.subject if unit.kind != PRONOUN}
        if not matched & value and len(ended - self._gone) * 2 > len(ended):
            return None
        if not _may_be_one(_persons(old), _persons(new)) and _persons(old) | _persons(new) > {"i", "we"}:
            return _SUBJECT
        lacked = [unit for unit in self.lacked if unit.key not in self._gone]
        added = [unit for unit in self.added if unit.key not in self._gone and unit.kind not in NAMES]
        if (lacked and added) or any(unit.raw in self._lists.apart for unit in (*lacked, *added)):
            return _SUBJECT
        purposes, new_purposes = _purposes(old) - self._gone, _purposes(new) - self._gone
        if purposes and new_purposes and purposes.isdisjoint(new_purposes):
            return _QUALIFIER
        return REPLACES, "the new text says that it is no longer so"

    def denied(self) -> _Verdict:
        """Return the verdict on two clauses of which one denies."""
        said = "one denies what the other says"
        one, other = _content(self.old), _content(self.new)
        both = len(one & other)
        if not one or not other or not both:
            return NOTHING, ""
        if one == other:
            return REPLACES, said
        share = both / min(len(one), len(other))
        if share == 1.0 and not (self.lacked or self.added):
            return (REPLACES if self.new.changes else CONTRADICTS), said
        if self.new.changes and both > 1 and share > TAKEN_BACK_SHARE and not self._template():
            return REPLACES, said
        return (CONTRADICTS, said) if self._about_one() else (NOTHING, "")

    def _about_one(self, *, by_subject: bool = False) -> bool:
        """Return True if clauses of different wording are about one thing: their words are shared, and they are not one
        sentence with other words in some places."""
        if self._parallel() is not None or self._template():
            return False
        weak = self._lists.weak
        subject = _keys(unit for unit in self.old.subject if unit.kind != PRONOUN) - weak
        if (
            by_subject
            and subject
            and subject == _keys(unit for unit in self.new.subject if unit.kind != PRONOUN) - weak
        ):
            return True
        one, other = _facts(self.old) - weak, _facts(self.new) - weak
        shared = len(one & other)
        return shared > 1 and shared >= ABOUT_SHARE * min(len(one), len(other))

    def _template(self) -> bool:
        """Return True if both clauses have the same words at the beginning or the end, and others in between."""
        rest = iter(self.new.order)
        same = sum(word in rest for word in self.old.order if word in self.new.order)
        return same >= TEMPLATE_SHARE * max(len(self.old.order), len(self.new.order))

    # ---- opposites

    def opposites(self) -> list[tuple[Unit, Unit]]:
        """Return the pairs of words that exclude each other."""
        table = self._lists.opposites
        return [
            (one, other)
            for one in self.old.words
            for number, side in table.get(one.raw, ())
            for other in self.new.words
            if other.key not in self._gone and (number, 1 - side) in table.get(other.raw, ())
        ]

    def opposed(self, pairs: list[tuple[Unit, Unit]]) -> _Verdict:
        old, new = self.old, self.new
        if all(one in old.subject and other in new.subject for one, other in pairs):
            return _QUALIFIER
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
        if new.changes and not (rest and new_rest):
            return REPLACES, "the new text says that it changed"
        return CONTRADICTS, "each says the opposite of the other"

    def negative(self) -> bool:
        """Return True if one clause says no in its words, and the other does not."""
        no = self._lists.negative
        one, other = (any(unit.raw in no for unit in frame.words) != frame.denies for frame in (self.old, self.new))
        return one != other

    # ---- values

    def valued(self) -> _Verdict:
        values, new_values = [unit for _, unit in self.values], [unit for _, unit in self.new_values]
        if values and new_values:
            for kinds in (AMOUNTS | TIMES, AMOUNTS, TIMES):
                one = [unit for unit in values if unit.kind in kinds]
                other = [unit for unit in new_values if unit.kind in kinds]
                whole = len(kinds) < len(AMOUNTS | TIMES) or (_are_times(one) and _are_times(other))
                if one and other and whole:
                    return self._amounts(one, other)
        if self.new.changes:
            return self._changed(values, new_values)
        if self.negative() and self._about_one():
            return CONTRADICTS, "one says no where the other does not"
        return self._exclusive()

    def _amounts(self, one: list[Unit], other: list[Unit]) -> _Verdict:
        old, new = self.old, self.new
        if not any(_comparable(first, second) for first in one for second in other) or not self._same_attribute():
            return _ATTRIBUTE
        if old.event and new.event and not new.changes and any(unit.kind in TIMES for unit in one):
            return _QUALIFIER
        spent = frozenset(unit.key for unit in (*one, *other))
        rest = [unit for _, unit in self.values if unit.key not in spent]
        new_rest = [unit for _, unit in self.new_values if unit.key not in spent]
        if (rest and new_rest) or (rest and self.added) or (new_rest and self.lacked) or self._other_case(spent):
            return _QUALIFIER
        if new.changes:
            return REPLACES, "the new text says that it changed"
        if len(one) > 1 or len(other) > 1 or rest or new_rest or self.lacked or self.added:
            return CONTRADICTS, "the numbers differ"
        if one[0].kind in AMOUNTS and other[0].kind in AMOUNTS:
            return REPLACES, "the numbers differ"
        if len(old.segments) > 1 or len(new.segments) > 1:
            return _QUALIFIER
        return CONTRADICTS, "the times differ"

    def _same_attribute(self) -> bool:
        """Return True if what is measured may be the same: a word is shared, and neither verb is another one."""
        old, new = self.old, self.new
        if not self.shared and not (self.same_person() and old.relation == new.relation):
            return False
        read = not {"", BE, CHANGE} & {old.relation, new.relation}
        if read and old.verb != new.verb and self._only_of_person():
            return False  # "teaches on Mondays", "works from home on Fridays"
        if new.changes or CHANGE in (old.relation, new.relation) or "" in (old.relation, new.relation):
            return True
        if old.relation == new.relation:
            return old.relation != OTHER or old.verb == new.verb
        return bool(_attributes(old) & _attributes(new)) or BE in (old.relation, new.relation)

    def _changed(self, values: list[Unit], new_values: list[Unit]) -> _Verdict:
        """Return the verdict where the newer clause announces a change and gives no amount."""
        old, new = self.old, self.new
        said: _Verdict = REPLACES, "the new text says that it changed"
        if not new_values:
            return NOTHING, ""
        if not values:
            value = _keys(_value_units(old)) - {new.verb}
            if new.verb in _HANDING and any(role == "to" for role, _ in self.new_values) and self.shared:
                return said
            named = bool(value) and value <= _keys(new.subject) and old.relation in (CALL, BE) and not old.exchanged
            direct = {role for role, _ in self.new_values} <= {"", "to", "for"} and new.verb not in _MOVING
            renamed = named and (direct or new.verb in _RENAMING)
            return said if renamed else (NOTHING, "")
        alike = old.relation == new.relation == OTHER and old.verb == new.verb and self.same_person()
        if not self._in_one_place() or not (alike or _compatible(values[0], new_values[0])):
            return NOTHING, ""
        if alike and old.verb not in self._lists.several and {role for role, _ in self.values} == {"in"}:
            return said  # "I train at the barn now"
        if old.relation == LOCATE and new.relation == CHANGE and not self._moved_on():
            return NOTHING, ""
        if not self._may_end(values[0], new_values[0]):
            return NOTHING, ""
        if old.relation in PERSONAL and new.relation in (old.relation, CHANGE) and self.same_person():
            return said
        if not self.shared or (old.relation in PERSONAL and new.relation in PERSONAL and old.relation != new.relation):
            return NOTHING, ""
        if new.relation in (old.relation, CHANGE, "") or BE in (old.relation, new.relation):
            return said if old.verb not in self._lists.several or new.strong else (NOTHING, "")
        return (
            said if self.shared & _keys(old.subject) and not _persons(old) and old.relation != HAVE else (NOTHING, "")
        )

    def _only_of_person(self) -> bool:
        """Return True if all that the clauses share is their subject, and that may be a person."""
        old, new = self.old, self.new
        return self.shared <= _keys(old.subject) & _keys(new.subject) and _is_bare(old) and _is_bare(new)

    def _may_end(self, value: Unit, goal: Unit) -> bool:
        """Return True if the newer clause may end the older one, of which all that they share is whom or what both are
        about: "Susanne plays chess" is not ended by "Susanne moved to London", nor by "she is on leave since May"."""
        old, new = self.old, self.new
        if not self._only_of_person():
            moves = new.verb in _MOVING and old.relation == USE
            return not moves or goal.kind != PLACE or value.kind == PLACE
        alike = value.kind == goal.kind and goal.kind not in (WORD, PRONOUN)
        if old.relation == new.relation:
            same_role = [role for role, _ in self.values] == [role for role, _ in self.new_values]
            return old.relation != BE or (same_role and alike) or value.raw[-SUFFIX:] == goal.raw[-SUFFIX:]
        if old.relation == LOCATE:
            return new.verb in _MOVING or goal.kind == PLACE
        if old.relation == WORK:
            leaves = new.verb in _LEAVING and goal.kind != WORD
            return leaves or goal.kind == ORGANISATION or (alike and goal.kind == PLACE)
        if old.relation in (REPORT, PREFER, HAVE) or new.relation in PERSONAL:
            return False
        if new.verb in _BECOMING:
            return old.relation == BE
        return alike and (goal.kind != PLACE or old.relation == BE) and self.values[0][0] != "from"

    def _moved_on(self) -> bool:
        """Return True if the newer clause tells a move to another place."""
        to = [unit for _, unit in self.new_values]
        if TOOL in {unit.kind for _, unit in self.values}:
            return True
        goal = GROUPS.isdisjoint(unit.raw for unit in self.new.words) and all(unit.kind != TOOL for unit in to)
        return self.new.verb in _MOVING and goal

    def _in_one_place(self) -> bool:
        """Return True if the values stand in one place: behind the verb, or behind prepositions of one class."""
        roles = {_PLACES.get(role, role) for role, _ in self.values}
        new_roles = {_PLACES.get(role, role) for role, _ in self.new_values}
        if self.new.relation == CHANGE:
            new_roles -= {"if"}  # "switched to English when Ana joined" tells a time
        several = min(len({role for role, _ in each}) for each in (self.values, self.new_values)) > 1
        if several or roles.isdisjoint(new_roles) or "if" in roles | new_roles:
            return False
        return not roles & new_roles <= {"for", "time"}

    def _exclusive(self) -> _Verdict:
        """Return the verdict where no change is announced: a contradiction if the thing has one such value."""
        old, new = self.old, self.new
        said: _Verdict = CONTRADICTS, "they give different values"
        if not self._lists.many.isdisjoint(unit.raw for unit in (*old.words, *new.words)):
            return NOTHING, ""
        if old.indefinite or new.indefinite or self.lacked or self.added or old.relation != new.relation:
            return NOTHING, ""
        if not self.values or not self.new_values or not self._in_one_place():
            return NOTHING, ""
        one, other = [unit for _, unit in self.values], [unit for _, unit in self.new_values]
        if max(len(one), len(other)) > MAX_VALUE or not _compatible(one[0], other[0]):
            return NOTHING, ""
        single = bool(self.shared & self._lists.single)
        if old.exchanged or (single and old.relation in (BE, USE, "", OTHER, HAVE, PREFER)):
            return said
        if old.relation not in (BE, LOCATE, WORK, CALL, REPORT) and old.verb != new.verb:
            return NOTHING, ""
        if one[0].kind == other[0].kind == "language" and not _ANSWERING.isdisjoint(unit.raw for unit in old.words):
            return said
        verb = {old.verb, *(unit.key for unit in old.segments[0].units[:1])}
        direct = {role for role, _ in self.values} <= {"", "to"}
        if direct and (not verb.isdisjoint(self._lists.several) or self._behind_several()):
            return NOTHING, ""
        if old.relation == PREFER:
            return said if self.shared - {old.verb} else (NOTHING, "")
        if old.relation in (WORK, CALL, REPORT, LOCATE):
            return said
        if self._parallel() is None or not (self.shared or _persons(old)):
            return NOTHING, ""
        if any(unit.raw in self._lists.apart and role for role, unit in (*self.values, *self.new_values)):
            return _QUALIFIER
        roles = {role for role, _ in self.values}
        if roles != {role for role, _ in self.new_values}:
            return NOTHING, ""
        if old.relation == BE and "" in roles:
            alike = one[0].kind == other[0].kind != WORD or one[0].raw[-SUFFIX:] == other[0].raw[-SUFFIX:]
            return said if alike else (NOTHING, "")
        return said

    def _behind_several(self) -> bool:
        """Return True if the place where the clauses differ stands behind a verb that may have several objects."""
        place = self._parallel()
        return place is not None and place[0] > 0 and self.old.order[place[0] - 1] in self._lists.several

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


_PLACES: Final = {"to": "", "in": "", "with": "", "by": "", "from": ""}
"""Classes of prepositions before a value that may as well stand behind the verb: "is in Oslo", "moved to Bergen"."""

_ANSWERING: Final = words_of(
    "answer answers reply replies respond responds write writes antworte antwortet schreib schreibe 回答 回复 写"
)
"""Words beside the language in which the user wants to be answered."""

_HANDING: Final = words_of("handed passed transferred reassigned abgegeben übergeben 交给 移交给")
"""Verbs that give a role to another holder."""

_BECOMING: Final = words_of("became become promoted geworden wurde 成为 成了 变成 当上")
"""Verbs of another state of a person."""

_RENAMING: Final = words_of("renamed rebranded umbenannt 改名 更名 改叫")
"""Verbs of another name."""

_MOVING: Final = words_of(
    "moved moves moving relocated relocates migrated shifted transferred umgezogen zog gezogen verlegt "
    "verschoben umgestellt"
    " 搬到 搬去 搬进 搬家 迁到 迁至 迁移到 移到 挪到 调到 转到 改到 改在"
)
"""Verbs of a change of place."""

GROUPS: Final = words_of(
    "team teams squad squads crew group gruppe abteilung department unit tribe guild 组 团队 小组 部门"
)
"""Words before the name of one of several groups."""

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


def _is_bare(frame: Frame) -> bool:
    """Return True if the subject of a clause may be a person: a pronoun, a relative, or a name or other single word
    without an article."""
    subject = [unit for unit in frame.subject if unit.kind != PRONOUN]
    kin = any(unit.key in _KIN for unit in subject)
    bare = len(subject) <= 1 and not frame.text.lower().startswith(_ARTICLES)
    return kin or bare or all(unit.kind == NAME for unit in subject)


_ARTICLES: Final = ("the ", "our ", "a ", "an ", "der ", "die ", "das ", "unser", "ein ", "eine ")
_KIN: Final = words_of(
    "mother father sister brother son daughter wife husband boyfriend girlfriend partner friend colleague kid uncle"
    " aunt grandma grandpa neighbour"
)
"""Keys of relatives and friends; data/frames.toml has their groups."""


def _keys(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(unit.key for unit in units)


def _without(units: Iterable[Unit], keys: frozenset[str]) -> list[Unit]:
    weak = lists().weak
    return [
        unit
        for unit in units
        if unit.key not in keys and unit.kind != PRONOUN and not (unit.kind == WORD and unit.key in weak)
    ]


def _said(frame: Frame) -> frozenset[str]:
    """Return the keys of words that say what a clause is about."""
    found = {unit.key for unit in (*frame.units, *frame.gone) if unit.kind not in (PRONOUN, *AMOUNTS, *TIMES)}
    return frozenset(found | {frame.verb}) if frame.verb.startswith("@") else frozenset(found)


def _facts(frame: Frame) -> frozenset[str]:
    return _keys(unit for unit in (*frame.units, *frame.gone) if unit.kind != PRONOUN)


def _valued(frame: Frame, keys: frozenset[str]) -> list[tuple[str, Unit]]:
    return [(segment.role, unit) for segment in frame.segments for unit in _without(segment.units, keys)]


def _value_units(frame: Frame) -> tuple[Unit, ...]:
    return tuple(unit for segment in frame.segments for unit in segment.units)


def _content(frame: Frame) -> frozenset[str]:
    verb = frozenset({frame.verb}) if frame.relation not in ("", BE, CHANGE) else frozenset()
    units = (*frame.units, *frame.gone)
    return _keys(unit for unit in units if unit.kind != PRONOUN) | verb


def _persons(frame: Frame) -> frozenset[str]:
    """Return the pronouns before the verb."""
    return frozenset() if frame.exchanged else _keys(unit for unit in frame.subject if unit.kind == PRONOUN)


def _may_be_one(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return True if the subjects of two clauses may be one: of the same person, or one of them of none."""
    return not one or not other or bool(one & other) or one | other <= {"i", "user"} or one | other <= {"we", "they"}


def _are_times(units: Sequence[Unit]) -> bool:
    """Return True of a day and an hour, which change together: "on Mondays at 18:00"."""
    return len({unit.kind for unit in units}) > 1 and all(unit.kind in TIMES for unit in units)


def _numbered(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset(unit.key for unit in units if unit.kind in (NUMBER, IDENTIFIER, VERSION, ADDRESS, *TIMES))


def _attributes(frame: Frame) -> frozenset[str]:
    return frozenset(key for key in (*_keys(frame.units), frame.verb) if key.startswith("@"))


def _purposes(frame: Frame) -> frozenset[str]:
    return _keys(unit for segment in frame.segments if segment.role == "for" for unit in segment.units)


def _compatible(one: Unit, other: Unit) -> bool:
    """Return True if one value may stand in place of the other."""
    kinds = {one.kind, other.kind}
    return len(kinds) == 1 or (kinds <= {WORD, *NAMES} and kinds != {PLACE, TOOL})


def _comparable(one: Unit, other: Unit) -> bool:
    """Return True if two amounts or times may be values of one attribute."""
    if one.kind in TIMES or other.kind in TIMES:
        return {one.kind, other.kind} <= {NUMBER, *TIMES} and not one.dimension and not other.dimension
    return not one.dimension or not other.dimension or one.dimension == other.dimension
