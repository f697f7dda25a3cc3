"""Parameters and results of extract: what of a conversation becomes memories."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.wire.params import IdOrPrefix, Name, OpId, Params, Result, StoreName

MAX_MESSAGES = 1_000
"""Messages of one request."""

MAX_FACTS = 200
"""Facts of one request that somebody else found."""

MAX_TEXT = 500_000
"""Characters of one message; a message of the wire has more bytes only where its limit was raised."""

Importance10 = Annotated[int, msgspec.Meta(ge=1, le=10)]
Intent = Literal["preference", "fact", "event", "relationship"]
Said = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]


class MessageParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One turn. Roles other than user and assistant are context. `timestamp` is when it was said, RFC 3339."""

    content: Said
    role: Name = "user"
    name: Name | None = None
    timestamp: str | None = None
    id: Name | None = None


class FactEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name in a fact, and what kind of thing it stands for."""

    text: str
    type: str = "concept"


class FactParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fact that whoever calls has found: one sentence that can be understood alone. What is left out, the rules fill
    in. `event_time` is when it was said or happened, RFC 3339."""

    content: Said
    importance: Importance10 | None = None
    intent: Intent | None = None
    category: str | None = None
    entities: Annotated[tuple[str | FactEntity, ...], msgspec.Meta(max_length=50)] = ()
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    attributed_to: Literal["user", "assistant"] = "user"
    event_time: str | None = None
    message_ids: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_MESSAGES)] = ()


Messages = Annotated[tuple[MessageParam, ...], msgspec.Meta(max_length=MAX_MESSAGES)]


class ExtractParams(Params, frozen=True, kw_only=True):
    """`messages`: what was said, oldest first; a string is one message of the user. The latest exchange, what the user
    said last and all after it, is read for facts; what was said before shows what it means; `whole` reads all of it.

    `facts` are found already and only resolved. `infer: false` stores every message that is no system message as it
    is. `importance_threshold` (1…10), `auto_resolve_conflicts`: the setting's value unless given. `observation_date`
    (RFC 3339): when it was said, where messages have no time of their own; default now. `dry_run` writes nothing.
    `show_context` reads and writes nothing, but returns what somebody needs who reads the exchange by themselves.
    Keys and passwords are cut out of what is said, and refused in conversation_id and the scope ids.
    """

    messages: Messages | MessageParam | Said = ()
    facts: Annotated[tuple[FactParam, ...], msgspec.Meta(max_length=MAX_FACTS)] | None = None
    infer: bool = True
    whole: bool = False
    importance_threshold: Importance10 | None = None
    auto_resolve_conflicts: bool | None = None
    observation_date: str | None = None
    conversation_id: Name | None = None
    session_id: Name | None = None
    user_id: Name | None = None
    agent_id: Name | None = None
    dry_run: bool = False
    show_context: bool = False
    op_id: OpId | None = None
    store: StoreName | None = None


class FactRelation(msgspec.Struct, frozen=True):
    """Who has to do with what: works_at, lives_in, prefers, replaces …"""

    source: str
    type: str
    target: str


class SourceContext(msgspec.Struct, frozen=True):
    """Where a fact comes from."""

    conversation_id: str | None
    message_ids: tuple[str, ...]


class FactView(msgspec.Struct, frozen=True, kw_only=True):
    """A fact and its fate. `importance` is that of ten, `importance5` the memory's own.

    `action`: CREATE, a new memory; UPDATE, it took the place of `previous_id`; NONE, nothing was written: `memory_id`
    says it already, or is null where the fact says too little; FAILED, `reason` says why. `op_id` is for undo.
    """

    content: str
    importance: int
    importance5: int
    band: Literal["trivial", "useful", "important", "critical"]
    intent: Intent
    category: str
    confidence: float
    attributed_to: Literal["user", "assistant"]
    said_at: str
    entities: list[FactEntity]
    relations: list[FactRelation]
    source_context: SourceContext
    action: Literal["CREATE", "UPDATE", "MERGE", "NONE", "FAILED"]
    resolution: Literal["DUPLICATE", "SUPERSEDE", "COEXIST"] | None
    memory_id: str | None
    previous_id: str | None
    reason: str
    redacted: list[str]
    op_id: str | None


class DroppedView(msgspec.Struct, frozen=True):
    """A part of the conversation that was not kept, and why not."""

    text: str
    reason: str


class ExtractCounts(msgspec.Struct, frozen=True):
    """Facts by their fate."""

    create: int = 0
    update: int = 0
    delete: int = 0
    merge: int = 0
    none: int = 0
    failed: int = 0


class ExtractResult(Result, frozen=True, kw_only=True):
    """Every fact with what became of it, in the order in which it was said. `engine`: rules, host (facts were given) or
    verbatim (`infer: false`)."""

    facts: list[FactView]
    dropped: list[DroppedView]
    engine: Literal["rules", "host", "verbatim"]
    counts: ExtractCounts
    retried: bool
    summary_updated: bool
    dry_run: bool
    store: str


class ContextMessage(msgspec.Struct, frozen=True):
    """One turn, without secrets."""

    role: str
    name: str | None
    content: str


class KnownMemory(msgspec.Struct, frozen=True):
    """A memory that shares words with the exchange. `number` is short for its id."""

    number: int
    id: str
    category: str
    content: str


class ExtractContext(Result, frozen=True, kw_only=True):
    """What somebody needs who reads an exchange for facts and hands them back as `facts`: the exchange, what was said
    before it (each message cut to 300 characters), the memories that may say it already, when it was said, and what its
    speaker is called. `summary` is that of the conversation, where there is one."""

    summary: str | None
    earlier: list[ContextMessage]
    latest: list[ContextMessage]
    known: list[KnownMemory]
    observed_at: str
    speaker: str | None
    store: str


# Parameters and results of the methods about a store's embedder and its vectors.


ModelName = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]


class EmbedStatusParams(Params, frozen=True, kw_only=True):
    """Which store."""

    store: StoreName | None = None


class SwitchView(msgspec.Struct, frozen=True):
    """A switch under way: `done` of `total` memories have a vector of the model `to`."""

    to: str
    provider: str
    dimension: int
    done: int
    total: int
    started_at: str


class WorkView(msgspec.Struct, frozen=True):
    """Embedding under way: a `run` somebody asked for, a `backfill` of what could not be embedded when it was written,
    or a `switch`. `waiting`: why nothing happens just now; it is tried again by itself."""

    kind: Literal["run", "backfill", "switch"]
    done: int
    total: int
    failed: int
    waiting: str | None


class CalibrationView(msgspec.Struct, frozen=True):
    """Median cosines of unrelated memories and of paraphrases, and where they come from."""

    unrelated: float | None
    paraphrase: float | None
    source: Literal["shipped", "measured", "unknown"]


class ThresholdsView(msgspec.Struct, frozen=True):
    """Cosines on the scale of the store's embedder; `override` is null where no cosine decides alone."""

    update: float
    duplicate: float
    override: float | None
    link: float
    review: float


class EmbedStatusResult(Result, frozen=True, kw_only=True):
    """A store's vectors and what makes them. `coverage` in [0, 1], of active memories. `stale`: vectors of another
    model or dimension, which are not compared with anything. `ollama_available`: whether it is
    available and Ollama's."""

    store: str
    total_insights: int
    embedded: int
    coverage: float
    provider: str | None
    available: bool
    ollama_available: bool
    reason: str | None
    model: str | None
    dimension: int | None
    stale: int
    work: WorkView | None
    switch: SwitchView | None
    calibration: CalibrationView
    thresholds: ThresholdsView


class EmbedRunParams(Params, frozen=True, kw_only=True):
    """What lacks a vector; with `all` every memory anew, with `id` that one anew.

    The answer comes when it is done. It goes on when the caller goes away; a stop of the daemon ends it, and what was
    made until then is kept. Whoever asks for the same meanwhile gets the same answer.
    """

    all: bool = False
    id: IdOrPrefix | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedRunResult(Result, frozen=True, kw_only=True):
    """`embedded`: the one memory asked for. `backfill_complete`: how many have a vector now, and how many still lack
    one. `complete`: there was nothing to do, and why."""

    status: Literal["embedded", "backfill_complete", "complete"]
    id: str | msgspec.UnsetType = msgspec.UNSET
    succeeded: int | msgspec.UnsetType = msgspec.UNSET
    failed: int | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    dimension: int
    model: str
    op_id: str
    replayed: bool


class EmbedSwitchParams(Params, frozen=True, kw_only=True):
    """The embedder to change to, or `abort` alone to stay with the present one."""

    provider: Literal["builtin", "ollama", "openai"] | None = None
    model: ModelName | None = None
    abort: bool = False
    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedSwitchResult(Result, frozen=True, kw_only=True):
    """`switching`: it has begun, for `total` memories; `embed.status` tells how far it is. `aborted`: `dropped`
    vectors were thrown away."""

    status: Literal["switching", "aborted"]
    model: str
    provider: str | msgspec.UnsetType = msgspec.UNSET
    dimension: int | msgspec.UnsetType = msgspec.UNSET
    total: int | msgspec.UnsetType = msgspec.UNSET
    started_at: str | msgspec.UnsetType = msgspec.UNSET
    dropped: int | msgspec.UnsetType = msgspec.UNSET
    message: str
    op_id: str
    replayed: bool


class EmbedCalibrateParams(Params, frozen=True, kw_only=True):
    """Which store."""

    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedCalibrateResult(Result, frozen=True, kw_only=True):
    """What was measured and is used from now on, and the thresholds that follow from it."""

    status: Literal["calibrated"]
    model: str
    unrelated: float
    paraphrase: float
    pairs: int
    paraphrases: int
    thresholds: ThresholdsView
    op_id: str
    replayed: bool
