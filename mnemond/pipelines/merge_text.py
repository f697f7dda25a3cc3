"""Two texts about one thing as one, without a model: the newer text, and what only the older one says (spec 10.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemond.text.similarity import overlap, token_set

LEAST_NOVELTY = 0.5
"""Share of an older clause's words that the newer text must lack before the clause is kept (spec 10.4)."""

JOINT = "; "

_CUT = re.compile(r"[;；。！？\n]|[.!?](?=[\s\"'”’)]|\Z)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|mr|mrs|ms|dr|st)|\b[A-Za-z])\.\Z", re.IGNORECASE)
_NUMBER = re.compile(r"\s*\d{1,3}\.")
_ENDS = " \t\r\n.;,，。；、"
_MARKS = re.compile(r"(?:[-*+•>]|\d{1,3}[.)])[ \t]+")

_SLOT = re.compile(
    r"\b(works? (?:at|for)|lives? in|(?:is )?located in|reports? to|is (?:called|named)|names? is"
    r"|primary \w{1,40} is)\b"
    r"|(就职于|任职于|供职于|住在|位于|名叫|名字是|汇报给)",
    re.IGNORECASE,
)
"""What says a thing of which there is one at a time (the functional relations of spec 9)."""

_LONGEST_SUBJECT = 200


def merged_text(newer: str, older: str) -> str:
    """All of `newer`, then the clauses of `older` that it does not say in its own words, joined by "; ".

    An older clause that gives another value for what the newer text gives a value of (who works where) is left out.
    """
    said = token_set(newer)
    slots = {slot for clause in clauses(newer) if (slot := _slot(clause)) is not None}
    kept: dict[frozenset[str], str] = {}
    for clause in clauses(older):
        words = token_set(clause)
        if overlap(said, words).novelty > LEAST_NOVELTY and _slot(clause) not in slots:
            kept.setdefault(words, clause)
    return JOINT.join([newer.rstrip(_ENDS), *kept.values()]) if kept else newer


def clauses(text: str) -> Iterator[str]:
    """The clauses of a text, without list marks and closing stops. A dot in a number, a name or an abbreviation ends
    none."""
    start = 0
    for cut in _CUT.finditer(text):
        if cut[0] == "." and _goes_on(text, start, cut.end()):
            continue
        yield from _clause(text[start : cut.end()])
        start = cut.end()
    yield from _clause(text[start:])


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the dot before `end` belongs to a word, or to the number of a list's entry."""
    return (
        _ABBREVIATION.search(text, max(start, end - 8), end) is not None
        or _NUMBER.fullmatch(text, start, end) is not None
    )


def _clause(text: str) -> Iterator[str]:
    clause = text.strip(_ENDS)
    marks = _MARKS.match(clause)
    if marks:
        clause = clause[marks.end() :]
    if any(char.isalnum() for char in clause):
        yield clause


def _slot(clause: str) -> tuple[frozenset[str], str] | None:
    """Whose value of what a clause gives: the words before, and the first word of the relation."""
    found = _SLOT.search(clause[: 2 * _LONGEST_SUBJECT])
    if found is None:
        return None
    relation = found[0].casefold().replace("works", "work").replace("lives", "live").replace("reports", "report")
    return token_set(clause[: found.start()][-_LONGEST_SUBJECT:]), relation.removeprefix("is ")
