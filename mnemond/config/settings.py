"""The settings of the write path: what is compared, linked, paired and pruned, as `config.toml` names it (spec 5).

The defaults are those of `mnemond.model.policy`; a test compares them. What is not here is not for a user to move.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": DAY_S}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd])")

MAX_S: Final = 3_650 * DAY_S
"""Ten years, the longest duration."""

Share = Annotated[float, Meta(ge=0, le=1)]
Duration = Annotated[float, Meta(ge=0, le=MAX_S)] | Annotated[str, Meta(pattern="^[0-9]{1,9}[smhd]$")]


def seconds(duration: float | str) -> float:
    """A valid duration in seconds: a number, or text like "90s", "15m", "12h", "30d"."""
    if not isinstance(duration, str):
        return duration
    found = _DURATION.fullmatch(duration)
    assert found is not None, "the pattern of the setting is the same"  # noqa: S101
    return float(found[1]) * _UNITS[found[2]]


class Diff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a new memory repeats, corrects or refines an old one. Similarities of cosines are stated for a reference
    embedder (unrelated .35, paraphrase .85) and carried over to the store's own."""

    update: Annotated[
        Share, Meta(description="Similarity from which two memories are about the same thing; below `duplicate`.")
    ] = 0.65
    duplicate: Annotated[Share, Meta(description="Similarity above which a memory may be a repetition.")] = 0.90
    cosine_override: Annotated[
        Share,
        Meta(
            description="Cosine from which it counts instead of the words, where it is larger. It is raised where the"
            " embedder cannot tell a paraphrase from a contradiction."
        ),
    ] = 0.70
    novelty: Annotated[
        Share, Meta(description="Share of new words up to which a memory may still be a repetition.")
    ] = 0.10
    min_tokens: Annotated[
        int, Meta(ge=1, le=100, description="Words a text needs for its share in a longer one to count.")
    ] = 3
    limit: Annotated[int, Meta(ge=1, le=100, description="Memories that diff, and `conflicts`, tell of at most.")] = 5


class SubstanceFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not kept because it says too little, on the channels hook, batch and extract."""

    min_confidence: Annotated[Share, Meta(description="How sure it must be that a text says too little.")] = 0.7


class Redundancy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a memory that is new still repeats another, and the two become a pair. Durations are seconds, or text like
    "90s", "15m", "12h", "30d"."""

    enabled: Annotated[bool, Meta(description="Whether pairs are made.")] = True
    threshold: Annotated[Share, Meta(description="Redundancy above which two memories are a pair.")] = 0.25
    alpha_nmi: Annotated[
        Share, Meta(description="Weight of what the vectors have in common; the rest is that of the keywords.")
    ] = 0.6
    bins: Annotated[int, Meta(ge=2, le=1024, description="Bins of the estimate from the vectors.")] = 16
    boost_max: Annotated[Duration, Meta(description="What the older half of a pair gains in life at most.")] = (
        30 * DAY_S
    )
    boost_crit: Annotated[Duration, Meta(description="Time between the two at which it gains half of that.")] = (
        7 * DAY_S
    )
    boost_scale: Annotated[
        Duration, Meta(description="How far around `boost_crit` the gain changes; 1 s at least.")
    ] = DAY_S


class HypotheticalQueries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions a memory would answer, noted with it."""

    enabled: Annotated[bool, Meta(description="Whether they are noted.")] = True
    max_queries: Annotated[int, Meta(ge=0, le=10, description="So many a memory at most.")] = 2


class EdgeSimilarity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How heavy the link of a pair is."""

    alpha_key: Annotated[Share, Meta(description="Weight of the keywords; the rest is that of the cosine.")] = 0.3
    threshold: Annotated[Share, Meta(description="The least weight of such a link.")] = 0.5


class Commitment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done with a memory when it is stored."""

    substance_filter: SubstanceFilter = SubstanceFilter()
    redundancy: Redundancy = Redundancy()
    hypothetical_queries: HypotheticalQueries = HypotheticalQueries()
    edge_similarity: EdgeSimilarity = EdgeSimilarity()


class Extraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a conversation becomes memories."""

    enabled: Annotated[bool, Meta(description="Whether conversations are read for facts at all.")] = True
    importance_threshold: Annotated[
        int, Meta(ge=1, le=10, description="Importance, from 1 to 10, below which a fact is not kept.")
    ] = 3
    message_window: Annotated[
        int, Meta(ge=0, le=100, description="Messages before the latest exchange that are looked at for what it means.")
    ] = 10
    max_facts: Annotated[int, Meta(ge=1, le=100, description="Facts of one exchange that are kept at most.")] = 20
    auto_resolve_conflicts: Annotated[
        bool,
        Meta(description="Whether a fact takes the place of a memory that it contradicts. false = both are kept."),
    ] = True


class Temporal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links to memories of about the same time."""

    window_hours: Annotated[float, Meta(ge=0, le=87_600, description="Hours two memories may lie apart.")] = 24.0
    max_proximity: Annotated[int, Meta(ge=0, le=100, description="Links to the nearest in time, at most.")] = 10


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links to memories that name the same people and things."""

    max_links: Annotated[int, Meta(ge=0, le=100, description="Newest memories linked for each name.")] = 5
    max_total: Annotated[int, Meta(ge=0, le=500, description="Such links of a new memory in all.")] = 50
    idf_min_docs: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Memories from which on rare names weigh more than frequent ones.")
    ] = 6
    idf_floor: Annotated[Share, Meta(description="The least weight of a frequent name.")] = 0.1


class Causal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links from causes to effects."""

    min_overlap: Annotated[Share, Meta(description="Share of the words that two memories must have in common.")] = 0.15
    lookback: Annotated[int, Meta(ge=0, le=200, description="Newest memories that are looked at.")] = 10
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Candidates told to whoever judges them.")] = 10


class Semantic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links in meaning; cosines of the reference embedder."""

    auto: Annotated[Share, Meta(description="Cosine from which memories are linked unasked; above `review`.")] = 0.80
    review: Annotated[Share, Meta(description="Cosine from which they are candidates.")] = 0.40
    fallback_min: Annotated[
        Share, Meta(description="Share of common words from which they are candidates where there are no vectors.")
    ] = 0.10
    max_auto: Annotated[int, Meta(ge=0, le=100, description="Links made unasked, at most.")] = 3
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Candidates told, at most.")] = 5


class Graph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which links a new memory gets."""

    temporal: Temporal = Temporal()
    entity: Entity = Entity()
    causal: Causal = Causal()
    semantic: Semantic = Semantic()


class Lifecycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a store keeps."""

    max_insights: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="Active memories a store holds. A write beyond it prunes the least important ones, never a"
            " pinned one. 0 = no cap.",
        ),
    ] = 1000
    prune_batch: Annotated[int, Meta(ge=1, le=1000, description="Memories one write prunes at most.")] = 10
    immune_importance: Annotated[
        int, Meta(ge=1, le=6, description="Importance from which a memory is never pruned; 6 = none for that.")
    ] = 4
    immune_access: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Times recalled from which a memory is never pruned.")
    ] = 3
    decay_interval: Annotated[
        Duration,
        Meta(description="How often the importance that is shown follows the time that passed; at least a minute."),
    ] = HOUR_S
    prune_interval: Annotated[
        Duration, Meta(description="How often what is beyond the cap, or has faded, is pruned; at least a minute.")
    ] = HOUR_S
    extract_interval: Annotated[
        Duration,
        Meta(
            description="How often it is looked whether exchanges with agents are left to be read; at least a minute."
            " They are read soon after they were told anyway, while nobody uses the store."
        ),
    ] = 600
    backup_interval: Annotated[
        Duration, Meta(description="How often a store is backed up by itself; at least a minute. 0 = never.")
    ] = DAY_S
    full_verify_interval: Annotated[
        Duration,
        Meta(description="How often all of a store is looked at, every page included; at least a minute. 0 = never."),
    ] = 7 * DAY_S
    max_oplog: Annotated[
        int, Meta(ge=100, le=5_000, description="Lines of the log that are kept; more than that for a day at most.")
    ] = 5_000


class Pruning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether memories go that have faded and that no link keeps, where a store is nearly full."""

    enabled: Annotated[bool, Meta(description="Whether they go.")] = False
    threshold: Annotated[
        Share,
        Meta(description="What their heaviest link, times what age left of them, must not reach. Alone counts as 0.5."),
    ] = 0.01


def contradictions(diff: Diff, commitment: Commitment, graph: Graph) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with settings that are valid by themselves: the path of one of them, and a sentence."""
    found: list[tuple[tuple[str, ...], str]] = []
    if not diff.update < diff.duplicate:
        sentence = f"diff.update ({diff.update:g}) must be below diff.duplicate ({diff.duplicate:g})"
        found.append((("diff", "update"), sentence))
    semantic = graph.semantic
    if not semantic.review < semantic.auto:
        sentence = f"graph.semantic.review ({semantic.review:g}) must be below graph.semantic.auto ({semantic.auto:g})"
        found.append((("graph", "semantic", "review"), sentence))
    pairs = commitment.redundancy
    for name, duration, least_s in (
        ("boost_max", pairs.boost_max, 0),
        ("boost_crit", pairs.boost_crit, 0),
        ("boost_scale", pairs.boost_scale, 1),
    ):
        if not least_s <= seconds(duration) <= MAX_S:
            sentence = f"commitment.redundancy.{name} must be {least_s} s to {MAX_S // DAY_S} d"
            found.append((("commitment", "redundancy", name), sentence))
    return found


# Profiles: named sets of other defaults, as data (spec 3 and 5).
#
# Each names the design whose numbers it has: `mnemon` is S0 and S3 to the letter, `classic` S1, `mnemosyne` S2,
# `mem0` S4; `balanced` is what stands in `mnemond.config.settings`. A profile has a row here for every setting in
# which it differs.


_PUBLISHED: Final[Mapping[str, object]] = {
    "retrieval.fusion.profile": "intent",
    "retrieval.traversal.mode": "beam",
    "retrieval.traversal.path_score": "sum",
}

PROFILES: Final[Mapping[str, Mapping[str, object]]] = {
    "balanced": {},
    "mnemon": {"commitment.redundancy.enabled": False, **_PUBLISHED},
    "classic": {"diff.update": 0.50, "commitment.redundancy.enabled": False, **_PUBLISHED},
    "mnemosyne": {
        "pruning.enabled": True,
        "retrieval.fusion.profile": "start_node",
        "retrieval.traversal.mode": "probabilistic",
        "retrieval.prior.weight": 1.0,
        "retrieval.anchors.hypothetical": True,
    },
    "mem0": {
        "diff.update": 0.85,
        "commitment.redundancy.enabled": False,
        "retrieval.fusion.profile": "mem0",
        "retrieval.traversal.mode": "beam",
    },
}
"""By name, each setting with its value. What of spec 5's table is missing has no setting yet."""


# The settings of what memory does with the hooks of coding agents, as `config.toml` names them.


class Hooks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What memory does by itself in the sessions of coding agents: what it says, and what it keeps."""

    enabled: Annotated[
        bool, Meta(description="Whether anything is said or kept. Without it hooks are answered with nothing.")
    ] = True
    project: Annotated[
        Literal["tag", "store", "none"],
        Meta(
            description="What a project is, which is named after the directory an agent works in: a `tag` of what is"
            " kept, in the store that is used anyway; a `store` of its own, called after the directory and where it"
            " lies; or `none`."
        ),
    ] = "tag"
    max_characters: Annotated[
        int,
        Meta(
            ge=200,
            le=9_000,
            description="Characters that are said at one moment at most, everything included. Agents show 10,000.",
        ),
    ] = 4_000
    prompt_results: Annotated[
        int, Meta(ge=0, le=20, description="Memories that a prompt brings up at most. 0 = none ever.")
    ] = 5
    min_confidence: Annotated[
        Literal["low", "medium", "high"],
        Meta(
            description="The confidence below which a prompt brings up nothing. With `medium` most prompts bring up"
            " something, and most of that is beside the point."
        ),
    ] = "high"
    keep: Annotated[
        bool,
        Meta(description="Whether prompts with their answers, and summaries, are kept to be read for facts."),
    ] = True


# The settings of the log, and its levels.


Level = Literal["debug", "info", "warning", "error"]
LEVELS: Final[dict[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""By weight, as Python's `logging` has them."""


class Log(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the daemon writes down of its own doings. Memory text never enters a log. Where the daemon runs as a service
    of systemd the journal keeps it; everywhere else it is `log/mnemond.log` in the data directory."""

    level: Annotated[Level, Meta(description="The least important lines that are kept.")] = "info"
    max_bytes: Annotated[
        int, Meta(ge=4096, le=1 << 30, description="Size of the file from which on a new one is begun.")
    ] = 4 << 20
    """Chosen: some 20,000 lines, weeks of a healthy daemon."""
    older_files: Annotated[
        int, Meta(ge=0, le=100, description="Earlier files that are kept: `mnemond.log.1` is the newest of them.")
    ] = 4
    """As logrotate keeps them on Debian (`rotate 4` in /etc/logrotate.conf)."""


# The settings of the read path: how a question is answered where it does not say so itself (spec 5, `retrieval`).
#
# The defaults are those of `mnemond.recall.profiles.MNEMOND`; a test compares them. A question that names another
# ranking than its store's is answered by that ranking's own numbers.


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


# Every setting there is: typed, frozen, with its default and what it means.
#
# Where values come from is `mnemond.config.loading`; the page docs/config.md is made by `mnemond.docs_pages`.


ModelName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]
VariableName = Annotated[str, Meta(max_length=200, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Dimensions = Annotated[int, Meta(ge=1, le=16_384)]


class Embedding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What turns text into vectors. A store keeps the embedder it was made with."""

    provider: Annotated[
        Literal["builtin", "ollama", "openai", "auto", "none"],
        Meta(
            description="`builtin` is a model shipped in the package, run in process; `ollama` and `openai` (any"
            " compatible server) send every memory and every query to `endpoint`; `auto` is Ollama when it answers"
            " and has the model while a store is made, else built-in; `none` keeps keywords only."
        ),
    ] = "builtin"
    model: Annotated[
        ModelName | None,
        Meta(
            description="The model of new stores: minilm_static_256_int8 (built-in, default) or minilm_l6_v2_int8"
            " (built-in, needs the extra `onnx`); nomic-embed-text is what Ollama is asked for by default; `openai`"
            " needs a name. `MNEMON_EMBED_MODEL` goes before it.",
        ),
    ] = None
    endpoint: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="Where `ollama` or `openai` answers. http only to this machine (127.0.0.0/8, ::1, localhost),"
            " https elsewhere. `MNEMON_EMBED_ENDPOINT` goes before it.",
        ),
    ] = "http://localhost:11434"
    api_key_env: Annotated[
        VariableName | None,
        Meta(
            description="The environment variable of the daemon that holds the key `endpoint` asks for."
            " The key itself is never stored.",
        ),
    ] = None
    batch_size: Annotated[int, Meta(ge=1, le=128, description="Texts one request to `endpoint` carries.")] = 10
    dimensions: Annotated[
        Dimensions | None,
        Meta(
            description="Keep only so many numbers of each vector `endpoint` gives, for models made for it"
            " (Matryoshka). `MNEMON_EMBED_DIMENSIONS` goes before it.",
        ),
    ] = None
    timeout_s: Annotated[
        float, Meta(gt=0, le=600, description="Seconds a request to `endpoint` may take; for a query at most 2.")
    ] = 30.0
    probe_timeout_s: Annotated[
        float,
        Meta(gt=0, le=60, description="Seconds `endpoint` may take to say that it is there; asked every 30 s at most."),
    ] = 2.0


class Hnsw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph of a large store. Larger numbers find more of the nearest memories, and take longer."""

    m: Annotated[int, Meta(ge=4, le=128, description="Links of a memory; twice as many on the lowest level.")] = 16
    ef_construction: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held while a memory is linked.")] = 200
    ef_search: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held while a query is answered.")] = 200


class Vector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the nearest vectors are found. Whatever finds them, the cosines of those on top are exact."""

    index: Annotated[
        Literal["auto", "exact", "int8", "hnsw"],
        Meta(
            description="`exact` reads every vector; `int8` a quarter of the bytes, then the best 100 exactly, which"
            " finds the same; `hnsw` follows a graph, which finds nearly the same (needs the extra `hnsw`, else it is"
            " `int8`); `auto` takes what is fastest for the size of a store."
        ),
    ] = "auto"
    int8_from: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: memories from which it is `int8`.")
    ] = 3_000
    exact_limit: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: memories from which it is `hnsw`.")
    ] = 100_000
    hnsw: Hnsw = Hnsw()


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the socket. They protect the daemon and its other clients from one bad client."""

    max_connections: Annotated[int, Meta(ge=1, le=4096, description="Connections held at once.")] = 256
    max_message_bytes: Annotated[
        int, Meta(ge=65_536, le=64 << 20, description="Bytes of one message, without its newline.")
    ] = 1 << 20
    max_in_flight: Annotated[
        int, Meta(ge=1, le=4096, description="Unanswered requests of one connection; beyond it reading stops.")
    ] = 64
    first_byte_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds a new connection may stay silent.")
    ] = 10.0
    message_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds from the first byte of a message to its end.")
    ] = 5.0
    write_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds a client may take no bytes of a waiting reply.")
    ] = 30.0
    hook_deadline_ms: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Milliseconds a hook of a coding agent waits for what memory has to say."),
    ] = 250
    drain_s: Annotated[
        float, Meta(gt=0, le=2.5, description="Seconds a stop may spend answering what was already received.")
    ] = 2.0


class Backup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Copies of stores, in the directory `backups` of the data directory."""

    keep: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Backups kept of each store, of each kind: those asked for, and those made before a store was"
            " restored or removed. A new one takes the place of the oldest.",
        ),
    ] = 10


Profile = Literal["balanced", "mnemon", "classic", "mnemosyne", "mem0"]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings outside of any table; they stand at the beginning of the file."""

    profile: Annotated[
        Profile,
        Meta(description="A named set of other defaults, see below. Whatever is set goes before it."),
    ] = "balanced"
    lifecycle: Lifecycle = Lifecycle()
    pruning: Pruning = Pruning()
    embedding: Embedding = Embedding()
    vector: Vector = Vector()
    diff: Diff = Diff()
    commitment: Commitment = Commitment()
    graph: Graph = Graph()
    extraction: Extraction = Extraction()
    retrieval: Retrieval = Retrieval()
    backup: Backup = Backup()
    server: Server = Server()
    hooks: Hooks = Hooks()
    log: Log = Log()
