"""Comparison of two texts by what their clauses say: another thing, the same thing changed, or a contradiction.

Two clauses speak of one thing if not both have a word of the subject that the other lacks, and no identifier,
environment or other qualifier differs. Of such clauses the newer replaces the older if it announces a change, denies
the same words, or has another amount; if another value is given without a word of change, they contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mnemond.memory.frame_pairs import related
from mnemond.memory.frame_sides import PERSONAL, facts_of, persons_of, subject_keys
from mnemond.memory.frame_topics import ANOTHER, CONTRADICTS, NOTHING, REPLACES, Relation
from mnemond.memory.merged_text import clauses
from mnemond.text.frame_lists import BE, CHANGE, LOCATE, NAME, PRONOUN, TIMES, USE, WORK, lists
from mnemond.text.frames import MAX_TEXT, Frame, frames
from mnemond.text.resources import on_first_use, regex, words_of
from mnemond.text.tokens import index_terms

AGAINST: Final = (REPLACES, CONTRADICTS)
"""Relations of a clause to one that does not hold beside it."""


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


MAX_PARTS: Final = 40
"""Clauses of a long text that are compared by `opposed`, the first ones: at most 1,600 comparisons."""


class Opposed(NamedTuple):
    """Two clauses that cannot both hold."""

    older: str
    newer: str


def opposed(older: str, newer: str) -> Opposed | None:
    """Return the first two clauses of the texts that contradict each other, or of which the newer takes the older
    back."""
    later = _all_frames(newer)
    for one in _all_frames(older):
        for other in later:
            if related(one, other)[0] in AGAINST:
                return Opposed(one.text, other.text)
    return None


def _all_frames(text: str) -> list[Frame]:
    """Return the frames of a text, of a long one those of its clauses one by one."""
    if len(text) <= MAX_TEXT:
        return list(frames(text))
    parts = islice(clauses(text), MAX_PARTS)
    return [frame for part in parts for frame in frames(part)][:MAX_PARTS]


_FORMER: Final = {
    LOCATE: words_of("live lives living based located hosted reside sit wohne wohnt lebe steht liegt 住在 位于 在"),
    WORK: words_of("work works working job employed arbeite arbeitet 工作 就职 任职"),
}
"""Words of the state that a change of place or of employer ends."""


_ENDING: Final = regex(
    "left|leaves|quit|join|resigned|hired|mov(?:ed|es|ing)|relocat|migrated|shifted|transferred|gekündigt|verlassen|gewechselt"
    "|umgezogen|zog|verlegt|verschoben|now|jetzt|inzwischen|since|seit|离|加入|跳槽|辞|搬|迁|移|挪|调|转|改|现在|如今",
    re.IGNORECASE,
)
"""One of these is in each text that tells a move or another employer."""


@on_first_use
def state_terms() -> frozenset[str]:
    """Return every index term that `former_terms` may return."""
    return frozenset(term for words in _FORMER.values() for word in words for term in index_terms(word))


def former_terms(text: str) -> frozenset[str]:
    """Return index terms of statements that a change in `text` may end although they share no word with it: "I live in
    Lisbon", before "I moved to Porto". Empty if it announces no such change."""
    found: set[str] = set()
    if _ENDING.search(text) is None:
        return frozenset()
    for frame in frames(text):
        if frame.changes and frame.relation in (CHANGE, LOCATE, WORK) and frame.verb_raw:
            state = WORK if frame.verb_raw in lists().senses.leaving or frame.relation == WORK else LOCATE
            if state == WORK or frame.verb_raw in lists().senses.moving or frame.relation == LOCATE:
                found.update(term for word in _FORMER[state] for term in index_terms(word))
    return frozenset(found)


def _pairs(old: str, new: str, *, corrects: bool) -> Iterable[ClausePair]:
    later = frames(new)
    if corrects:
        later = tuple(msgspec.structs.replace(each, changes=True, strong=True) for each in later)
    for one in frames(old):
        for other in later:
            relation, because = related(one, other)
            if relation:
                yield ClausePair(one.text, other.text, relation, because, tells_change(other))


def tells_change(new: Frame) -> bool:
    """Return True if a clause tells a change, or a state that holds since: "the office is on Elm Street since May"."""
    return new.strong or (new.changes and new.relation in (BE, USE, *PERSONAL))


def judged(old: str, new: str, *, corrects: bool = False) -> ClausePair:
    """Return the pair of clauses that decides: a replacement, then a contradiction, then another thing; one without a
    relation if the frames say nothing.

    A replacement that would lose another clause of the old text is a contradiction. `corrects`: the new text is said to
    correct something, as if each of its clauses announced a change.
    """
    found = {each.relation: each for each in reversed(list(_pairs(old, new, corrects=corrects)))}
    if (pair := found.get(REPLACES)) is not None:
        if _loses(old, new, pair):
            return pair._replace(relation=CONTRADICTS, because=f"{pair.because}, but the old text says more")
        return pair
    return found.get(CONTRADICTS) or found.get(ANOTHER) or SILENT


MAX_LOST: Final = 2
"""Content words of a remark on what is replaced that may be lost with it: "… with Vodafone and costs 25 euros"."""

_REASON: Final = regex(
    r"(?:\b(?:because|so that|so|since|as|which|weil|denn|damit)|因为|由于|[–—-])[\s,]*$", re.IGNORECASE
)
"""Words before a clause that gives a reason or remark for the one that is replaced, and goes with it."""

_REASON_SPAN: Final = 12
"""Characters before a clause in which such a word is searched for."""


def _loses(old: str, new: str, pair: ClausePair) -> bool:
    """Return True if the old text says more than the replaced clause does, or that clause more than the newer text ends
    or names again."""
    read, later = frames(old), frames(new)
    replaced = next(frame for frame in read if frame.text == pair.old)
    named = {unit.key for frame in later for unit in (*frame.units, *frame.gone)}
    if _loses_clause(old, read, replaced, named):
        return True
    ends = any(frame.gone or frame.denies for frame in later if frame.text == pair.new)
    named.update(index_terms(new))
    return _loses_place(replaced, named) or _loses_member(replaced, named, ends=ends)


def _loses_clause(old: str, read: Sequence[Frame], replaced: Frame, named: Collection[str]) -> bool:
    """Return True if another clause of the old text says something that the new text does not, whatever begins it."""
    of_person = _of_person(replaced)
    known = {unit.key for frame in read if frame.text == replaced.text for unit in frame.units}.union(named)
    weak = lists().weak
    for frame in read:
        lost = {unit.key for unit in frame.units if unit.kind != PRONOUN and unit.key not in weak} - known
        if frame.text == replaced.text or not lost:
            continue
        if frame.sentence != replaced.sentence:
            return True
        own = bool(frame.relation) and not frame.inherited
        most = 0 if of_person or own or _of_person(frame) else len(lost) if frame.inherited else MAX_LOST
        if len(lost) > most and not _is_reason(old, frame.text):
            return True
    return False


_LIST: Final = regex(
    r"\s*(?:[,;，；、]\s*|\s)(?:and|und|or|oder|plus|sowie|as well as|along with|together with|&)\s"
    r"|,\s(?!(?:in|on|at|from|near|by|im|am|bei|in der)\s)|;\s|[，；、]|和|或|以及|还有|\s&\s"
    r"|\s(?:with|mit|along|samt)\s(?=(?:my|her|his|our|their|meine[rmn]?|seine[rmn]?|ihre[rmn]?|unsere[rmn]?)\s)",
    re.IGNORECASE,
)
"""Words and signs that join the members of a list, or two statements."""
_GOES_WITH: Final = regex(
    r"[\s,]+(?:because|since|so that|which|as it|weil|denn|damit|da)\s.*|[，,]?(?:因为|由于).*",
    re.IGNORECASE | re.DOTALL,
)
"""A reason, which goes with what it is the reason of."""


MAX_SEVERAL: Final = 2_000
"""Characters of a text in which several things are looked for."""

_SENTENCE_END: Final = regex(r"[.!?]\s|[。！？]|\n")


def holds_several(text: str) -> bool:
    """Return True if a text lists more than one thing or has more than one statement, so that what takes its place
    because of one of them loses the others."""
    parts = (
        part
        for sentence in _SENTENCE_END.split(text[:MAX_SEVERAL])
        for part in _LIST.split(_GOES_WITH.sub("", sentence))
        if index_terms(part)
    )
    return next(parts, None) is not None and next(parts, None) is not None


def _loses_member(replaced: Frame, named: Collection[str], *, ends: bool) -> bool:
    """Return True if the replaced clause lists more than is `named`: "Redis and Kafka", of which Redis ends. Where
    nothing `ends`, the newer clause replaces the member that stands with the verb."""
    members = _LIST.split(_GOES_WITH.sub("", replaced.text))
    if len(members) == 1:
        return False
    verb = {replaced.verb, *index_terms(replaced.verb_raw)}
    for member in members:
        terms = set(index_terms(member))
        lost = terms - lists().weak - verb - set(named)
        if lost and (ends or verb.isdisjoint(terms)):
            return True
    return False


def _loses_place(frame: Frame, named: Collection[str]) -> bool:
    """Return True if a clause with a time also says where, of which `named` has nothing: "at 9:30 in room Blue"."""
    timed = [any(unit.kind in TIMES for unit in segment.units) for segment in frame.segments]
    return any(timed) and any(
        segment.role == "in" and not is_time and {unit.key for unit in segment.units}.isdisjoint(named)
        for segment, is_time in zip(frame.segments, timed, strict=True)
        if segment.units
    )


def _is_reason(text: str, clause: str) -> bool:
    at = max(text.find(clause), 0)
    return _REASON.search(text[max(0, at - _REASON_SPAN) : at]) is not None


def _of_person(frame: Frame) -> bool:
    """Return True if the subject of a clause is a person, of whom it says something of its own."""
    if any(unit.key in lists().senses.kin for unit in frame.subject):
        return True
    persons = (unit.kind in (NAME, PRONOUN) and unit.key != "it" for unit in frame.subject)
    return bool(frame.subject) and all(persons)


# Contradictions of which the newer side may replace the older one when something beside the rules says so.

MAX_SLOT: Final = 3
"""Content words of the value that is exchanged between two clauses about one slot: "Berlin local time" for "UTC"."""

_UNNAMED: Final = regex(
    r"(?:(?:in|on|at|under|near|behind|with|in|auf|an|unter|bei|mit)\s.{1,40}?\s)?"
    r"(?:a|an|another|one|some|someone|somebody|something|nobody|no|none|several|many|few|people|both|two|three|four|five"
    r"|six|seven|eight|nine|ten|there|eine?|einige|mehrere|jemand|niemand|kein|keine|es gibt|beide|zwei|drei|vier|fünf)"
    r"(?![\w-])|有|没有|一[个位名只条]",
    re.IGNORECASE,
)
"""Beginnings of a clause whose subject is one of many, or which says that there is or is not one."""

_UNDER_WAY: Final = regex(
    r"\b(?:am|is|are|was|were|isn['’]t|aren['’]t|wasn['’]t|weren['’]t)\s"
    r"(?:(?:not|also|still|just|now|[a-z]{2,20}ly)\s){0,2}[a-z]{2,20}ing\b|['’](?:m|re)\s[a-z]{3,20}ing\b|正在",
    re.IGNORECASE,
)
"""An action that goes on while it is told: the next one that is told of is another event."""

_WAS: Final = ("was", "were", "war", "waren", "wurde", "wurden")


def other_slot(older: str, newer: str, compared: tuple[str, str] | None) -> str | None:
    """Return why one of two texts that contradict each other does not take the other's place; None if both clauses
    `compared`, an older and a newer one, tell a state of one named thing, and of nothing else in the older text.

    It is asked where something beside the rules says that the newer one replaces the older. A small language model says
    so of every contradiction, although a caption of another picture and a report of another day contradict as well.
    """
    one, other = (_frame_of(text, clause) for text, clause in zip((older, newer), compared or ("", ""), strict=True))
    if one is None or other is None:
        return "no clause of them contradicts the other"
    if _loses(older, newer, ClausePair(one.text, other.text, CONTRADICTS, "")):
        return "the older one says more"
    if any(_is_unnamed(each) for each in (one, other)):
        return "the thing that they are about is not named"
    if one.relation == CHANGE or any(_is_event(each) for each in (one, other)):
        return "they tell events, of which none ends the other"
    weak = lists().weak
    subjects = subject_keys(one) - weak, subject_keys(other) - weak
    if other.changes:
        same = subjects[0] == subjects[1] and (bool(subjects[0]) or persons_of(one) == persons_of(other))
        return None if same else "they are about different things"
    words, later = ((facts_of(each) | {each.verb}) - weak - {""} for each in (one, other))
    gone, come = len(words - later), len(later - words)
    if one.denies != other.denies and (gone != come or gone > 1):
        return "one denies what the other says in other words"
    if max(gone, come) > min(MAX_SLOT, len(words & later)):
        return "they differ in more than one value"
    return None


def _frame_of(text: str, clause: str) -> Frame | None:
    return next((each for each in frames(text) if clause and each.text == clause), None)


def _is_unnamed(frame: Frame) -> bool:
    unread = not frame.relation and frame.text.isascii()  # "the act of moving something"
    return frame.indefinite or unread or _UNNAMED.match(frame.text) is not None


def _is_event(frame: Frame) -> bool:
    return frame.event or frame.verb_raw in _WAS or _UNDER_WAY.search(frame.text) is not None
