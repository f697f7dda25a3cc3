"""undo: revert one whole operation, as a new operation that can be undone itself.

An operation whose memories were changed again since is refused; the later operation must be undone first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from mnemond.config.writing import HypotheticalQueriesSettings
from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import own_vector
from mnemond.memory.compare import Return, mutual
from mnemond.memory.cues import joined_cues
from mnemond.memory.history import conflicts_after_restore
from mnemond.memory.questions.memories import note_of
from mnemond.memory.questions.pairs import needs_a_person
from mnemond.memory.relations import contradiction
from mnemond.memory.reviews import only_by_person
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import (
    AddEdge,
    ChangeSet,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
)
from mnemond.model.core import ExpireCore, PutCore
from mnemond.model.memory import Cue, Edge, Insight, TextWithCues
from mnemond.model.outcomes import Conflict, UndoneMemory, UndoResult
from mnemond.model.passages import PassageChange
from mnemond.model.relations import KnowledgeChange
from mnemond.model.reviews import CloseReview, ReopenReview
from mnemond.store import edges, history, insights, operations, passages, relations, reviews
from mnemond.store.connection import Connection
from mnemond.store.history import Record
from mnemond.store.meta import EmbedderRecord, read_embedder
from mnemond.store.operations import Proposal, View
from mnemond.store.sync_state import BY
from mnemond.text.entities import extract
from mnemond.text.hypothetical import hypothetical_queries

# The effect of an operation, read from its history, and its reversal; pure functions.


Key = tuple[str, str, str]

BOOST = ("boost_days", "last_boosted_at")
"""Fields that pairing changes."""

ELSEWHERE = (
    "updated_at", "effective_importance", "access_count", "last_accessed_at", "superseded_by", "paired_with", "useful",
    "misled", "cues", *BOOST
)  # fmt: skip
"""Fields that change without a revision of the memory: by recall, links, pairing, judgements, or changes of other
memories. They do not prevent an undo. Corroboration does: the undo would remove a statement that was made twice."""


class Memory(msgspec.Struct):
    """One memory before and after an operation; `before` is None when the operation made it."""

    before: Insight | None
    after: Insight


class Link(msgspec.Struct):
    """One edge before and after an operation."""

    before: Edge | None
    after: Edge | None


class Effect(msgspec.Struct):
    """What an operation did to memories. `purged`: those of which nothing is kept, so that it cannot be undone."""

    memories: dict[str, Memory]
    links: dict[Key, Link]
    purged: list[str]


def effect_of(records: Sequence[Record]) -> Effect:
    """Combine the history rows of one operation, in order."""
    effect = Effect({}, {}, [])
    for record in records:
        if record.after is None:
            effect.purged.append(record.memory_id)
            continue
        before = None if record.before is None else record.before.insight
        known = effect.memories.setdefault(record.memory_id, Memory(before, record.after.insight))
        known.after = record.after.insight
        had = {edges.key(edge): edge for edge in (record.before.edges if record.before is not None else [])}
        has = {edges.key(edge): edge for edge in record.after.edges}
        for key in had | has:
            effect.links.setdefault(key, Link(had.get(key), None)).after = has.get(key)
    made = {insight_id for insight_id, memory in effect.memories.items() if memory.before is None}
    for key, link in effect.links.items():
        if not made.isdisjoint(key[:2]):
            link.before = None  # the operation linked what it made itself, then changed that link
    return effect


def is_as_left(now: Insight, left: Insight) -> bool:
    """Return True if a memory was not revised since the operation. That it learned cues is no revision."""
    return _given(now) == _given(left) and all(
        getattr(now, field) == getattr(left, field) for field in Insight.__struct_fields__ if field not in ELSEWHERE
    )


def _given(it: Insight) -> list[Cue]:
    return [cue for cue in it.cues if cue.source != "learned"]


def former_text(memory: Memory, current: Insight) -> TextWithCues:
    """Return what a memory is embedded as after an undo: as before, with the cues it learned by other operations."""
    before = memory.before
    assert before is not None, "it was made by the operation: there is no value to go back to"  # noqa: S101
    learned = [cue for cue in current.cues if cue.source == "learned" and cue not in memory.after.cues]
    return TextWithCues(before.content, joined_cues(before.cues, learned))


def reverted(memory: Memory, current: Insight, now: str) -> Insight:
    """Return the former value of a memory, with changes from elsewhere since: later uses, judgements, boosts and
    partner stay; the partner may be paired otherwise by now (see `compare.mutual`)."""
    before, after = memory.before, memory.after
    assert before is not None, "it was made by the operation: there is no value to go back to"  # noqa: S101
    gained = after.access_count - before.access_count
    used = _chosen(("last_accessed_at",), before, after, current)
    boosted = _chosen(BOOST, before, after, current)
    partner = _chosen(("paired_with",), before, after, current)
    return msgspec.structs.replace(
        before,
        access_count=max(0, current.access_count - gained),
        useful=max(0, current.useful - (after.useful - before.useful)),
        misled=max(0, current.misled - (after.misled - before.misled)),
        last_accessed_at=used.last_accessed_at,
        boost_days=boosted.boost_days,
        last_boosted_at=boosted.last_boosted_at,
        paired_with=partner.paired_with,
        effective_importance=current.effective_importance,
        cues=former_text(memory, current).cues,
        updated_at=now,
    )


def _chosen(fields: Sequence[str], before: Insight, after: Insight, current: Insight) -> Insight:
    """Return the source of some fields: `before`, unless they were changed since the operation."""
    as_left = all(getattr(current, field) == getattr(after, field) for field in fields)
    return before if as_left else current


# The write.


MAX_TRIED = 100
"""Operations examined for one that can be undone, when none is named."""

MAX_MATCHES = 5
"""Matches listed for an ambiguous prefix."""

MAX_COMPARED = 8
"""Restored memories of one operation that are compared with active ones; a millisecond each."""

LATER = "it was changed while this was prepared; it is embedded later"
"""Reason of a missing vector without a failure."""

SHORTEST = 6
"""Minimum characters of an op_id prefix; a whole op_id may have fewer."""

SYSTEM = "system:"
"""Prefix of `triggered_by` of background operations, which are undone only by op_id."""


class Found(msgspec.Struct, frozen=True):
    """The operation to undo (None: the newest that can be), and its former texts without a vector.

    `operation` is a whole op_id once looked up, before that the prefix as given.
    """

    operation: str | None
    texts: tuple[TextWithCues, ...] = ()


class Vectors(msgspec.Struct, frozen=True):
    """Vectors of texts (None where missing), and the reason for missing ones."""

    of: Mapping[TextWithCues, object]  # Vector | None
    error: str | None = None


class _Means(NamedTuple):
    """The inputs of an undo."""

    vectors: Vectors
    now: str
    queries: HypotheticalQueriesSettings
    embedder: EmbedderRecord | None
    connection: Connection


def look(connection: Connection, named: str | None) -> Found:
    """Find the operation with an op_id or prefix; None: the newest that can be undone.

    Raises MnemonError when there is none, when it is ambiguous, and when the operation cannot be undone.
    """
    plan = _planned(connection, named)
    return Found(plan.op_id, _unembedded(plan, connection, read_embedder(connection)))


def _unembedded(plan: _Plan, connection: Connection, embedder: EmbedderRecord | None) -> tuple[TextWithCues, ...]:
    """Return the memories that will be active without a stored vector."""
    texts = [
        text
        for memory, current in plan.returning()
        if (text := former_text(memory, current)) != current.text
        or (current.status != "active" and insights.vector_of(connection, current.id, embedder) is None)
    ]
    return tuple(dict.fromkeys(texts))


def propose(found: Found, vectors: Vectors, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose the undo. Everything `look` checked is checked again in the writer."""
    return identity.proposal("undo", partial(_decide, found, vectors, identity, rules))


def _decide(found: Found, vectors: Vectors, identity: WriteContext, rules: WriteRules, view: View) -> ChangeSet:
    connection = view.connection
    plan = _planned(connection, found.operation)
    closed = [each for each in plan.reviews if isinstance(each, CloseReview)]
    for each in () if identity.by_person else closed:
        again = reviews.read(connection, each.id)
        if again is not None and needs_a_person(again.asked.kind, each.resolution, rules.config):
            raise only_by_person(again.id, each.resolution)
    means = _Means(
        vectors, identity.now, rules.config.commitment.hypothetical_queries, read_embedder(connection), connection
    )
    lacking = [text for text in _unembedded(plan, connection, means.embedder) if vectors.of.get(text) is None]
    back = (_back(memory, current, means) for memory, current in plan.changed)
    returning, parting = mutual(view.snapshot, [change for change in back if change is not None])
    links = _links(plan, view, returning)
    outcome = UndoResult(
        status="undone",
        undone=plan.op_id,
        method=plan.method or operations.method_of(connection, plan.op_id),
        memories=[
            *_undone(returning, view.snapshot, rules, identity.now_us),
            *(
                UndoneMemory(insight_id, "relinked", [])
                for insight_id, memory in plan.effect.memories.items()
                if memory.before == memory.after
            ),
        ],
        edges_restored=edges.logical_links(links.restored),
        edges_removed=0,  # counted by the store, as it removes them
        edges_missing=edges.logical_links(links.missing),
        embed_error=(vectors.error or LATER) if lacking else None,
        relations=sum(not isinstance(each, PutCore | ExpireCore) for each in plan.knowledge),
        passages=len(plan.passages),
        op_id=identity.op_id,
        replayed=False,
    )
    change_set = identity.change_set(
        method="undo",
        changes=(
            *returning,
            *parting,
            # Removed first: a restored edge must replace its later version, not combine with it.
            *(RemoveEdge(each.source_id, each.target_id, each.edge_type) for each in links.removed),
            *map(AddEdge, links.restored),
        ),
        outcome=outcome,
        detail=f"undone={plan.op_id}",
        subject=next(iter(plan.effect.memories), None),
        reviews=plan.reviews,
        undoes=plan.op_id,
    )
    return msgspec.structs.replace(change_set, knowledge=tuple(plan.knowledge), passages=tuple(plan.passages))


# Selection of the operation.


def _planned(connection: Connection, named: str | None) -> _Plan:
    return _newest(connection) if named is None else _plan(connection, _resolved(connection, named))


def _resolved(connection: Connection, named: str) -> str:
    found = history.operations_beginning(connection, named, MAX_MATCHES + 1)
    if len(found) == 1 and (len(named) >= SHORTEST or found[0] == named):
        return found[0]
    if not found or len(named) < SHORTEST:
        short = "" if len(named) >= SHORTEST else f" (below {SHORTEST} characters only a whole op_id counts)"
        raise MnemonError(
            NOT_FOUND,
            f"no operation {named[:64]!a} changed anything of this store that comes back{short}",
            hint="`mnemonctl log` shows what was done lately, `mnemonctl history ID` the operations of a memory",
            outcome="rejected",
        )
    listed = ", ".join(each[:64] for each in found[:MAX_MATCHES]) + (" and more" if len(found) > MAX_MATCHES else "")
    raise MnemonError(
        AMBIGUOUS,
        f"{named[:64]!a} is the beginning of several op_ids: {listed}",
        hint="write more of the op_id",
        outcome="rejected",
    )


def _newest(connection: Connection) -> _Plan:
    """Return the newest requested operation that is not an undo itself and can be undone."""
    for tried, done in enumerate(history.newest_first(connection)):
        if tried == MAX_TRIED:
            break
        if done.undoes is not None or done.triggered_by.startswith(SYSTEM):
            continue
        try:
            return _plan(connection, done.op_id)
        except MnemonError as error:
            if error.kind not in (INVALID_PARAMS, NOT_FOUND):
                raise
    raise MnemonError(
        NOT_FOUND,
        "nothing can be taken back",
        hint="an undo is taken back by its own op_id: mnemonctl undo OP",
        outcome="rejected",
    )


class _Plan(msgspec.Struct, frozen=True):
    """An operation that can be undone, and its method as far as its history has it. `changed`: its memories, each with
    its current value, without those of which only links changed; and the changes that take back what else it did."""

    op_id: str
    method: str | None
    effect: Effect
    changed: list[tuple[Memory, Insight]]
    knowledge: list[KnowledgeChange]
    passages: list[PassageChange]
    reviews: tuple[CloseReview | ReopenReview, ...]

    def returning(self) -> list[tuple[Memory, Insight]]:
        """Return the memories that will be active, and their current values."""
        return [each for each in self.changed if each[0].before is not None and each[0].before.status == "active"]


def _plan(connection: Connection, op_id: str) -> _Plan:
    """Raise MnemonError when the operation cannot be undone."""
    every = history.of_operation(connection, op_id)
    records = _undoable(connection, [each for each in every if each.memory_id])
    effect = effect_of(records)
    current = {each: insights.read(connection, each) for each in (*effect.purged, *effect.memories)}
    for insight_id, found in current.items():
        if found is None:
            raise _refusal(
                f"operation {op_id} cannot be taken back: memory {insight_id} was purged", "nothing of it is kept"
            )
        if insight_id in effect.purged:
            raise _refusal(
                f"operation {op_id} cannot be taken back: what memory {insight_id} said then was purged, with the one"
                " it was merged with",
                "nothing of that is kept",
            )
    by = history.undone_by(connection, op_id)
    if by is not None:
        raise _refusal(f"operation {op_id} was taken back by {by} before", f"to have it again: mnemonctl undo {by}")
    method = next((each.operation_type for each in every if not each.memory_id), None)
    knowledge, expired = relations.undoing(connection, op_id)
    said, gone = passages.undoing(connection, op_id)
    asked = reviews.undoing(connection, op_id)
    changed = [
        (memory, now)
        for insight_id, memory in effect.memories.items()
        if memory.before != memory.after and (now := current[insight_id]) is not None
    ]
    plan = _Plan(op_id, method, effect, changed, knowledge, said, tuple(asked))
    if expired or gone or not (records or knowledge or said or asked):
        raise _refusal(
            f"operation {op_id} cannot be taken back: what it noted was changed again since", "undo that one first"
        )
    if (why := contradiction(connection, knowledge)) is not None:
        raise _refusal(f"operation {op_id} cannot be taken back: {why}", "undo that decision first")
    for memory, now in changed:
        if not is_as_left(now, memory.after):
            raise _changed_since(connection, op_id, now.id)
    _check_places(connection, plan, every[-1].id)
    if not changed:
        _check_links(connection, plan)
    return plan


def _undoable(connection: Connection, records: list[Record]) -> list[Record]:
    """Return the rows of an operation without those of memories that were purged since, if it is what other devices
    did: one of them could else keep all that it changed from being undone by a purge of one memory."""
    if not records or records[0].triggered_by != BY:
        return records
    return [each for each in records if insights.read(connection, each.memory_id) is not None] or records


def _check_places(connection: Connection, plan: _Plan, last: int) -> None:
    """Refuse to retire a memory that superseded another since: neither would be in recall."""
    coming = {current.id for _, current in plan.returning()}
    for _, current in plan.changed:
        if current.status != "active" or current.id in coming:
            continue
        for other, by in history.retired_for(connection, current.id, last):
            if other not in coming:
                raise _refusal(
                    f"operation {plan.op_id} cannot be taken back: memory {other} left its place to {current.id} since,"
                    f" by {by}",
                    "undo that one first",
                )


def _check_links(connection: Connection, plan: _Plan) -> None:
    """Refuse to undo an operation on links alone if its links were changed since."""
    for key, link in plan.effect.links.items():
        ends = [insights.read(connection, end) for end in key[:2]]
        off = next((end for end, it in zip(key, ends, strict=False) if it is None or it.status != "active"), None)
        if off is not None or edges.read(connection, *key) != link.after:
            raise _changed_since(connection, plan.op_id, *(key[:2] if off is None else (off,)))


def _changed_since(connection: Connection, op_id: str, *ids: str) -> MnemonError:
    newest = {history.newest_of(connection, insight_id) for insight_id in ids} - {op_id, None}
    by = " or ".join(sorted(str(each) for each in newest)) or "something without a history"
    return _refusal(
        f"operation {op_id} cannot be taken back: memory {' or '.join(ids)} was changed again since, by {by}",
        "undo that one first",
    )


def _refusal(sentence: str, hint: str) -> MnemonError:
    return MnemonError(INVALID_PARAMS, sentence, hint=hint, outcome="rejected")


# The changes.


def _undone(returning: Sequence[Return], snapshot: Snapshot, rules: WriteRules, now_us: int) -> Iterator[UndoneMemory]:
    """Yield the result for each memory, the first of them with their conflicts with other memories. Conflicts among
    themselves are left out: they were active together before, and the snapshot does not have their texts yet."""
    changing = [change.id if isinstance(change, RetireInsight) else change.insight.id for change in returning]
    left = MAX_COMPARED
    for change in returning:
        if isinstance(change, RetireInsight):
            yield UndoneMemory(change.id, "retired", [])
            continue
        it, vector = change.insight, change.vector
        is_back = isinstance(change, RestoreInsight)
        conflicts: list[Conflict] = []
        if left and (isinstance(change, RestoreInsight) or change.embedded):
            left -= 1
            own = None if vector is None else own_vector(vector)
            fits = own is not None and own.shape == (snapshot.dimension,)
            similarity = snapshot.cosines(own) if own is not None and fits else None
            conflicts = conflicts_after_restore(snapshot, it, similarity, rules, now_us, changing)
        yield UndoneMemory(it.id, "restored" if is_back else "revised", conflicts)


def _back(memory: Memory, current: Insight, means: _Means) -> Return | None:
    """Return the change that reverts a memory, None if it is as it was."""
    before = memory.before
    is_active = current.status == "active"
    if before is None:
        return RetireInsight(current.id, "forgotten", moves=False) if is_active else None
    if before.status != "active":
        return _retired_again(before, means) if is_active else None
    value = reverted(memory, current, means.now)
    reworded = value.content != current.content
    reembedded = value.text != current.text
    vector = means.vectors.of.get(value.text)
    kept_queries = not reworded and note_of(value) == note_of(current)
    most = means.queries.count(value.trigger_type)
    if not is_active:
        kept = None if reembedded else insights.vector_of(means.connection, current.id, means.embedder)
        return RestoreInsight(value, vector if kept is None else kept)
    return PutInsight(
        value,
        "UPDATE",
        embedded=reembedded,
        vector=vector if reembedded else None,
        mentions=extract(value.content, value.entities, mode="provided", known=lambda _: None)
        if reworded or value.entities != current.entities
        else None,
        queries=None if kept_queries else hypothetical_queries(value.trigger_type, value.content, most=most),
    )


def _retired_again(before: Insight, means: _Means) -> RetireInsight:
    successor = before.superseded_by
    if successor is not None and insights.read(means.connection, successor) is None:
        successor = None
    assert before.status != "active", "it was retired before"  # noqa: S101
    return RetireInsight(before.id, before.status, successor, before.invalid_at, moves=False)


class Edges(msgspec.Struct, frozen=True):
    """Edges to remove, edges to restore, and edges that cannot be restored because a memory at an end is retired."""

    removed: list[Edge]
    restored: list[Edge]
    missing: list[Edge]


def _links(plan: _Plan, view: View, returning: list[Return]) -> Edges:
    """Return the edge changes that restore the former links, except those changed since."""
    leaving = {change.id for change in returning if isinstance(change, RetireInsight)}
    coming = {change.insight.id for change in returning if isinstance(change, RestoreInsight)}
    found = Edges([], [], [])
    for key, link in plan.effect.links.items():
        here = edges.read(view.connection, *key)
        if any(end in leaving or (end not in coming and view.snapshot.row_of(end) is None) for end in key[:2]):
            found.missing.extend([] if link.before is None else [link.before])
        elif link.before != here == link.after:
            found.removed.extend([] if here is None else [here])
            found.restored.extend([] if link.before is None else [link.before])
    return found
