"""What speaks for memories whatever is asked: how fresh they are, how central, and how often read (spec 7.7)."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from mnemond.graph.pagerank import pagerank
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall import Explanation, Hit
from mnemond.model.recall_policy import PageRankPolicy
from mnemond.model.timestamp import DAY_US
from mnemond.rank.decay import DecayPolicy
from mnemond.rank.prior import priors, with_prior
from mnemond.rank.profiles import Profile
from mnemond.rank.retention import effective_ages, retentions
from mnemond.rank.tie_order import Scores

CONSIDERED = 50
"""Results whose standing is looked at, or as many as are wanted: it may lift the fiftieth above the first."""

PRIOR = "prior"
"""Its name among the parts of a score."""

_prominence: WeakKeyDictionary[Snapshot, tuple[PageRankPolicy, Scores]] = WeakKeyDictionary()
"""Of the generations that were asked for it, for as long as they are looked at: following all links takes seconds in a
store of 100,000."""


def vigour(snapshot: Snapshot, rows: Rows, now_us: int, decay: DecayPolicy) -> tuple[Scores, Scores]:
    """Of some rows the retention τ at their effective age, in [0, 1], and their boost in days; shapes (rows,)."""
    boosts = np.array([snapshot.insight(row).boost_days for row in rows.tolist()], dtype=np.float64)
    ages = (now_us - snapshot.accessed_us[rows]) / DAY_US
    return retentions(effective_ages(ages, boosts), decay), boosts


def newest_us(snapshot: Snapshot, rows: Rows) -> int:
    """The time of a question that has none: that of the newest of some rows, which are not none."""
    return int(snapshot.created_us[rows].max())


def weighed(snapshot: Snapshot, hits: Sequence[Hit], now_us: int | None, profile: Profile) -> list[Hit]:
    """`hits` with the scores score·((1 − ω) + ω·prior), best first; equal ones stay in their order."""
    rows = np.array([snapshot.row_of(hit.insight.id) for hit in hits], dtype=np.int64)
    if not len(rows):
        return []
    retention, _ = vigour(snapshot, rows, newest_us(snapshot, rows) if now_us is None else now_us, profile.decay)
    accesses = snapshot.parts.columns.accesses
    most = int(accesses[snapshot.alive()].max())
    prior = priors(retention, prominence(snapshot, profile.centrality)[rows], accesses[rows], most, profile.prior)
    scores = with_prior(np.array([hit.score for hit in hits]), prior, profile.prior)
    told = [
        msgspec.structs.replace(
            hit,
            score=score,
            signals=msgspec.structs.replace(hit.signals, prior=each),
            explanation=_with_prior(hit.explanation, score - hit.score, profile),
        )
        for hit, score, each in zip(hits, scores.tolist(), prior.tolist(), strict=True)
    ]
    return sorted(told, key=lambda hit: -hit.score)


def _with_prior(explained: Explanation | None, by: float, profile: Profile) -> Explanation | None:
    """With what the prior did to the score as one more part of it, where the others are of the same units."""
    if explained is None or profile.fusion == "measured":
        return explained
    return msgspec.structs.replace(explained, parts=explained.parts | {PRIOR: round(by, 4)})


def prominence(snapshot: Snapshot, policy: PageRankPolicy) -> Scores:
    """How central each row is, in [0, 1], shape (rows,)."""
    known = _prominence.get(snapshot)
    if known is None or known[0] != policy:
        known = _prominence[snapshot] = policy, pagerank(snapshot, policy).prominence
    return known[1]
