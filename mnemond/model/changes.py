"""Writes as values: what a pipeline asks for, and what the index must be told once it is committed.

A `ChangeSet` travels from a pipeline to the store's writer, which turns it into one savepoint of one transaction and
hands what became true to the index.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.model.memory import Edge, Entity, Insight, Relation, Retired
from mnemond.model.outcomes import Outcome

# What is kept of the last run of a background job.


RunOutcome = Literal["done", "nothing", "stopped"]
"""It changed something; there was nothing to change; or it would have changed too much, and asks."""


class JobRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The last run of one job on one store, written in the transaction of its last change.

    `ran_at`: when it began, RFC 3339, by the clock of the machine. `aged_us`: what it aged memories to, see
    `model.ageing`. `changed`: memories, lines or rows; of a job that stopped, how many it would have changed. `op_id`
    names the operation for `undo`, None where there is nothing to take back. `seconds`: until the last change.
    """

    ran_at: str
    aged_us: int
    outcome: RunOutcome
    changed: int = 0
    detail: str = ""
    seconds: float = 0.0
    op_id: str | None = None


# What was said in one turn of an agent's session, on its way to being read for what is worth remembering.


LONGEST_PROMPT: Final = 16_000
"""Characters kept of what a person said. An engine reads beginning and end of a long message and leaves out the middle,
which is pasted; a conversation's prompts have some hundred."""

LONGEST_REPLY: Final = 24_000
"""Characters kept of an answer, or of a summary, which becomes at most three memories (8,000 each). Both lengths
together are looked through for secrets in 5 ms (0.11 ms a thousand characters)."""

LONGEST_NAME: Final = 200
"""Characters kept of a host's, a conversation's or a project's name."""

MAX_PENDING: Final = 1_000
"""Exchanges of one store that wait to be read; the oldest goes for the one that is too many. A day's work has some
hundred, so as many wait only where reading is switched off or fails."""

MAX_SETTLED: Final = 1_000
"""Exchanges of which only the key is kept, so that a host that repeats one is recognised; and, apart from these, those
that were set aside."""

KEPT_DAYS: Final = 30
"""Days after which an exchange that could not be read goes, and the key of one that was."""

MAX_TRIES: Final = 5
"""Attempts at an exchange (spec 13); then it is set aside, for somebody to look at."""

FIRST_PAUSE_S: Final = 60
"""Seconds before one that failed is tried again, doubled each time (spec 13)."""

ExchangeKind = Literal["exchange", "summary"]
"""A prompt with its answer, which is read for facts; or what a host made of a conversation that grew too long, which is
kept as it is."""


class QueuedExchange(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as its host told it. What is not known is empty.

    `prompt` is what the person said and `reply` what the agent answered, or, of a summary, the summary. Longer ones
    than `LONGEST_PROMPT` and `LONGEST_REPLY` lose their middle. `conversation_id` is the host's own name of the
    session, `project` says what was worked on. `at_us`: when it was said, microseconds since 1970. `key` tells it from
    every other turn and is the same when a host tells it again; made from what it says where it is empty.
    """

    host: str
    at_us: int
    conversation_id: str = ""
    project: str = ""
    prompt: str = ""
    reply: str = ""
    kind: ExchangeKind = "exchange"
    key: str = ""


Vector = npt.NDArray[np.float32]
"""A pre-normalised embedding, shape (dimension,), dtype float32, C-contiguous."""

Revision = Literal["UPDATE", "MERGE", "BOOST", "PAIR"]
"""Why a row that stays active was rewritten, as its history says it (spec 4)."""


class AddInsight(msgspec.Struct, frozen=True, tag=True):
    """Insert a new active insight; `vector` is None when it could not be embedded.

    `mentions` are its entities with their types; `queries` are questions it would answer.
    """

    insight: Insight
    vector: Any = None  # Vector | None; msgspec has no schema for numpy arrays
    mentions: tuple[Entity, ...] = ()
    queries: tuple[str, ...] = ()


class PutInsight(msgspec.Struct, frozen=True, tag=True):
    """Give an active insight a new value. Refused when it is not active any more.

    `vector` counts only with `embedded`: its content was embedded anew, without success when it is None. `mentions`
    and `queries`: None leaves the rows of its entities, and of the questions it would answer, as they are.
    """

    insight: Insight
    revision: Revision = "UPDATE"
    embedded: bool = False
    vector: Any = None
    mentions: tuple[Entity, ...] | None = None
    queries: tuple[str, ...] | None = None


class RetireInsight(msgspec.Struct, frozen=True, tag=True):
    """Take an active insight out of recall, keeping its row. Refused when it is not active any more.

    Its edges move to `successor`, which must be active, or are removed. Without `moves` they are removed in any case,
    and `successor` need only be known. `invalid_at`: since when it is not true.
    """

    id: str
    status: Retired
    successor: str | None = None
    invalid_at: str | None = None
    moves: bool = True


class RestoreInsight(msgspec.Struct, frozen=True, tag=True):
    """Make a retired row active again, with this value. Refused when it is active or was never there."""

    insight: Insight
    vector: Any = None


class PurgeInsight(msgspec.Struct, frozen=True, tag=True):
    """Remove a row, in whatever state, and everything that was derived from it."""

    id: str


class AddEdge(msgspec.Struct, frozen=True, tag=True):
    """Insert an edge. With one of equal ends and type the larger weight and both metadata win, except that an
    automatic edge never changes one that a host or a user made. `audited`: it is what the operation is about."""

    edge: Edge
    audited: bool = False


class AddRelations(msgspec.Struct, frozen=True, tag=True):
    """Insert the edges of a memory that this operation adds: all at once, and the first it has. Each other memory is
    active, and is named once a type. A dozen and more come with every memory, so they are no objects of their own."""

    id: str
    relations: tuple[Relation, ...]


class RemoveEdge(msgspec.Struct, frozen=True, tag=True):
    """Delete the edge with these endpoints and type, if there is one."""

    source_id: str
    target_id: str
    edge_type: str
    audited: bool = False


class SetVector(msgspec.Struct, frozen=True, tag=True):
    """Give an active insight the embedding it lacked, or another one. One that is not active any more is left alone.

    None: the embedder knows no word of it and need not be asked again.
    """

    id: str
    vector: Any = None


class CountUse(msgspec.Struct, frozen=True, tag=True):
    """An active insight was recalled, so many times, last at `at` (RFC 3339). One that is not active any more is left
    alone. Use is no revision, so it is not in the history."""

    id: str
    times: int
    at: str


class SetImportance(msgspec.Struct, frozen=True, tag=True):
    """The effective importance that follows from a row's use, age and connections. Derived, so not in its history."""

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
    """Put what was said in a turn at the end of those that wait to be read; its texts are as they may be stored. One
    whose key is known is left out."""

    id: str
    exchange: QueuedExchange


class SettleFact(msgspec.Struct, frozen=True, tag=True):
    """The first of the `facts` of a queued exchange is settled by this operation; `left` are those still to be written
    (both JSON), None where there is none. Refused when `facts` is not what the exchange still waits for."""

    number: int
    facts: str
    left: str | None


class ChangeSet(msgspec.Struct, frozen=True):
    """One operation: everything that must become true together, or not at all.

    `now` is the one time of the whole operation (RFC 3339). `op_id` names it for undo and history; it is also the
    idempotency key when `client_op_id` is true, that is, when the caller chose it and may therefore repeat it.
    `outcome` is what a caller is told; it is stored with the operation so that a repeat gets the same answer.
    `request_digest` tells a repeat from another request under the same op_id. `operation` and `subject` are what the
    log says was done, and to which memory (default: the method, and the first memory that changed; an empty operation
    leaves no line). `undoes` is the operation that this one takes back. `facts` are rows of the store's `meta` table,
    (key, value), that become true with it. `queue`: what becomes with it of exchanges that wait to be read, which are
    no memories: neither the index nor the history hears of them.
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
    queue: tuple[QueueExchange | SettleFact, ...] = ()
