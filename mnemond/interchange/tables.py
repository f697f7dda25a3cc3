"""Tables and columns that an export carries, and why it leaves out the others. docs/export.md describes the lines.

A row is exported as it is stored: no column is rounded or made again on the way, so that a store that reads the lines
has the same rows. Row numbers are left out, as another store gives its own.
"""

from __future__ import annotations

from typing import Final

import msgspec

FORMAT: Final = 1
"""Version of the format: the value of `mnemond` in every line. It rises when a reader of the former one would restore
something else; a new column or kind of line does not raise it."""


class Exported(msgspec.Struct, frozen=True):
    """A table whose rows are lines of one kind.

    `order`: SQL of the order of its lines. `json`: columns that hold JSON, which is part of the line as such.
    `left_out`: columns that are not exported, and why.
    """

    table: str
    kind: str
    columns: tuple[str, ...]
    order: str
    json: frozenset[str] = frozenset()
    left_out: dict[str, str] = {}


ROW_NUMBER: Final = "a number that the store gives; the order of the lines says the same"
VECTOR: Final = "made again by the store's embedder"

MEMORIES: Final = Exported(
    "insights",
    "memory",
    (
        "id", "content", "category", "importance", "tags", "entities", "source", "access_count",
        "last_accessed_at", "created_at", "updated_at", "deleted_at", "channel", "conversation_id",
        "source_context", "metadata", "origin_model", "prompt_version", "confidence", "user_id", "session_id",
        "agent_id", "intent", "importance10", "memory_type", "trigger", "trigger_type", "domain_state",
        "keywords", "event_start", "event_end", "valid_from", "invalid_at", "expires_at",
        "boost_days", "last_boosted_at", "paired_with", "corroboration_count", "last_corroborated_at", "pinned",
        "status", "superseded_by", "consolidated_at", "trust", "quarantined", "project", "useful", "misled",
    ),
    "created_at, id",
    frozenset({"tags", "entities", "metadata", "keywords", "source_context"}),
    {
        "number": ROW_NUMBER, "content_hash": "a hash of the text",
        "effective_importance": "fades with time; computed again", "embedding": VECTOR, "embedding_model": VECTOR,
        "embedding_dim": VECTOR, "trigger_embedding": VECTOR, "evolved_keywords": "not used any more",
    },
)  # fmt: skip


class Part(msgspec.Struct, frozen=True):
    """A table whose rows are a list within the line of their memory: `field` of it. `memory`: the column that names the
    memory, by its id or (`by_number`) its number. Rows of one memory are in `order`."""

    table: str
    field: str
    memory: str
    by_number: bool
    columns: tuple[str, ...]
    order: str
    numbered: bool = False
    """True if `order` is a column with the position in the list, which is not exported."""
    left_out: dict[str, str] = {}


PARTS: Final = (
    Part(
        "memory_entities", "mentions", "memory_id", by_number=False, columns=("entity_id", "mention_text"),
        order="entity_id",
    ),
    Part(
        "hypothetical_queries", "queries", "insight_id", by_number=False, columns=("query",), order="ord",
        numbered=True, left_out={"id": ROW_NUMBER, "embedding": VECTOR},
    ),
    Part("cues", "cues", "memory", by_number=True, columns=("text", "source"), order="ord", numbered=True),
    Part(
        "triggers", "when", "memory", by_number=True, columns=("pattern", "enforce", "state"), order="ord",
        numbered=True,
    ),
    Part(
        "trigger_counts", "when_counts", "memory", by_number=True,
        columns=("pattern", "matched", "shown", "followed"), order="pattern",
    ),
)  # fmt: skip
"""Tables that are part of the lines of memories."""

ENTITIES: Final = Exported(
    "entities",
    "entity",
    (
        "id", "name", "canonical_name", "sense", "entity_type", "attributes", "created_at", "core_summary",
        "core_summary_updated",
    ),
    "created_at, id",
    frozenset({"attributes"}),
    {"embedding": VECTOR},
)  # fmt: skip
ALIASES: Final = Exported("entity_aliases", "alias", ("alias", "entity_id"), "alias")
EDGES: Final = Exported(
    "edge_rows",
    "edge",
    (
        "source_id", "target_id", "edge_type", "weight", "metadata", "created_at", "boost_days", "last_boosted_at",
        "created_by",
    ),
    "source, target, kind",
    frozenset({"metadata"}),
    {"source": "source_id of the view", "target": "target_id of the view", "kind": "edge_type of the view"},
)  # fmt: skip
"""Read through the view `edges`, which names memories by their ids."""

RELATIONSHIPS: Final = Exported(
    "relationships",
    "relationship",
    (
        "id", "first_id", "source_id", "type", "slot", "target_id", "value", "strength", "valid_from", "granularity",
        "invalid_at", "end_granularity", "invalidated_by", "created_at", "expired_at",
    ),
    "created_at, id",
)  # fmt: skip
EVIDENCE: Final = Exported(
    "relationship_evidence",
    "evidence",
    (
        "source_id", "type", "slot", "target_id", "value", "kind", "at", "granularity", "strength", "memory_id",
        "quote", "origin", "op_id", "created_at", "expired_op", "expired_at",
    ),
    "id",
    left_out={"id": ROW_NUMBER},
)  # fmt: skip
NAMES: Final = Exported(
    "entity_links",
    "name",
    ("kind", "entity_id", "other", "name", "op_id", "created_at", "expired_op", "expired_at"),
    "id",
    left_out={"id": ROW_NUMBER},
)
OPERATIONS: Final = Exported(
    "memory_operations",
    "operation",
    ("operation_type", "memory_id", "before_state", "after_state", "triggered_by", "op_id", "created_at", "undoes"),
    "id",
    frozenset({"before_state", "after_state"}),
    {"id": ROW_NUMBER},
)
KNOWLEDGE: Final = Exported(
    "knowledge_operations",
    "knowledge",
    ("op_id", "method", "detail", "triggered_by", "created_at", "undoes", "behind"),
    "id",
    left_out={"id": ROW_NUMBER},
)
"""`behind` is the number of `operation` lines that came before it."""

SUMMARIES: Final = Exported(
    "core_summaries",
    "summary",
    (
        "entity_id", "version", "text", "node_ids", "scores", "generator", "created_at", "lines", "reason", "op_id",
        "expired_op", "expired_at",
    ),
    "entity_id, version",
    frozenset({"node_ids", "scores", "lines"}),
    {"id": ROW_NUMBER, "upto": "the number of a memory; a store that reads the lines has considered all of them"},
)  # fmt: skip
EXCHANGES: Final = Exported(
    "exchanges",
    "exchange",
    (
        "id", "dedupe_key", "kind", "state", "tries", "not_before", "written", "queued_at", "said_at", "host",
        "conversation_id", "project", "error", "facts", "prompt", "reply", "purged", "user_id", "session_id",
        "agent_id", "resolves",
    ),
    "number",
    frozenset({"facts"}),
    {"number": ROW_NUMBER},
)  # fmt: skip
PASSAGES: Final = Exported(
    "passages",
    "passage",
    (
        "id", "dedupe_key", "kind", "said_at", "host", "conversation_id", "project", "user_id", "session_id",
        "agent_id", "prompt", "answer", "op_id", "gone_op", "back_op",
    ),
    "said_at, id",
    left_out={"embedding": VECTOR, "embedded_by": VECTOR},
)  # fmt: skip
REVIEWS: Final = Exported(
    "pending_reviews",
    "review",
    ("kind", "payload", "content", "created_at", "resolved_at", "resolution"),
    "id",
    frozenset({"payload", "resolution"}),
    {"id": ROW_NUMBER},
)
REPLIES: Final = Exported(
    "operations",
    "reply",
    ("op_id", "method", "request_digest", "outcome", "created_at"),
    "created_at, op_id",
    frozenset({"outcome"}),
)

TABLES: Final = (
    ENTITIES, ALIASES, MEMORIES, EDGES, RELATIONSHIPS, EVIDENCE, NAMES, OPERATIONS, KNOWLEDGE, SUMMARIES,
    EXCHANGES, PASSAGES, REVIEWS, REPLIES,
)  # fmt: skip
"""In the order of their lines: each table after those that it refers to."""

META: Final = "meta"
TOMBSTONE: Final = "tombstone"
"""Kinds of lines that are rows of no table: the first line, and a memory of which only the history says that it was
there."""

NOT_EXPORTED: Final = {
    "oplog": "a log of the last commands, without texts; the operations say the same for good",
    "recalls": "a log of the last recalls",
    "showings": "a log of what sessions were shown last",
    "metrics": "counts of what this store did by day",
    "meta": "facts about this store's file: its embedder, the last run of each job",
    "jobs": "not used by this version",
    "imports": "an import's own record",
    "imported": "an import's own record",
    "node_metrics": "made again by a job",
    "sync_rows": "what one store knows of other devices",
    "sync_files": "what one store knows of other devices",
    "sync_targets": "what one store knows of other devices",
    "staged_vectors": VECTOR,
}
"""Tables that an export leaves out, and why."""
