"""Tables and columns that an export carries, and why it leaves out the others. docs/export.md describes the lines.

A row is exported as it is stored: no column is rounded or made again on the way, so that a store that reads the lines
has the same rows. Row numbers are left out, as another store gives its own.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.store.connection import Connection

FORMAT: Final = 1
"""Version of the format: the value of `mnemond` in every line. It rises when a reader of the former one would restore
something else; a new column or kind of line does not raise it."""


class Exported(msgspec.Struct, frozen=True):
    """A table whose rows are lines of one kind.

    `order`: SQL of the order of its lines. `json`: columns that hold JSON, which is part of the line as such.
    `left_out`: columns that are not exported, and why. `view`: from which the rows are read, if not from the table.
    """

    table: str
    kind: str
    order: str
    json: frozenset[str] = frozenset()
    left_out: dict[str, str] = {}
    view: str = ""

    def columns(self, connection: Connection) -> tuple[str, ...]:
        """Return the columns that are exported."""
        return tuple(each for each in connection.columns(self.view or self.table) if each not in self.left_out)


ROW_NUMBER: Final = "a number that the store gives; the order of the lines says the same"
VECTOR: Final = "made again by the store's embedder"

MEMORIES: Final = Exported(
    "insights",
    "memory",
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
    order: str
    numbered: bool = False
    """True if `order` is a column with the position in the list, which is not exported."""
    left_out: dict[str, str] = {}

    def columns(self, connection: Connection) -> tuple[str, ...]:
        """Return the columns that are exported."""
        gone = {*self.left_out, self.memory, *((self.order,) if self.numbered else ())}
        return tuple(each for each in connection.columns(self.table) if each not in gone)


PARTS: Final = (
    Part("memory_entities", "mentions", "memory_id", by_number=False, order="entity_id"),
    Part(
        "hypothetical_queries", "queries", "insight_id", by_number=False, order="ord", numbered=True,
        left_out={"id": ROW_NUMBER, "embedding": VECTOR},
    ),
    Part("cues", "cues", "memory", by_number=True, order="ord", numbered=True),
    Part("triggers", "when", "memory", by_number=True, order="ord", numbered=True),
    Part("trigger_counts", "when_counts", "memory", by_number=True, order="pattern"),
)  # fmt: skip
"""Tables that are part of the lines of memories."""

_NUMBERED: Final = {"id": ROW_NUMBER}

ENTITIES: Final = Exported(
    "entities", "entity", "created_at, id", frozenset({"attributes"}), {"embedding": VECTOR}
)  # fmt: skip
ALIASES: Final = Exported("entity_aliases", "alias", "alias")
EDGES: Final = Exported("edge_rows", "edge", "source, target, kind", frozenset({"metadata"}), view="edges")
"""Read through the view `edges`, which names memories by their ids."""

RELATIONSHIPS: Final = Exported("relationships", "relationship", "created_at, id")
EVIDENCE: Final = Exported("relationship_evidence", "evidence", "id", left_out=_NUMBERED)
NAMES: Final = Exported("entity_links", "name", "id", left_out=_NUMBERED)
OPERATIONS: Final = Exported(
    "memory_operations", "operation", "id", frozenset({"before_state", "after_state"}), _NUMBERED
)  # fmt: skip

SUMMARIES: Final = Exported(
    "core_summaries",
    "summary",
    "entity_id, version",
    frozenset({"node_ids", "scores", "lines"}),
    {**_NUMBERED, "upto": "the number of a memory; a store that reads the lines has considered all of them"},
)
EXCHANGES: Final = Exported("exchanges", "exchange", "number", frozenset({"facts"}), {"number": ROW_NUMBER})
PASSAGES: Final = Exported(
    "passages", "passage", "said_at, id", left_out={"embedding": VECTOR, "embedded_by": VECTOR}
)  # fmt: skip
REVIEWS: Final = Exported("pending_reviews", "review", "id", frozenset({"payload", "resolution"}), _NUMBERED)
REPLIES: Final = Exported("operations", "reply", "created_at, op_id", frozenset({"outcome"}))

TABLES: Final = (
    ENTITIES, ALIASES, MEMORIES, EDGES, RELATIONSHIPS, EVIDENCE, NAMES, OPERATIONS, SUMMARIES, EXCHANGES,
    PASSAGES, REVIEWS, REPLIES,
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
