"""The configuration: its tables, what it refuses, and profiles. A setting is declared once, with type, limits, default
and description, in this module or in `mnemond.config.reading` and `mnemond.config.writing`.

The code takes these structs as they are: memory, recall, the jobs and the server read their numbers from them.
`mnemond.config.loading` fills them from files, variables and options; `mnemond.docs_pages` makes docs/config.md from
them. Numbers that are not settings are constants of the module that uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from mnemond.config.reading import EmbeddingSettings, RetrievalSettings, VectorSettings
from mnemond.config.sections import DAY_S, MAX_S, Section, Share, seconds
from mnemond.config.writing import (
    CommitmentSettings,
    ConsolidationSettings,
    CoreSummarySettings,
    DiffSettings,
    ExtractionSettings,
    GraphSettings,
    LifecycleSettings,
    LlmSettings,
    PruningSettings,
)

# The daemon


Level = Literal["debug", "info", "warning", "error"]
LEVELS: Final[dict[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The numeric levels of Python's `logging`."""


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
    encrypt_to: Annotated[
        tuple[Annotated[str, Meta(pattern="^(age1[0-9a-z]{20,}|ssh-(ed25519|rsa) [0-9A-Za-z+/=]{60,}( .*)?)$")], ...]
        | None,
        Meta(
            description="Recipients of age (age1…, ssh-ed25519 …, ssh-rsa …) for which every backup is encrypted, with"
            " the extra `age`. None = no backup is encrypted. A secret key has no place here."
        ),
    ] = None


class ServerSettings(Section, frozen=True):
    """Limits of the socket. They protect the daemon and its other clients from one bad client."""

    max_connections: Annotated[int, Meta(ge=1, le=4096, description="Maximum of open connections.")] = 256
    max_open_stores: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Stores that stay open. Of more, the one least recently used is closed, until it is asked for"
            " again or one of its jobs is due; a shared one stays open. A quarter more are open while all are in use."
            " Fewer if the process may not open so many files (`ulimit -n`).",
        ),
    ] = 32
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
    ] = 2_400
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
        bool,
        Meta(
            description="Keep prompts with their answers, and summaries: as the record of sessions, which recall finds,"
            " and to extract facts from them."
        ),
    ] = True


class SessionSettings(Section, frozen=True):
    """The record of agents' sessions: each prompt with its answer, as it was said."""

    keep_days: Annotated[
        int, Meta(ge=0, le=36_500, description="Days from an exchange, or its import, that it is kept. 0 = no maximum.")
    ] = 180
    keep_mb: Annotated[
        int,
        Meta(ge=0, le=10_000, description="Megabytes of text that are kept in a store, the newest. 0 = no maximum."),
    ] = 50


class SyncSettings(Section, frozen=True):
    """What `mnemonctl sync` carries between your devices."""

    passages: Annotated[
        bool,
        Meta(
            description="Exchange what was said in sessions as well. A device where it is off neither writes nor takes"
            " in any, but for the purges of those that it has."
        ),
    ] = False


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
    sessions: SessionSettings = SessionSettings()
    sync: SyncSettings = SyncSettings()
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
