"""Merging two texts without a model.

The result holds every statement of both: a clause is left out only if the other text has the same words in the same
order, without a word around them that restricts or denies it. Clauses that cannot both hold stop the merge
(mnemond/memory/diff_frames.py finds them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from mnemond.memory.diff_rules import RESTRICTING, plain_words
from mnemond.text.contrast import numbers
from mnemond.text.resources import regex, words_of
from mnemond.text.similarity import token_set

JOINT: Final = "; "

MAX_FIRST: Final = 40
"""Clauses beginning with the same word in which a clause is looked for."""

MAX_HEAD: Final = 12
"""Words before the place where a coordination may be inserted: "the cache [lives in Redis and] expires"."""

_CUT = regex(r"[;；。！？\n]|[.!?](?=[\s\"'”’)]|\Z)")
_ABBREVIATION = regex(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|mr|mrs|ms|dr|st|prof|inc|ltd|co|corp|dept|fig|z\. ?b|d\. ?h|bzw|ca|nr|inkl"
    r"|usw|tel|evtl|ggf|hr|fr|str|ext|resp|incl|excl|est|min|max|sec|vol|ver|ch|pp|art|abs|sr|jr|zzgl|exkl|vgl|zw|std"
    r"|sek|mio|mrd|abt|geb|gez|allg|bes|ehem|urspr|sog)|\b[A-Za-z])\.\Z",
    re.IGNORECASE,
)
_SHORT = regex(r"(?<![^\W_])[^\W\d_]{1,4}\.\Z")
_AFTER_SHORT = regex(r"[ \t]+[+#]?\d")
"""A number behind the dot of a short word: "Rm. 12", "App. 3"."""
_BRACKET = regex(r"[()（）\n]")
_NUMBER = regex(r"\s*\d{1,3}\.")
_ORDINAL = regex(r"\b\d{1,2}\.\Z")
_AFTER_ORDINAL = regex(
    r"[ \t]+(?:[a-zäöü]|(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)|(?:Stock|Etage|Klasse|Quartal|Woche)\b)"
)
"""Continuation behind the dot of a German ordinal: "15. September", "im 3. Stock"."""

MAX_BRACKET: Final = 300
"""Characters between brackets that are one clause with what is around them."""

_ENDS = " \t\r\n.;,，。；、"
_MARKS = regex(r"[-*+•>][ \t]+")

_RESTRICTING_GERMAN: Final = words_of(
    "nur außer wenn falls solange bis bevor nachdem ob ohne fast beinahe manchmal vielleicht nie niemals nicht kein",
    "keine keinen keinem keiner statt sofern",
)
_COORDINATORS: Final = ("and", "und", "但", "并", "且", "和")


class Merged(NamedTuple):
    """The text of a merge, and the clauses that it holds once because the other text says the same."""

    text: str
    repeated: tuple[str, ...]


def merged_text(newer: str, older: str) -> Merged:
    """Append to `newer` the clauses of `older` that it does not repeat, joined by "; ".

    If the older text alone holds every clause of the newer, the result is the older.
    """
    new, old = list(clauses(newer)), list(clauses(older))
    missing, repeated = _missing(old, new)
    if not missing:
        return Merged(newer, repeated)
    if token_set(newer) <= token_set(older):
        lacking, held = _missing(new, old)
        if not lacking:
            return Merged(older, held)
    return Merged(JOINT.join([newer.rstrip(_ENDS), *missing]), repeated)


def lost(text: str, sources: Sequence[str]) -> list[str]:
    """Return the clauses of the sources that have a word which the text lacks."""
    said = token_set(text)
    return list(dict.fromkeys(each for source in sources for each in clauses(source) if not token_set(each) <= said))


def unkept(text: str, sources: Sequence[str], names: Iterable[str] = ()) -> list[str]:
    """Return the numbers of the sources that the text lacks, and those of `names` that are in a source and not in it:
    what a rewording must never lose. A name is looked for as it is written, apart from case."""
    folded, said = text.casefold(), " ".join(sources).casefold()
    missing = sorted(frozenset().union(*map(numbers, sources)) - numbers(text))
    lacking = [name for name in names if name.casefold() in said and name.casefold() not in folded]
    return list(dict.fromkeys([*missing, *lacking]))


def clauses(text: str) -> Iterator[str]:
    """Split a text into clauses without list marks and closing stops. A dot in a number, a name, an abbreviation or an
    ordinal ends none, and nothing within brackets does."""
    start, closed = 0, 0
    brackets = _brackets(text)
    bracket = next(brackets, None)
    for cut in _CUT.finditer(text):
        while bracket is not None and bracket[0] < cut.start():
            closed, bracket = bracket[1], next(brackets, None)
        if cut.start() < closed or (cut[0] == "." and _goes_on(text, start, cut.end())):
            continue
        yield from _clause(text[start : cut.end()])
        start = cut.end()
    yield from _clause(text[start:])


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each outermost pair of brackets begins and ends, within one line and MAX_BRACKET."""
    begin, depth = 0, 0
    for found in _BRACKET.finditer(text):
        if found[0] == "\n":
            depth = 0
        elif found[0] in "(（":
            begin = begin if depth else found.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth and found.end() - begin <= MAX_BRACKET:
                yield begin, found.end()


def _goes_on(text: str, start: int, end: int) -> bool:
    """Return True if the dot before `end` belongs to a word, an ordinal or the number of a list entry."""
    return (
        _ABBREVIATION.search(text, max(start, end - 8), end) is not None
        or (_SHORT.search(text, max(start, end - 8), end) is not None and _AFTER_SHORT.match(text, end) is not None)
        or _NUMBER.fullmatch(text, start, end) is not None
        or (_ORDINAL.search(text, max(start, end - 4), end) is not None and _AFTER_ORDINAL.match(text, end) is not None)
    )


def _clause(text: str) -> Iterator[str]:
    clause = text.strip(_ENDS)
    marks = _MARKS.match(clause)
    if marks:
        clause = clause[marks.end() :]
    if any(char.isalnum() for char in clause):
        yield clause


def _missing(these: Sequence[str], others: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the clauses that the others do not repeat, each once, and those that they repeat."""
    words = {clause: f" {' '.join(plain_words(clause))} " for clause in others}
    everything = "\n".join(["", *words.values(), ""])
    by_first: dict[str, list[str]] = {}
    for said in words.values():
        by_first.setdefault(said.split(" ", 2)[1], []).append(said)
    kept: dict[str, str] = {}
    repeated: list[str] = []
    for clause in these:
        wanted = f" {' '.join(plain_words(clause))} "
        alike = by_first.get(wanted.split(" ", 2)[1], [])[:MAX_FIRST]
        if wanted in kept or _is_repeated(wanted, everything, alike):
            repeated.append(clause)
        else:
            kept[wanted] = clause
    return list(kept.values()), tuple(repeated)


def _is_repeated(wanted: str, everything: str, alike: Sequence[str]) -> bool:
    """Return True if a clause holds the words of `wanted`, and no other word of it restricts them.

    `everything`: the words of all clauses, `alike`: those of clauses with the same first word.
    """
    if f"\n{wanted}\n" in everything:
        return True
    return any(_holds(said, wanted) for said in alike)


def _holds(said: str, wanted: str) -> bool:
    if said.startswith(wanted):
        return not _restricts(said[len(wanted) :])
    return any(not _restricts(between) for between in _coordinated(said, wanted))


def _coordinated(said: str, wanted: str) -> Iterator[str]:
    """Yield the rest of `said` for every way in which it is `wanted` with one coordinated part inserted: "the cache
    lives in Redis and expires at noon" holds "the cache expires at noon"."""
    words, other = wanted.split(), said.split()
    for at in range(1, min(len(words), len(other), MAX_HEAD)):
        if words[at - 1] != other[at - 1]:
            return
        tail = f" {' '.join(words[at:])} "
        head = len(" ".join(words[:at])) + 1
        for coordinator in _COORDINATORS:
            found = said.find(f" {coordinator}{tail}", head)
            if found >= 0:
                yield said[head:found] + " " + said[found + len(coordinator) + len(tail) :]


def _restricts(words: str) -> bool:
    found = words.split()
    return not (RESTRICTING.isdisjoint(found) and _RESTRICTING_GERMAN.isdisjoint(found))
