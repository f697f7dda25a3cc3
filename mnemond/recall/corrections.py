"""Detect memories that correct older ones, and rank them above what they correct.

Two statements are a correction if they begin alike, differ in one place, and there have values of the same kind (a day,
a number, a name), and if either the newer one announces a change that ends the state of the older one ("moved to" ends
"lives in"), or the thing has one such value at a time ("the owner of billing is …"). A newer statement that denies the
older one is a correction too. If more differs, both are true: of two people, two services, two purposes of a tool.

This only orders memories, it retires none, so it accepts weaker evidence than `memory/diff.py`. It was developed on the
pairs of tests/memory/correction_pairs.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, Mask, Rows
from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff_frames import AGAINST, ClausePair, former_terms, judged, state_terms, tells_change
from mnemond.memory.frame_pairs import related
from mnemond.model.memory import Category, Insight, contradicting
from mnemond.recall.ranking import Updating
from mnemond.text.caches import text_cache
from mnemond.text.contrast import numbers
from mnemond.text.date_rules import MONTH
from mnemond.text.entity_shapes import kind_of
from mnemond.text.frames import Frame, frames
from mnemond.text.question_time import MAX_CUE_TEXT, Former
from mnemond.text.resources import regex
from mnemond.text.statements import (
    BE,
    ENDS,
    FIXED,
    MAX_SENTENCE,
    MAX_TEXT,
    MOVE,
    NOW,
    ONE_AT_A_TIME,
    PERSONS,
    PREPOSITION,
    SWITCH,
    USE,
    Sentence,
    Statement,
    announces,
    content_words,
    sentences,
    statement,
)
from mnemond.text.tokens import fold, index_term, index_terms

MAX_VALUE: Final = 4
"""Words of a value, or twice as many characters of Chinese."""

MAX_PARTS: Final = 3
"""Parts that differ (a value, and prepositional phrases after it) if the other statement has only a value."""

_FIXED: Final = ("day", "month", "number")
"""Kinds of value that the unit itself shows."""

_TYPED_NAMES: Final = ("tool", "location", "organization")
_NAMED: Final = ("name", *_TYPED_NAMES)


# Two statements


def corrects(old: Statement, new: Statement) -> bool:
    """Return True if `new`, the later statement, corrects `old`."""
    if new.supposed or old.supposed or not old.units:
        return False
    return _denies(old, new) or _ends(old, new) or _replaces_value(old, new)


def _denies(old: Statement, new: Statement) -> bool:
    """Return True if the statements differ by a negation; the newer one may leave out the end of the older one."""
    if old.denies == new.denies or len(_content(new.units)) < 2:  # a subject and a predicate
        return False
    if old.units == new.units:
        return True
    return new.denies and _words_of(new.units) <= _words_of(old.units) and old.units[0] == new.units[0]


def _ends(old: Statement, new: Statement) -> bool:
    """Return True if the newer statement names what is no longer true and the older one states it."""
    gone = new.gone
    if _weight(gone) < 1 or not old.units or old.denies:
        return False
    at = next((at for at in range(len(old.units)) if old.units[at : at + len(gone)] == gone), -1)
    if at < 0 or set(gone) <= set(old.gone):
        return False
    if not (_is_stated(old, at) or gone[0].startswith(FIXED)):
        return False
    subject = new.units[0] if new.units else ""
    if at > 0 and subject == old.units[0] and subject not in PERSONS:
        return True
    if at == 0:
        return old.state == new.state and old.stated_at == new.stated_at == 0  # "use yarn", "use pnpm instead of yarn"
    return old.state != "" and (
        (new.headless and _weight(new.units) <= MAX_VALUE) or not subject or subject in PERSONS or subject in old.units
    )


def _replaces_value(old: Statement, new: Statement) -> bool:
    """Return True if the statements differ in one place, by values of one kind."""
    if old.denies or new.denies or new.gone:
        return False
    if not new.change and (old.state != new.state or not (old.settles and new.settles)):
        return False
    start, start_new = _common_prefix(old.units, new.units)
    left, left_new = old.units[start:], new.units[start_new:]
    tail = _common_suffix(left, left_new)
    one, other = left[: len(left) - tail], left_new[: len(left_new) - tail]
    if not one or not other or set(one) & set(other):
        return False
    difference = _Difference(old, new, start, start_new, tail)
    return difference.is_announced() if new.change else difference.is_exclusive()


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return the lengths of the common beginning, prepositions aside: "lives in …" and "moved to …" begin alike."""
    at = at_other = 0
    while at < len(one) and at_other < len(other):
        if one[at] == other[at_other]:
            at, at_other = at + 1, at_other + 1
        elif one[at].startswith(PREPOSITION) or other[at_other].startswith(PREPOSITION):
            at += one[at].startswith(PREPOSITION)
            at_other += other[at_other].startswith(PREPOSITION)
        else:
            break
    return at, at_other


def _common_suffix(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((at for at, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))


def _content(units: Sequence[str]) -> list[str]:
    return [unit for unit in units if not unit.startswith(PREPOSITION) and unit not in PERSONS]


def _weight(units: Sequence[str]) -> float:
    """Count content words; a character of Chinese counts as half a word."""
    return sum(1.0 if unit.isascii() else 0.5 for unit in _content(units))


def _words_of(units: Sequence[str]) -> frozenset[str]:
    return frozenset(unit for unit in units if not unit.startswith(PREPOSITION))


class _Difference:
    """The differing middle parts of two statements that begin and end alike."""

    def __init__(self, old: Statement, new: Statement, start: int, start_new: int, tail: int) -> None:
        self._old, self._new, self._start = old, new, start
        self._olds = _parts(old, start, len(old.units) - tail)
        self._news = _parts(new, start_new, len(new.units) - tail)
        self._before = _weight(old.units[:start])
        self._after = _weight(old.units[len(old.units) - tail :])

    def is_announced(self) -> bool:
        """Return True if the newer statement announces a change of this value."""
        old, new = self._old, self._new
        if old.state and new.change not in ENDS[old.state]:
            return False
        if new.change == NOW and old.state != new.state and not (BE in (old.state, new.state) and self._named()):
            return False
        if new.labelled or old.labelled:
            return False
        value = self._news[0] if self._news else []
        if not value or not self._olds:
            return False
        kind = _kind(new, value)
        return self._replaces_fixed(kind, value) or self._replaces_in_place(kind)

    def _named(self) -> bool:
        """Return True if the newer value shows its own kind: "lives in Oslo", "is in Bergen now"."""
        return bool(self._news) and _kind(self._new, self._news[0]) in (*_FIXED, *_NAMED)

    def _replaces_fixed(self, kind: str, value: list[int]) -> bool:
        """Return True for a day that replaces a day, and so on, at any position; the rest may be worded differently."""
        if kind not in _FIXED or self._before + self._after < 1 or self._new.change not in (NOW, MOVE, SWITCH):
            return False
        return any(_kind(self._old, part) == kind for part in self._olds) and len(value) <= MAX_VALUE

    def _replaces_in_place(self, kind: str) -> bool:
        old, new = self._old, self._new
        if self._has_other_adjuncts() or not self._is_comparable(kind):
            return False
        if not self._start:
            return self._is_role(kind)
        if not self._follows_verb():
            return False
        if not self._before and not self._after:
            if old.state in ONE_AT_A_TIME:
                return True
            # "We switched to Kafka" does not say which of the things in use it replaces.
            return new.change == SWITCH and old.state == USE and kind in _NAMED and len(self._olds) == 1
        if old.state:
            return self._before + self._after >= 1
        if new.change == NOW:
            return self._before > 1 and len(self._olds) == len(self._news) == 1
        return self._after >= 1

    def _follows_verb(self) -> bool:
        """Return True if both values directly follow the verb of their state or change."""
        old, new = self._old, self._new
        if old.state and not _is_stated(old, self._olds[0][0]):
            return False
        if new.change not in ("", NOW):
            return (old.state != "" or new.change == SWITCH) and self._news[0][0] == _next(new, new.changed_at)
        return new.state in ("", BE) or self._news[0][0] == _next(new, new.stated_at)

    def _is_role(self, kind: str) -> bool:
        """Return True if both statements name the holder of a role: they begin differently and end alike."""
        if not (self._old.role and self._new.role and self._after >= 1):
            return False
        return kind in _NAMED or len(self._olds[0]) == len(self._news[0]) == 1  # one word at the start may be a name

    def _has_other_adjuncts(self) -> bool:
        """Return True if more than the value differs: both have parts after it, or one has many."""
        counts = len(self._olds), len(self._news)
        return min(counts) > 1 or max(counts) > MAX_PARTS

    def _is_comparable(self, kind: str) -> bool:
        """Return True if both first values are short and of compatible kinds."""
        one, other = self._olds[0], self._news[0]
        longest = max(_weight([self._old.units[at] for at in one]), _weight([self._new.units[at] for at in other]))
        if longest > MAX_VALUE:
            return False
        # In text without capitals a name looks like any word.
        lower = len(one) == len(other) == 1 and not (self._old.names or self._new.names)
        return _compatible(_kind(self._old, one), kind, lower)

    def is_exclusive(self) -> bool:
        """Return True if the thing has one such value at a time, so that no word of change is needed."""
        if len(self._olds) != 1 or len(self._news) != 1:
            return False
        kind = _kind(self._new, self._news[0])
        if not self._is_comparable(kind):
            return False
        return self._is_set(kind) if kind in _FIXED else self._has_one(kind)

    def _is_set(self, kind: str) -> bool:
        """Return True if a day, month or number is a setting, not a count or the date of an event."""
        if len(self._olds[0]) > 1 or len(self._news[0]) > 1 or self._before + self._after < 1:
            return False
        before = self._old.units[self._olds[0][0] - 1] if self._olds[0][0] else ""
        return kind == "day" or (self._before >= 1 and (self._old.state != "" or before.startswith(PREPOSITION)))

    def _has_one(self, kind: str) -> bool:
        state = self._old.state
        if not self._start:
            return self._is_role(kind)
        if not state or not self._follows_verb() or self._old.one_of_many:
            return False
        if state == USE:
            return self._after >= 1
        if state == BE:
            return self._before > 1 or (self._before >= 1 and kind in _NAMED)
        return state in ONE_AT_A_TIME


def _is_stated(one: Statement, place: int) -> bool:
    """Return True if the unit at `place` is the state: right behind the verb, or as in "is held on …"."""
    if not one.state or place == _next(one, one.stated_at):
        return one.state != ""
    return one.state == BE and one.stated_at < place and one.units[place - 1].startswith(PREPOSITION)


def _next(one: Statement, place: int) -> int:
    """Return the first position from `place` on that is not a preposition."""
    while place < len(one.units) and one.units[place].startswith(PREPOSITION):
        place += 1
    return place


def _parts(one: Statement, begin: int, end: int) -> list[list[int]]:
    """Return the positions of units in [begin, end), split at prepositions."""
    groups: list[list[int]] = [[]]
    for place in range(begin, end):
        if one.units[place].startswith(PREPOSITION):
            groups.append([])
        else:
            groups[-1].append(place)
    return [group for group in groups if group]


def _kind(one: Statement, part: list[int]) -> str:
    """Return the kind of the value that begins a part."""
    unit, word = one.units[part[0]], one.words[part[0]]
    fixed = unit.partition(":")[0]
    if fixed in _FIXED and unit != fixed:
        return fixed
    kind = kind_of(word)
    if kind in _TYPED_NAMES:
        return kind
    return "name" if word in one.names else "word"


def _compatible(one: str, other: str, lower: bool) -> bool:
    """Return True if a value of one kind may replace one of the other. A name of unknown type may be of any; a tool
    and its maker share a name. `lower`: a word may be a name as well."""
    if one == other or {one, other} == {"tool", "organization"}:
        return True
    unknown = {"name", "word"} if lower else {"name"}
    return {one, other} <= unknown | set(_NAMED) and not {one, other}.isdisjoint(unknown)


# Pairs of sentences worth comparing: few of all pairs


MAX_APART: Final = (2, 4)
"""Words, or half the characters of Chinese, that only the older of two sentences may have: a value; if the newer one
announces a change, also a verb and what it does not repeat. The newer may have two more, for the time of the change."""

BITS: Final = 60
"""Bits of a sentence's word signature: two digits of a Python integer. Of ten words missing from another sentence,
about eight also miss their bit there, and two are enough to reject a pair."""

MAX_CACHED: Final = 8_192
"""Memories whose sentences are cached: about half a kilobyte each, 4 MB; 8 kilobytes each for adversarial texts."""


class Signature(NamedTuple):
    """A sentence, whether it announces a change, and `bits`, one of `BITS` for each of its words. The bits reject most
    pairs without the words, which are therefore not kept."""

    sentence: Sentence
    announces: bool
    bits: int


class ParsedMemory(NamedTuple):
    """The sentences of a memory; `brief`: no longer than one sentence; `announces`: it may announce a change."""

    sentences: tuple[Signature, ...]
    brief: bool
    announces: bool


class PlacedSentence(NamedTuple):
    """A sentence, and the position of its row."""

    place: int
    signature: Signature


def parse_memory(content: str) -> ParsedMemory:
    """Split a memory into sentences for comparison. Linear time."""
    return _parse_memory(content[:MAX_TEXT])  # the cache would keep the rest too, long after the memory has left


@text_cache(maxsize=MAX_CACHED)
def _parse_memory(content: str) -> ParsedMemory:
    changes = announces(content)
    found = tuple(_signature(each, may_announce=changes) for each in sentences(content))
    return ParsedMemory(found, len(content) <= MAX_SENTENCE, changes)


def _signature(sentence: Sentence, *, may_announce: bool) -> Signature:
    bits = 0
    for word in content_words(sentence.small):
        bits |= 1 << hash(word) % BITS
    return Signature(sentence, may_announce and announces(sentence.text), bits)


def similar_pairs(
    memories: Mapping[int, ParsedMemory], rank: Sequence[int], is_relevant: Callable[[PlacedSentence], bool]
) -> Iterator[tuple[PlacedSentence, PlacedSentence]]:
    """Yield pairs of an older and a newer sentence that share words and differ in few. The newer one announces a change
    or is of a brief memory.

    `memories`: by position of their rows; `rank`: by age, the oldest first; `is_relevant`: filter for the older one.
    One answer checks hundreds of pairs, tens of thousands for adversarial texts: the work for each must be cheap.
    """
    words = _CorrectionsWords()
    olds = [
        (rank[place], one.bits, 1 if one.sentence.small.isascii() else 2, PlacedSentence(place, one))
        for place, each in memories.items()
        for one in each.sentences
    ]
    for made, bits, _, new in olds:
        if not (memories[new.place].brief or new.signature.announces):
            continue
        lacked, apart = ~bits, MAX_APART[new.signature.announces]
        for made_old, of_old, times, old in olds:
            # Each bit that the newer one lacks is of at least one word that it lacks.
            few = made_old < made and (of_old & lacked).bit_count() <= apart * times
            # Words in common have a bit in common.
            if few and of_old & bits and is_relevant(old):
                one, other = words[old.signature.sentence.small], words[new.signature.sentence.small]
                shared = len(one & other)
                if shared and len(one) - shared <= apart * times and len(other) - shared <= apart * times + 2:
                    yield old, new


class _CorrectionsWords(dict[str, frozenset[str]]):
    """Words by lower-case sentence, of sentences whose bits do not decide. Each is split once per answer: if all
    memories are about one thing, it would be hundreds of times."""

    def __missing__(self, small: str) -> frozenset[str]:
        self[small] = found = content_words(small)
        return found


# Ranking a correction above what it corrects, or below it if a question asks for a former state
#
# By statements: a sentence of the older memory is relevant to the question, and one of the newer corrects it. By
# frames: `remember` would take the newer for a replacement or a contradiction of the older. By notes: it did, and both
# stayed. By numbers, for a question about a state: both memories are about one thing by their vectors and by the words
# they share with the question, and the newer has a number the older lacks and a word of change. Memories linked as
# superseded are not in recall at all.


_CHANGE: Final = regex(
    r"\b(?:increas|rais|adjust|updat|chang|mov|reschedul|postpon|switch|now|reduc|extend|lower|revis|push|shift|bump|cut"
    r"|new(?:ly)?|recently|already|no longer|instead|improv|erhöh|gesenk|verleg|verschob|geänder|verkürz|verlänger)\w*"
    r"|\b(?:jetzt|nun|inzwischen|mittlerweile|ab sofort)\b"
    r"|[现現]在|如今|改[为為成到]|[调調]整|更新|推[迟遲]|提前|增加|[减減]少|不再"
)

MAX_READ: Final = 4_000
"""Characters of a memory that are searched for numbers."""

MAX_COMPARED: Final = 400
"""Pairs of statements compared for one answer, some 2 ms: twenty memories of one sentence each have 190."""

MAX_RELEVANT: Final = 3
"""Sentences of a memory that may be relevant to a question."""

ASSISTANT: Final = "assistant"
UNSORTED: Category = "general"
"""Source and category of an assistant's talk, which repeats and proposes but states no facts. A memory that was stored
as a decision or a fact is not talk."""

_STEP: Final = np.float32(1e-3)
"""Distance of a correction to what it corrects; of several corrections the newest goes highest."""


class Asked(NamedTuple):
    """The state that a question asks for, of several that followed each other: the last one; with `former`, the first,
    or the one before the last; with `until_us`, the last that began before that time (microseconds). `of_state`: it is
    about a state, present or former, and not about whatever is known; the clauses and numbers of memories, which take
    long to read, are compared for such a question only."""

    of_state: bool = False
    former: Former | None = None
    until_us: int | None = None


class Moves(NamedTuple):
    """Scores of the best rows with each correction just above what it corrects, or with what was corrected above it;
    shape (n,). `older`: rows that are above their correction."""

    scores: Floats
    older: Mask


def by_change(
    snapshot: Snapshot,
    rows: Rows,
    scores: Floats,
    holds: Mask,
    weights: Floats,
    policy: Updating,
    terms: Mapping[str, float],
    asked: Asked,
) -> Moves:
    """Order the best rows (best first, shape (n,)) that state the same thing at different times by what is asked.

    `holds`: which of the question's words each row has, shape (n, words); `weights` of these, shape (words,); `terms`:
    the same by word.
    """
    none = np.zeros(len(rows), dtype=np.bool_)
    insights = [snapshot.insight(row) for row in rows.tolist()]
    rank = np.empty(len(rows), dtype=np.int64)
    rank[np.lexsort((rows, _since_us(snapshot, insights, rows)))] = np.arange(len(rows))
    covered = holds @ weights
    pairs = _by_statements(snapshot, insights, rows, rank, covered, policy, terms)
    pairs |= set(contradicting(insights))
    if asked.of_state or asked.until_us is not None:
        pairs |= _by_frames(snapshot, insights, rows, rank, holds, weights, policy, terms)
    if asked.of_state:
        pairs |= _by_numbers(snapshot, insights, rows, rank, covered, policy, terms)
    if not pairs:
        return Moves(scores, none)
    if asked.former is None and asked.until_us is None:
        return Moves(_newer_above(scores, rank, pairs), none)
    return _older_above(scores, rank, pairs, asked, _since_us(snapshot, insights, rows))


def _newer_above(scores: Floats, rank: Rows, pairs: set[tuple[int, int]]) -> Floats:
    moved, reached = scores.copy(), scores.copy()  # with and without the added steps
    for new, old in sorted(pairs, key=lambda pair: rank[pair[0]]):  # the correction of a correction goes above it
        reached[new] = max(reached[new], reached[old])
        moved[new] = max(moved[new], reached[old] + _STEP * (1 + rank[new]))
    return moved


def _older_above(
    scores: Floats, rank: Rows, pairs: set[tuple[int, int]], asked: Asked, since_us: npt.NDArray[np.int64]
) -> Moves:
    """Move of each chain of corrections the state that is asked for above the others."""
    moved, older = scores.copy(), np.zeros(len(scores), dtype=np.bool_)
    for chain in _chains(pairs, rank):
        if asked.former is None:
            begun = [place for place in chain if asked.until_us is not None and since_us[place] < asked.until_us]
            wanted = begun[-1] if begun else chain[0]
        else:
            wanted = chain[0] if asked.former == "first" else chain[-2]
        moved[wanted] = max(moved[wanted], scores[chain].max() + _STEP)
        older[wanted] = wanted != chain[-1]
    return Moves(moved, older)


def _chains(pairs: set[tuple[int, int]], rank: Rows) -> list[list[int]]:
    """Return the places that pairs connect, each group from the oldest to the newest."""
    group: dict[int, set[int]] = {}
    for pair in pairs:
        joined = set(pair).union(*(group.get(place, ()) for place in pair))
        group.update(dict.fromkeys(joined, joined))
    found = {id(each): each for each in group.values()}
    return [sorted(each, key=lambda place: int(rank[place])) for each in found.values()]


def _since_us(snapshot: Snapshot, insights: Sequence[Insight], rows: Rows) -> npt.NDArray[np.int64]:
    """Return since when each row holds, in microseconds: as its text says, as it was stored, or since its creation."""
    columns = snapshot.parts.columns
    since = columns.valid_us[rows].astype(np.int64)
    starts = columns.event_start_us[rows]
    for place in np.flatnonzero(snapshot.columns.dated[rows] != 0).tolist():
        text = insights[place].content
        if len(text) <= MAX_FRAMED and _DATE_OF_STATE.search(text) is not None:
            since[place] = min(int(starts[place]), int(since[place]))
    return since


def correcting_pairs(insights: Sequence[Insight], rank: Sequence[int]) -> set[tuple[int, int]]:
    """Return the places of the newer and the older memory of each correction; `rank`: by age, the oldest first."""
    memories = {place: parse_memory(each.content) for place, each in enumerate(insights) if not _is_talk(each)}
    return {
        (new.place, old.place)
        for old, new in islice(similar_pairs(memories, rank, lambda _: True), MAX_COMPARED)
        if _corrects(old, new, same_speaker=insights[old.place].source == insights[new.place].source)
    }


def _is_talk(insight: Insight) -> bool:
    return insight.source == ASSISTANT and insight.category == UNSORTED


class _Fact(NamedTuple):
    """Numbers of a memory, if it announces a change, and by the term behind a number the numbers before it."""

    numbers: frozenset[str]
    changes: bool
    counted: Mapping[str, frozenset[str]]


_NO_FACT: Final = _Fact(frozenset(), changes=False, counted={})


def _by_numbers(
    snapshot: Snapshot,
    insights: list[Insight],
    rows: Rows,
    rank: Rows,
    covered: Floats,
    policy: Updating,
    terms: Mapping[str, float],
) -> set[tuple[int, int]]:
    """Return positions of corrections and of what each corrects: of a newer memory with a word of change and a number
    that the older one lacks, or with another number of something that the question names."""
    facts = [_NO_FACT if _is_talk(each) else _read_fact(each.content) for each in insights]
    source = snapshot.parts.columns.source[rows]
    found: set[tuple[int, int]] = set()
    for new, fact in enumerate(facts):
        named = {term: values for term, values in fact.counted.items() if terms.get(term, 0.0) > 0.0}
        if not named and not (fact.changes and fact.numbers):
            continue
        alike = snapshot.similarity_between(int(rows[new]), rows)
        above = (rank < rank[new]) & (source == source[new]) & (alike >= policy.counted_cosine)
        above &= covered[new] >= policy.cover * covered
        for old in np.flatnonzero(above).tolist():
            other = facts[old]
            changed = alike[old] >= policy.cosine and fact.changes and other.numbers and fact.numbers - other.numbers
            if changed or any(values - other.counted.get(term, values) for term, values in named.items()):
                found.add((new, old))
    return found


_COUNTED: Final = regex(r"(?<![\w.,/-])([$€£]?[0-9][0-9.,]*%?)\s{1,2}([^\W\d_]{2,40})")


@text_cache(maxsize=1024)
def _read_fact(content: str) -> _Fact:
    found = numbers(content[:MAX_READ])
    counted: dict[str, set[str]] = {}
    if found:
        for value, noun in _COUNTED.findall(fold(content[:MAX_READ])):
            if term := index_term(noun):
                counted.setdefault(term, set()).add(value.rstrip(".,"))
    changes = found != frozenset() and _CHANGE.search(fold(content[:MAX_CUE_TEXT])) is not None
    return _Fact(found, changes, {term: frozenset(values) for term, values in counted.items()})


def _by_statements(
    snapshot: Snapshot,
    insights: list[Insight],
    rows: Rows,
    rank: Rows,
    covered: Floats,
    policy: Updating,
    terms: Mapping[str, float],
) -> set[tuple[int, int]]:
    """Return positions of corrections and of what each corrects."""
    memories = {place: parse_memory(each.content) for place, each in enumerate(insights) if not _is_talk(each)}
    newer = [each for each in memories.values() if each.brief or each.announces]
    if len(newer) < 2 and not any(each.announces for each in newer):  # no change, and fewer than two brief ones
        return set()
    relevant: dict[int, list[Signature]] = {}

    def is_relevant(one: PlacedSentence) -> bool:
        if one.place not in relevant:
            least = policy.cover * float(covered[one.place])
            relevant[one.place] = _relevant(memories[one.place].sentences, terms, least)
        return any(each is one.signature for each in relevant[one.place])

    source = snapshot.parts.columns.source[rows].tolist()
    return {
        (new.place, old.place)
        for old, new in islice(similar_pairs(memories, rank.tolist(), is_relevant), MAX_COMPARED)
        if _corrects(old, new, same_speaker=source[old.place] == source[new.place])
    }


# By frames: the comparison of `remember`, which reads English, German and Chinese clauses. It is exact and slow, so
# only brief notes are read that have words of the question in common; in talk it found nothing but mistakes.


MAX_JUDGED: Final = 6
"""Pairs whose frames are compared for one answer, those of the best rows: 1 ms, and mostly none. With 4 and with 12 the
figures of benchmarks.answers are the same."""

ABOUT: Final = 0.5
"""Least weight of the question's words that one memory of a pair has, as a share of what the best memory has: others
are about something else. The figures of benchmarks.answers are the same from 0 to .8."""

MAX_FRAMED: Final = 280
"""Characters of a memory whose frames are compared: two or three sentences."""

CACHED_CLAUSES: Final = 1_024
"""Brief memories whose clauses are cached."""

_PERSON: Final = regex(
    r"\b(?:i|me|my|mine|we|us|our|you|your|ich|mein\w{0,2}|wir|uns\w{0,4}|du|dein\w{0,2})\b|[我你咱]"
)


def _by_frames(
    snapshot: Snapshot,
    insights: list[Insight],
    rows: Rows,
    rank: Rows,
    holds: Mask,
    weights: Floats,
    policy: Updating,
    terms: Mapping[str, float],
) -> set[tuple[int, int]]:
    """Return positions of corrections and of what each corrects."""
    talk = snapshot.in_conversation(rows).tolist()
    read = [
        place
        for place, it in enumerate(insights)
        if len(it.content) <= MAX_FRAMED and not (talk[place] or _is_talk(it))
    ]
    if len(read) < 2:
        return set()
    weighed = holds * weights
    both = (weighed @ holds.T).tolist()
    covered = weighed.sum(axis=1).tolist()
    source = snapshot.parts.columns.source[rows].tolist()
    least, ended = ABOUT * max(covered), state_terms()
    alike = _alike(snapshot, rows, policy.clause_cosine).tolist()
    order = rank.tolist()
    wanted: list[tuple[int, int]] = []
    for at, one in enumerate(read):
        for other in read[at + 1 :]:
            new, old = (one, other) if order[one] > order[other] else (other, one)
            if not covered[old] or max(covered[old], covered[new]) < least:
                continue
            shares = both[new][old] > 0.0 and both[new][old] >= policy.cover * covered[old] and alike[new][old]
            if not shares and (ended.isdisjoint(terms) or terms.keys().isdisjoint(_ended(insights[new].content))):
                continue
            if source[new] == source[old] or not (_speaks(insights[new].content) or _speaks(insights[old].content)):
                wanted.append((new, old))
        if len(wanted) >= MAX_JUDGED:
            break
    return {
        (new, old)
        for new, old in wanted[:MAX_JUDGED]
        if _is_against(insights[old].content, insights[new].content, terms, policy.cover * covered[old])
    }


def _alike(snapshot: Snapshot, rows: Rows, least: float) -> Mask:
    """Return which of the rows may be about one thing by their vectors, shape (n, n): any without a vector may."""
    vectors = snapshot.dense.matrix[rows]
    without: Mask = np.count_nonzero(vectors, axis=1) == 0
    cosines: Floats = vectors @ vectors.T
    found: Mask = cosines >= least
    found[without] = True
    found[:, without] = True
    return found


class _Clause(NamedTuple):
    """A clause of a brief memory: its `frame` and index `terms`. `states`: it states something; `announces`: it
    announces a change."""

    frame: Frame
    terms: frozenset[str]
    states: bool
    announces: bool


@text_cache(maxsize=CACHED_CLAUSES)
def _clauses(content: str) -> tuple[_Clause, ...]:
    return tuple(
        _Clause(each, frozenset(index_terms(each.text)), _states(each.text), tells_change(each))
        for each in frames(_DATE_OF_STATE.sub("", content))
    )


def _is_against(old: str, new: str, terms: Mapping[str, float], least: float) -> bool:
    """Return True if a clause of the older memory with at least the weight `least` of the question's words, and what
    it states, does not hold beside a clause of the newer one.

    The memories are compared as a whole, which is slow, only if two of their clauses could be the ones that decide.
    """
    later = [each for each in _clauses(new) if each.states or each.announces]
    for one in _clauses(old) if later else ():
        if _weight_in(one.terms, terms) < least:
            continue
        for other in later:
            if (other.announces or one.states) and related(one.frame, other.frame)[0] in AGAINST:
                pair = judged(_DATE_OF_STATE.sub("", old), _DATE_OF_STATE.sub("", new))
                weight = _weight_in(frozenset(index_terms(pair.old)), terms)
                return pair.relation in AGAINST and _are_states(pair) and weight >= least
    return False


_DATE_OF_STATE: Final = regex(
    r",?\s(?:since|as of|until|till|up to|seit|ab|bis)\s(?:(?:early|mid|late|the end of|anfang|mitte|ende)\s)?"
    rf"(?:(?:{MONTH}|januar|februar|märz|mai|juni|juli|oktober|dezember)(?![a-zä]),?(?:\s(?:19|20)[0-9]{{2}})?"
    r"|(?:19|20)[0-9]{2})(?![\w.:-])",
    re.IGNORECASE,
)
"""A date since or until which a clause holds: it is not what the clause says of its subject. A brief memory with one is
as old as that, not as its row."""


def _are_states(pair: ClausePair) -> bool:
    """Return True if the clauses state something, or the newer one announces a change: "cache 1" and "cache 2" are two
    things, "the cache is 1 GB" and "the cache is 2 GB" are not."""
    return pair.announced or (_states(pair.old) and _states(pair.new))


def _states(clause: str) -> bool:
    return statement(clause).state != "" or _STATE.search(fold(clause)) is not None


_STATE: Final = regex(
    r"\b(?:costs?|charges?|runs?|keeps?|kept|opens?|closes?|listens?|takes?|sees?|goes|has|have|owns?|sings?|plays?"
    r"|ist|sind|heisst|liegt|liegen|kostet|beträgt|hat|haben|findet|läuft|schliesst|öffnet|wohnt|arbeitet|nutzt|nutzen)\b"
    r"|[\u3400-\u9fff]"
)
"""Verbs of states besides those of `statement`; in Chinese any clause may be one."""


def _weight_in(clause: frozenset[str], terms: Mapping[str, float]) -> float:
    """Return the weight of a question's words among the terms of a clause."""
    return sum(terms.get(term, 0.0) for term in clause)


@text_cache(maxsize=1024)
def _ended(content: str) -> frozenset[str]:
    return former_terms(content)


def _speaks(content: str) -> bool:
    return _PERSON.search(fold(content)) is not None


def _relevant(found: Sequence[Signature], terms: Mapping[str, float], least: float) -> list[Signature]:
    """Return the sentences of a memory that share most with the question, by the weight of common words."""
    weights = [sum([weight for term, weight in terms.items() if term in each.sentence.small]) for each in found]
    order = sorted(range(len(found)), key=lambda at: -weights[at])[:MAX_RELEVANT]
    return [found[at] for at in order if weights[at] > 0.0 and weights[at] >= least]


def _corrects(old: PlacedSentence, new: PlacedSentence, *, same_speaker: bool) -> bool:
    one, other = statement(old.signature.sentence.text), statement(new.signature.sentence.text)
    # A statement in the first or second person is corrected only by the same speaker.
    return (same_speaker or PERSONS.isdisjoint((*one.units[:1], *other.units[:1]))) and corrects(one, other)
