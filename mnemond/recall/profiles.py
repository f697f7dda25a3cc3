"""Profiles: complete parameters of a ranking, as data with sources; and the priors that a profile may apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import Fusion, PageRankSettings, RetrievalSettings, TemporalDecaySettings
from mnemond.config.settings import profile_defaults
from mnemond.index.arrays import Rows, Scores
from mnemond.index.bm25 import Bm25
from mnemond.index.pagerank import pagerank
from mnemond.index.snapshot import Snapshot
from mnemond.memory.decay import effective_ages, retentions
from mnemond.model.answers import Explanation, six
from mnemond.model.memory import DAY_US
from mnemond.model.query import ANCHORS, Confidence, Hit, ProfileName
from mnemond.recall.ranking import Ranking


class ConfidenceBounds(msgspec.Struct, frozen=True):
    """Evidence below `medium` is low, below `high` medium, else high."""

    medium: float
    high: float


class Profile(msgspec.Struct, frozen=True):
    """Parameters of a ranking: `settings`, and those that are not configurable.

    `anchors`: signals to use unless a query names others; `shares`: the weight of each in rank fusion, all alike if
    empty. `graph`, `named` and `new`: weights of links, shared entities and recency in units of the ranking.
    `hard_windows`: a question that names a time excludes all else. `each_anchor`: a beam starts from each anchor by
    itself, not from all at once. `sources`: of the numbers.
    """

    name: ProfileName
    bm25: Bm25
    confidence: ConfidenceBounds
    sources: dict[str, str]
    settings: RetrievalSettings = RetrievalSettings()
    anchors: frozenset[str] = frozenset({"keyword", "vector"})
    shares: Mapping[str, float] = {}
    ranking: Ranking = Ranking()
    graph: float = 1.0
    named: float = 1.0
    new: float = 1.0
    hard_windows: bool = False
    each_anchor: bool = False

    @property
    def fusion(self) -> Fusion:
        """The method that combines signals: measured in two stages, or that of a published design."""
        return self.settings.fusion.profile

    @property
    def is_slow(self) -> bool:
        """Return True if every question takes too long for an event loop: texts are embedded, or the links of a whole
        store followed, after each write."""
        settings = self.settings
        return settings.anchors.hypothetical or self.fusion == "start_node" or settings.prior.weight > 0.0


MNEMOND = Profile(
    name="mnemond",
    bm25=Bm25(k1=1.2, b=1.0),
    confidence=ConfidenceBounds(medium=0.42, high=0.62),
    sources={
        "bm25": "k1: Robertson and Zaragoza 2009; b: docs/decisions/0002, long messages and short turns in one store",
        "ranking, settings, hard_windows, confidence": "docs/decisions/0015-two-stage-ranking.md",
    },
)
"""The default ranking, chosen by measurement."""

MNEMON = Profile(
    name="mnemon",
    bm25=Bm25(k1=1.2, b=0.75),
    confidence=ConfidenceBounds(medium=0.25, high=0.60),
    settings=profile_defaults("mnemon").retrieval,
    anchors=ANCHORS,
    hard_windows=True,
    each_anchor=True,
    sources={"all": "the design pages of mnemon"},
)
"""The ranking of mnemon as published, for comparison."""

MNEMOSYNE = msgspec.structs.replace(
    MNEMON, name="mnemosyne", settings=profile_defaults("mnemosyne").retrieval, sources={"all": "Mnemosyne"}
)
"""A random walk from the few memories most similar to the question, weighted by freshness and centrality."""

MEMORY_LAYER = msgspec.structs.replace(
    MNEMON,
    name="mem0",
    settings=profile_defaults("mem0").retrieval,
    anchors=frozenset({"keyword", "vector", "entity"}),
    shares={"vector": 0.5, "entity": 0.3, "keyword": 0.2},
    sources={"all": "Mem0; its graph are the names that memories share"},
)
"""Fixed weights for meaning, links and words."""

PROFILES_BY_NAME: dict[ProfileName, Profile] = {each.name: each for each in (MNEMOND, MNEMON, MNEMOSYNE, MEMORY_LAYER)}

_NAMES: dict[Fusion, ProfileName] = {each.fusion: each.name for each in PROFILES_BY_NAME.values()}


def default_profile(settings: RetrievalSettings) -> ProfileName:
    """Return the ranking of a question that names none."""
    return _NAMES[settings.fusion.profile]


def profile_named(name: ProfileName, settings: RetrievalSettings) -> Profile:
    """Return a ranking: with these settings if it is their default one, else as published."""
    profile = PROFILES_BY_NAME[name]
    return msgspec.structs.replace(profile, settings=settings) if name == default_profile(settings) else profile


def label(evidence: float, bounds: ConfidenceBounds) -> Confidence:
    """Return the confidence for evidence in [0, 1]. If nothing relevant is stored, even the best is low."""
    if evidence < bounds.medium:
        return "low"
    return "medium" if evidence < bounds.high else "high"


# Priors of memories, whatever the question: retention, centrality and accesses


CONSIDERED = 50
"""Results to apply priors to, or the limit if larger: the fiftieth may rise above the first."""

PRIOR = "prior"
"""Name among the parts of a score."""

_prominence: WeakKeyDictionary[Snapshot, tuple[float, Scores]] = WeakKeyDictionary()
"""Damping and centrality by generation, dropped with it: PageRank takes seconds in a store of 100,000."""


def access_factor(accesses: npt.NDArray[np.integer], most: int) -> Scores:
    """(1 + ln(1 + a)) / (1 + ln(1 + a_max)), in (0, 1]: small for memories never accessed, but not 0.

    `most`: the largest number of accesses of any memory. The form of Mnemosyne is 0/0 at a_max = 1, and is 0 for every
    memory never accessed before.
    """
    factor: Scores = (1.0 + np.log1p(accesses)) / (1.0 + np.log1p(most))
    return factor


def priors(
    retention: Scores,
    prominence: Scores,
    accesses: npt.NDArray[np.integer],
    most: int,
    settings: PageRankSettings,
) -> Scores:
    """((1 − w)·τ + w·p̂)·access factor, in [0, 1]; shapes alike.

    A sum by default, not the product τ·p̂ of Mnemosyne: centrality keeps a memory from fading and must not lower its
    score.
    """
    if not settings.enabled:
        both = retention
    elif settings.combine == "product":
        both = retention * prominence
    else:
        both = (1.0 - settings.weight) * retention + settings.weight * prominence
    return both * access_factor(accesses, most)


def with_prior(scores: Scores, prior: Scores, weight: float) -> Scores:
    """score·((1 − ω) + ω·prior); shapes alike."""
    return scores * ((1.0 - weight) + weight * prior)


def retention_and_boost(
    snapshot: Snapshot, rows: Rows, now_us: int, decay: TemporalDecaySettings
) -> tuple[Scores, Scores]:
    """Return retention τ at the effective age, in [0, 1], and boost in days of some rows; shapes (rows,)."""
    boosts = np.array([snapshot.insight(row).boost_days for row in rows.tolist()], dtype=np.float64)
    ages = (now_us - snapshot.columns.accessed_us[rows]) / DAY_US
    return retentions(effective_ages(ages, boosts), decay), boosts


def newest_us(snapshot: Snapshot, rows: Rows) -> int:
    """Return the creation time of the newest of some rows, for a query without a time. `rows` is not empty."""
    return int(snapshot.columns.created_us[rows].max())


def apply_priors(snapshot: Snapshot, hits: Sequence[Hit], now_us: int | None, profile: Profile) -> list[Hit]:
    """Return `hits` with the scores score·((1 − ω) + ω·prior), best first; equal ones keep their order."""
    rows = np.array([snapshot.row_of(hit.insight.id) for hit in hits], dtype=np.int64)
    if not len(rows):
        return []
    settings = profile.settings
    now_us = newest_us(snapshot, rows) if now_us is None else now_us
    retention, _ = retention_and_boost(snapshot, rows, now_us, settings.temporal_decay)
    accesses = snapshot.parts.columns.accesses
    most = int(accesses[snapshot.alive()].max())
    central = prominence(snapshot, settings.pagerank.damping)[rows]
    prior = priors(retention, central, accesses[rows], most, settings.pagerank)
    scores = with_prior(np.array([hit.score for hit in hits]), prior, settings.prior.weight)
    changed = [
        msgspec.structs.replace(
            hit,
            score=score,
            signals=msgspec.structs.replace(hit.signals, prior=six(each)),
            explanation=_with_prior(hit.explanation, score - hit.score, profile),
        )
        for hit, score, each in zip(hits, scores.tolist(), prior.tolist(), strict=True)
    ]
    return sorted(changed, key=lambda hit: -hit.score)


def _with_prior(explained: Explanation | None, by: float, profile: Profile) -> Explanation | None:
    """Add the change by the prior as a part of the score, if the other parts have the same units."""
    if explained is None or profile.fusion == "measured":
        return explained
    return msgspec.structs.replace(explained, parts=explained.parts | {PRIOR: round(by, 4)})


def prominence(snapshot: Snapshot, damping: float) -> Scores:
    """Return the centrality of each row in [0, 1], shape (rows,)."""
    known = _prominence.get(snapshot)
    if known is None or known[0] != damping:
        known = _prominence[snapshot] = damping, pagerank(snapshot, damping).prominence
    return known[1]
