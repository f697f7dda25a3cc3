"""Named bundles of the numbers of a ranking, as data with a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.best_rows import TieOrderScores
from mnemond.index.bm25 import Bm25, SelectionRows
from mnemond.index.pagerank import pagerank
from mnemond.index.snapshot import Snapshot
from mnemond.memory.decay import DECAY, DecayPolicy, effective_ages, retentions
from mnemond.model.memory import DAY_US
from mnemond.model.policy import PageRankPolicy, PathPolicy, WalkPolicy
from mnemond.model.query import ANCHORS, Confidence, Explanation, Hit, Mode
from mnemond.recall.ranking import Ranking
from mnemond.recall.rerank import MEM0, RRF_K, RerankWeights, StartPolicy

# What speaks for a memory before anything is asked: how fresh, how central and how often read it is (spec 7.7).


class PriorPolicy(msgspec.Struct, frozen=True):
    """`pagerank_weight` w: how much prominence counts beside freshness, and `combine` how the two go together.
    `weight` ω: how much of a score the prior decides; 0 leaves the published formula as it is (spec 5,
    retrieval.pagerank and prior)."""

    pagerank_weight: float = 0.3
    weight: float = 0.0
    combine: Literal["mix", "product"] = "mix"


def access_factor(accesses: npt.NDArray[np.integer], most: int) -> TieOrderScores:
    """(1 + ln(1 + a)) / (1 + ln(1 + a_max)), in (0, 1]: small for what was never read, but not 0.

    `most`: the largest number of accesses of any memory. S2's form is 0 / 0 at a_max = 1 and never lets anything be
    read that was not read before.
    """
    factor: TieOrderScores = (1.0 + np.log1p(accesses)) / (1.0 + np.log1p(most))
    return factor


def priors(
    retention: TieOrderScores,
    prominence: TieOrderScores,
    accesses: npt.NDArray[np.integer],
    most: int,
    policy: PriorPolicy,
) -> TieOrderScores:
    """((1 − w)·τ + w·p̂)·access factor, in [0, 1]; shapes alike.

    A sum, not S2's product τ·p̂, which is to be had: being central keeps a memory from fading, it must not be able to
    lower anything (C26).
    """
    w = policy.pagerank_weight
    both = retention * prominence if policy.combine == "product" else (1.0 - w) * retention + w * prominence
    return both * access_factor(accesses, most)


def with_prior(scores: TieOrderScores, prior: TieOrderScores, policy: PriorPolicy) -> TieOrderScores:
    """score·((1 − ω) + ω·prior); shapes alike."""
    return scores * ((1.0 - policy.weight) + policy.weight * prior)


FusionName = Literal["measured", "intent", "start_node", "mem0"]


class ConfidenceBounds(msgspec.Struct, frozen=True):
    """Evidence below `medium` is low, below `high` medium, else high."""

    medium: float
    high: float


class Profile(msgspec.Struct, frozen=True):
    """One complete set of numbers.

    `fusion`: how signals become a score, in two stages as measured or as one of three designs has it (spec 5 and 11);
    `anchors`: the signals that take part unless a question names others, and `shares` what each of them is worth to the
    fusion of ranks, all the same where it is empty. `mode` and `path`: whether and how links are followed from what was
    found; what they reach counts for `graph` in units of the ranking, and what names or being new say for `named` and
    `new`. `hard_windows`: a question that names a time leaves out everything else. `similarity_floor`: a cosine not
    above it is no evidence at all. `top_k`: rows of each anchor, and results that links are followed from.
    `hypothetical`: whether the questions noted with a memory are compared with the question as well.
    """

    name: str
    bm25: Bm25
    similarity_floor: float
    confidence: ConfidenceBounds
    sources: dict[str, str]
    fusion: FusionName = "measured"
    anchors: frozenset[str] = frozenset({"keyword", "vector"})
    shares: Mapping[str, float] = {}
    ranking: Ranking = Ranking()
    mode: Mode = "none"
    graph: float = 1.0
    named: float = 1.0
    new: float = 1.0
    path: PathPolicy = PathPolicy()
    hard_windows: bool = False
    top_k: int = 20
    rrf_k: int = RRF_K
    hypothetical: bool = False
    weights: RerankWeights = MEM0
    walk: WalkPolicy = WalkPolicy()
    start: StartPolicy = StartPolicy()
    decay: DecayPolicy = DECAY
    centrality: PageRankPolicy = PageRankPolicy()
    prior: PriorPolicy = PriorPolicy()

    @property
    def is_slow(self) -> bool:
        """Whether a question takes too long for an event loop, whatever is asked: texts are embedded, or the links of a
        whole store followed, after each write."""
        return self.hypothetical or self.fusion == "start_node" or self.prior.weight > 0.0


MNEMOND = Profile(
    name="mnemond",
    bm25=Bm25(k1=1.2, b=1.0),
    similarity_floor=0.10,
    confidence=ConfidenceBounds(medium=0.42, high=0.62),
    sources={
        "bm25": "k1: Robertson and Zaragoza 2009; b: docs/decisions/0002, long messages and short turns in one store",
        "similarity_floor": "spec 11.2 (cosine > .10)",
        "ranking, mode, hard_windows, confidence": "docs/decisions/0015-two-stage-ranking.md",
    },
)
"""The default: what the measurements speak for."""

MNEMON = Profile(
    name="mnemon",
    bm25=Bm25(k1=1.2, b=0.75),
    similarity_floor=0.10,
    confidence=ConfidenceBounds(medium=0.25, high=0.60),
    fusion="intent",
    anchors=ANCHORS,
    mode="beam",
    path=PathPolicy(form="sum"),
    hard_windows=True,
    sources={"all": "spec 11 and 7.9 to 7.11 to the letter (S0)"},
)
"""The published ranking, for comparison."""

MNEMOSYNE = msgspec.structs.replace(
    MNEMON,
    name="mnemosyne",
    fusion="start_node",
    mode="probabilistic",
    path=PathPolicy(),
    hypothetical=True,
    prior=PriorPolicy(weight=1.0),
    sources={"all": "spec 5 (mnemosyne), 7.7, 7.8 and 11.3 (S2)"},
)
"""A walk by chance from the few memories that are most like the question, weighed by how fresh and central they are."""

MEMORY_LAYER = msgspec.structs.replace(
    MNEMON,
    name="mem0",
    fusion="mem0",
    anchors=frozenset({"keyword", "vector", "entity"}),
    shares={"vector": 0.5, "entity": 0.3, "keyword": 0.2},
    path=PathPolicy(),
    sources={"all": "spec 5 (mem0), 7.11 and 11.5 (S4); what it calls its graph are the names that memories share"},
)
"""Fixed weights for meaning, links and words."""

PROFILES_BY_NAME: dict[str, Profile] = {each.name: each for each in (MNEMOND, MNEMON, MNEMOSYNE, MEMORY_LAYER)}


# What speaks for memories whatever is asked: how fresh they are, how central, and how often read (spec 7.7).


CONSIDERED = 50
"""Results whose standing is looked at, or as many as are wanted: it may lift the fiftieth above the first."""

PRIOR = "prior"
"""Its name among the parts of a score."""

_prominence: WeakKeyDictionary[Snapshot, tuple[PageRankPolicy, TieOrderScores]] = WeakKeyDictionary()
"""Of the generations that were asked for it, for as long as they are looked at: following all links takes seconds in a
store of 100,000."""


def vigour(
    snapshot: Snapshot, rows: SelectionRows, now_us: int, decay: DecayPolicy
) -> tuple[TieOrderScores, TieOrderScores]:
    """Of some rows the retention τ at their effective age, in [0, 1], and their boost in days; shapes (rows,)."""
    boosts = np.array([snapshot.insight(row).boost_days for row in rows.tolist()], dtype=np.float64)
    ages = (now_us - snapshot.accessed_us[rows]) / DAY_US
    return retentions(effective_ages(ages, boosts), decay), boosts


def newest_us(snapshot: Snapshot, rows: SelectionRows) -> int:
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


def prominence(snapshot: Snapshot, policy: PageRankPolicy) -> TieOrderScores:
    """How central each row is, in [0, 1], shape (rows,)."""
    known = _prominence.get(snapshot)
    if known is None or known[0] != policy:
        known = _prominence[snapshot] = policy, pagerank(snapshot, policy).prominence
    return known[1]


# One word for how much a result is to be trusted.


def label(evidence: float, bounds: ConfidenceBounds) -> Confidence:
    """The word for evidence in [0, 1]. Absolute, so that the best of nothing relevant is still low."""
    if evidence < bounds.medium:
        return "low"
    return "medium" if evidence < bounds.high else "high"
