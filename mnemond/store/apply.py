"""One change set as SQL: everything that happens inside its savepoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import assert_never

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    ChangeSet,
    CountUse,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
    SetVector,
)
from mnemond.model.memory import Edge, Insight, Retired
from mnemond.store import edges, exchanges, history, insights, operations
from mnemond.store.connection import Connection
from mnemond.store.history import Trail
from mnemond.store.meta import EmbedderRecord

# Removing every byte of memories from a store (reliability promise P9).
#
# What stays is that there was one: its id in the history, the log and the outcomes of operations. What somebody else
# said stays as well: the memories that superseded it or took over its words, names that others use, links that moved
# on.
#
# Deleting is not enough. When rows move between the pages of a table, `secure_delete` leaves copies of them in the
# unused part of the old page (measured: of 600 deleted rows of a growing table one in a hundred could still be read
# in the file). So the whole file is written anew. A note in the table `meta` survives a process that ends before
# that.


MANY = 6
"""From so many rows on an index is made for their removal. With 120,000 edges, making, writing and dropping it takes
90 ms, and each row 14 ms without it: 100 rows went in 0.9 instead of 1.9 s."""

_NOTE = "unwiped"


@contextmanager
def many(connection: Connection, rows: int) -> Iterator[None]:
    """Around the removal of so many rows in one transaction: the edges that end at them are found without reading the
    whole table for each, here and where the database checks that none is left.

    Edges are indexed by their target only where they are causal (docs/decisions/0009). When something is raised inside,
    the caller's rollback takes the index away.
    """
    if rows < MANY:
        yield
        return
    connection.run("CREATE INDEX edges_of_purged ON edge_rows(target)")
    yield
    connection.run("DROP INDEX edges_of_purged")


def remove(connection: Connection, insight_id: str) -> list[Edge]:
    """Remove a row, in whatever state, and what hangs on it alone; the edges it had. `remove_traces` must follow."""
    links = edges.touching(connection, insight_id)
    edges.remove_strays(connection, insight_id)
    _remove_what_was_told(connection, insight_id)
    insights.purge(connection, insight_id)
    return links


def remove_traces(connection: Connection, insight_ids: Collection[str]) -> None:
    """Remove what the rest of the store says about rows that are gone.

    Raises MnemonError(STORAGE) for a damaged row that would have to be rewritten.
    """
    operations.purge(connection, insight_ids)
    for each in insight_ids:
        history.wipe_taken_back(connection, each)
    history.purge(connection, insight_ids)
    operations.purge_oplog(connection, insight_ids)
    edges.purge(connection)
    connection.run("INSERT OR REPLACE INTO meta(key, value) VALUES(?, '1')", (_NOTE,))


def is_unwiped(connection: Connection) -> bool:
    """Whether bytes of removed rows may still be in the files."""
    return connection.row("SELECT 1 FROM meta WHERE key = ?", (_NOTE,)) is not None


def rewrite(connection: Connection) -> None:
    """Write the whole file anew, into the write-ahead log. Takes room for two more copies. Raises SqliteError."""
    connection.run("VACUUM")


def finish(connection: Connection) -> None:
    """After `rewrite`: empty the write-ahead log into the file. Raises SqliteError, while others read it as well."""
    connection.checkpoint(truncate=True)
    connection.run("DELETE FROM meta WHERE key = ?", (_NOTE,))


def _remove_what_was_told(connection: Connection, insight_id: str) -> None:
    """What was written from a memory's text: summaries, questions to somebody, work that waits; and its text, where
    somebody said it again and nobody read that yet."""
    connection.run(
        "UPDATE entities SET core_summary = NULL, core_summary_updated = NULL"
        " WHERE id IN (SELECT entity_id FROM core_summaries WHERE instr(node_ids, ?))",
        (insight_id,),
    )
    connection.run("DELETE FROM core_summaries WHERE instr(node_ids, ?)", (insight_id,))
    connection.run("DELETE FROM pending_reviews WHERE instr(payload, ?)", (insight_id,))
    connection.run("DELETE FROM jobs WHERE instr(payload, ?)", (insight_id,))
    exchanges.purge(connection, history.contents_of(connection, insight_id))


RETIRED_AS: dict[Retired, str] = {
    "superseded": "SUPERSEDE", "merged": "MERGE", "forgotten": "DELETE", "pruned": "PRUNE", "expired": "DELETE",
}  # fmt: skip
"""What the history calls it when a memory leaves recall (spec 4)."""


class Applied(msgspec.Struct):
    """What a change set came to: the changes as they became true, for the index, and what a caller may be told.

    `removed` and `moved` are edges; `linked`: of the audited edges how each stands now and stood before; `subject`:
    the first memory that changed; `purged`: whether bytes have to be wiped.
    """

    changes: list[Change]
    removed: list[Edge]
    moved: list[Edge]
    linked: list[tuple[Edge, Edge | None]]
    subject: str | None = None
    purged: bool = False


def apply_sql(connection: Connection, change_set: ChangeSet, embedder: EmbedderRecord | None) -> Applied:
    """Write one change set inside the caller's savepoint.

    Raises MnemonError when the operation is refused (the savepoint must be rolled back) and SqliteError when the
    database fails.
    """
    return _Application(connection, change_set, embedder).carry_out()


class _Application:
    def __init__(self, connection: Connection, change_set: ChangeSet, embedder: EmbedderRecord | None) -> None:
        self._connection = connection
        self._change_set = change_set
        self._embedder = embedder
        self._now = change_set.now
        self._fresh: set[str] = set()
        self._waiting: list[AddEdge] = []
        self._inserted: set[tuple[str, str, str]] = set()
        self._applied = Applied([], [], [], [])
        self._trail = Trail()
        self._purged: list[str] = []

    def carry_out(self) -> Applied:
        purges = sum(isinstance(change, PurgeInsight) for change in self._change_set.changes)
        with many(self._connection, purges):
            self._carry_out()
        if self._purged:
            remove_traces(self._connection, self._purged)
        entries = self._trail.entries(lambda insight_id: insights.read(self._connection, insight_id))
        history.append(self._connection, self._change_set, entries)
        exchanges.run(self._connection, self._change_set)
        return self._applied

    def _carry_out(self) -> None:
        fresh, inserted, waiting = self._fresh, self._inserted, self._waiting
        for change in self._change_set.changes:
            if isinstance(change, AddRelations):
                self._relate(change)
                continue
            if not isinstance(change, AddEdge):
                self._flush()
                self._change(change)
                continue
            # Edges of a row that this operation added cannot be there before, so they wait and go together.
            source, target, _ = key = edges.key(change.edge)
            if (source in fresh or target in fresh) and key not in inserted and not change.audited:
                waiting.append(change)
                inserted.add(key)
            else:
                self._link(change)
        self._flush()

    def _change(
        self,
        change: AddInsight
        | PutInsight
        | RetireInsight
        | RestoreInsight
        | PurgeInsight
        | RemoveEdge
        | SetVector
        | CountUse
        | SetImportance,
    ) -> None:
        match change:
            case AddInsight():
                self._add(change)
            case PutInsight():
                self._put(change)
            case RetireInsight():
                self._retire(change)
            case RestoreInsight():
                self._restore(change)
            case PurgeInsight():
                self._purge(change)
            case RemoveEdge():
                self._unlink(change)
            case SetVector():
                if self._embed(change):
                    self._effect(change, change.id)
            case CountUse():
                if insights.count_use(self._connection, change):
                    self._applied.changes.append(change)
            case SetImportance():
                insights.set_importance(self._connection, change.id, change.effective_importance)
                self._applied.changes.append(change)
            case _:
                assert_never(change)

    def _effect(self, change: Change, subject: str) -> None:
        self._applied.changes.append(change)
        self._applied.subject = self._applied.subject or subject

    # ------------------------------------------------------------ insights

    def _add(self, change: AddInsight) -> None:
        insights.insert(self._connection, change, self._embedder)
        edges.mention(self._connection, change.insight.id, change.mentions, self._now)
        self._trail.memory("CREATE", change.insight.id, None, change.insight)
        self._fresh.add(change.insight.id)
        self._effect(change, change.insight.id)

    def _put(self, change: PutInsight) -> None:
        before = self._active(change.insight.id)
        insights.update(self._connection, change.insight)
        if change.embedded:
            insights.set_vector(self._connection, change.insight.id, change.vector, self._embedder)
        if change.mentions is not None:
            edges.replace(self._connection, change.insight.id, change.mentions, self._now)
        if change.queries is not None:
            insights.replace_queries(self._connection, change.insight.id, change.queries)
        self._trail.memory(change.revision, change.insight.id, before, change.insight)
        self._effect(change, change.insight.id)

    def _retire(self, change: RetireInsight) -> None:
        before = self._active(change.id)
        if change.successor is not None and change.moves:
            self._active(change.successor)
        insights.retire(self._connection, change, self._now)
        links = edges.touching(self._connection, change.id)
        edges.remove_all(self._connection, links)
        self._effect(change, change.id)
        self._applied.removed += links
        for link in links:
            self._trail.edge(link, None, change.id)
        if change.successor is not None and change.moves:
            self._move(links, change.id, change.successor)
        after = msgspec.structs.replace(
            before,
            status=change.status,
            updated_at=self._now,
            superseded_by=change.successor,
            invalid_at=change.invalid_at or before.invalid_at,
        )
        self._trail.memory(RETIRED_AS[change.status], change.id, before, after)

    def _move(self, links: list[Edge], insight_id: str, successor: str) -> None:
        """Give edges to a successor."""
        for link in links:
            edge = edges.moved(link, insight_id, successor)
            if edge is not None:
                after, before = edges.upsert(self._connection, edge, self._now)
                self._inserted.add(edges.key(after))
                self._applied.changes.append(AddEdge(after))
                self._trail.edge(before, after, insight_id)
                self._applied.moved += [after] if before is None else []

    def _restore(self, change: RestoreInsight) -> None:
        before = insights.read(self._connection, change.insight.id)
        if before is None or not insights.restore(self._connection, change.insight):
            raise _not_there(change.insight.id, "retired", before)
        # Nothing shows an edge that was made to a retired row, so none may come back with it.
        edges.remove_all(self._connection, edges.touching(self._connection, change.insight.id))
        insights.set_vector(self._connection, change.insight.id, change.vector, self._embedder)
        self._trail.memory("RESTORE", change.insight.id, before, change.insight)
        self._effect(change, change.insight.id)

    def _purge(self, change: PurgeInsight) -> None:
        if insights.read(self._connection, change.id) is None:
            raise _not_there(change.id, "known", None)
        self._applied.removed += remove(self._connection, change.id)
        self._purged.append(change.id)
        self._trail.purge(change.id)
        self._trail.memory("DELETE", change.id, None, None)
        self._applied.purged = True
        self._effect(change, change.id)

    def _embed(self, change: SetVector) -> bool:
        if change.vector is None:
            return insights.set_wordless(self._connection, change.id, self._embedder)
        return insights.set_vector(self._connection, change.id, change.vector, self._embedder)

    def _active(self, insight_id: str) -> Insight:
        found = insights.read(self._connection, insight_id)
        if found is None or found.status != "active":
            raise _not_there(insight_id, "active", found)
        return found

    # ------------------------------------------------------------ edges

    def _relate(self, change: AddRelations) -> None:
        edges.insert_relations(self._connection, change.id, change.relations, self._now)
        self._fresh.discard(change.id)  # what is alike may be a pair as well: one edge that two changes speak of
        self._applied.changes.append(change)

    def _link(self, change: AddEdge) -> None:
        self._flush()
        ends = change.edge.source_id, change.edge.target_id
        if not change.audited and not all(insights.is_active(self._connection, end) for end in ends):
            return  # the index leaves it out as well: an edge without both ends would come back with a restored row
        after, before = edges.upsert(self._connection, change.edge, self._now, strict=change.audited)
        self._effect(AddEdge(after), after.source_id)
        if change.audited:
            for end in (after.source_id, after.target_id):
                self._active(end)
            self._applied.linked.append((after, before))
        self._trail.edge(before, after, after.source_id if change.audited else None)

    def _unlink(self, change: RemoveEdge) -> None:
        before = edges.remove(self._connection, change)
        if before is None:
            return
        self._applied.removed.append(before)
        self._effect(change, change.source_id)
        self._trail.edge(before, None, change.source_id if change.audited else None)

    def _flush(self) -> None:
        waiting = self._waiting
        if waiting:
            edges.insert_all(self._connection, [change.edge for change in waiting], self._now)
            self._applied.changes += waiting
            waiting.clear()


def _not_there(insight_id: str, wanted: str, found: Insight | None) -> MnemonError:
    return MnemonError(
        NOT_FOUND,
        f"no {wanted} memory {insight_id[:64]!a}" + (f": it is {found.status}" if found else ""),
        hint="`mnemonctl list` shows the active ones",
        outcome="rejected",
    )
