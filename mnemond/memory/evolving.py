"""Evolved keywords: words that at least two close neighbours of a memory share and that it does not have itself.

A memory is found by them as by a cue; its text, its vector and its history stay as they are. Each word is kept with the
neighbours it came from, so that it goes when one of them is purged.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from mnemond.config.writing import SemanticSettings
from mnemond.index.edges import EDGE_CODES
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import SetEvolved
from mnemond.model.memory import SUMMARIZED, Insight
from mnemond.text.tokens import index_terms

LEAST_SHARING: Final = 2
"""Neighbours that must share a word (A-MEM lets one change another's keywords; two keep the odd one out)."""

MAX_WORDS: Final = 8
"""Evolved keywords of one memory, as many as it may have cues."""

MAX_SOURCES: Final = 5
"""Neighbours that are kept with a word."""

STEP: Final = 100
"""Memories of one step, some milliseconds."""

Sources = dict[str, tuple[str, ...]]
"""Words, each with the ids of the neighbours that share it."""


def evolving(
    snapshot: Snapshot, settings: SemanticSettings, before: Mapping[str, Sources]
) -> Generator[None, None, dict[str, Sources]]:
    """Return the memories whose evolved keywords are others than `before`, with those that they should have; in
    steps."""
    changed: dict[str, Sources] = {}
    for count, row in enumerate(np.flatnonzero(snapshot.alive()).tolist()):
        it = snapshot.insight(row)
        wanted = evolved_of(snapshot, row, settings.auto)
        if wanted.keys() != before.get(it.id, {}).keys():
            changed[it.id] = wanted
        if count % STEP == STEP - 1:
            yield
    return changed


def evolved_of(snapshot: Snapshot, row: int, least: float) -> Sources:
    """Return the evolved keywords of a row: of links by meaning of at least this weight, to memories for the same
    readers."""
    it = snapshot.insight(row)
    semantic = EDGE_CODES["semantic"]
    rows = {other for other, weight, kind, _ in snapshot.links_listed(row) if kind == semantic and weight >= least}
    near = [each for each in map(snapshot.insight, sorted(rows)) if _gives(each, it)]
    if len(near) < LEAST_SHARING or it.quarantined:
        return {}
    own = set(index_terms("\n".join((it.content, *it.tags, *it.entities))))
    shared: dict[str, list[str]] = {}
    for each in near:
        for word in _words(each):
            shared.setdefault(word, []).append(each.id)
    fitting = [(word, ids) for word, ids in shared.items() if len(ids) >= LEAST_SHARING and _is_new(word, own)]
    fitting.sort(key=lambda each: (-len(each[1]), each[0]))
    return {word: tuple(sorted(ids)[:MAX_SOURCES]) for word, ids in fitting[:MAX_WORDS]}


def _gives(each: Insight, it: Insight) -> bool:
    """Return True if a neighbour may give words: it has the same readers, may be shown, and repeats no others."""
    return each.scope == it.scope and not each.quarantined and each.channel != SUMMARIZED


def _words(it: Insight) -> Iterable[str]:
    """Return the keywords and tags of a memory, each once, ignoring case."""
    return dict.fromkeys(word.casefold() for word in (*it.keywords.split(), *it.tags))


def _is_new(word: str, own: set[str]) -> bool:
    """Return True if a memory is not found by a word yet. A number is no keyword: it says something of one memory."""
    terms = index_terms(word)
    return bool(terms) and own.isdisjoint(terms) and not any(char.isdigit() for char in word)


def evolved(snapshot: Snapshot, ids: Sequence[str], wanted: Mapping[str, Sources]) -> list[SetEvolved]:
    """Return the changes for these memories, where they are live; sources that left since are left out, with their
    words."""
    found = []
    for each in ids:
        if snapshot.row_of(each) is not None:
            words = {word: _live(snapshot, sources) for word, sources in wanted[each].items()}
            found.append(SetEvolved(each, {word: ids for word, ids in words.items() if len(ids) >= LEAST_SHARING}))
    return found


def _live(snapshot: Snapshot, ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in ids if snapshot.row_of(each) is not None)
