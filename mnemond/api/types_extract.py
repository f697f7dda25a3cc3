"""extract, and the methods about embeddings: parameters and results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mnemond.api.types_memories import Conversation, Directory, DryRun, ToldIn
from mnemond.model.answers import Dropped
from mnemond.model.outcomes import (
    MAX_MESSAGES,
    MAX_SAID,
    EmbedCalibrateResult,
    EmbedRunResult,
    EmbedSwitchResult,
    FactEntity,
    Fate,
    HostFact,
    Intent,
    Result,
    ThresholdsView,
)
from mnemond.wire.params import (
    Access,
    IdOrPrefix,
    Name,
    ScopedWriteParams,
    StoreParams,
    Time,
    WriteParams,
    about,
    method,
)

MAX_FACTS = 200
"""Facts of one request that the caller found."""

Importance10 = Annotated[int, Meta(ge=1, le=10)]
Text = Annotated[str, Meta(max_length=MAX_SAID)]


class MessageParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One turn. Roles other than user and assistant are context. `timestamp` is when it was said, RFC 3339."""

    content: Text
    role: Name = "user"
    name: Name | None = None
    timestamp: str | None = None
    id: Name | None = None


Messages = Annotated[tuple[MessageParam, ...], Meta(max_length=MAX_MESSAGES)]
TALK = '[{"role": "user", "content": "I prefer tabs"}]'
FACTS = '[{"content": "Ana works at Acme", "importance": 7}]'


class ExtractParams(ScopedWriteParams, frozen=True, kw_only=True):
    """`messages`: the conversation, oldest first; a string is one message of the user. The latest exchange, the last
    message of the user and all after it, is read for facts; earlier messages are its context.

    `importance_threshold` and `auto_resolve_conflicts` are as configured unless given. Keys and passwords are cut out
    of the messages, and refused in conversation_id and the scope ids.
    """

    messages: Annotated[
        Messages | MessageParam | Text,
        about(
            "the conversation: one message or a list, oldest first",
            metavar="JSON|-",
            json=True,
            stdin=True,
            example=TALK,
        ),
    ] = ()
    facts: Annotated[
        Annotated[tuple[HostFact, ...], Meta(max_length=MAX_FACTS)] | None,
        about(
            "facts that were found already; they are only resolved",
            metavar="JSON|-",
            json=True,
            stdin=True,
            example=FACTS,
        ),
    ] = None
    infer: Annotated[
        bool,
        about(
            "find facts; false stores every message but those of the system as it is",
            cli="store every message as it is",
        ),
    ] = True
    whole: Annotated[bool, about("read all messages, not the latest exchange alone")] = False
    importance_threshold: Annotated[Importance10 | None, about("keep nothing below this; usually 3")] = None
    auto_resolve_conflicts: Annotated[
        bool | None, about("let a fact take the place of what it contradicts, or keep both")
    ] = None
    observation_date: Annotated[
        Time | None, about("when it was said, RFC 3339, where messages have no time of their own; now unless given")
    ] = None
    conversation_id: Conversation = None
    project: ToldIn = None
    directory: Directory = None
    dry_run: DryRun = False
    show_context: Annotated[
        bool, about("show what is needed to find the facts by yourself; read and write nothing")
    ] = False


class SourceContext(msgspec.Struct, frozen=True):
    """Where a fact comes from."""

    conversation_id: str | None
    message_ids: tuple[str, ...]


class FactView(Fate, frozen=True, kw_only=True):
    """A fact and its outcome. `importance` is that of ten, `importance5` the memory's own.

    `action`: CREATE, a new memory; UPDATE, it took the place of `previous_id`; NONE, no memory was made: `memory_id`
    says it already, or is null if the fact says too little; FAILED, see `reason`. `united`: what was added to the
    memory that says it already, null if nothing was to be added; `no_longer`: the statement of the replaced memory that
    is no longer held. `model` found it, null for the rules. `op_id` is for undo.
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
    source_context: SourceContext
    redacted: list[str]
    op_id: str | None
    model: str | None = None


class ExtractCounts(msgspec.Struct, frozen=True):
    """Facts by outcome."""

    create: int = 0
    update: int = 0
    delete: int = 0
    merge: int = 0
    none: int = 0
    failed: int = 0


class ExtractResult(Result, frozen=True, kw_only=True):
    """Every fact with its outcome, those of the rules first, in the order in which they were said.

    `engine`: rules, auto or llm (with a model), host (facts were given) or verbatim (`infer: false`). `retried`: the
    model's first answer could not be read. `unread`: why the model gave no answer, so that the rules alone found these
    facts; then `job_id` is the exchange in the queue that a job reads again, null if it cannot be queued. `pruned_ids`:
    memories that left a full store for these facts. `held`: texts that give orders to a program, which are no memories
    and wait for a person (`reviews`)."""

    facts: list[FactView]
    dropped: list[Dropped]
    engine: Literal["rules", "auto", "llm", "host", "verbatim"]
    counts: ExtractCounts
    retried: bool
    summary_updated: bool
    dry_run: bool
    store: str
    pruned_ids: tuple[str, ...] = ()
    unread: str | None = None
    job_id: str | None = None
    held: int = 0


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
    """The input for a caller that reads an exchange for facts and hands them back as `facts`: the exchange, the
    messages before it (each cut to 300 characters), the memories that may say it already, when it was said, and the
    name of its speaker. `summary` is that of the conversation, if there is one."""

    summary: str | None
    earlier: list[ContextMessage]
    latest: list[ContextMessage]
    known: list[KnownMemory]
    observed_at: str
    speaker: str | None
    store: str


EXTRACT = method(
    "extract", ExtractParams, ExtractResult | ExtractContext, Access.WRITE,
    "Remember what of a conversation is worth it, fact by fact.", positional=("messages",),
)  # fmt: skip

# A store's embedder and its vectors.


ModelName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]


class SwitchView(msgspec.Struct, frozen=True):
    """A switch under way: `done` of `total` memories have a vector of the model `to`."""

    to: str
    provider: str
    dimension: int
    done: int
    total: int
    started_at: str


class WorkView(msgspec.Struct, frozen=True):
    """Embedding under way: a requested `run`, a `backfill` of what could not be embedded when it was written, or a
    `switch`. `waiting`: why nothing happens at present; it is retried automatically."""

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


class EmbedStatusResult(Result, frozen=True, kw_only=True):
    """A store's vectors and their embedder. `coverage` in [0, 1], of active memories. `stale`: vectors of another model
    or dimension, which are not compared with anything. `ollama_available`: whether it is available and Ollama's."""

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


EMBED_STATUS = method(
    "embed.status", StoreParams, EmbedStatusResult, Access.READ,
    "Count the memories that have a vector, of which model, and say whether it answers.", positional=("store",),
)  # fmt: skip


class EmbedRunParams(WriteParams, frozen=True, kw_only=True):
    """Embed what lacks a vector.

    The answer comes when it is done. The run goes on if the caller disconnects; a stop of the daemon ends it, and
    finished vectors are kept. Concurrent identical requests share one run.
    """

    all: Annotated[bool, about("make every vector anew")] = False
    id: Annotated[IdOrPrefix | None, about("make the vector of this memory anew")] = None


EMBED_RUN = method(
    "embed.run", EmbedRunParams, EmbedRunResult, Access.WRITE,
    "Make the vectors that are missing, or all anew; answers when that is done.",
)  # fmt: skip


class EmbedSwitchParams(WriteParams, frozen=True, kw_only=True):
    provider: Annotated[Literal["builtin", "ollama", "openai"] | None, about("the embedder to change to")] = None
    model: Annotated[ModelName | None, about("its model; the provider's usual one unless given")] = None
    abort: Annotated[bool, about("give a switch up and keep the present embedder; alone")] = False


EMBED_SWITCH = method(
    "embed.switch", EmbedSwitchParams, EmbedSwitchResult, Access.WRITE,
    "Change the embedder of a store, in the background.", positional=("provider", "model"),
)  # fmt: skip


EMBED_CALIBRATE = method(
    "embed.calibrate", WriteParams, EmbedCalibrateResult, Access.WRITE,
    "Measure on the store what a cosine means to its embedder.",
)  # fmt: skip
