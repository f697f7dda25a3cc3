"""Writes as values: change sets, the changes they consist of, queued exchanges and records of jobs.

Memory code builds a `ChangeSet`; the store's writer applies it in a savepoint and, after the commit, updates the index.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.model.memory import Edge, Entity, Insight, Relation, Retired, Scope
from mnemond.model.outcomes import Outcome
from mnemond.model.passages import PassageChange
from mnemond.model.relations import KnowledgeChange
from mnemond.model.reviews import ReviewChange
from mnemond.model.sync import SyncedRow

RunOutcome = Literal["done", "nothing", "stopped"]
"""It changed something; there was nothing to change; or it stopped, as so many changes need confirmation."""


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run of a job. `changed`: memories, lines or rows; for a job that stopped, the number it would
    have changed. `op_id` names the operation for `undo`, None if there is nothing to undo."""

    outcome: RunOutcome
    changed: int = 0
    detail: str = ""
    op_id: str | None = None


class JobRecord(RunResult, frozen=True, kw_only=True, omit_defaults=True):
    """The last run of one job on one store, written in the transaction of its last change.

    `ran_at`: its start by the wall clock, RFC 3339. `aged_us`: the time to which it aged memories, see
    `model.memory.aged`. `seconds`: duration until the last change.
    """

    ran_at: str
    aged_us: int
    seconds: float = 0.0


# Exchanges of agents' sessions, queued for extraction.

LONGEST_PROMPT: Final = 16_000
"""Characters kept of a prompt, which has a few hundred on average. Extraction skips the middle of a long message, which
is mostly pasted."""

LONGEST_REPLY: Final = 24_000
"""Characters kept of a reply, or of a summary, which becomes at most three memories (8,000 each). The search for
secrets in a prompt and a reply of these lengths takes 5 ms (0.11 ms per thousand characters)."""

LONGEST_NAME: Final = 200
"""Characters kept of the name of a host, a conversation or a project."""

MAX_PENDING: Final = 1_000
"""Pending exchanges of a store; beyond that the oldest is dropped. A day has a few hundred, so the limit is reached
only where extraction is switched off or fails."""

MAX_SETTLED: Final = 1_000
"""Processed exchanges whose key is kept, so that repeats are recognised; also the limit of failed exchanges."""

KEPT_DAYS: Final = 30
"""Days after which failed exchanges, and the keys of processed ones, are deleted."""

MAX_TRIES: Final = 5
"""Attempts at an exchange before it counts as failed."""

FIRST_PAUSE_S: Final = 60
"""Seconds before the first retry of an exchange, doubled each time."""

ExchangeKind = Literal["exchange", "summary"]
"""A prompt with its reply, from which facts are extracted; or a host's summary of a long conversation, which is stored
unchanged."""


class QueuedExchange(msgspec.Struct, frozen=True, kw_only=True):
    """One turn as reported by its host; unknown fields are empty.

    `prompt` is the user's text, `reply` the agent's answer or the summary. Texts longer than `LONGEST_PROMPT` and
    `LONGEST_REPLY` lose their middle. `conversation_id` is the host's id of the session, `project` the name of the
    project; `user_id`, `session_id`, `agent_id`: for whom its facts will be; `resolves`: they may replace what they
    contradict. `at_us`: time of the turn in microseconds since the epoch. `key` identifies the turn when a host reports
    it again; derived from the texts if empty.
    """

    host: str
    at_us: int
    conversation_id: str = ""
    project: str = ""
    prompt: str = ""
    reply: str = ""
    kind: ExchangeKind = "exchange"
    key: str = ""
    user_id: str = ""
    session_id: str = ""
    agent_id: str = ""
    resolves: bool = True

    @property
    def scope(self) -> Scope:
        """The audience of its facts."""
        return Scope(self.user_id or None, self.session_id or None, self.agent_id or None, self.project or None)


Vector = npt.NDArray[np.float32]
"""A pre-normalised embedding, shape (dimension,), dtype float32, C-contiguous. That of a memory with cues may have
shape (2, dimension): of its text, and of its text with its cues."""

Revision = Literal["UPDATE", "MERGE", "BOOST", "PAIR"]
"""Operation type, in the history, of a change to a row that stays active."""


class AddInsight(msgspec.Struct, frozen=True, tag=True):
    """Insert a new active insight; `vector` is None if it could not be embedded.

    `mentions` are its entities with their types; `queries` are questions it would answer.
    """

    insight: Insight
    vector: Any = None  # Vector | None; msgspec has no schema for numpy arrays
    mentions: tuple[Entity, ...] = ()
    queries: tuple[str, ...] = ()


class PutInsight(msgspec.Struct, frozen=True, tag=True):
    """Replace an active insight. Refused if it is no longer active.

    `vector` counts only with `embedded`: the memory was embedded again, without success if it is None; without it, one
    whose cues changed keeps the vector of its text alone. `mentions`
    and `queries`: None leaves the rows of its entities, and of the questions it would answer, unchanged.
    """

    insight: Insight
    revision: Revision = "UPDATE"
    embedded: bool = False
    vector: Any = None
    mentions: tuple[Entity, ...] | None = None
    queries: tuple[str, ...] | None = None


class RetireInsight(msgspec.Struct, frozen=True, tag=True):
    """Take an active insight out of recall, keeping its row. Refused if it is no longer active.

    With `moves` its edges move to `successor`, which must be active; otherwise they are removed, and `successor` need
    only exist. `invalid_at`: when it became invalid.
    """

    id: str
    status: Retired
    successor: str | None = None
    invalid_at: str | None = None
    moves: bool = True


class RestoreInsight(msgspec.Struct, frozen=True, tag=True):
    """Make a retired row active again, with this value. Refused if it is active or does not exist."""

    insight: Insight
    vector: Any = None


class PurgeInsight(msgspec.Struct, frozen=True, tag=True):
    """Delete a row of any status, and everything derived from it."""

    id: str


class AddEdge(msgspec.Struct, frozen=True, tag=True):
    """Insert an edge, or merge it into one of equal ends and type: the larger weight, both metadata. An automatic edge
    never changes one made by a host or a user. `audited`: the edge is the subject of the operation."""

    edge: Edge
    audited: bool = False


class AddRelations(msgspec.Struct, frozen=True, tag=True):
    """Insert all edges of a memory that this operation adds. Each other memory is active and occurs once per type. One
    change for all of them, as every memory has a dozen and more."""

    id: str
    relations: tuple[Relation, ...]


class RemoveEdge(msgspec.Struct, frozen=True, tag=True):
    """Delete the edge with these endpoints and type, if it exists."""

    source_id: str
    target_id: str
    edge_type: str
    audited: bool = False


class SetVector(msgspec.Struct, frozen=True, tag=True):
    """Set the embedding of an insight. Ignored if it is no longer active.

    None: the embedder knows no word of the text, so it is not embedded again.
    """

    id: str
    vector: Any = None


class CountUse(msgspec.Struct, frozen=True, tag=True):
    """Count `times` recalls of an insight, the last at `at` (RFC 3339). Ignored if it is no longer active; not part of
    its history."""

    id: str
    times: int
    at: str


class SetImportance(msgspec.Struct, frozen=True, tag=True):
    """Store the effective importance of an insight. Derived, so not part of its history."""

    id: str
    effective_importance: float


Change = (
    AddInsight
    | PutInsight
    | RetireInsight
    | RestoreInsight
    | PurgeInsight
    | AddEdge
    | AddRelations
    | RemoveEdge
    | SetVector
    | CountUse
    | SetImportance
)


class QueueExchange(msgspec.Struct, frozen=True, tag=True):
    """Append an exchange, with its secrets redacted, to the queue of extraction. Ignored if its key is known."""

    id: str
    exchange: QueuedExchange


class SettleFact(msgspec.Struct, frozen=True, tag=True):
    """This operation writes the first of the pending `facts` of a queued exchange; `left` are the others, None if there
    is none (both JSON). Refused if `facts` differ from those of the row."""

    number: int
    facts: str
    left: str | None


class RecallLine(msgspec.Struct, frozen=True):
    """A line of the log about a recall: its time (RFC 3339), its best memory if there is one, and a detail without a
    word of the question."""

    at: str
    insight_id: str | None
    detail: str


ShownAt = Literal["brief", "prompt", "task", "rule"]
"""The occasion on which an agent was shown a memory: the beginning of a session, a prompt, the task of a subagent, a
call that a rule is about."""


class Showing(msgspec.Struct, frozen=True):
    """A memory that a session was shown, without a word of either. `tokens`: the estimated size of all that was shown
    `at` that time (RFC 3339). `agent`: the subagent, if it is one."""

    at: str
    session: str
    host: str
    agent: str
    moment: ShownAt
    tokens: int
    insight_id: str
    reason: str


class TriggerCount(msgspec.Struct, frozen=True):
    """Counts of a trigger of a memory: calls that `matched`, times `shown`, held calls that were not made again
    (`followed`)."""

    id: str
    pattern: str
    matched: int = 0
    shown: int = 0
    followed: int = 0


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the history. `undoes`: the operation that its operation took back."""

    op_id: str
    triggered_by: str
    created_at: str
    undoes: str | None
    id: int
    operation_type: str


class ChangeSet(msgspec.Struct, frozen=True):
    """One atomic operation.

    `now` is its time (RFC 3339). `op_id` names it for undo and history; it is also the idempotency key if
    `client_op_id` is true, i.e. chosen by the client. `outcome` is the result for the client; it is stored so that a
    repeat gets the same one. `request_digest` distinguishes a repeat from another request with the same op_id.
    `operation` and `subject` are those of the line in the log (default: the method, and the first memory that changed;
    an empty operation leaves no line). `undoes` is the op_id of the operation that this one reverses. `facts` are rows
    (key, value) of the store's `meta` table to write with it. `refused`: the substance filter refused the text for this
    reason, which is counted by day. `queue` holds changes to queued exchanges, which appear
    neither in the index nor in the history. `recalls` are lines for the log of recalls, `showings` memories
    that sessions were shown; `trigger_counts` are added to those of rules, `reviews` are questions that it asks,
    answers or asks again, `knowledge` changes to relations and to the names of entities, `passages` changes to what
    is kept of sessions. `imported`: the sources of memories that it imports (a hash), each with the memory or None.
    `synced`: what is known of memories and links that other devices have as well.
    """

    op_id: str
    client_op_id: bool
    method: str
    now: str
    changes: tuple[Change, ...]
    outcome: Outcome
    request_digest: str = ""
    triggered_by: str = "user"
    detail: str = ""
    operation: str | None = None
    subject: str | None = None
    undoes: str | None = None
    facts: tuple[tuple[str, str], ...] = ()
    refused: str = ""
    queue: tuple[QueueExchange | SettleFact, ...] = ()
    recalls: tuple[RecallLine, ...] = ()
    showings: tuple[Showing, ...] = ()
    trigger_counts: tuple[TriggerCount, ...] = ()
    reviews: tuple[ReviewChange, ...] = ()
    knowledge: tuple[KnowledgeChange, ...] = ()
    passages: tuple[PassageChange, ...] = ()
    imported: tuple[tuple[str, str | None], ...] = ()
    synced: tuple[SyncedRow, ...] = ()
