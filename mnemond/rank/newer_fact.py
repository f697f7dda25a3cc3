"""A fact that was corrected does not stand above what corrected it, where a question asks how things are.

Two memories are told to be about one thing by their meaning and by what they share with the question, and the newer to
be a correction by a number the older lacks and a word of change. What is linked as superseded left recall long before.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.rank.question import Floats, Rows
from mnemond.rank.ranking import Updating
from mnemond.text.contrast import numbers
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


class _Fact(NamedTuple):
    numbers: frozenset[str]
    changes: bool


def asks_state(question: str) -> bool:
    """Whether a question asks how things are, not how they were."""
    plain = fold(question[:READ])
    return _PRESENT.search(plain) is not None and _PAST.search(plain) is None


def newer_first(snapshot: Snapshot, rows: Rows, scores: Floats, covered: Floats, policy: Updating) -> Floats:
    """Scores of the best rows (best first, shape (n,)) with each correction just above what it corrects.

    `covered`: what the words of the question weigh together that each row has itself.
    """
    facts = [_fact_of(snapshot, row) for row in rows.tolist()]
    newer = [place for place, fact in enumerate(facts) if fact.changes and fact.numbers]
    if not newer:
        return scores
    moved, reached = scores.copy(), scores.copy()  # with and without the steps above what is corrected
    columns = snapshot.parts.columns
    made, source = columns.created_us[rows], columns.source[rows]
    order = np.lexsort((rows, made))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = np.arange(len(rows))
    for new in sorted(newer, key=rank.__getitem__):  # what corrects a correction goes above where that one went
        alike = snapshot.similarity_between(int(rows[new]), rows)
        above = (rank < rank[new]) & (source == source[new]) & (alike >= policy.cosine)
        above &= covered[new] >= policy.cover * covered
        for old in np.flatnonzero(above).tolist():
            if facts[old].numbers and facts[new].numbers - facts[old].numbers:
                reached[new] = max(reached[new], reached[old])
                moved[new] = max(moved[new], reached[old] + _STEP * (1 + rank[new]))
    return moved


_STEP: Final = np.float32(1e-3)
"""So far above; of several corrections the newest goes highest."""


def _fact_of(snapshot: Snapshot, row: int) -> _Fact:
    it = snapshot.insight(row)
    return _NOTHING if it.source == ASSISTANT else _read(it.content)


ASSISTANT: Final = "assistant"
"""Source of what an assistant said: it repeats and proposes numbers that are nobody's facts."""

_NOTHING: Final = _Fact(frozenset(), changes=False)


def forget_cached() -> None:
    """Let go of every text that was read, so that nothing of a purged memory stays."""
    _read.cache_clear()


@lru_cache(maxsize=1024)
def _read(content: str) -> _Fact:
    found = numbers(content[:MOST_READ])
    return _Fact(found, found != frozenset() and _CHANGE.search(fold(content[:READ])) is not None)
