"""A fact that was corrected does not stand above what corrected it, unless a question asks how things were.

There are two ways to tell. By numbers, where a question asks how things are: two memories are about one thing by their
meaning and by what they share with the question, and the newer is a correction by a number the older lacks and a word
of change. And by statements (`correction`): a sentence of the older that the question asks for, and one of the newer
that says of the same thing what can only be so instead. What is linked as superseded left recall long before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Category, Insight
from mnemond.rank import sentence_pairs
from mnemond.rank.correction import corrects
from mnemond.rank.question import Floats, Rows
from mnemond.rank.ranking import Updating
from mnemond.rank.sentence_pairs import Heard, Piece, near, told
from mnemond.text import statements
from mnemond.text.contrast import numbers
from mnemond.text.statements import PERSONS, statement
from mnemond.text.tokens import fold

READ: Final = 600
"""Characters of a memory in which a word of change is looked for."""

MOST_READ: Final = 4_000
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

MOST_COMPARED: Final = 400
"""Pairs of statements that are compared for one answer, some 2 ms: twenty memories of one sentence each have 190."""

MOST_ASKED: Final = 3
"""Sentences of a memory that a question may be asking for."""


class _Fact(NamedTuple):
    numbers: frozenset[str]
    changes: bool


def asks_state(question: str) -> bool:
    """Whether a question asks how things are, not how they were."""
    plain = fold(question[:READ])
    return _PRESENT.search(plain) is not None and _PAST.search(plain) is None


def asks_past(question: str) -> bool:
    """Whether a question asks how things were."""
    return _PAST.search(_DECIDED.sub(" ", fold(question[:READ]))) is not None


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


def forget_cached() -> None:
    """Let go of every text that was read, so that nothing of a purged memory stays."""
    _read.cache_clear()
    sentence_pairs.forget_cached()
    statements.forget_cached()


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


@lru_cache(maxsize=1024)
def _read(content: str) -> _Fact:
    found = numbers(content[:MOST_READ])
    return _Fact(found, found != frozenset() and _CHANGE.search(fold(content[:READ])) is not None)


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
        for old, new in islice(near(memories, rank.tolist(), is_asked), MOST_COMPARED)
        if _corrects(old, new, same_speaker=source[old.place] == source[new.place])
    }


def _asked(found: Sequence[Piece], terms: Mapping[str, float], least: float) -> list[Piece]:
    """The sentences of a memory that a question asks for, as far as their words tell: the best of them."""
    weights = [sum([weight for term, weight in terms.items() if term in each.sentence.small]) for each in found]
    order = sorted(range(len(found)), key=lambda at: -weights[at])[:MOST_ASKED]
    return [found[at] for at in order if weights[at] > 0.0 and weights[at] >= least]


def _corrects(old: Heard, new: Heard, *, same_speaker: bool) -> bool:
    """What is said of whoever speaks is corrected by the same alone."""
    one, other = statement(old.piece.sentence.text), statement(new.piece.sentence.text)
    if not (same_speaker or PERSONS.isdisjoint((*one.units[:1], *other.units[:1]))):
        return False
    return corrects(one, other)
