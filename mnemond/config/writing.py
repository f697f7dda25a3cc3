"""Settings of writing: capacity, comparison, gates, links, extraction, consolidation, summaries, the language model."""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta

from mnemond.config.sections import (
    DAY_S,
    HOUR_S,
    Duration,
    ModelName,
    Section,
    Share,
    VariableName,
    seconds,
)

# What a store keeps


Resolver = Literal["rules", "threshold", "llm", "host", "add_only"]


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
    """Relations between people and things that a memory states, beside those that are given with it."""

    engine: Annotated[
        GateEngine,
        Meta(description="`llm`: the model of `[llm]` reads them; they count as inferred. `rules`: none are read."),
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


QuoteClass = Literal[
    "asked", "decision", "instruction", "preference", "person", "correction", "agent_decision", "other"
]

CLASSES: Final[tuple[QuoteClass, ...]] = ("instruction", "preference", "decision", "correction", "asked", "person")
"""What rules take out of a session by default."""


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
    classes: Annotated[
        tuple[QuoteClass, ...],
        Meta(
            description="What rules take out of a session to tell it unasked, as quotes: standing instructions,"
            " preferences, decisions, corrections, what a person asks to remember (`asked`), and facts about the"
            " person; `agent_decision` is what an agent says was decided, `other` every other statement. What is not"
            " taken is found in the record of sessions.",
        ),
    ] = CLASSES
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
