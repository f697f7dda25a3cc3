"""Names that may be of one thing, found by rules on the names alone. A person decides; nothing is joined by a rule."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mnemond.memory.entity_pages import UNSPECIFIC
from mnemond.model.relations import Link, Roots
from mnemond.model.reviews import OpenReview
from mnemond.store.relations import StoredEntity
from mnemond.text.resources import regex

SPELLED, PART, INITIALS = 0.95, 0.7, 0.6
"""`similarity` of a proposal: how sure each rule is, by hand; it orders proposals and decides nothing."""

MIN_SPELLED: Final = 4
"""Letters and digits of names that differ in marks alone: of shorter ones the marks mean something ("C", "C++")."""

MAX_PROPOSED: Final = 10
"""Pairs that one run asks about."""

MAX_WAITING: Final = 20
"""Pairs of names that wait, above which no run asks about more."""

_DIGITS: Final = regex(r"\d+")
_WORD: Final = regex(r"\w+")
_CAPITALS: Final = re.compile(r"[A-Z]{3,6}")

REASONS: Final = {
    SPELLED: "they differ only in accents, blanks or marks",
    PART: "one is a part of the other, and of no other name",
    INITIALS: "one has the initials of the other, and of no other name",
}
"""Why a pair is asked about, without any of its text."""


class Pair(NamedTuple):
    """Two rows that may be one thing; `longer` is the fuller name."""

    longer: str
    shorter: str
    likeness: float


def alike(rows: Sequence[StoredEntity]) -> Iterator[Pair]:
    """Yield the pairs of rows that may be one thing, the surest first. Each row is of a thing of its own."""
    yield from _spelled_alike(rows)
    yield from _parts(rows)
    yield from _initials(rows)


def _fits(one: str, other: str) -> bool:
    return one == other or one in UNSPECIFIC or other in UNSPECIFIC


def _spelled_alike(rows: Iterable[StoredEntity]) -> Iterator[Pair]:
    found: dict[tuple[object, ...], list[StoredEntity]] = defaultdict(list)
    for it in rows:
        letters = "".join(char for char in unicodedata.normalize("NFKD", it.canonical) if char.isalnum())
        if len(letters) >= MIN_SPELLED and not {"/", "\\", "@"} & set(it.canonical):
            found[letters, *_DIGITS.findall(it.canonical)].append(it)
    for same in found.values():
        first, *rest = sorted(same, key=lambda it: (-len(it.name), it.id))
        yield from (Pair(first.id, it.id, SPELLED) for it in rest if _fits(first.kind, it.kind))


def _parts(rows: Iterable[StoredEntity]) -> Iterator[Pair]:
    """The first or the last name of a person that only one person has."""
    holders: dict[str, list[StoredEntity]] = defaultdict(list)
    rows = list(rows)
    for it in rows:
        words = it.canonical.split()
        if it.kind == "person" and 1 < len(words) <= MAX_WORDS:
            for word in {words[0], words[-1]}:
                holders[word].append(it)
    for it in rows:
        found = holders.get(it.canonical, [])
        if len(found) == 1 and _fits(it.kind, "person"):
            yield Pair(found[0].id, it.id, PART)


MAX_WORDS: Final = 4
"""Words of the name of a person."""


def _initials(rows: Iterable[StoredEntity]) -> Iterator[Pair]:
    holders: dict[str, list[StoredEntity]] = defaultdict(list)
    rows = list(rows)
    for it in rows:
        words = _WORD.findall(it.name)
        if len(words) >= 3:
            holders["".join(word[0] for word in words).upper()].append(it)
    for it in rows:
        found = holders.get(it.name, []) if _CAPITALS.fullmatch(it.name) else []
        if len(found) == 1 and _fits(it.kind, found[0].kind):
            yield Pair(found[0].id, it.id, INITIALS)


def proposals(
    rows: Sequence[StoredEntity], links: Iterable[Link], asked: Collection[tuple[str, str]], roots: Roots, waiting: int
) -> list[OpenReview]:
    """Return the questions that a run asks: none about two things that were decided not to be the same, or that were
    asked about, by whatever names. One name of each thing is compared: that which it goes by, and merged ones."""
    refused = {_pair(roots, it.entity_id, it.other) for it in links if it.kind == "not_same"}
    refused |= {_pair(roots, *each) for each in asked}
    new: dict[tuple[str, str], OpenReview] = {}
    for it in alike(rows):
        one, other = roots.of(it.longer), roots.of(it.shorter)
        pair = _pair(roots, one, other)
        if one != other and pair not in refused:
            new.setdefault(pair, OpenReview("names", one, other, "MERGE", it.likeness, REASONS[it.likeness]))
    return list(new.values())[: max(0, min(MAX_PROPOSED, MAX_WAITING - waiting))]


def _pair(roots: Roots, one: str, other: str) -> tuple[str, str]:
    first, second = sorted((roots.of(one), roots.of(other)))
    return first, second


def seen(asked: Mapping[tuple[str, str], int | None], ids: Collection[str]) -> list[tuple[str, str]]:
    """Return those of the pairs that were asked about which are rows of entities."""
    return [pair for pair in asked if pair[0] in ids and pair[1] in ids]
