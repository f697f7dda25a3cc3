"""Settings of what is read: embedding and vectors, ranking, traversal."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from mnemond.config.sections import (
    Days,
    Dimensions,
    ModelName,
    Section,
    Share,
    VariableName,
)

# Vectors


Fusion = Literal["measured", "intent", "start_node", "mem0"]
PathScore = Literal["mean", "sum", "magma", "activation"]


class EmbeddingSettings(Section, frozen=True):
    """The model that computes vectors. A store keeps the embedder it was made with."""

    provider: Annotated[
        Literal["builtin", "ollama", "openai", "auto", "none"],
        Meta(
            description="`builtin`: a model shipped in the package, run in process; `ollama` and `openai` (any"
            " compatible server) send every memory and every query to `endpoint`; `auto`: Ollama if it answers"
            " and has the model when a store is made, else built-in; `none`: keywords only."
        ),
    ] = "builtin"
    model: Annotated[
        ModelName | None,
        Meta(
            description="The model of new stores. Built-in: minilm_static_256_int8 (default), minilm_l6_v2_int8"
            " (needs the extra `onnx`) or multilingual_e5_small_q4 (needs the extra `multilingual`); Ollama:"
            " nomic-embed-text by default; `openai` needs a name."
            " Overridden by `MNEMON_EMBED_MODEL`.",
        ),
    ] = None
    endpoint: Annotated[
        str,
        Meta(
            max_length=2_000,
            description="Address of the `ollama` or `openai` server. http only to this machine (127.0.0.0/8, ::1,"
            " localhost), https elsewhere. Overridden by `MNEMON_EMBED_ENDPOINT`.",
        ),
    ] = "http://localhost:11434"
    api_key_env: Annotated[
        VariableName | None,
        Meta(
            description="The environment variable of the daemon that holds the API key for `endpoint`."
            " The key itself is never stored.",
        ),
    ] = None
    batch_size: Annotated[int, Meta(ge=1, le=128, description="Maximum of texts in one request to `endpoint`.")] = 10
    dimensions: Annotated[
        Dimensions | None,
        Meta(
            description="Truncate the vectors of `endpoint` to this length, for models trained for it (Matryoshka)."
            " Overridden by `MNEMON_EMBED_DIMENSIONS`.",
        ),
    ] = None
    timeout_s: Annotated[
        float, Meta(gt=0, le=600, description="Timeout of a request to `endpoint`, in seconds; at most 2 for a query.")
    ] = 30.0
    probe_timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            le=60,
            description="Timeout of the check that `endpoint` is available, in seconds; made at most every 30 s.",
        ),
    ] = 2.0


class HnswSettings(Section, frozen=True):
    """The HNSW graph of a large store. Larger numbers find more of the nearest memories, and take longer."""

    # With m = 16, ef_construction = 100 and ef_search = 64, the usual defaults, the graph finds .92 of the nearest 20,
    # with these .98 (docs/decisions/0014-scanning-many-vectors.md).
    m: Annotated[int, Meta(ge=4, le=128, description="Links of a memory; twice as many on the lowest level.")] = 16
    ef_construction: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held while a memory is added.")] = 200
    ef_search: Annotated[int, Meta(ge=8, le=2_000, description="Candidates held during a search.")] = 200


class VectorSettings(Section, frozen=True):
    """The search for the nearest vectors. With every method the cosines of the best results are exact."""

    index: Annotated[
        Literal["auto", "exact", "int8", "hnsw"],
        Meta(
            description="`exact` reads every vector; `int8` a quarter of the bytes, then the best 100 exactly, which"
            " finds the same; `hnsw` searches a graph, which finds nearly the same (needs the extra `hnsw`, else it"
            " is `int8`); `auto` takes the fastest for the size of a store."
        ),
    ] = "auto"
    int8_from: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: number of memories from which `int8` is used.")
    ] = 3_000
    exact_limit: Annotated[
        int, Meta(ge=0, le=100_000_000, description="With `auto`: number of memories from which `hnsw` is used.")
    ] = 100_000
    hnsw: HnswSettings = HnswSettings()


# Recall


class AnchorSettings(Section, frozen=True):
    """The rows a recall starts from."""

    top_k: Annotated[
        int, Meta(ge=1, le=1_000, description="Maximum of memories that each signal, and following links, starts with.")
    ] = 20
    rrf_k: Annotated[
        int,
        Meta(ge=0, le=10_000, description="k of reciprocal rank fusion: the larger, the less the first ranks count."),
    ] = 60  # Cormack, Clarke and Büttcher 2009
    min_cosine: Annotated[Share, Meta(description="A cosine up to this is no evidence.")] = 0.10
    hypothetical: Annotated[
        bool,
        Meta(
            description="Match the questions stored with a memory, too. They are embedded by the first recall after a"
            " write, with a built-in embedder only."
        ),
    ] = False


class FusionSettings(Section, frozen=True):
    """Combination of the signals into one score."""

    profile: Annotated[
        Fusion,
        Meta(
            description="`measured`: the two-stage ranking, chosen by measurement; `intent`: the published weights by"
            " intent; `start_node`: the same from the few memories a walk starts at; `mem0`: the three weights of"
            " `[retrieval]`. Overridden by `profile` of a request."
        ),
    ] = "measured"


class RerankRulesSettings(Section, frozen=True):
    """Factors on the score in reranking, from properties of a memory besides its text: 1.05, for `pinned` 1.10."""

    recent: Annotated[bool, Meta(description="Made within 7 days.")] = False
    important: Annotated[bool, Meta(description="Of importance 4 or 5.")] = False
    own_scope: Annotated[bool, Meta(description="Of exactly the scope of the question.")] = False
    pinned: Annotated[bool, Meta(description="Pinned.")] = False


class RerankSettings(Section, frozen=True):
    """Reranking of the best results: word by word, or by a model that reads the question together with each of them."""

    provider: Annotated[
        Literal["lexical", "onnx", "http"],
        Meta(
            description="`lexical`: word by word, without a model; `onnx`: a cross-encoder in `directory`, run in the"
            " daemon (needs the extra `onnx`); `http`: the server at `endpoint`, with `/rerank` as llama.cpp, vLLM and"
            " text-embeddings-inference have it: the question and the best results are sent there."
        ),
    ] = "lexical"
    directory: Annotated[
        Annotated[str, Meta(max_length=4_096)] | None,
        Meta(description="Absolute path of the directory with `model.onnx` and `vocab.txt` (WordPiece, lower case)."),
    ] = None
    endpoint: Annotated[
        Annotated[str, Meta(max_length=2_000)] | None,
        Meta(
            description="Address of the server, with or without `/rerank` at its end. http only to this machine"
            " (127.0.0.0/8, ::1, localhost), https elsewhere."
        ),
    ] = None
    model: Annotated[ModelName | None, Meta(description="Name of the model, if the server has several.")] = None
    api_key_env: Annotated[
        VariableName | None, Meta(description="Environment variable that holds the server's key, if it needs one.")
    ] = None
    timeout_s: Annotated[
        float,
        Meta(gt=0, le=30, description="Seconds after which the first order stands, with `onnx` and `http`."),
    ] = 1.0
    shortlist: Annotated[
        int, Meta(ge=1, le=1_000, description="Results that are reranked, or as many as are requested.")
    ] = 50
    late_weight: Annotated[Share, Meta(description="Share of the reranking in a score.")] = 0.5
    min_query_tokens: Annotated[
        int, Meta(ge=0, le=100, description="Minimum of words in a question for `lexical`.")
    ] = 3
    rules: RerankRulesSettings = RerankRulesSettings()


class StartNodeSettings(Section, frozen=True):
    """The memories at which `fusion.profile = "start_node"` starts."""

    top_k: Annotated[int, Meta(ge=1, le=100, description="Maximum of starts.")] = 3
    alpha_meta: Annotated[Share, Meta(description="Maximum weight of age and keywords, beside the text.")] = 0.6
    alpha_mode: Annotated[
        Literal["age_ramp", "fixed"],
        Meta(description="`age_ramp`: that weight grows with age, up to 30 days; `fixed`: it is the same for all."),
    ] = "age_ramp"
    min_score: Annotated[Share, Meta(description="Minimum score of a start; if none has it, the best is taken.")] = 0.4


class TraversalSettings(Section, frozen=True):
    """Following links from the first results."""

    mode: Annotated[
        Literal["none", "beam", "ppr", "probabilistic"],
        Meta(
            description="`none`; `beam`: the best paths; `ppr`: personalised PageRank; `probabilistic`: a random walk."
            " Overridden by `mode` of a request."
        ),
    ] = "none"
    path_score: Annotated[
        PathScore,
        Meta(description="Score of a path with `beam`; `sum` prefers the farthest."),
    ] = "mean"  # a sum grows with every hop, which makes the farthest row the best
    lambda1: Annotated[float, Meta(ge=0, le=100, description="Weight of a link.")] = 1.0
    lambda2: Annotated[float, Meta(ge=0, le=100, description="Weight of the cosine of the memory it leads to.")] = 0.4
    gamma: Annotated[Share, Meta(description="Share of the previous path's score kept with `magma`.")] = 0.5
    max_nodes: Annotated[
        int, Meta(ge=1, le=1_000, description="Maximum of memories visited by a random walk, starts included.")
    ] = 5
    exploration_factor: Annotated[
        float, Meta(ge=0, le=100, description="Factor on the probability that a random walk follows a link.")
    ] = 2.0
    signal_decay: Annotated[Share, Meta(description="Maximum of the signal left after a link.")] = 0.8
    seed: Annotated[
        Literal["query", "random"],
        Meta(description="`query`: equal questions take the same random walk. Overridden by `seed` of a request."),
    ] = "query"


class TemporalDecaySettings(Section, frozen=True):
    """Fading of a memory with age, for walks and the prior."""

    enabled: Annotated[bool, Meta(description="Memories fade.")] = True
    midpoint_days: Annotated[Days, Meta(description="Age in days at which a memory is half faded.")] = 28.0
    steepness_days: Annotated[
        float, Meta(gt=0, le=36_500, description="Days around the midpoint in which most of the fading happens.")
    ] = 7.0
    linear_cutoff_days: Annotated[Days, Meta(description="Days of linear fading at the beginning.")] = 2.0
    floor: Annotated[Share, Meta(description="Minimum of the retention.")] = 0.05


class PageRankSettings(Section, frozen=True):
    """Centrality of a memory among the links of its store, for the prior."""

    enabled: Annotated[bool, Meta(description="Use the centrality.")] = True
    weight: Annotated[Share, Meta(description='Its weight beside the freshness, with `combine = "mix"`.')] = 0.3
    damping: Annotated[float, Meta(ge=0, le=0.99, description="Probability of following a link.")] = 0.85
    combine: Annotated[
        Literal["mix", "product"],
        Meta(description="`mix`: the weighted mean with the freshness; `product`: the product of both."),
    ] = "mix"


class PriorSettings(Section, frozen=True):
    """The part of a score that does not depend on the question: freshness, centrality, number of uses."""

    weight: Annotated[Share, Meta(description="Weight of the prior in a score.")] = 0.0


class TouchSettings(Section, frozen=True):
    """Results that count as used."""

    policy: Annotated[
        Literal["confident", "any", "never"],
        Meta(
            description="`confident`: results of at least medium confidence that were not found by their age alone;"
            " `any` result; `never`."
        ),
    ] = "confident"
    min_score: Annotated[Share, Meta(description="Minimum score of such a result.")] = 0.25


class RetrievalSettings(Section, frozen=True):
    """Answering questions."""

    limit: Annotated[
        int, Meta(ge=1, le=1_000, description="Results of recall, search and context if the request gives no limit.")
    ] = 10
    vector_weight: Annotated[
        float, Meta(ge=0, le=100, description='Weight of the cosine with `fusion.profile = "mem0"`.')
    ] = 0.5
    graph_weight: Annotated[
        float, Meta(ge=0, le=100, description='Weight of the links with `fusion.profile = "mem0"`.')
    ] = 0.3
    keyword_weight: Annotated[
        float, Meta(ge=0, le=100, description='Weight of the words with `fusion.profile = "mem0"`.')
    ] = 0.2
    rerank_enabled: Annotated[bool, Meta(description="Rerank the results. Overridden by `rerank` of a request.")] = (
        False
    )
    feedback_weight: Annotated[
        float,
        Meta(
            ge=0,
            le=0.5,
            description="Maximum part of a score by which `useful` and `misled` raise or lower it; one judgement"
            " moves a third of that. 0 = not at all.",
        ),
    ] = 0.0
    log_recalls: Annotated[
        bool,
        Meta(
            description="List recalls in the log: when, how many results and the best one, without the question's text."
        ),
    ] = True
    anchors: AnchorSettings = AnchorSettings()
    fusion: FusionSettings = FusionSettings()
    rerank: RerankSettings = RerankSettings()
    start_node: StartNodeSettings = StartNodeSettings()
    traversal: TraversalSettings = TraversalSettings()
    temporal_decay: TemporalDecaySettings = TemporalDecaySettings()
    pagerank: PageRankSettings = PageRankSettings()
    prior: PriorSettings = PriorSettings()
    touch: TouchSettings = TouchSettings()
