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
from mnemond.memory import held_texts, relations
from mnemond.memory.compare import Return, mutual
from mnemond.memory.cues import joined_cues
from mnemond.memory.history import conflicts_after_restore, method_of
from mnemond.memory.questions.memories import note_of
from mnemond.memory.questions.pairs import needs_a_person
from mnemond.memory.reviews import only_by_person
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import (
    AddEdge,
    Change,
    ChangeSet,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    Vector,
)
from mnemond.model.memory import Cue, Edge, Entity, Insight, TextWithCues
from mnemond.model.outcomes import Conflict, UndoneMemory, UndoResult
from mnemond.store import edges, history, insights, reviews
from mnemond.store import held_texts as stored_texts
from mnemond.store import relations as stored_relations
from mnemond.store.connection import Connection
from mnemond.store.history import Record, State
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
    """Everything an operation did. `purged`: memories of which nothing is kept, so that it cannot be undone."""

    memories: dict[str, Memory]
    links: dict[Key, Link]
    purged: list[str]

    @property
    def of_links_alone(self) -> bool:
        """Return True if it changed no memory."""
        return all(each.before == each.after for each in self.memories.values())


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
        _note_links(effect.links, record.before, record.after)
    made = {insight_id for insight_id, memory in effect.memories.items() if memory.before is None}
    for key, link in effect.links.items():
        if not made.isdisjoint(key[:2]):
            link.before = None  # the operation linked what it made itself, then changed that link
    return effect


def _note_links(links: dict[Key, Link], before: State | None, after: State) -> None:
    had = {key_of(edge): edge for edge in (before.edges if before is not None else [])}
    has = {key_of(edge): edge for edge in after.edges}
    for key in had | has:
        link = links.setdefault(key, Link(had.get(key), None))
        link.after = has.get(key)


def key_of(edge: Edge) -> Key:
    """Return the unique key of an edge."""
    return edge.source_id, edge.target_id, edge.edge_type


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


class Edges(msgspec.Struct, frozen=True):
    """Edges to remove, edges to restore, and edges that cannot be restored because a memory at an end is retired."""

    removed: list[Edge]
    restored: list[Edge]
    missing: list[Edge]


def edges_back(links: Mapping[Key, Link], current: Mapping[Key, Edge | None], absent: frozenset[str]) -> Edges:
    """Return the edge changes that restore the former links, except those changed since. `absent`: ends that are not
    active after the undo."""
    found = Edges([], [], [])
    for key, link in links.items():
        here = current.get(key)
        gone = not absent.isdisjoint(key[:2])
        if gone and link.before is not None:
            found.missing.append(link.before)
        if gone or here == link.before or here != link.after:
            continue
        if here is not None:
            found.removed.append(here)
        if link.before is not None:
            found.restored.append(link.before)
    return found


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
    found = _of_knowledge(connection, named)
    if found is not None:
        relations.check_undo(connection, found)
        return Found(found)
    if (dropping := _of_text(connection, named)) is not None:
        return Found(dropping)
    plan = _planned(connection, named)
    return Found(plan.op_id, _unembedded(plan, connection, read_embedder(connection)))


def _unembedded(plan: _Plan, connection: Connection, embedder: EmbedderRecord | None) -> tuple[TextWithCues, ...]:
    """Return the memories that will be active without a stored vector."""
    texts = [
        text
        for memory, current in plan.returning()
        if (text := former_text(memory, current)) != current.text
        or (current.status != "active" and _kept_vector(connection, current.id, embedder) is None)
    ]
    return tuple(dict.fromkeys(texts))


def propose(found: Found, vectors: Vectors, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose the undo. Everything `look` checked is checked again in the writer."""
    return identity.proposal("undo", partial(_decide, found, vectors, identity, rules))


def _decide(found: Found, vectors: Vectors, identity: WriteContext, rules: WriteRules, view: View) -> ChangeSet:
    connection = view.connection
    if found.operation is not None and not identity.by_person:
        for number, kind, resolution in reviews.closed_again_by_undo(connection, found.operation):
            if needs_a_person(kind, resolution, rules.config):
                raise only_by_person(number, resolution)
    if found.operation is not None and relations.is_knowledge(connection, found.operation):
        return relations.decide_undo(connection, found.operation, identity)
    if (dropping := _of_text(connection, found.operation)) is not None:
        return held_texts.decide_undo(dropping, identity)
    plan = _planned(connection, found.operation)
    means = _Means(
        vectors, identity.now, rules.config.commitment.hypothetical_queries, read_embedder(connection), connection
    )
    lacking = [text for text in _unembedded(plan, connection, means.embedder) if vectors.of.get(text) is None]
    returning, parting = mutual(view.snapshot, list(_memories(plan, means)))
    links = _links(plan, view, returning)
    noted = stored_relations.undoing(connection, plan.op_id)
    outcome = UndoResult(
        status="undone",
        undone=plan.op_id,
        method=method_of(connection, plan.moment, plan.effect.memories),
        memories=[
            *_undone(returning, view.snapshot, rules, identity.now_us),
            *(UndoneMemory(each, "relinked", []) for each in plan.relinked()),
        ],
        edges_restored=edges.logical_links(links.restored),
        edges_removed=0,  # counted by the store, as it removes them
        edges_missing=edges.logical_links(links.missing),
        embed_error=(vectors.error or LATER) if lacking else None,
        passages=len(noted.passages),
        op_id=identity.op_id,
        replayed=False,
    )
    change_set = identity.change_set(
        method="undo",
        changes=(*returning, *parting, *_edge_changes(links)),
        outcome=outcome,
        detail=f"undone={plan.op_id}",
        subject=next(iter(plan.effect.memories)),
        undoes=plan.op_id,
    )
    return msgspec.structs.replace(change_set, knowledge=noted.changes, passages=noted.passages)


# Selection of the operation.


def _of_knowledge(connection: Connection, named: str | None) -> str | None:
    """Return the op_id meant if that is an operation on relations, names or core summaries, which change no memory;
    None otherwise."""
    if named is not None:
        return _knowledge_named(connection, named)
    newest = relations.newest_undoable(connection)
    if newest is None:
        return None
    try:
        plan = _newest(connection)
    except MnemonError as error:
        if error.kind is not NOT_FOUND:
            raise
        return newest.op_id
    return newest.op_id if newest.behind >= history.last_row_of(connection, plan.op_id) else None


def _knowledge_named(connection: Connection, named: str) -> str | None:
    found = stored_relations.operations_beginning(connection, named, MAX_MATCHES + 1)
    found = [each for each in found if relations.is_knowledge(connection, each)]
    if named in found:
        return named
    of_memories = history.operations_beginning(connection, named, MAX_MATCHES + 1)
    if not found or len(named) < SHORTEST or named in of_memories:
        return None
    if len(found) + len(of_memories) > 1:
        raise _several(named, sorted([*found, *of_memories]))
    return found[0]


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
            f"no operation {named[:64]!a} changed a memory of this store{short}",
            hint="`mnemonctl log` shows what was done lately, `mnemonctl history ID` the operations of a memory",
            outcome="rejected",
        )
    raise _several(named, found)


def _several(named: str, found: Sequence[str]) -> MnemonError:
    listed = ", ".join(each[:64] for each in found[:MAX_MATCHES]) + (" and more" if len(found) > MAX_MATCHES else "")
    return MnemonError(
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
    """An operation that can be undone, its time, and its memories as they are now."""

    op_id: str
    moment: str
    effect: Effect
    current: dict[str, Insight]

    def changed(self) -> Iterator[tuple[Memory, Insight]]:
        """Yield every changed memory, and its current value."""
        for insight_id, memory in self.effect.memories.items():
            if memory.before != memory.after:
                yield memory, self.current[insight_id]

    def relinked(self) -> list[str]:
        """Return the memories of which only links changed."""
        return [each for each, memory in self.effect.memories.items() if memory.before == memory.after]

    def returning(self) -> Iterator[tuple[Memory, Insight]]:
        """Yield the memories that will be active, and their current values."""
        for memory, current in self.changed():
            if memory.before is not None and memory.before.status == "active":
                yield memory, current


def _of_text(connection: Connection, named: str | None) -> str | None:
    """Return the op_id meant if that is an operation that dropped a text, which changed no memory; None otherwise."""
    if named is None or len(named) < SHORTEST or history.operations_beginning(connection, named, 1):
        return None
    found = stored_texts.dropped_by(connection, named)
    if len(found) > 1 and named not in found:
        raise _several(named, found)
    return named if named in found else next(iter(found), None)


def _plan(connection: Connection, op_id: str) -> _Plan:
    """Raise MnemonError when the operation cannot be undone."""
    records = _undoable(connection, history.of_operation(connection, op_id))
    effect = effect_of(records)
    current: dict[str, Insight] = {}
    for insight_id in (*effect.purged, *effect.memories):
        found = insights.read(connection, insight_id)
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
        current[insight_id] = found
    by = history.undone_by(connection, op_id)
    if by is not None:
        raise _refusal(f"operation {op_id} was taken back by {by} before", f"to have it again: mnemonctl undo {by}")
    plan = _Plan(op_id, records[0].created_at, effect, current)
    for memory, now in plan.changed():
        if not is_as_left(now, memory.after):
            raise _changed_since(connection, op_id, now.id)
    _check_places(connection, plan, records[-1].id)
    if effect.of_links_alone:
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
    for _, current in plan.changed():
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


def _memories(plan: _Plan, means: _Means) -> Iterator[Return]:
    """Yield the change that reverts each memory."""
    for memory, current in plan.changed():
        change = _back(memory, current, means)
        if change is not None:
            yield change


def _back(memory: Memory, current: Insight, means: _Means) -> Return | None:
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
    if not is_active:
        kept = None if reembedded else _kept_vector(means.connection, current.id, means.embedder)
        return RestoreInsight(value, vector if kept is None else kept)
    return PutInsight(
        value,
        "UPDATE",
        embedded=reembedded,
        vector=vector if reembedded else None,
        mentions=_mentions(value) if reworded or value.entities != current.entities else None,
        queries=_queries(value, means.queries) if reworded or note_of(value) != note_of(current) else None,
    )


def _queries(value: Insight, settings: HypotheticalQueriesSettings) -> tuple[str, ...]:
    return hypothetical_queries(value.trigger_type, value.content, most=settings.count(value.trigger_type))


def _retired_again(before: Insight, means: _Means) -> RetireInsight:
    successor = before.superseded_by
    if successor is not None and insights.read(means.connection, successor) is None:
        successor = None
    assert before.status != "active", "it was retired before"  # noqa: S101
    return RetireInsight(before.id, before.status, successor, before.invalid_at, moves=False)


def _kept_vector(connection: Connection, insight_id: str, embedder: EmbedderRecord | None) -> Vector | None:
    return None if embedder is None else insights.vector_of(connection, insight_id, embedder)


def _mentions(it: Insight) -> tuple[Entity, ...]:
    return extract(it.content, it.entities, mode="provided", known=lambda _: None)


def _links(plan: _Plan, view: View, returning: list[Return]) -> Edges:
    leaving = {change.id for change in returning if isinstance(change, RetireInsight)}
    coming = {change.insight.id for change in returning if isinstance(change, RestoreInsight)}
    ends = {end for key in plan.effect.links for end in key[:2]}
    absent = {end for end in ends if end in leaving or (end not in coming and view.snapshot.row_of(end) is None)}
    current = {key: edges.read(view.connection, *key) for key in plan.effect.links}
    return edges_back(plan.effect.links, current, frozenset(absent))


def _edge_changes(links: Edges) -> list[Change]:
    """Remove first: a restored edge must replace its later version, not combine with it."""
    changes: list[Change] = [RemoveEdge(each.source_id, each.target_id, each.edge_type) for each in links.removed]
    return changes + [AddEdge(each) for each in links.restored]
