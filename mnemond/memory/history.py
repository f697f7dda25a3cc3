"""The history of memories: operations behind log lines, successors, restore, and the past of one memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.memory.compare import Moment, compare, side_of, to_review
from mnemond.memory.draft import new_memory, reanalyse
from mnemond.memory.edge_builders import Relinking, relinked
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.answers import (
    ChainLink,
    EdgeState,
    GetResult,
    HistoryResult,
    InsightDetail,
    MemoryOperation,
    MemoryState,
    Retirement,
    insight_detail,
)
from mnemond.model.changes import AddEdge, ChangeSet, RestoreInsight, Vector
from mnemond.model.memory import Edge, Insight, Scope, TextWithCues, parse_rfc3339
from mnemond.model.outcomes import Conflict, RestoreResult
from mnemond.store import history, insights
from mnemond.store.connection import Connection
from mnemond.store.history import Record, State
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Proposal, View
from mnemond.text.tokens import index_terms

# Conflicts of what comes back.


def conflicts_after_restore(
    snapshot: Snapshot,
    it: Insight,
    similarity: Cosines | None,
    rules: WriteRules,
    now_us: int,
    apart_from: Collection[str] = (),
) -> list[Conflict]:
    """Return the active memories that a restored one repeats or contradicts, most similar first, for review.

    They were never compared: one was retired when the other was remembered. `similarity`: cosine of every row with
    `it`, None without a vector. `apart_from`: ids that are reported already or retire.
    """
    terms = set(index_terms(it.content))
    likeness = snapshot.likeness(terms) if terms else None
    moment = Moment(parse_rfc3339(it.valid_from or it.created_at), now_us)
    found = compare(snapshot, side_of(it), it.scope, similarity, likeness, rules.diff, moment)
    return to_review(found, {it.id, *apart_from}, rules.diff.settings.limit)


# First words: what a line or an operation is about. They are looked up when it is shown and stored nowhere, so that a
# purge leaves none behind.


MAX_WORDS: Final = 60
"""Characters of the first words of a memory: enough to recognise it."""

_READ: Final = 4 * MAX_WORDS
"""Characters read of a memory for its first words, as it may begin with blank lines."""


class Subject(NamedTuple):
    """First words of a memory; None if it has no row, as of one that was `purged`."""

    words: str | None
    purged: bool = False


NO_SUBJECT: Final = Subject(None)


def subjects(connection: Connection, insight_ids: Collection[str]) -> dict[str, Subject]:
    """Look up what memories are about, active or not. An id that never was in the store is left out."""
    found = {each: Subject(first_words(text)) for each, text in insights.beginnings(connection, insight_ids, _READ)}
    gone = [each for each in insight_ids if each not in found]
    return found | {each: Subject(None, purged=True) for each in gone if history.is_purged(connection, each)}


def first_words(text: str) -> str:
    """Return the beginning of a text on one line, cut between words where there are any."""
    line = " ".join(text.split())
    if len(line) <= MAX_WORDS:
        return line
    head = line[: MAX_WORDS - 1]
    whole, space, _ = head.rpartition(" ")
    cut = whole if space and line[len(head)] != " " and len(whole) >= MAX_WORDS // 2 else head.rstrip()
    return f"{cut}…"


# Lookup of the memory of an operation.


MAX_SUCCESSORS = 10_000
"""Steps in a chain of successors; more can only be a damaged store."""


def last_successor(connection: Connection, it: Insight) -> Insight:
    """Return the end of a memory's chain of successors, itself when it has none."""
    for _ in range(MAX_SUCCESSORS):
        following = None if it.superseded_by is None else insights.read(connection, it.superseded_by)
        if following is None or it.status == "active":
            return it
        it = following
    return it


Find = Callable[[Snapshot, str], Insight]
"""Return the active memory with an id or prefix. Raises MnemonError when there is not exactly one."""


class Present(NamedTuple):
    """An active memory and its row in the snapshot it was looked up in."""

    row: int
    insight: Insight


def active_row(view: View, find: Find, id_or_prefix: str, scope: Scope) -> Present:
    """Return an active memory that a reader of this scope may see.

    Raises MnemonError(NOT_FOUND), with the status and successor of a retired memory, and the errors of `find`.
    """
    try:
        found = find(view.snapshot, id_or_prefix)
    except MnemonError as error:
        raise _with_status(view, id_or_prefix, error) from None
    row = view.snapshot.row_of(found.id)
    if row is None or not admits(scope, found):
        raise hidden(id_or_prefix)
    return Present(row, found)


def hidden(id_or_prefix: str) -> MnemonError:
    """Return the error for a memory outside the given scope."""
    return MnemonError(
        NOT_FOUND,
        f"no active memory with id {id_or_prefix[:64]!a} is meant for this user, session or agent",
        hint="leave --user, --session and --agent out, or give those the memory was stored with",
        outcome="rejected",
    )


def admits(scope: Scope, it: Insight) -> bool:
    """Return True if a memory is for the given user, session and agent; unset fields match all."""
    return meets(scope, it.scope)


def meets(scope: Scope, theirs: Scope) -> bool:
    """Return True if what is for `theirs` is for the given user, session and agent; unset fields match all."""
    pairs = (
        (scope.user_id, theirs.user_id),
        (scope.session_id, theirs.session_id),
        (scope.agent_id, theirs.agent_id),
    )
    return all(wanted is None or has is None or wanted == has for wanted, has in pairs)


def _with_status(view: View, id_or_prefix: str, error: MnemonError) -> MnemonError:
    """Return `error`, or a better one if the memory is retired."""
    ids = insights.ids_beginning(view.connection, id_or_prefix.casefold(), 2) if error.kind is NOT_FOUND else []
    retired = insights.read(view.connection, ids[0]) if len(ids) == 1 else None
    if retired is None:
        return error
    return MnemonError(
        NOT_FOUND,
        f"memory {retired.id} is not active: it is {retired.status}",
        hint=_way_on(retired, last_successor(view.connection, retired)),
        outcome="rejected",
    )


def _way_on(retired: Insight, successor: Insight) -> str:
    """Return the hint for a retired memory, whose successor may itself be retired."""
    back = f"`mnemonctl restore {retired.id}"
    if successor.status == "active":
        return f"{successor.id} stands in its place now: name that one; {back} --force` brings this one back beside it"
    if retired.superseded_by is not None:
        return f"what took its place is out of recall as well; {back}` brings this one back"
    return f"{back}` brings it back; `mnemonctl list` shows the active ones"


MAX_MATCHES = 5
"""Matches listed for an ambiguous prefix."""


def any_row(connection: Connection, id_or_prefix: str, scope: Scope) -> Insight:
    """Return the active or retired memory with an id or prefix that a reader of this scope may see.

    Raises MnemonError(NOT_FOUND), or MnemonError(AMBIGUOUS) with the first matches.
    """
    found = insights.ids_beginning(connection, id_or_prefix.casefold(), MAX_MATCHES + 1)
    if len(found) > 1:
        raise _ambiguous(id_or_prefix, found, "rejected")
    it = insights.read(connection, found[0]) if found else None
    if it is None:
        purged = history.memories_beginning(connection, id_or_prefix.casefold(), 2)
        if len(purged) == 1 and history.is_purged(connection, purged[0]):
            raise MnemonError(
                NOT_FOUND,
                f"memory {purged[0]} was purged: nothing of it is kept",
                hint=f"`mnemonctl history {purged[0]}` shows when",
                outcome="rejected",
            )
        raise MnemonError(
            NOT_FOUND,
            f"no memory with id {id_or_prefix[:48]!a}, not even among what was forgotten",
            hint="`mnemonctl list` shows the active ones, `mnemonctl log` what was done lately",
            outcome="rejected",
        )
    if not admits(scope, it):
        raise hidden(id_or_prefix)
    return it


# get of a memory that is out of recall.


def get_retired(connection: Connection, id_or_prefix: str, scope: Scope) -> GetResult | None:
    """Return a retired memory and what became of it; None for one that is active. Raises as `any_row` does."""
    it = any_row(connection, id_or_prefix, scope)
    moment = insights.retired_at(connection, it.id)
    if it.status == "active" or moment is None:
        return None
    last = last_successor(connection, it)
    follows = last.id != it.id and last.status == "active"
    done = _retiring(connection, it.id)
    retired = Retirement(
        it.status,
        moment,
        None if done is None else done.op_id,
        it.superseded_by,
        last.id if follows else None,
        first_words(last.content) if follows else None,
        f"mnemonctl restore {it.id}{' --force' if follows else ''}",
    )
    return GetResult(insight=insight_detail(it, InsightDetail), edges_by_type={}, links=[], retired=retired)


def _retiring(connection: Connection, insight_id: str) -> Record | None:
    """Return the newest history entry that retired a memory, among the RECENT ones."""
    records = history.of_memory(connection, insight_id, RECENT)
    return next((each for each in reversed(records) if each.operation_type in RETIRING), None)


def _ambiguous(prefix: str, found: Sequence[str], outcome: Literal["rejected"] | None) -> MnemonError:
    more = " and more" if len(found) > MAX_MATCHES else ""
    return MnemonError(
        AMBIGUOUS,
        f"{prefix[:64]} is the beginning of several ids: {', '.join(found[:MAX_MATCHES])}{more}",
        hint="write more of the id",
        outcome=outcome,
    )


# restore: make a retired memory active again, linked as if it were new.


RETIRING = frozenset({"DELETE", "SUPERSEDE", "MERGE", "PRUNE"})
"""Types of history entries that retire a memory."""

RECENT = 50
"""Newest history entries searched for the last retirement; a retired memory hardly changes any more."""


class EmbeddedText(msgspec.Struct, frozen=True, kw_only=True):
    """A memory embedded before the write. `vector` belongs to `embedded_text`; None with the reason `embed_error`."""

    scope: Scope = Scope()
    embedded_text: TextWithCues | None = None
    vector: object = None  # Vector | None
    embed_error: str | None = None


class Restore(EmbeddedText, frozen=True, kw_only=True):
    """The memory to restore. `force`: even though its successor is active."""

    id: str
    force: bool = False


class Kept(NamedTuple):
    """A stored row, and its vector of the store's embedder."""

    insight: Insight
    vector: Vector | None


def kept(connection: Connection, id_or_prefix: str, scope: Scope, embedder: EmbedderRecord | None) -> Kept:
    """Read the memory to restore before embedding. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
    it = any_row(connection, id_or_prefix, scope)
    return Kept(it, insights.vector_of(connection, it.id, embedder))


def propose(restore: Restore, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose the restoration. Everything is checked in the writer."""
    vector: Vector | None = restore.vector  # type: ignore[assignment]
    return identity.proposal("restore", partial(_decide, restore, identity, rules), vector)


def _decide(restore: Restore, identity: WriteContext, rules: WriteRules, view: View) -> ChangeSet:
    retired = any_row(view.connection, restore.id, restore.scope)
    successor = _refuse_unfit(view, restore, retired)
    back = msgspec.structs.replace(
        retired, status="active", invalid_at=None, superseded_by=None, paired_with=None, updated_at=identity.now
    )
    reported = () if successor is None else (successor.id,)
    reading = reanalyse(back, view.snapshot, rules.config)
    links = relinked(
        view.snapshot, view.similarity, Relinking(insight=back, newcomer=new_memory(back, reading)), rules.config.graph
    )
    changes = (RestoreInsight(back, restore.vector), *links.changes, *_made_by_hand(view, retired))
    return identity.change_set(
        method="restore",
        changes=changes,
        outcome=RestoreResult(
            id=back.id,
            status="restored",
            superseded_by=None if successor is None else successor.id,
            embedded=restore.vector is not None,
            embed_error=restore.embed_error,
            edges_created=links.links,
            conflicts=conflicts_after_restore(view.snapshot, back, view.similarity, rules, identity.now_us, reported),
            op_id=identity.op_id,
            replayed=False,
        ),
        detail=f"it was {retired.status}",
        subject=back.id,
    )


def _refuse_unfit(view: View, restore: Restore, retired: Insight) -> Insight | None:
    """Return the active successor, if there is one and that is no obstacle."""
    if retired.status == "active":
        raise MnemonError(
            NOT_FOUND,
            f"no retired memory {retired.id}: it is active",
            hint="there is nothing to restore",
            outcome="rejected",
        )
    if retired.text != restore.embedded_text:
        raise MnemonError(
            BUSY,
            f"memory {retired.id} was changed while it was being restored; nothing was written",
            hint="repeat in a moment",
            outcome="rejected",
        )
    last = last_successor(view.connection, retired)
    if last.id == retired.id or last.status != "active":
        return None
    if not restore.force:
        sentence = f"{last.id} stands in the place of {retired.id} and is active"
        raise invalid(
            [FieldProblem("id", f"{sentence}; with both, recall would show the old and the new")],
            hint=f"forget {last.id} first, or give force (--force) to have both",
        )
    return last


def _made_by_hand(view: View, retired: Insight) -> list[AddEdge]:
    """Return the links made by hand that the retirement removed, to memories that are still active.

    Those of a memory with a successor had moved there and stay there.
    """
    if retired.superseded_by is not None:
        return []
    last = _retiring(view.connection, retired.id)
    if last is None or last.before is None:
        return []
    found = []
    for edge in last.before.edges:
        other = edge.target_id if edge.source_id == retired.id else edge.source_id
        if edge.created_by != "auto" and view.snapshot.row_of(other) is not None:
            found.append(AddEdge(edge))
    return found


# history: all operations on one memory, and its chain of predecessors and successors.


LONGEST_CHAIN = 500
"""Listed memories of a chain in each direction."""


def past(connection: Connection, id_or_prefix: str, scope: Scope, limit: int) -> HistoryResult:
    """Return the past of the memory, in any state or purged, with an id or prefix.

    Raises MnemonError(NOT_FOUND), also for one outside this scope, and MnemonError(AMBIGUOUS).
    """
    insight_id = _one_ever(connection, id_or_prefix.casefold())
    it = insights.read(connection, insight_id)
    if it is not None and not admits(scope, it):
        raise hidden(id_or_prefix)
    return HistoryResult(
        id=insight_id,
        chain=[ChainLink(each, status) for each, status in insights.chain(connection, insight_id, LONGEST_CHAIN)],
        operations=[_operation(record) for record in history.of_memory(connection, insight_id, limit)],
        total_operations=history.count_of(connection, insight_id),
    )


def _operation(record: Record) -> MemoryOperation:
    return MemoryOperation(
        id=record.id,
        operation_type=record.operation_type,
        before_state=_state(record.before),
        after_state=_state(record.after),
        triggered_by=record.triggered_by,
        op_id=record.op_id,
        created_at=record.created_at,
        undoes=record.undoes,
    )


def _state(state: State | None) -> MemoryState | None:
    if state is None:
        return None
    it = state.insight
    links = tuple(_edge(edge) for edge in _links(it.id, state.edges))
    return insight_detail(
        it, MemoryState, superseded_by=it.superseded_by, corroboration_count=it.corroboration_count, edges=links
    )


def _links(insight_id: str, edges: Sequence[Edge]) -> Iterator[Edge]:
    """Yield one edge per link: of the two edges of an undirected link that from the memory itself, else from the
    smaller id."""
    for edge in edges:
        first = min(edge.source_id, edge.target_id, key=lambda end: (end != insight_id, end))
        if edge.edge_type == "causal" or edge.source_id == first:
            yield edge


def _edge(edge: Edge) -> EdgeState:
    return EdgeState(edge.source_id, edge.target_id, edge.edge_type, edge.weight, metadata_of(edge), edge.created_by)


def metadata_of(edge: Edge) -> dict[str, object]:
    """Decode what is noted with a link, in today's words."""
    metadata: dict[str, object] = msgspec.json.decode(edge.metadata)
    if edge.edge_type == "temporal" and edge.created_by == "auto" and "kind" in metadata:
        metadata = {"sub_type": metadata.pop("kind")} | metadata  # as links were written before they had a sub_type
    return metadata


def _one_ever(connection: Connection, prefix: str) -> str:
    stored = insights.ids_beginning(connection, prefix, MAX_MATCHES + 1)
    found = sorted({*stored, *history.memories_beginning(connection, prefix, MAX_MATCHES + 1)})
    if len(found) == 1:
        return found[0]
    if not found:
        raise MnemonError(
            NOT_FOUND,
            f"no memory with id {prefix[:64]!a} was ever in this store",
            hint="`mnemonctl list` shows the active ones, `mnemonctl log` what was done lately",
        )
    raise _ambiguous(prefix, found, None)
