"""How one operation of a batch is taken back alone, at no cost for those that nothing is foreseen to refuse."""

from __future__ import annotations

import msgspec

from mnemond.index.edges import NEW
from mnemond.index.vectors import Cosines
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    ChangeSet,
    CountUse,
    PutInsight,
    RestoreInsight,
    RetireInsight,
    SetImportance,
)
from mnemond.model.memory import DAY_US, DEGREE_CAP, Insight, effective_importance, parse_rfc3339
from mnemond.model.outcomes import (
    ForgetResult,
    GcKept,
    LinkResult,
    MergeResult,
    Outcome,
    RememberResult,
    SupersedeResult,
    UndoResult,
    UnlinkResult,
    UpdateResult,
)
from mnemond.store import edges, insights, meta, operations
from mnemond.store.apply import Applied, apply_sql
from mnemond.store.connection import Connection, NotKept
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import View, Write

_CERTAIN = frozenset({AddInsight, AddRelations})


class Savepoint:
    """Of one operation. One that is alone in its transaction is taken back with it.

    Each page that is changed after a savepoint is copied first: 28 µs of a remember in a batch
    (docs/decisions/0019). A new memory and its links cannot be refused any more once they are decided. Should a
    constraint that nobody foresaw stand against them, the whole batch is written again, and then each operation has a
    savepoint.
    """

    def __init__(self, connection: Connection, *, several: bool, always: bool) -> None:
        self._connection = connection
        self._several = several
        self._always = always
        self._begun = self._kept = False

    def begin(self, change_set: ChangeSet) -> None:
        """This operation is written from now on."""
        self._begun = True
        if self._several and (self._always or not _CERTAIN.issuperset(map(type, change_set.changes))):
            self._connection.run("SAVEPOINT operation")
            self._kept = True

    def end(self) -> None:
        """It was written."""
        if self._kept:
            self._connection.run("RELEASE operation")

    def take_back(self) -> None:
        """Undo it. The transaction is open after that.

        Raises NotKept: the transaction has to be taken back.
        """
        if self._kept:
            self._connection.take_back("operation")
        elif self._begun and self._several:
            raise NotKept
        elif self._begun:
            self._connection.run("ROLLBACK")
            self._connection.run("BEGIN IMMEDIATE")


# One write inside its savepoint: replayed, decided, applied as SQL, shown to the next one, and recorded.


class Carried(msgspec.Struct, frozen=True):
    """What one write came to. `purged`: bytes have to be wiped."""

    outcome: Outcome
    purged: bool = False


def run(
    connection: Connection,
    index: MemoryIndex,
    write: Write,
    similarity: Cosines | None,
    embedder: EmbedderRecord | None,
    savepoint: Savepoint,
) -> Carried:
    """Carry out one write behind a savepoint of its own and stage it in the index.

    Raises MnemonError, before anything is staged, when it is refused: `savepoint` has to take it back then. Raises
    SqliteError when the database fails.
    """
    if write.client_op_id and (replayed := operations.replay(connection, write)) is not None:
        return Carried(replayed)
    change_set = write if isinstance(write, ChangeSet) else write.decide(View(index.working, similarity, connection))
    savepoint.begin(change_set)
    applied = apply_sql(connection, change_set, embedder)
    degrees = index.stage(applied.changes)
    weights = _importances(connection, index, change_set, degrees)
    outcome = _completed(change_set.outcome, applied, weights)
    if not _is_silent(change_set, applied):
        operation = change_set.operation or change_set.method
        subject = change_set.subject or applied.subject
        _tell_of_others(connection, change_set, subject)
        operations.append(connection, operation, subject, change_set.detail, change_set.now)
    if change_set.client_op_id:
        operations.record(connection, change_set, outcome)
    meta.note(connection, change_set.facts)
    return Carried(outcome, purged=applied.purged)


def _is_silent(change_set: ChangeSet, applied: Applied) -> bool:
    """Background work that changed nothing leaves no line, nor does what is told elsewhere."""
    return change_set.operation == "" or (not applied.changes and change_set.triggered_by.startswith("system:"))


def _tell_of_others(connection: Connection, change_set: ChangeSet, subject: str | None) -> None:
    """A memory that another one pushed out, or was paired with, has a line of its own (spec 4)."""
    for change in change_set.changes:
        if isinstance(change, AddEdge):
            continue  # most are, and matching costs ten times as much
        match change:
            case RetireInsight(id=insight_id, status="pruned"):
                why = change_set.triggered_by if change_set.method == "jobs" else f"for={subject}"
                operations.append(connection, "prune", insight_id, why, change_set.now)
            case RetireInsight(id=insight_id, status="expired") if insight_id != subject:
                operations.append(connection, "expire", insight_id, change_set.triggered_by, change_set.now)
            case PutInsight(insight=Insight(id=insight_id, paired_with=str(other)), revision="PAIR"):
                operations.append(connection, "pair", insight_id, f"with={other}", change_set.now)
            case _:
                pass


_REWRITES = (AddInsight, PutInsight, RestoreInsight, CountUse)


def _importances(
    connection: Connection, index: MemoryIndex, change_set: ChangeSet, degrees: dict[int, tuple[int, int]]
) -> dict[str, float]:
    """Effective importance of every memory that was rewritten, or whose degree changed where it counts (spec 8 ⑦).

    Beyond DEGREE_CAP neighbours another one changes nothing, so well-connected rows are not written again and again.
    """
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
    known, weights = index.table.degrees(), dict[str, float]()
    changed: list[SetImportance] = []
    for row in sorted(rows):
        it = index.table.insights[row]
        weights[it.id] = value = _importance(it, int(known[row]), now_us)
        if it.effective_importance != value:
            insights.set_importance(connection, it.id, value)
            changed.append(SetImportance(it.id, value))
    if changed:
        index.stage(changed)
    return weights


def _importance(it: Insight, degree: int, now_us: int) -> float:
    since = it.last_accessed_at or it.created_at
    days = (now_us - parse_rfc3339(since)) / DAY_US
    return round(effective_importance(it.importance, it.access_count, days, degree), 6)


def _completed(outcome: Outcome, applied: Applied, weights: dict[str, float]) -> Outcome:
    """The outcome with what only the writing could tell."""
    match outcome:
        case RememberResult(id=insight_id) | UpdateResult(id=insight_id) | GcKept(id=insight_id) if (
            insight_id in weights
        ):
            return msgspec.structs.replace(outcome, effective_importance=weights[insight_id])
        case ForgetResult() | UnlinkResult() | UndoResult():
            return msgspec.structs.replace(outcome, edges_removed=edges.logical_links(applied.removed))
        case SupersedeResult() | MergeResult():
            return msgspec.structs.replace(outcome, edges_moved=edges.logical_links(applied.moved))
        case LinkResult() if applied.linked:
            edge, _ = applied.linked[0]
            created = any(before is None for _, before in applied.linked)
            updated = not created and any(after != before for after, before in applied.linked)
            return msgspec.structs.replace(
                outcome,
                weight=edge.weight,
                metadata=msgspec.json.decode(edge.metadata),
                created=created,
                updated=updated,
            )
        case _:
            return outcome
