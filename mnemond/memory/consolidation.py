"""Consolidation: find memories that say nearly the same, and propose to merge them.

A cluster is a memory, its centre, with the later ones that are like it; chains are not followed, so that everything in
a cluster is like its centre. Nothing is changed here: a pair becomes a review (`memory/reviews.py`), and a person or a
setting decides. Two memories that contradict each other, or of which each names something that the other does not, are
no cluster, however much alike their words are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.memory.alike import Alike, Found, Group, Limits
from mnemond.memory.compare import by_age, side_of
from mnemond.memory.diff import DiffRules, judge
from mnemond.memory.diff_frames import opposed
from mnemond.memory.diff_rules import other_occasion
from mnemond.memory.merged_text import merged_text, unkept
from mnemond.memory.questions.pairs import dated_apart, repeats, said_at
from mnemond.model.memory import MAX_CONTENT, MAX_TAGS, SUMMARIZED, Insight
from mnemond.model.reviews import OpenReview, Resolution
from mnemond.text.contrast import labels
from mnemond.text.resources import regex

MAX_TRIED: Final = 8
"""Centres that a memory is held against: those most like it."""

STEP: Final = 32
"""Memories of one step of the search, of which each takes some tenths of a millisecond, one that is like another some
milliseconds."""

MAX_PROPOSED: Final = 20
"""Reviews that one run opens: a longer list is not read. The next run opens the next."""

MAX_WAITING: Final = 50
"""Reviews that may wait before a run opens none: they must not push out contradictions (`store.reviews`)."""

MAX_MEMBERS: Final = 20
"""Memories of a cluster besides its centre: a merged text of more is not read."""

_IDENTIFIER: Final = regex(
    r"[A-Za-z0-9]{0,40}[0-9][A-Za-z0-9]{0,40}|[A-Za-z0-9]{1,40}(?:[-_./][A-Za-z0-9]{1,40}){1,8}"
    r"|(?<=[^\W\d_] )[A-HJ-Z](?![\w'’])|(?<=[\u4e00-\u9fff])[A-Z](?![A-Za-z])"
)
"""A word with a digit, one of several parts, or a single capital behind a word, except for the pronoun."""

Pairs = Mapping[tuple[str, str], int | None]
"""Pairs of memories, by their ids in order, that were asked about: the number of a review that waits, or None for one
that was decided."""


class Member(NamedTuple):
    """A memory of a cluster, how it is like the centre, and what may become of the two."""

    insight: Insight
    alike: Alike
    suggestion: Resolution


class Cluster(NamedTuple):
    """A memory and later ones that are like it."""

    centre: Insight
    members: tuple[Member, ...]


class Preview(NamedTuple):
    """The text that the memories of a cluster would become, and the ids of those that would stay apart, as they
    contradict what was merged before them or would make the text too long."""

    text: str
    apart: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True):
    """What a search found: `clusters`, those with the most members first; `apart`: pairs that are alike and yet no
    cluster; `refused`: pairs that a person left apart before."""

    clusters: tuple[Cluster, ...]
    apart: int
    refused: int

    def pairs(self) -> Iterator[tuple[Cluster, Member]]:
        for cluster in self.clusters:
            for member in cluster.members:
                yield cluster, member


def planned(snapshot: Snapshot, limits: Limits, rules: DiffRules, known: Pairs) -> Generator[None, None, Plan]:
    """Search a snapshot for clusters, in steps. Takes a tenth of a millisecond a memory: not for the event loop."""
    search = _Search(snapshot, limits, rules, known)
    yield from search.steps()
    return search.plan()


class _Search:
    """One search for clusters. Used by one thread at a time."""

    def __init__(self, snapshot: Snapshot, limits: Limits, rules: DiffRules, known: Pairs) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._rules = rules
        self._known = known
        self._members: dict[int, list[Member]] = {}
        self._apart = self._refused = 0

    def steps(self) -> Iterator[None]:
        """Search; yield after every step."""
        for rows in groups(self._snapshot):
            group = Group(self._snapshot, rows, self._limits)
            for count, found in enumerate(group.compared()):
                if found is not None and not self._joins(found):
                    group.keep(found.row)
                if found is None or count % STEP == 0:
                    yield

    def plan(self) -> Plan:
        """Return what was found."""
        clusters = [Cluster(self._snapshot.insight(row), tuple(it)) for row, it in self._members.items()]
        clusters.sort(key=lambda each: (-len(each.members), each.centre.created_at, each.centre.id))
        return Plan(tuple(clusters), self._apart, self._refused)

    def _joins(self, found: Found) -> bool:
        """Add a memory to the cluster of the first centre that it fits; return False if it fits none."""
        it = self._snapshot.insight(found.row)
        for alike in found.alike[:MAX_TRIED]:
            centre = self._snapshot.insight(alike.row)
            if self._known.get(pair_of(centre.id, it.id), 0) is None:
                self._refused += 1
                continue
            members = self._members.setdefault(alike.row, [])
            if len(members) < MAX_MEMBERS and apart_because(centre, it, alike.cosine, self._rules) is None:
                members.append(Member(it, alike, suggestion(centre, it)))
                return True
            self._apart += 1
            if not members:
                del self._members[alike.row]
        return False


def groups(snapshot: Snapshot) -> list[list[int]]:
    """Return the rows that may be merged, by category and readers, those of each group by age; a group has two at
    least."""
    found: dict[object, list[int]] = {}
    for row in np.flatnonzero(snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if may_be_merged(it):
            found.setdefault((it.category, it.scope), []).append(row)
    created = snapshot.columns.created_us
    several = [rows for rows in found.values() if len(rows) > 1]
    return [sorted(rows, key=lambda row: (int(created[row]), snapshot.insight(row).id)) for rows in several]


def may_be_merged(it: Insight) -> bool:
    """Return False for a memory that is pinned, a rule that a person enforces, never shown, or a summary."""
    return not (it.pinned or it.is_enforced or it.quarantined or it.channel == SUMMARIZED)


def pair_of(one: str, other: str) -> tuple[str, str]:
    """Return two ids in order."""
    return (one, other) if one < other else (other, one)


def suggestion(one: Insight, other: Insight) -> Resolution:
    """Return DUPLICATE if the newer of two says nothing that the older does not, else MERGE."""
    older, newer = sorted((one, other), key=said_at)
    return "DUPLICATE" if repeats(older, newer) else "MERGE"


def apart_because(one: Insight, other: Insight, cosine: float | None, rules: DiffRules) -> str | None:
    """Return why two memories that are alike are not to be merged, None if they may be."""
    if not (may_be_merged(one) and may_be_merged(other)):
        return "one of them is pinned, enforced or never shown"
    if one.scope != other.scope or one.category != other.category:
        return "they are for different readers, or of different categories"
    older, newer = by_age(one, other)
    if _each_names_another(older, newer):
        return "each names something that the other does not"
    if dated_apart(older, newer):
        return "they tell of different days"
    if why := other_occasion(older.content, newer.content, older.created_at[:10], newer.created_at[:10]):
        return why
    if opposed(older.content, newer.content) is not None:
        return "they contradict each other"
    verdict = judge(side_of(older), side_of(newer), cosine, rules)
    if verdict.contradicts or "CONFLICT" in (verdict.action, verdict.suggestion):
        return "they contradict each other"
    if len({*older.tags, *newer.tags}) > MAX_TAGS or len(older.content) + len(newer.content) > MAX_CONTENT:
        return "together they are too long for one memory"
    return None


def _each_names_another(older: Insight, newer: Insight) -> bool:
    """Return True if each of two texts has a number, a name or an identifier that the other lacks: two statements of
    one form."""
    missing = _named_only_in(older, newer)
    return missing and _named_only_in(newer, older)


def _named_only_in(one: Insight, other: Insight) -> bool:
    if unkept(other.content, [one.content], one.entities):
        return True
    return not (
        labels(one.content) <= labels(other.content) and _identifiers(one.content) <= _identifiers(other.content)
    )


def _identifiers(text: str) -> frozenset[str]:
    """Return the words that name one of several things of a kind: "7b", "gpu-small", "server B", 服务器A."""
    return frozenset(found[0].casefold() for found in _IDENTIFIER.finditer(text))


def preview(cluster: Cluster) -> Preview:
    """Return what a cluster would become, merged one by one in the order of age: every statement of each."""
    text, apart = cluster.centre.content, list[str]()
    sources, names = [text], list(cluster.centre.entities)
    for member in sorted(cluster.members, key=lambda each: (each.insight.created_at, each.insight.id)):
        it = member.insight
        joined = pair_preview(text, it.content, (*names, *it.entities), sources)
        if joined is None:
            apart.append(it.id)
            continue
        text = joined
        sources.append(it.content)
        names += it.entities
    return Preview(text, tuple(apart))


def pair_preview(older: str, newer: str, names: tuple[str, ...] = (), sources: list[str] | None = None) -> str | None:
    """Return the merged text of two; None if they contradict each other, or if it would be too long or would lose a
    number or a name of them or of `sources`."""
    if opposed(older, newer) is not None:
        return None
    text = merged_text(newer, older).text
    lost = unkept(text, [*(sources or [older]), newer], names)
    return None if lost or len(text) > MAX_CONTENT else text


def reason_of(alike: Alike) -> str:
    """Return why a pair is asked about, without any of its text."""
    words = f"{alike.jaccard:.0%} of their words are the same"
    return words if alike.cosine is None else f"they mean nearly the same (cosine {alike.cosine:.2f}), {words}"


def review_of(cluster: Cluster, member: Member) -> OpenReview:
    """Return the question about a member and the centre of its cluster."""
    older, newer = sorted((cluster.centre, member.insight), key=said_at)
    likeness = round(member.alike.most, 6)
    return OpenReview("merge", older.id, newer.id, member.suggestion, likeness, reason_of(member.alike))


def proposals(plan: Plan, known: Pairs, waiting: int) -> list[OpenReview]:
    """Return the questions that a run asks: at most MAX_PROPOSED, none that was asked before, and none while
    MAX_WAITING reviews wait."""
    most = min(MAX_PROPOSED, MAX_WAITING - waiting)
    new = [
        review_of(cluster, member)
        for cluster, member in plan.pairs()
        if pair_of(cluster.centre.id, member.insight.id) not in known
    ]
    return new[: max(0, most)]
