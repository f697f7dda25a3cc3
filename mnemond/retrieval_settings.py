"""The settings of the read path: how a question is answered where it does not say so itself (spec 5, `retrieval`).

The defaults are those of `mnemond.rank.profiles.MNEMOND`; a test compares them. A question that names another ranking
than its store's is answered by that ranking's own numbers.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mnemond.write_settings import Share

Days = Annotated[float, Meta(ge=0, le=36_500)]


class Anchors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a recall begins with."""

    top_k: Annotated[
        int, Meta(ge=1, le=1_000, description="Memories that each signal, or a link, begins with, at most.")
    ] = 20
    rrf_k: Annotated[
        int, Meta(ge=0, le=10_000, description="Of rank fusion: the larger, the less the first places count.")
    ] = 60
    min_cosine: Annotated[Share, Meta(description="A cosine not above it is no evidence at all.")] = 0.10
    hypothetical: Annotated[
        bool,
        Meta(
            description="Whether a memory is also found by the questions that were noted with it. They are embedded"
            " when something is asked after a write, by a built-in embedder alone."
        ),
    ] = False


class Fusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How signals become one score."""

    profile: Annotated[
        Literal["measured", "intent", "start_node", "mem0"],
        Meta(
            description="`measured`: in two stages, what the measurements speak for; `intent`: the published weights by"
            " intent; `start_node`: the same from the few memories a walk starts at; `mem0`: the three weights of"
            " `[retrieval]`. `profile` of a question goes before it."
        ),
    ] = "measured"


class RerankRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a memory besides its text lifts it in a second look, by 5 in 100, a pinned one by 10."""

    recent: Annotated[bool, Meta(description="Made within 7 days.")] = False
    important: Annotated[bool, Meta(description="Of importance 4 or 5.")] = False
    own_scope: Annotated[bool, Meta(description="Meant for exactly whom the question is for.")] = False
    pinned: Annotated[bool, Meta(description="Pinned.")] = False


class Rerank(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A second look at the best results, word by word."""

    shortlist: Annotated[int, Meta(ge=1, le=1_000, description="Results that have one, or as many as are wanted.")] = 50
    late_weight: Annotated[Share, Meta(description="Its share in a score.")] = 0.5
    min_query_tokens: Annotated[
        int, Meta(ge=0, le=100, description="Words of a question below which there is none.")
    ] = 3
    rules: RerankRules = RerankRules()


class StartNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The memories that `fusion.profile = "start_node"` starts at."""

    top_k: Annotated[int, Meta(ge=1, le=100, description="So many at most.")] = 3
    alpha_meta: Annotated[Share, Meta(description="The most that age and keywords count beside the text.")] = 0.6
    alpha_mode: Annotated[
        Literal["age_ramp", "fixed"],
        Meta(description="Whether that grows with age, up to 30 days, or is the same for all."),
    ] = "age_ramp"
    min_score: Annotated[Share, Meta(description="The least score of a start; where none has it, the best is one.")] = (
        0.4
    )


class Traversal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Following links from what was found."""

    mode: Annotated[
        Literal["none", "beam", "ppr", "probabilistic"],
        Meta(description="How. `mode` of a question goes before it."),
    ] = "none"
    path_score: Annotated[
        Literal["mean", "sum", "magma", "activation"],
        Meta(description="How a path is scored by `beam`; `sum` prefers what is farthest."),
    ] = "mean"
    lambda1: Annotated[float, Meta(ge=0, le=100, description="Weight of a link.")] = 1.0
    lambda2: Annotated[float, Meta(ge=0, le=100, description="Weight of the cosine of what it leads to.")] = 0.4
    gamma: Annotated[Share, Meta(description="What `magma` keeps of the path so far.")] = 0.5
    max_nodes: Annotated[
        int, Meta(ge=1, le=1_000, description="Memories a probabilistic walk visits, starts included.")
    ] = 5
    exploration_factor: Annotated[float, Meta(ge=0, le=100, description="How readily a walk follows links.")] = 2.0
    signal_decay: Annotated[Share, Meta(description="The most that is left of a signal after a link.")] = 0.8
    seed: Annotated[
        Literal["query", "random"],
        Meta(description="Whether a walk is the same each time for the same words, or never. A question may give one."),
    ] = "query"


class TemporalDecay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a memory fades with age, for walks and the prior."""

    enabled: Annotated[bool, Meta(description="Whether it does.")] = True
    midpoint_days: Annotated[Days, Meta(description="Days at which it is half faded.")] = 28.0
    steepness_days: Annotated[
        float, Meta(gt=0, le=36_500, description="Days around that in which most of it happens.")
    ] = 7.0
    linear_cutoff_days: Annotated[Days, Meta(description="Days in which it fades evenly.")] = 2.0
    floor: Annotated[Share, Meta(description="What is left in the end.")] = 0.05


class PageRank(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How central a memory is among the links of its store, for the prior."""

    enabled: Annotated[bool, Meta(description="Whether it counts.")] = True
    weight: Annotated[Share, Meta(description='How much, beside freshness; with `combine = "mix"`.')] = 0.3
    damping: Annotated[
        float, Meta(ge=0, le=0.99, description="How often a walker goes on instead of starting anew.")
    ] = 0.85
    combine: Annotated[
        Literal["mix", "product"],
        Meta(description="`mix`: a weighted mean with freshness; `product`: what is not central fades the more."),
    ] = "mix"


class Prior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What speaks for a memory before anything is asked: fresh, central, often read."""

    weight: Annotated[Share, Meta(description="How much of a score it decides. 0: nothing.")] = 0.0


class Touch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which results count as used."""

    policy: Annotated[
        Literal["confident", "any", "never"],
        Meta(
            description="`confident`: those for which something speaks besides their age, of a confidence above low;"
            " `any` result; `never`."
        ),
    ] = "confident"
    min_score: Annotated[Share, Meta(description="The least score of one that does.")] = 0.25


class Retrieval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How questions are answered."""

    limit: Annotated[
        int, Meta(ge=1, le=1_000, description="Results of recall, search and a context, unless the request says so.")
    ] = 10
    vector_weight: Annotated[
        float, Meta(ge=0, le=100, description='Of the cosine, with `fusion.profile = "mem0"`.')
    ] = 0.5
    graph_weight: Annotated[float, Meta(ge=0, le=100, description="Of what links say, likewise.")] = 0.3
    keyword_weight: Annotated[float, Meta(ge=0, le=100, description="Of the words, likewise.")] = 0.2
    rerank_enabled: Annotated[
        bool, Meta(description="Whether results have a second look unless a question says otherwise.")
    ] = False
    anchors: Anchors = Anchors()
    fusion: Fusion = Fusion()
    rerank: Rerank = Rerank()
    start_node: StartNode = StartNode()
    traversal: Traversal = Traversal()
    temporal_decay: TemporalDecay = TemporalDecay()
    pagerank: PageRank = PageRank()
    prior: Prior = Prior()
    touch: Touch = Touch()
