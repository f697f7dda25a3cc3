"""Communities as people see them: their memories, and the names and words that most tell them from the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Insight
from mnemond.store.edges import Metric
from mnemond.text.entities import canonical_name

LABELLED: Final = 3
"""Names, or words, of a label."""

LEAST: Final = 2
"""Memories of a community that have a name or a word of its label: what only one has says nothing about the others."""

COMMON: Final = 0.05
"""Weight of a text that is as frequent everywhere: it names a community only where nothing else does."""

EXAMPLES: Final = 3
"""Memories shown of a community: the most central ones."""


class Topic(NamedTuple):
    """A community: its number, its memories, the most central first, and the heaviest names and words of them."""

    number: int
    members: tuple[Insight, ...]
    names: tuple[str, ...]
    terms: tuple[str, ...]

    @property
    def label(self) -> str:
        """The heaviest names; words, where there are not enough."""
        return ", ".join((*self.names, *self.terms)[:LABELLED])


def topics(snapshot: Snapshot, metrics: Iterable[Metric], rows: frozenset[int] | None) -> list[Topic]:
    """Return the communities, the largest first; of the memories in `rows` alone if these are given. Takes some
    microseconds a memory: not for the event loop."""
    members: dict[int, list[tuple[float, str, Insight]]] = {}
    for it in metrics:
        row = snapshot.row_of(it.insight_id)
        if it.community is None or row is None or (rows is not None and row not in rows):
            continue
        members.setdefault(it.community, []).append((-it.pagerank, it.insight_id, snapshot.insight(row)))
    groups = {number: tuple(it for _, _, it in sorted(found)) for number, found in members.items()}
    names = {number: _counted(map(_names, group)) for number, group in groups.items()}
    terms = {number: _counted(map(_terms, group)) for number, group in groups.items()}
    everywhere = _sum(names.values()), _sum(terms.values())
    total = sum(map(len, groups.values()))
    found = []
    for number, group in groups.items():
        heaviest = _heaviest(names[number], len(group), everywhere[0], total)
        known = {word for name in heaviest for word in canonical_name(name).split()}
        apart = Counter({term: count for term, count in terms[number].items() if term.casefold() not in known})
        found.append(Topic(number, group, heaviest, _heaviest(apart, len(group), everywhere[1], total)))
    return sorted(found, key=lambda each: (-len(each.members), each.number))


def _names(it: Insight) -> Sequence[str]:
    return it.entities


def _terms(it: Insight) -> Sequence[str]:
    return it.keywords.split()


def _counted(lists: Iterable[Sequence[str]]) -> Counter[str]:
    """Count in how many lists each text is."""
    return Counter(each for texts in lists for each in dict.fromkeys(texts))


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    together: Counter[str] = Counter()
    for each in counts:
        together.update(each)
    return together


def _heaviest(counts: Mapping[str, int], members: int, everywhere: Mapping[str, int], total: int) -> tuple[str, ...]:
    """Return the texts that LEAST memories have and that weigh most: by how many have them, and by how much more often
    they are here than in all communities; ties by text."""
    weighed = [
        (count * (COMMON + max(0.0, math.log((count / members) / (everywhere[text] / total)))), text)
        for text, count in counts.items()
        if count >= LEAST
    ]
    return tuple(text for _, text in sorted(weighed, key=lambda each: (-each[0], each[1]))[:LABELLED])
