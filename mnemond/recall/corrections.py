"""Whether one statement corrects another: it says of the same thing what can only be so instead.

Both begin alike and differ in one place, and there each has a value of the same kind: a day, a number, a name. That is
a correction where the newer one announces a change that ends the state of the older one ("moved to" ends "lives in"),
or where a thing has one such value at a time ("the owner of billing is …"). Or the newer one says that what the older
one tells is no longer so. Where more differs both are true: of two people, of two services, of two purposes of a tool.

Two memories are only ordered by this, none is retired; so the signs are weaker than those of spec 7.2 (memory/diff.py).
The pairs it was made by are tests/memory/correction_pairs.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Category, Insight
from mnemond.recall.question_features import Floats, Rows
from mnemond.recall.ranking import Updating
from mnemond.text.caches import text_cache
from mnemond.text.contrast import numbers
from mnemond.text.entity_shapes import kind_of
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
from mnemond.text.tokens import fold

LONGEST_VALUE: Final = 4
"""Words of a value, or twice as many characters of Chinese."""

MAX_PARTS: Final = 3
"""Parts of what is exchanged, a value and what prepositions add to it, where the other statement has a value alone."""

_FIXED: Final = ("day", "month", "number")
"""Kinds that are told by the unit itself."""

_NAMED: Final = ("name", "tool", "location", "organization")
_BY_THE_NAME: Final = {"tool": "tool", "location": "location", "organization": "organization"}


def corrects(old: Statement, new: Statement) -> bool:
    """Whether `new`, which was said later, corrects `old`."""
    if new.supposed or old.supposed or not old.units:
        return False
    return _denied(old, new) or _let_go(old, new) or _exchanged(old, new)


def _denied(old: Statement, new: Statement) -> bool:
    """The same with a negation more or less; what is denied need not be repeated to the end."""
    if old.denies == new.denies or len(_content(new.units)) < 2:  # a thing, and what is said of it
        return False
    if old.units == new.units:
        return True
    return new.denies and _words_of(new.units) <= _words_of(old.units) and old.units[0] == new.units[0]


def _let_go(old: Statement, new: Statement) -> bool:
    """The newer one names what is no longer so, and the older one says that it is."""
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
        (new.headless and _weight(new.units) <= LONGEST_VALUE)
        or not subject
        or subject in PERSONS
        or subject in old.units
    )


def _exchanged(old: Statement, new: Statement) -> bool:
    """They differ in one place, and there each has another value of one kind."""
    if old.denies or new.denies or new.gone:
        return False
    if not new.change and (old.state != new.state or not (old.settles and new.settles)):
        return False
    begins, begins_new = _begins(old.units, new.units)
    left, left_new = old.units[begins:], new.units[begins_new:]
    ends = _shared(left[::-1], left_new[::-1])
    one, other = left[: len(left) - ends], left_new[: len(left_new) - ends]
    if not one or not other or set(one) & set(other):
        return False
    between = _Between(old, new, begins, begins_new, ends)
    return between.announced() if new.change else between.exclusive()


def _begins(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """How many units both begin with, prepositions aside: "lives in …" and "moved to …" begin alike."""
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


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many units both begin with."""
    return next(
        (at for at, (first, second) in enumerate(zip(one, other, strict=False)) if first != second),
        min(len(one), len(other)),
    )


def _content(units: Sequence[str]) -> list[str]:
    """Units that are neither prepositions nor pronouns."""
    return [unit for unit in units if not unit.startswith(PREPOSITION) and unit not in PERSONS]


def _weight(units: Sequence[str]) -> float:
    """How much is said: by each word 1, by each character of Chinese a half."""
    return sum(1.0 if unit.isascii() else 0.5 for unit in _content(units))


def _words_of(units: Sequence[str]) -> frozenset[str]:
    return frozenset(unit for unit in units if not unit.startswith(PREPOSITION))


class _Between:
    """Two statements that share how they begin and end, and what each has between."""

    def __init__(self, old: Statement, new: Statement, begins: int, begins_new: int, ends: int) -> None:
        self._old, self._new, self._begins = old, new, begins
        self._olds = _parts(old, begins, len(old.units) - ends)
        self._news = _parts(new, begins_new, len(new.units) - ends)
        self._before = _weight(old.units[:begins])
        self._behind = _weight(old.units[len(old.units) - ends :])

    def announced(self) -> bool:
        """Whether the newer one says that something changed, and it is this."""
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
        if self._fixed(kind, value):
            return True
        return self._in_place(kind)

    def _named(self) -> bool:
        """Whether the newer has a value that is told by itself: "lives in Oslo", "is in Bergen now"."""
        return bool(self._news) and _kind(self._new, self._news[0]) in (*_FIXED, *_NAMED)

    def _fixed(self, kind: str, value: list[int]) -> bool:
        """A day for a day, wherever in the statement it stands; what is left may be said otherwise."""
        if kind not in _FIXED or self._before + self._behind < 1 or self._new.change not in (NOW, MOVE, SWITCH):
            return False
        return any(_kind(self._old, part) == kind for part in self._olds) and len(value) <= LONGEST_VALUE

    def _in_place(self, kind: str) -> bool:
        """One value in the place of another."""
        old, new = self._old, self._new
        if self._adjuncts_differ() or not self._alike(kind):
            return False
        if not self._begins:
            return self._is_role(kind)
        if not self._stands_behind_its_verb():
            return False
        if not self._before and not self._behind:
            if old.state in ONE_AT_A_TIME:
                return True
            # "We switched to Kafka": of all we use, what did it take the place of?
            return new.change == SWITCH and old.state == USE and kind in _NAMED and len(self._olds) == 1
        if old.state:
            return self._before + self._behind >= 1
        if new.change == NOW:
            return self._before > 1 and len(self._olds) == len(self._news) == 1
        return self._behind >= 1

    def _stands_behind_its_verb(self) -> bool:
        """Whether what is exchanged is what the older is said to be in, and what the newer changed to."""
        old, new = self._old, self._new
        if old.state and not _is_stated(old, self._olds[0][0]):
            return False
        if new.change not in ("", NOW):
            return (old.state != "" or new.change == SWITCH) and self._news[0][0] == _next(new, new.changed_at)
        return new.state in ("", BE) or self._news[0][0] == _next(new, new.stated_at)

    def _is_role(self, kind: str) -> bool:
        """Whether both say who is the one that …: they differ in how they begin, and end alike."""
        return self._old.role and self._new.role and self._behind >= 1 and (kind in _NAMED or self._first_names())

    def _first_names(self) -> bool:
        """Whether both begin with one word, which in the beginning may be a name however it is written."""
        return len(self._olds[0]) == len(self._news[0]) == 1

    def _adjuncts_differ(self) -> bool:
        """Whether both go on behind their value, or one of them at length, so that more than the value is exchanged."""
        most, least = max(len(self._olds), len(self._news)), min(len(self._olds), len(self._news))
        return least > 1 or most > MAX_PARTS

    def _alike(self, kind: str) -> bool:
        """Whether the first value of both is short and of one kind."""
        one, other = self._olds[0], self._news[0]
        if (
            max(_weight([self._old.units[at] for at in one]), _weight([self._new.units[at] for at in other]))
            > LONGEST_VALUE
        ):
            return False
        # Where nobody writes capitals, a name looks like any word.
        lower = len(one) == len(other) == 1 and not (self._old.names or self._new.names)
        return _compatible(_kind(self._old, one), kind, lower)

    def exclusive(self) -> bool:
        """Whether a thing has one such value at a time, so that the newer one needs no word of change."""
        if len(self._olds) != 1 or len(self._news) != 1:
            return False
        kind = _kind(self._new, self._news[0])
        if not self._alike(kind):
            return False
        return self._is_set(kind) if kind in _FIXED else self._has_one(kind)

    def _is_set(self, kind: str) -> bool:
        """Whether a day, month or number is what something is set to, no count of anything and no date of an event."""
        if len(self._olds[0]) > 1 or len(self._news[0]) > 1 or self._before + self._behind < 1:
            return False
        before = self._old.units[self._olds[0][0] - 1] if self._olds[0][0] else ""
        return kind == "day" or (self._before >= 1 and (self._old.state != "" or before.startswith(PREPOSITION)))

    def _has_one(self, kind: str) -> bool:
        state = self._old.state
        if not self._begins:
            return self._is_role(kind)
        if not state or not self._stands_behind_its_verb() or self._old.one_of_many:
            return False
        if state == USE:
            return self._behind >= 1
        if state == BE:
            return self._before > 1 or (self._before >= 1 and kind in _NAMED)
        return state in ONE_AT_A_TIME


def _is_stated(one: Statement, place: int) -> bool:
    """Whether the unit at `place` is what something is in: right behind the verb, or as in "is held on …"."""
    if not one.state or place == _next(one, one.stated_at):
        return one.state != ""
    return one.state == BE and one.stated_at < place and one.units[place - 1].startswith(PREPOSITION)


def _next(one: Statement, place: int) -> int:
    """The first unit from `place` on that is no preposition."""
    while place < len(one.units) and one.units[place].startswith(PREPOSITION):
        place += 1
    return place


def _parts(one: Statement, begin: int, end: int) -> list[list[int]]:
    """Places of the units between, in groups, each behind a preposition; the first may stand before any."""
    groups: list[list[int]] = [[]]
    for place in range(begin, end):
        if one.units[place].startswith(PREPOSITION):
            groups.append([])
        else:
            groups[-1].append(place)
    return [group for group in groups if group]


def _kind(one: Statement, part: list[int]) -> str:
    """What kind of value begins a part: that of its first unit."""
    unit, word = one.units[part[0]], one.words[part[0]]
    fixed = unit.partition(":")[0]
    if fixed in _FIXED and unit != fixed:
        return fixed
    found = _BY_THE_NAME.get(kind_of(word))
    return found or ("name" if word in one.names else "word")


def _compatible(one: str, other: str, lower: bool) -> bool:
    """Whether a value of one kind may take the place of one of another: a name of which nothing is known is any kind of
    name, a tool and who makes it have one name. `lower`: a word may be a name as well."""
    if one == other or {one, other} == {"tool", "organization"}:
        return True
    unknown = {"name", "word"} if lower else {"name"}
    return {one, other} <= unknown | set(_NAMED) and not {one, other}.isdisjoint(unknown)


# Sentences of memories that may say the same of one thing, or what can only be so instead: few of all the pairs.


MAX_APART: Final = (2, 4)
"""Words, or half the characters of Chinese, that the older of two sentences may have and the newer not: a value; and
where that one announces a change, also a verb and what else it does not repeat. The newer may have two more, to say
since when. Only such pairs are read, which are few."""

BITS: Final = 60
"""Bits that stand for words, as many as two digits of a Python integer have. Of ten words that another sentence lacks,
about eight lack their bit there as well, and two are enough to tell."""

MAX_TOLD: Final = 8_192
"""Memories whose sentences are remembered: about half a kilobyte each, 4 MB; 8 kilobytes each where somebody
wrote them for it."""


class Piece(NamedTuple):
    """A sentence of a memory, and whether it announces a change. `bits`: one of `BITS` for each of its words, by which
    most pairs of sentences are told apart without their words, which therefore are not kept."""

    sentence: Sentence
    announces: bool
    bits: int


class Told(NamedTuple):
    """A memory, sentence by sentence; whether it is as short as one, and whether it may announce a change."""

    pieces: tuple[Piece, ...]
    brief: bool
    announces: bool


class Heard(NamedTuple):
    """A sentence, by position of its row."""

    place: int
    piece: Piece


def told(content: str) -> Told:
    """A memory as it is compared. Linear time."""
    return _told(content[:MAX_TEXT])  # what is remembered would keep the rest as well, long after the memory has left


@text_cache(maxsize=MAX_TOLD)
def _told(content: str) -> Told:
    changes = announces(content)
    pieces = tuple(_piece(each, changes=changes) for each in sentences(content))
    return Told(pieces, len(content) <= MAX_SENTENCE, changes)


def _piece(sentence: Sentence, *, changes: bool) -> Piece:
    """`changes`: whether any sentence of the memory may announce a change."""
    bits = 0
    for word in content_words(sentence.small):
        bits |= 1 << hash(word) % BITS
    return Piece(sentence, changes and announces(sentence.text), bits)


def near(
    memories: Mapping[int, Told], rank: Sequence[int], is_asked: Callable[[Heard], bool]
) -> Iterator[tuple[Heard, Heard]]:
    """Pairs of an older and a newer sentence that are worth reading: they share something, and neither has much that
    the other lacks; the newer is one that announces a change, or of a memory as short as a sentence.

    `memories`: by position of their rows, `rank`: by age, the oldest first; `is_asked`: whether the older is worth it.
    Hundreds of pairs are looked at for one answer, and tens of thousands where somebody wrote twenty memories for it:
    whatever is done for each must be cheap.
    """
    words = _Words()
    olds = [
        (rank[place], piece.bits, 1 if piece.sentence.small.isascii() else 2, Heard(place, piece))
        for place, each in memories.items()
        for piece in each.pieces
    ]
    for made, bits, _, new in olds:
        if not (memories[new.place].brief or new.piece.announces):
            continue
        lacked, apart = ~bits, MAX_APART[new.piece.announces]
        for made_old, of_old, times, old in olds:
            # A bit that the newer has not belongs to words that it has not, if not to all of them.
            few = made_old < made and (of_old & lacked).bit_count() <= apart * times
            # Words in common have a bit in common.
            if few and of_old & bits and is_asked(old):
                one, other = old.piece.sentence.small, new.piece.sentence.small
                if _share(words[one], words[other], apart * times):
                    yield old, new


class _Words(dict[str, frozenset[str]]):
    """Words by sentence in small letters, of those whose bits do not tell. Each is read once for an answer: where all
    are about the same, it would be hundreds of times."""

    def __missing__(self, small: str) -> frozenset[str]:
        self[small] = found = content_words(small)
        return found


def _share(words: frozenset[str], others: frozenset[str], most: int) -> bool:
    """Whether they have words in common, and each has few besides."""
    shared = len(words & others)
    return shared > 0 and len(words) - shared <= most and len(others) - shared <= most + 2


# A fact that was corrected does not stand above what corrected it, unless a question asks how things were.
#
# There are two ways to tell. By numbers, where a question asks how things are: two memories are about one thing by
# their meaning and by what they share with the question, and the newer is a correction by a number the older lacks
# and a word of change. And by statements (`correction`): a sentence of the older that the question asks for, and one
# of the newer that says of the same thing what can only be so instead. What is linked as superseded left recall long
# before.


NEWER_FACT_READ: Final = 600
"""Characters of a memory in which a word of change is looked for."""

MAX_READ: Final = 4_000
"""Characters of a memory whose numbers are read."""

_CHANGE: Final = re.compile(
    r"\b(?:increas|rais|adjust|updat|chang|mov|reschedul|postpon|switch|now|reduc|extend|lower|revis|push|shift|bump|cut|"
    r"new(?:ly)?|recently|already|no longer|instead|improv)\w{0,20}"
    r"|[现現]在|如今|改[为為成到]|[调調]整|更新|推[迟遲]|提前|增加|[减減]少|不再"
)
_PAST: Final = re.compile(
    r"\b(?:original(?:ly)?|initially|at first|previous(?:ly)?|used to|before|history|order|earlier|first|did|was|were"
    r"|had)\b"
    r"|最初|原[来來]|之前|以前|曾[经經]|[当當][时時]"
)
_PRESENT: Final = re.compile(
    r"\b(?:what(?:'s| is| are)|how (?:many|much|often|long|old)|when (?:is|are|do|does|will|am)"
    r"|where (?:is|are|do|does|am)|which|by what|what (?:\w{1,30} ){1,4}(?:is|are|have|has|am|do|does))\b"
    r"|[现現]在|目前|如今"
)


_DECIDED: Final = re.compile(r"\bdid (?:\w{1,30} ){1,3}(?:decide|agree|settle|choose|pick|end up)\b")
"""What was decided holds until something else is, so who asks for it asks how things are."""

MAX_COMPARED: Final = 400
"""Pairs of statements that are compared for one answer, some 2 ms: twenty memories of one sentence each have 190."""

MAX_ASKED: Final = 3
"""Sentences of a memory that a question may be asking for."""


class _Fact(NamedTuple):
    numbers: frozenset[str]
    changes: bool


def asks_state(question: str) -> bool:
    """Whether a question asks how things are, not how they were."""
    plain = fold(question[:NEWER_FACT_READ])
    return _PRESENT.search(plain) is not None and _PAST.search(plain) is None


def asks_past(question: str) -> bool:
    """Whether a question asks how things were."""
    return _PAST.search(_DECIDED.sub(" ", fold(question[:NEWER_FACT_READ]))) is not None


def newer_first(
    snapshot: Snapshot,
    rows: Rows,
    scores: Floats,
    covered: Floats,
    policy: Updating,
    terms: Mapping[str, float],
    *,
    by_numbers: bool,
) -> Floats:
    """Scores of the best rows (best first, shape (n,)) with each correction just above what it corrects.

    `covered`: what the words of the question weigh together that each row has itself; `terms`: those words, and what
    each weighs. `by_numbers`: whether memories are compared by their numbers as well.
    """
    insights = [snapshot.insight(row) for row in rows.tolist()]
    made = snapshot.parts.columns.created_us[rows]
    rank = np.empty(len(rows), dtype=np.int64)
    rank[np.lexsort((rows, made))] = np.arange(len(rows))
    pairs = _by_statements(snapshot, insights, rows, rank, covered, policy, terms)
    if by_numbers:
        pairs |= _by_numbers(snapshot, insights, rows, rank, covered, policy)
    if not pairs:
        return scores
    moved, reached = scores.copy(), scores.copy()  # with and without the steps above what is corrected
    for new, old in sorted(pairs, key=lambda pair: rank[pair[0]]):  # what corrects a correction goes above that one
        reached[new] = max(reached[new], reached[old])
        moved[new] = max(moved[new], reached[old] + _STEP * (1 + rank[new]))
    return moved


_STEP: Final = np.float32(1e-3)
"""So far above; of several corrections the newest goes highest."""

ASSISTANT: Final = "assistant"
UNSORTED: Category = "general"
"""Source, and category, of an assistant's talk: it repeats and proposes what is nobody's fact. What somebody or
something made a decision or a fact of is talk no more."""


def _is_talk(insight: Insight) -> bool:
    return insight.source == ASSISTANT and insight.category == UNSORTED


# ------------------------------------------------------------ numbers


def _by_numbers(
    snapshot: Snapshot, insights: list[Insight], rows: Rows, rank: Rows, covered: Floats, policy: Updating
) -> set[tuple[int, int]]:
    """Positions of a correction and of what it corrects."""
    facts = [_NOTHING if _is_talk(each) else _read(each.content) for each in insights]
    source = snapshot.parts.columns.source[rows]
    found: set[tuple[int, int]] = set()
    for new, fact in enumerate(facts):
        if not (fact.changes and fact.numbers):
            continue
        alike = snapshot.similarity_between(int(rows[new]), rows)
        above = (rank < rank[new]) & (source == source[new]) & (alike >= policy.cosine)
        above &= covered[new] >= policy.cover * covered
        for old in np.flatnonzero(above).tolist():
            if facts[old].numbers and fact.numbers - facts[old].numbers:
                found.add((new, old))
    return found


_NOTHING: Final = _Fact(frozenset(), changes=False)


@text_cache(maxsize=1024)
def _read(content: str) -> _Fact:
    found = numbers(content[:MAX_READ])
    return _Fact(found, found != frozenset() and _CHANGE.search(fold(content[:NEWER_FACT_READ])) is not None)


# ------------------------------------------------------------ statements


def _by_statements(
    snapshot: Snapshot,
    insights: list[Insight],
    rows: Rows,
    rank: Rows,
    covered: Floats,
    policy: Updating,
    terms: Mapping[str, float],
) -> set[tuple[int, int]]:
    """Positions of a correction and of what it corrects."""
    memories = {place: told(each.content) for place, each in enumerate(insights) if not _is_talk(each)}
    newer = [each for each in memories.values() if each.brief or each.announces]
    if len(newer) < 2 and not any(each.announces for each in newer):  # no change, and no two short ones are left
        return set()
    asked: dict[int, list[Piece]] = {}

    def is_asked(one: Heard) -> bool:
        if one.place not in asked:
            asked[one.place] = _asked(memories[one.place].pieces, terms, policy.cover * float(covered[one.place]))
        return any(piece is one.piece for piece in asked[one.place])

    source = snapshot.parts.columns.source[rows].tolist()
    return {
        (new.place, old.place)
        for old, new in islice(near(memories, rank.tolist(), is_asked), MAX_COMPARED)
        if _corrects(old, new, same_speaker=source[old.place] == source[new.place])
    }


def _asked(found: Sequence[Piece], terms: Mapping[str, float], least: float) -> list[Piece]:
    """The sentences of a memory that a question asks for, as far as their words tell: the best of them."""
    weights = [sum([weight for term, weight in terms.items() if term in each.sentence.small]) for each in found]
    order = sorted(range(len(found)), key=lambda at: -weights[at])[:MAX_ASKED]
    return [found[at] for at in order if weights[at] > 0.0 and weights[at] >= least]


def _corrects(old: Heard, new: Heard, *, same_speaker: bool) -> bool:
    """What is said of whoever speaks is corrected by the same alone."""
    one, other = statement(old.piece.sentence.text), statement(new.piece.sentence.text)
    if not (same_speaker or PERSONS.isdisjoint((*one.units[:1], *other.units[:1]))):
        return False
    return corrects(one, other)
