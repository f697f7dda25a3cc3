"""Redundancy: a new memory that repeats another is paired with it, and the pair is strengthened (spec 7.4, 8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

from mnemond.index.cosines import Cosines
from mnemond.index.dense import leading
from mnemond.index.postings import Floats
from mnemond.index.selection import top
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, Change, PutInsight, RestoreInsight, RetireInsight
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight
from mnemond.model.outcomes import Redundancy
from mnemond.model.policy import RedundancyPolicy
from mnemond.model.recall import Filter
from mnemond.model.timestamp import DAY_US, parse_rfc3339
from mnemond.rank.boost import accumulated
from mnemond.rank.redundancy import edge_similarity, is_redundant, pair_weight, redundancy

MOST_LOOKED_AT = 8
"""Rows by meaning, and as many by words, whose redundancy is worked out. RS rises with the cosine and with what the
keywords share (spec 7.4); a row that is among the first of neither can only be highest where many are nearly as high,
and then it matters little which of them becomes the partner."""


REMEMBERED_KEYWORDS = 4096
"""Memories whose keywords are kept as a set: newcomers are compared with the same ones again and again."""


class Paired(msgspec.Struct, frozen=True):
    """What pairing came to: the newcomer as it is now, changes to others, and what to tell."""

    newcomer: Insight
    changes: tuple[Change, ...]
    told: Redundancy | None


class _Nearest(msgspec.Struct, frozen=True):
    row: int
    score: float
    cosine: float | None
    jaccard: float


def pair(
    snapshot: Snapshot,
    newcomer: Insight,
    similarity: Cosines | None,
    likeness: Floats | None,
    policy: RedundancyPolicy,
    now_us: int,
) -> Paired:
    """Pair a newcomer with the row it repeats most, if it repeats any.

    A row that has a partner already keeps the older of the two: the newcomer pairs with that one and takes over the
    boost, so of three reports of one thing the first and the last stay a pair.
    """
    if not policy.enabled:
        return Paired(newcomer, (), None)
    nearest = _nearest(snapshot, newcomer, similarity, likeness, policy)
    if nearest is None:
        return Paired(newcomer, (), Redundancy(0.0, redundant=False))
    if not is_redundant(nearest.score, policy):
        return Paired(newcomer, (), Redundancy(round(nearest.score, 6), redundant=False))
    return _join(snapshot, newcomer, nearest, policy, now_us)


def _join(snapshot: Snapshot, newcomer: Insight, nearest: _Nearest, policy: RedundancyPolicy, now_us: int) -> Paired:
    met = snapshot.insight(nearest.row)
    former = partner_of(snapshot, met)
    older, let_go = (met, None) if former is None else _by_age(met, former)
    boost = _boost(older, let_go, policy, now_us)
    now = newcomer.updated_at
    kept = msgspec.structs.replace(
        older, paired_with=newcomer.id, boost_days=max(older.boost_days, boost), last_boosted_at=now
    )
    changes: list[Change] = [PutInsight(kept, "PAIR")]
    if let_go is not None:
        changes.append(PutInsight(msgspec.structs.replace(let_go, paired_with=None), "PAIR"))
    weight = round(pair_weight(edge_similarity(nearest.cosine, nearest.jaccard, policy), policy), 6)
    ends = ((newcomer.id, older.id), (older.id, newcomer.id))
    changes += [AddEdge(Edge(source, target, "semantic", weight, PAIR, "auto", boost, now)) for source, target in ends]
    joined = msgspec.structs.replace(newcomer, paired_with=older.id, boost_days=boost, last_boosted_at=now)
    told = Redundancy(round(nearest.score, 6), redundant=True, paired_with=older.id, boost_days=round(boost, 6))
    return Paired(joined, tuple(changes), told)


PAIR = '{"sub_type":"pair"}'


def partner_of(snapshot: Snapshot, insight: Insight) -> Insight | None:
    """The active memory that one is paired with."""
    row = None if insight.paired_with is None else snapshot.row_of(insight.paired_with)
    return None if row is None else snapshot.insight(row)


def parted(snapshot: Snapshot, leaving: Insight) -> list[Change]:
    """What becomes of the partner of a memory that leaves recall: it is on its own again."""
    partner = partner_of(snapshot, leaving)
    if partner is None or partner.paired_with != leaving.id:
        return []
    return [PutInsight(msgspec.structs.replace(partner, paired_with=None), "PAIR")]


Return = RestoreInsight | PutInsight | RetireInsight


def mutual(snapshot: Snapshot, changes: Sequence[Return]) -> tuple[list[Return], list[Change]]:
    """`changes`, where no memory keeps a partner that is not its own any more, and what becomes of those other memories
    that lose their partner by them."""
    after = {_id(change): None if isinstance(change, RetireInsight) else change.insight for change in changes}

    def settled(change: Return) -> Return:
        if isinstance(change, RetireInsight) or change.insight.paired_with is None:
            return change
        it, other_id = change.insight, change.insight.paired_with
        other = after[other_id] if other_id in after else partner_of(snapshot, it)
        if other is not None and other.paired_with == it.id:
            return change
        return msgspec.structs.replace(change, insight=msgspec.structs.replace(it, paired_with=None))

    others: list[Change] = []
    for insight_id, it in after.items():
        row = snapshot.row_of(insight_id)
        left = None if row is None else snapshot.insight(row)
        if left is None or left.paired_with in after or (it is not None and it.paired_with == left.paired_with):
            continue
        others += parted(snapshot, left)
    return [settled(change) for change in changes], others


def _id(change: Return) -> str:
    return change.id if isinstance(change, RetireInsight) else change.insight.id


def _by_age(one: Insight, other: Insight) -> tuple[Insight, Insight]:
    first, second = sorted((one, other), key=lambda each: (each.created_at, each.id))
    return first, second


def _boost(older: Insight, let_go: Insight | None, policy: RedundancyPolicy, now_us: int) -> float:
    """The pair's boost in days: what the old pair had, carried over, and what the gap since then adds (spec 7.5)."""
    since = older.last_boosted_at or older.created_at
    gap_days = (now_us - parse_rfc3339(since)) / DAY_US
    return accumulated(max(older.boost_days, 0.0 if let_go is None else let_go.boost_days), gap_days, policy)


def _nearest(
    snapshot: Snapshot,
    newcomer: Insight,
    similarity: Cosines | None,
    likeness: Floats | None,
    policy: RedundancyPolicy,
) -> _Nearest | None:
    words = _keyword_set(newcomer.keywords)
    best: _Nearest | None = None
    for row, cosine in _worth_a_look(snapshot, newcomer, similarity, likeness).items():
        jaccard = _jaccard(words, _keyword_set(snapshot.insight(row).keywords))
        score = redundancy(cosine, jaccard, policy)
        if best is None or score > best.score:
            best = _Nearest(row, score, cosine, jaccard)
    return best


def _worth_a_look(
    snapshot: Snapshot, newcomer: Insight, similarity: Cosines | None, likeness: Floats | None
) -> dict[int, float | None]:
    """Rows the newcomer may repeat, those most like it by either signal, and their cosines: 0 where a row has no
    vector, None for all where the newcomer has none."""
    mask = snapshot.visible(Filter(scope=newcomer.scope))
    rows: dict[int, float | None] = {}
    if similarity is not None:
        rows |= similarity.highest(MOST_LOOKED_AT, mask)
    if likeness is not None:
        alike = leading(likeness, MOST_LOOKED_AT, mask)
        more = [row for row, _ in top(alike, likeness[alike], MOST_LOOKED_AT) if row not in rows]
        rows |= (
            dict.fromkeys(more)
            if similarity is None
            else zip(more, similarity.of(np.array(more, dtype=np.int64)).tolist(), strict=True)
        )
    return rows


@lru_cache(maxsize=REMEMBERED_KEYWORDS)
def _keyword_set(keywords: str) -> frozenset[str]:
    return frozenset(keywords.split())


def forget_cached() -> None:
    """Let go of remembered keywords, so that nothing of a purged memory stays."""
    _keyword_set.cache_clear()


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    together = len(one) + len(other) - shared
    return shared / together if together else 0.0
