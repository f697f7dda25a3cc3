"""One write inside its transaction: replayed or decided, applied as SQL, staged in the index, and recorded."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from typing import Final, assert_never

import msgspec
import numpy as np

from mnemond.errors import NOT_FOUND, MnemonError, rejected
from mnemond.index.edges import NEW
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.index.writer import MemoryIndex
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
from mnemond.model.core import ExpireCore, PutCore
from mnemond.model.memory import (
    DAY_US,
    DEGREE_CAP,
    SUMMARIZED,
    Edge,
    Insight,
    Retired,
    derived_from,
    effective_importance,
    parse_rfc3339,
)
from mnemond.model.outcomes import (
    EntityResult,
    ForgetResult,
    GcKept,
    LinkResult,
    MergeResult,
    Outcome,
    RelationResult,
    RememberResult,
    SupersedeResult,
    UndoResult,
    UnlinkResult,
    UpdateResult,
    decisions_gone,
)
from mnemond.model.passages import DropPassage, PassageChange
from mnemond.model.relations import Relationship
from mnemond.model.reviews import OpenReview
from mnemond.store import (
    edges,
    exchanges,
    history,
    imports,
    insights,
    meta,
    operations,
    passages,
    purge,
    relations,
    reviews,
    showings,
    sync_state,
)
from mnemond.store.connection import Connection, NoSavepointError
from mnemond.store.history import Trail
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import View, Write

RETIRED_AS: dict[Retired, str] = {
    "superseded": "SUPERSEDE", "merged": "MERGE", "forgotten": "DELETE", "pruned": "PRUNE", "expired": "DELETE",
}  # fmt: skip
"""Operation type in the history, by the state of a memory that leaves recall."""

_CERTAIN = frozenset({AddInsight, AddRelations})
_LEAVING = frozenset({RetireInsight, RestoreInsight, PurgeInsight})
"""Changes with which a memory leaves or enters recall, and the reviews about it with it."""

_REWRITES = (AddInsight, PutInsight, RestoreInsight, CountUse)


class Savepoint:
    """Savepoint of one operation. One that is alone in its transaction is rolled back with it.

    Each page that is changed after a savepoint is copied first: 28 µs of a remember in a batch
    (docs/decisions/0019). A new memory and its links cannot be refused any more once they are decided, so they get
    none. If an unforeseen constraint is violated after all, the whole batch is written again, and then each operation
    has a savepoint (`always`).
    """

    def __init__(self, connection: Connection, *, several: bool, always: bool) -> None:
        self._connection = connection
        self._several = several
        self._always = always
        self._begun = self._exists = False

    def begin(self, change_set: ChangeSet) -> None:
        self._begun = True
        if self._several and (self._always or not _CERTAIN.issuperset(map(type, change_set.changes))):
            self._connection.run("SAVEPOINT operation")
            self._exists = True

    def release(self) -> None:
        if self._exists:
            self._connection.run("RELEASE operation")

    def roll_back(self) -> None:
        """Undo the operation's changes; a transaction is open afterwards.

        Raises NoSavepointError: the transaction has to be rolled back.
        """
        if self._exists:
            self._connection.roll_back_to("operation")
        elif self._begun and self._several:
            raise NoSavepointError
        elif self._begun:
            self._connection.run("ROLLBACK")
            self._connection.run("BEGIN IMMEDIATE")


class Written(msgspec.Struct, frozen=True):
    """Result of one write. `purged`: bytes have to be wiped. `reviews`: other reviews may wait than before. `cores`:
    rows of the users whose core summary may be another. `change_set`: what was written, None for a repeat."""

    outcome: Outcome
    purged: bool = False
    reviews: bool = False
    cores: frozenset[str] = frozenset()
    change_set: ChangeSet | None = None


def run(
    connection: Connection,
    index: MemoryIndex,
    write: Write,
    similarity: Cosines | None,
    embedder: EmbedderRecord | None,
    savepoint: Savepoint,
) -> Written:
    """Execute one write behind its savepoint and stage it in the index.

    Raises MnemonError, before anything is staged, when it is refused: `savepoint` has to be rolled back then. Raises
    SqliteError when the database fails.
    """
    if write.client_op_id and (replayed := operations.replay(connection, write)) is not None:
        return Written(replayed)
    change_set = write if isinstance(write, ChangeSet) else write.decide(View(index.working, similarity, connection))
    change_set = with_summaries(change_set, index.working, connection)
    savepoint.begin(change_set)
    applied = _Application(connection, change_set, embedder).run()
    degrees = index.stage(applied.changes)
    index.stage_passages(applied.passages)
    weights = _set_importances(connection, index, change_set, degrees)
    outcome = _completed(connection, change_set.outcome, applied, weights)
    by_daemon = change_set.triggered_by.startswith("system:")
    cores = frozenset(each.entity_id for each in change_set.knowledge if isinstance(each, PutCore | ExpireCore))
    changed = applied.changes or applied.passages or cores or not by_daemon  # a job that changed nothing leaves no line
    if change_set.operation != "" and changed:
        subject = change_set.subject or applied.subject
        _log_others(connection, change_set, subject)
        operation = change_set.operation or change_set.method
        operations.log(connection, operation, subject, change_set.detail, change_set.now, change_set.op_id)
    if change_set.client_op_id:
        operations.record(connection, change_set, outcome)
    if change_set.refused:
        operations.count_refusal(connection, change_set.refused, change_set.now)
    if change_set.recalls:
        operations.log_recalls(connection, change_set.recalls)
    if change_set.showings:
        showings.add(connection, change_set.showings)
    if change_set.trigger_counts:
        insights.count_triggers(connection, change_set.trigger_counts)
    if change_set.imported:
        imports.note(connection, change_set.op_id, change_set.imported)
    if change_set.synced:
        sync_state.put(connection, change_set.synced)
    if change_set.facts:
        meta.note(connection, change_set.facts)
    reviewed = bool(change_set.reviews) or not _LEAVING.isdisjoint(map(type, change_set.changes))
    return Written(outcome, applied.purged, reviewed, cores, change_set)


def _log_others(connection: Connection, change_set: ChangeSet, subject: str | None) -> None:
    """Log memories that the operation pruned, expired or paired with its subject."""
    for change in change_set.changes:
        if isinstance(change, AddEdge):
            continue  # most are, and matching costs ten times as much
        match change:
            case RetireInsight(id=insight_id, status="pruned"):
                why = change_set.triggered_by if change_set.method == "jobs" else f"for={subject}"
                operations.log(connection, "prune", insight_id, why, change_set.now, change_set.op_id)
            case RetireInsight(id=insight_id, status="expired") if insight_id != subject:
                by = change_set.triggered_by
                operations.log(connection, "expire", insight_id, by, change_set.now, change_set.op_id)
            case PutInsight(insight=Insight(id=insight_id, paired_with=str(other)), revision="PAIR"):
                operations.log(connection, "pair", insight_id, f"with={other}", change_set.now, change_set.op_id)
            case _:
                pass


def _set_importances(
    connection: Connection, index: MemoryIndex, change_set: ChangeSet, degrees: dict[int, tuple[int, int]]
) -> dict[str, float]:
    """Update the effective importance of memories that were rewritten, or whose degree changed below DEGREE_CAP: beyond
    that it has no effect, so well-connected rows are not written again and again."""
    rewritten = {
        change.id if isinstance(change, CountUse) else change.insight.id
        for change in change_set.changes
        if isinstance(change, _REWRITES)
    }
    rows = {row for insight_id in rewritten if (row := index.row_of(insight_id)) is not None}
    rows |= {
        row
        for row, (was, now) in degrees.items()
        if was == NEW or (was != now and (was < DEGREE_CAP or now < DEGREE_CAP))
    }
    now_us = parse_rfc3339(change_set.now)
    degree_of, weights = index.table.columns.degree.view(), dict[str, float]()
    changed: list[SetImportance] = []
    for row in sorted(rows):
        it = index.table.insights[row]
        days = (now_us - parse_rfc3339(it.last_accessed_at or it.created_at)) / DAY_US
        value = round(effective_importance(it.importance, it.access_count, days, int(degree_of[row])), 6)
        weights[it.id] = value
        if it.effective_importance != value:
            insights.set_importance(connection, it.id, value)
            changed.append(SetImportance(it.id, value))
    if changed:
        index.stage(changed)
    return weights


def _completed(connection: Connection, outcome: Outcome, applied: _Applied, weights: dict[str, float]) -> Outcome:
    match outcome:
        case RememberResult(id=insight_id) | UpdateResult(id=insight_id) | GcKept(id=insight_id) if (
            insight_id in weights
        ):
            return msgspec.structs.replace(outcome, effective_importance=weights[insight_id])
        case RelationResult():
            return msgspec.structs.replace(outcome, relations=relations.views(connection, applied.relations))
        case EntityResult():
            return msgspec.structs.replace(outcome, changed=relations.views(connection, applied.relations))
        case ForgetResult():
            removed = edges.logical_links(applied.removed)
            message = outcome.message
            if applied.decisions:
                message = f"{message}; {decisions_gone(applied.decisions)}"
            return msgspec.structs.replace(
                outcome, edges_removed=removed, decisions_removed=applied.decisions, message=message
            )
        case UnlinkResult() | UndoResult():
            return msgspec.structs.replace(outcome, edges_removed=edges.logical_links(applied.removed))
        case SupersedeResult() | MergeResult():
            return msgspec.structs.replace(outcome, edges_moved=edges.logical_links(applied.moved))
        case LinkResult() if applied.linked:
            edge, _ = applied.linked[0]
            created = any(before is None for _, before in applied.linked)
            updated = not created and any(after != before for after, before in applied.linked)
            metadata = msgspec.json.decode(edge.metadata)
            return msgspec.structs.replace(
                outcome, weight=edge.weight, metadata=metadata, created=created, updated=updated
            )
        case _:
            return outcome


# A change set as SQL.


class _Applied(msgspec.Struct):
    """`changes`: those that took effect, for the index. `removed` and `moved`: edges. `linked`: the audited edges, as
    they are and were before. `subject`: the first memory that changed. `purged`: bytes have to be wiped. `relations`:
    rows about relations that are new. `decisions`: how many about names went with purged memories. `passages`: changes
    to these that took effect, for the index."""

    changes: list[Change]
    removed: list[Edge]
    moved: list[Edge]
    linked: list[tuple[Edge, Edge | None]]
    subject: str | None = None
    purged: bool = False
    relations: list[Relationship] = []
    decisions: int = 0
    passages: list[PassageChange] = []


class _Application:
    def __init__(self, connection: Connection, change_set: ChangeSet, embedder: EmbedderRecord | None) -> None:
        self._connection = connection
        self._change_set = change_set
        self._embedder = embedder
        self._now = change_set.now
        self._fresh: set[str] = set()
        self._waiting: list[AddEdge] = []
        self._inserted: set[tuple[str, str, str]] = set()
        self._applied = _Applied([], [], [], [])
        self._trail = Trail()
        self._purged: list[str] = []
        self._derive_again = False

    def run(self) -> _Applied:
        """Raises MnemonError when the operation is refused, SqliteError when the database fails."""
        connection, change_set = self._connection, self._change_set
        purges = sum(isinstance(change, PurgeInsight) for change in change_set.changes)
        with purge.edges_indexed_by_target(connection, purges) if purges else nullcontext():
            self._apply_all()
        if self._purged:
            purge.remove_traces(connection, self._purged)
        if self._derive_again:
            relations.derive_again(connection, change_set.op_id, change_set.now)
        entries = self._trail.entries(lambda insight_id: insights.read(connection, insight_id))
        if change_set.queue:
            exchanges.apply_queue(connection, change_set)
        if change_set.passages:
            self._applied.passages = passages.apply(connection, change_set, self._embedder)
        purges_passages = any(isinstance(each, DropPassage) and each.how == "purged" for each in change_set.passages)
        if purges_passages:
            purge.note_unwiped(connection)
            self._applied.purged = True
        if change_set.undoes is not None:
            exchanges.withdraw_imported(connection, change_set.undoes)
        if change_set.reviews:
            reviews.apply(connection, change_set)
        if change_set.knowledge:
            self._applied.relations = relations.apply(connection, change_set)
        decided = any(not isinstance(each, OpenReview) for each in change_set.reviews)
        is_alone = change_set.operation != "" and not entries
        if change_set.knowledge or (is_alone and (decided or (change_set.passages and not purges_passages))):
            entries.append(history.Entry(change_set.method))
        it = change_set
        history.append(connection, entries, it.op_id, it.triggered_by, it.now, it.undoes)
        return self._applied

    def _apply_all(self) -> None:
        fresh, inserted, waiting = self._fresh, self._inserted, self._waiting
        for change in self._change_set.changes:
            if isinstance(change, AddEdge):
                # Edges of a row that this operation added cannot exist yet, so they wait and are inserted together.
                source, target, _ = key = edges.key(change.edge)
                if (source in fresh or target in fresh) and key not in inserted and not change.audited:
                    waiting.append(change)
                    inserted.add(key)
                else:
                    self._link(change)
                continue
            if isinstance(change, AddRelations):
                self._relate(change)
                continue
            self._flush()
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
                    self._embed(change)
                case CountUse():
                    if insights.count_use(self._connection, change):
                        self._applied.changes.append(change)
                case SetImportance():
                    insights.set_importance(self._connection, change.id, change.effective_importance)
                    self._applied.changes.append(change)
                case _:
                    assert_never(change)
        self._flush()

    def _effect(self, change: Change, subject: str) -> None:
        self._applied.changes.append(change)
        self._applied.subject = self._applied.subject or subject

    def _add(self, change: AddInsight) -> None:
        insights.insert(self._connection, change, self._embedder)
        if change.insight.channel == SUMMARIZED:
            mark(self._connection, change.insight.id)
        edges.mention(self._connection, change.insight.id, change.mentions, self._now)
        self._trail.memory("CREATE", change.insight.id, None, change.insight)
        self._fresh.add(change.insight.id)
        self._effect(change, change.insight.id)

    def _put(self, change: PutInsight) -> None:
        insight_id = change.insight.id
        before = self._active(insight_id)
        insights.update(self._connection, change.insight)
        if change.embedded:
            insights.set_vector(self._connection, insight_id, change.vector, self._embedder)
        if change.insight.cues != before.cues:
            insights.replace_cues(self._connection, insight_id, change.insight.cues)
            if not change.embedded:
                insights.drop_cued_vector(self._connection, insight_id)
        if change.insight.when != before.when:
            insights.replace_triggers(self._connection, insight_id, change.insight.when)
        if change.mentions is not None:
            edges.replace_mentions(self._connection, insight_id, change.mentions, self._now)
        if change.queries is not None:
            insights.replace_queries(self._connection, insight_id, change.queries)
        self._trail.memory(change.revision, insight_id, before, change.insight)
        self._effect(change, insight_id)

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
        successor = change.successor if change.moves else None
        for edge in (edges.moved(link, change.id, successor) for link in links if successor is not None):
            if edge is not None:
                moved, previous = edges.upsert(self._connection, edge, self._now)
                self._inserted.add(edges.key(moved))
                self._applied.changes.append(AddEdge(moved))
                self._trail.edge(previous, moved, change.id)
                self._applied.moved += [moved] if previous is None else []
        after = msgspec.structs.replace(
            before,
            status=change.status,
            updated_at=self._now,
            superseded_by=change.successor,
            invalid_at=change.invalid_at or before.invalid_at,
        )
        self._trail.memory(RETIRED_AS[change.status], change.id, before, after)

    def _restore(self, change: RestoreInsight) -> None:
        before = insights.read(self._connection, change.insight.id)
        if before is None or not insights.restore(self._connection, change.insight):
            raise _not_found(change.insight.id, "retired", before)
        if change.insight.cues != before.cues:
            insights.replace_cues(self._connection, change.insight.id, change.insight.cues)
        if change.insight.when != before.when:
            insights.replace_triggers(self._connection, change.insight.id, change.insight.when)
        # An edge that was made to a retired row is invisible, so none may come back with it.
        edges.remove_all(self._connection, edges.touching(self._connection, change.insight.id))
        insights.set_vector(self._connection, change.insight.id, change.vector, self._embedder)
        self._trail.memory("RESTORE", change.insight.id, before, change.insight)
        self._effect(change, change.insight.id)

    def _purge(self, change: PurgeInsight) -> None:
        if insights.read(self._connection, change.id) is None:
            raise _not_found(change.id, "known", None)
        removed = purge.remove(self._connection, change.id)
        self._applied.removed += removed.edges
        self._applied.decisions += removed.decisions
        self._derive_again |= removed.is_evidence or removed.decisions > 0
        self._purged.append(change.id)
        self._trail.purge(change.id)
        self._trail.memory("DELETE", change.id, None, None)
        self._applied.purged = True
        self._effect(change, change.id)

    def _embed(self, change: SetVector) -> None:
        if change.vector is None:
            found = insights.set_unembeddable(self._connection, change.id, self._embedder)
        else:
            found = insights.set_vector(self._connection, change.id, change.vector, self._embedder)
        if found:
            self._effect(change, change.id)

    def _active(self, insight_id: str) -> Insight:
        found = insights.read(self._connection, insight_id)
        if found is None or found.status != "active":
            raise _not_found(insight_id, "active", found)
        return found

    def _relate(self, change: AddRelations) -> None:
        edges.insert_relations(self._connection, change.id, change.relations, self._now)
        self._fresh.discard(change.id)  # a similar memory may be paired as well: two changes about one edge
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


def _not_found(insight_id: str, wanted: str, found: Insight | None) -> MnemonError:
    return rejected(
        NOT_FOUND,
        f"no {wanted} memory {insight_id[:64]!a}" + (f": it is {found.status}" if found else ""),
        "`mnemonctl list` shows the active ones",
    )


# ---------------------------------------------------------------- summaries follow their sources
#
# Summaries follow their sources, in the transaction that changes these: a summary must not say for a moment what is
# not so any more, nor keep a word of what was purged.


_MARK: Final = "UPDATE insights SET memory_type = 'summary' WHERE id = ?"

_OF: Final = "SELECT id FROM insights WHERE channel = 'summary' AND instr(metadata, ?)"

_LAPSED: Final = (
    "SELECT id FROM insights WHERE channel = 'summary' AND status = 'superseded' AND superseded_by IS NULL"
    " ORDER BY deleted_at DESC LIMIT ?"
)

_UNWANTED: Final = (
    "SELECT metadata FROM insights WHERE channel = 'summary' AND status IN ('active', 'forgotten')"
    " AND json_valid(metadata)"
)


def mark(connection: Connection, insight_id: str) -> None:
    """Note in the row that a memory is a summary."""
    connection.run(_MARK, (insight_id,))


def with_summaries(change_set: ChangeSet, snapshot: Snapshot, connection: Connection) -> ChangeSet:
    """Add to a write that its summaries follow: those of memories that leave recall or get another text are retired,
    those of purged ones are purged, also the retired ones; one that comes back although its sources are others by now
    is retired again. Costs a look at each change, of which most add links."""
    gone, purged = _sources(change_set, snapshot)
    late = _outdated(change_set, snapshot, connection)
    if not purged and not late and (not gone or not snapshot.has_channel(SUMMARIZED)):
        return change_set
    known = {_subject(change) for change in change_set.changes}
    more: list[Change] = [RetireInsight(each, "superseded", moves=False) for each in late]
    more += [
        PurgeInsight(each)
        for source in sorted(purged)
        for each in connection.column(_OF, (source,))
        if each not in known and not known.add(each)  # type: ignore[func-returns-value]
    ]
    for row in np.flatnonzero(snapshot.of_channel(SUMMARIZED) & snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if it.id not in known and not gone.isdisjoint(derived_from(it)):
            more.append(RetireInsight(it.id, "superseded", moves=False))
    return msgspec.structs.replace(change_set, changes=(*change_set.changes, *more)) if more else change_set


def _sources(change_set: ChangeSet, snapshot: Snapshot) -> tuple[set[str], set[str]]:
    """Return the memories that leave recall or get another text, and those that are purged."""
    gone, purged = set[str](), set[str]()
    for change in change_set.changes:
        if isinstance(change, AddEdge | AddInsight | AddRelations):
            continue  # most are, and matching costs ten times as much
        match change:
            case RetireInsight(id=insight_id):
                gone.add(insight_id)
            case PurgeInsight(id=insight_id):
                purged.add(insight_id)
            case PutInsight(insight=it):
                row = snapshot.row_of(it.id)
                if row is not None and snapshot.insight(row).content != it.content:
                    gone.add(it.id)
            case _:
                pass
    return gone, purged


def _outdated(change_set: ChangeSet, snapshot: Snapshot, connection: Connection) -> list[str]:
    """Return the summaries that a write restores, as an undo does, of which a source is not active or was changed by
    another write since they were retired."""
    coming = [it.insight for it in change_set.changes if isinstance(it, RestoreInsight) and derived_from(it.insight)]
    if not coming:
        return []
    own = {_subject(change) for change in change_set.changes if not isinstance(change, RetireInsight | PurgeInsight)}
    return [
        it.id for it in coming if not all(_is_as_then(each, it, own, snapshot, connection) for each in derived_from(it))
    ]


def _is_as_then(
    source: str, summary: Insight, own: AbstractSet[str], snapshot: Snapshot, connection: Connection
) -> bool:
    """Return True if a source is as it was when its summary was retired, or this write makes it so."""
    if source in own:
        return True
    row, retired = snapshot.row_of(source), insights.read(connection, summary.id)
    return row is not None and retired is not None and snapshot.insight(row).updated_at <= retired.updated_at


def _subject(change: Change) -> str:
    """Return the memory that a change retires, purges, rewrites or restores; "" for any other change."""
    match change:
        case RetireInsight(id=insight_id) | PurgeInsight(id=insight_id):
            return insight_id
        case PutInsight(insight=it) | RestoreInsight(insight=it):
            return it.id
        case _:
            return ""


def lapsed(connection: Connection, limit: int) -> list[str]:
    """Return summaries that were retired with a source, the last ones first."""
    return connection.column(_LAPSED, (limit,))


def kept_or_refused(connection: Connection) -> set[frozenset[str]]:
    """Return the sources of every summary that is active, or that someone forgot: those are not summed up again."""
    found = (msgspec.json.decode(text, type=dict[str, object]) for text in connection.column(_UNWANTED))
    return {frozenset(map(str, each)) for it in found if isinstance(each := it.get("derived_from"), list)}
