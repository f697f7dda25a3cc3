"""Named bundles of the numbers of a ranking, as data with a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from mnemond.index.postings import Bm25
from mnemond.model.recall import ANCHORS, Mode
from mnemond.model.recall_policy import PageRankPolicy, PathPolicy, WalkPolicy
from mnemond.rank.decay import DECAY, DecayPolicy
from mnemond.rank.prior import PriorPolicy
from mnemond.rank.ranking import Ranking
from mnemond.rank.rerank import MEM0, RerankWeights
from mnemond.rank.rrf import RRF_K
from mnemond.rank.start_nodes import StartPolicy

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
