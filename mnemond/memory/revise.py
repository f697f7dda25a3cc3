"""forget, merge, pin and supersede."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec

from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.memory.compare import by_age, parted
from mnemond.memory.cues import joined_cues
from mnemond.memory.diff_frames import opposed
from mnemond.memory.draft import new_memory, quality_labels, reanalyse, with_reading
from mnemond.memory.edge_builders import Relinking, relinked
from mnemond.memory.history import EmbeddedText, Find, active_row, any_row, hidden, last_successor, meets
from mnemond.memory.merged_text import Merged, lost, merged_text
from mnemond.memory.rules import joined_triggers
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import Change, ChangeSet, PurgeInsight, PutInsight, RetireInsight, Vector
from mnemond.model.memory import MAX_CONTENT, MAX_TAGS, Cue, Edge, Insight, Scope, TextWithCues
from mnemond.model.outcomes import (
    PIN_MESSAGES,
    EdgesCreated,
    ForgetResult,
    MergeResult,
    PinResult,
    SupersedeResult,
    forget_message,
    merge_message,
    supersede_message,
)
from mnemond.model.passages import DropPassage, Passage
from mnemond.store import edges, history, insights, passages
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View
from mnemond.text.quality import quality_warnings

# forget: retire a memory or a passage, or purge it with its row and history.


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """The memory or passage to forget; `purge` accepts retired ones as well and removes their rows."""

    id: str
    purge: bool = False
    scope: Scope = Scope()


def propose_forget(forget: Forget, identity: WriteContext, find: Find) -> Proposal:
    """Propose the write. Without `purge` it is refused when it is not in recall; `find` resolves ids of memories."""
    return identity.proposal("forget", partial(_decide_forget, forget, identity, find))


def _decide_forget(forget: Forget, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    if (said := _passage_named(forget, view.connection)) is not None:
        return _passage_forgotten(forget, said, identity)
    if forget.purge:
        it = any_row(view.connection, forget.id, forget.scope)
    else:
        it = active_row(view, find, forget.id, forget.scope).insight
    leaving = PurgeInsight(it.id) if forget.purge else RetireInsight(it.id, "forgotten")
    holder = history.holder_of(view.connection, it.id) if forget.purge else None
    return identity.change_set(
        method="forget",
        changes=(*parted(view.snapshot, it), leaving),
        outcome=ForgetResult(
            id=it.id,
            status="purged" if forget.purge else "deleted",
            message=forget_message(holder, purged=forget.purge),
            edges_removed=0,  # counted by the store, as it removes them
            merged_into=holder,
            op_id=identity.op_id,
            replayed=False,
        ),
        detail="purged" if forget.purge else "",
        subject=it.id,
    )


def _passage_named(forget: Forget, connection: Connection) -> Passage | None:
    """Return the passage with an id or prefix; None if no passage has it. Raises MnemonError: AMBIGUOUS if another one
    or a memory has it as well, NOT_FOUND if it is not meant for the given scope."""
    named = forget.id.casefold()
    found = passages.find(connection, named, 2, gone=forget.purge)
    if not found:
        return None
    others = [each for each in (*found, *insights.ids_beginning(connection, named, 2)) if each != found[0]]
    if others and found[0] != named:
        listed = ", ".join([found[0], *others])
        raise MnemonError(
            AMBIGUOUS, f"{forget.id} is the beginning of several ids: {listed}", hint="write more of the id",
            outcome="rejected",
        )  # fmt: skip
    it = passages.read(connection, found[0])
    if it is None or not meets(forget.scope, it.scope):
        raise hidden(forget.id)
    return it


def _passage_forgotten(forget: Forget, it: Passage, identity: WriteContext) -> ChangeSet:
    how: Literal["purged", "forgotten"] = "purged" if forget.purge else "forgotten"
    outcome = ForgetResult(
        id=it.id, status="purged" if forget.purge else "deleted", message=forget_message(None, purged=forget.purge),
        edges_removed=0, kind="passage", op_id=identity.op_id, replayed=False,
    )  # fmt: skip
    change_set = identity.change_set("forget", (), outcome, detail=f"passage={it.id} {how}")
    return msgspec.structs.replace(change_set, passages=(DropPassage(it.id, how),))


# merge: two memories become one, which keeps one of the two ids.


class Merge(EmbeddedText, frozen=True, kw_only=True):
    """The two memories and their common text. `into` names the one that keeps its id, by default the older.

    `content` is None where the text follows from the two.
    """

    id: str
    other_id: str
    into: str | None = None
    content: str | None = None
    redacted: tuple[str, ...] = ()
    dry_run: bool = False


MAX_SHOWN = 200
"""Characters of a clause in a message."""

MAX_CLAUSES_SHOWN = 5
"""Clauses that a message lists."""


def text_of(one: Insight, other: Insight) -> str:
    """Return the merged text of two memories."""
    return _merged_of(one, other).text


def merged_cues(one: Insight, other: Insight) -> tuple[Cue, ...]:
    """Return the cues of both, those of the older first."""
    older, newer = by_age(one, other)
    return joined_cues(older.cues, newer.cues)


def _merged_of(one: Insight, other: Insight) -> Merged:
    older, newer = by_age(one, other)
    return merged_text(newer.content, older.content)


def propose_merge(merge: Merge, identity: WriteContext, find: Find, rules: WriteRules) -> Proposal:
    """Propose the merge. Everything is checked in the writer; `find` resolves ids."""
    vector: Vector | None = merge.vector  # type: ignore[assignment]
    return identity.proposal("merge", partial(decide_merge, merge, identity, find, rules), vector)


def decide_merge(merge: Merge, identity: WriteContext, find: Find, rules: WriteRules, view: View) -> ChangeSet:
    """Return the changes of the merge.

    Raises MnemonError: NOT_FOUND; INVALID_PARAMS, also for texts that contradict each other where no content is given;
    BUSY if the text that was embedded is another by now.
    """
    one = active_row(view, find, merge.id, merge.scope).insight
    other = active_row(view, find, merge.other_id, merge.scope).insight
    kept, leaving = _roles(merge, find, view, one, other)
    content = merge.content if merge.content is not None else text_of(one, other)
    _refuse_unfit_merge(kept, leaving, content)
    if merge.content is None:
        _refuse_contradiction(kept, leaving)
    if TextWithCues(content, merged_cues(one, other)) != merge.embedded_text:
        raise MnemonError(
            BUSY,
            "one of the two memories was changed while they were being merged; nothing was written",
            hint="look at both, then repeat",
            outcome="rejected",
        )
    return _merged(merge, identity, rules, view, kept, leaving, content)


def _refuse_contradiction(kept: Insight, leaving: Insight) -> None:
    """Raise MnemonError(INVALID_PARAMS), with the two clauses, if both texts cannot hold."""
    older, newer = by_age(kept, leaving)
    found = opposed(older.content, newer.content)
    if found is None:
        return
    sentence = f"{_quoted(found.older)} ({older.id}) and {_quoted(found.newer)} ({newer.id}) contradict each other"
    raise invalid(
        [FieldProblem("content", f"{sentence}; a merge would hold both")],
        hint=f"give the text that holds with --content, or: supersede {older.id} {newer.id}; nothing was written",
    )


def _quoted(clause: str) -> str:
    return f'"{clause}"' if len(clause) <= MAX_SHOWN else f'"{clause[:MAX_SHOWN]}…"'


def _listed(clauses: Sequence[str]) -> str:
    shown = "; ".join(map(_quoted, clauses[:MAX_CLAUSES_SHOWN]))
    more = len(clauses) - MAX_CLAUSES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _roles(merge: Merge, find: Find, view: View, one: Insight, other: Insight) -> tuple[Insight, Insight]:
    if one.id == other.id:
        raise invalid([FieldProblem("other_id", f"other_id is the same memory, {one.id}; name another")])
    older, newer = by_age(one, other)
    if merge.into is None:
        return older, newer
    kept = active_row(view, find, merge.into, merge.scope).insight
    if kept.id not in (one.id, other.id):
        raise invalid([FieldProblem("into", f"into is {kept.id}; it must be one of the two, {one.id} or {other.id}")])
    return (older, newer) if kept.id == older.id else (newer, older)


def _refuse_unfit_merge(kept: Insight, leaving: Insight, content: str) -> None:
    problems: list[FieldProblem] = []
    if kept.scope != leaving.scope:
        sentence = f"{kept.id} and {leaving.id} are not for the same user, session, agent and project"
        problems.append(FieldProblem("other_id", f"{sentence}: who sees one would see or lose the other"))
    tags = len({*kept.tags, *leaving.tags})
    if tags > MAX_TAGS:
        problems.append(FieldProblem("tags", f"together they have {tags} different tags; the limit is {MAX_TAGS}"))
    length = len(unicodedata.normalize("NFC", content))
    if length > MAX_CONTENT:
        sentence = f"content would be {length:,} characters; the limit is {MAX_CONTENT:,}"
        problems.append(FieldProblem("content", sentence))
    if problems:
        raise invalid(
            problems, hint="supersede one by the other, or give a shorter text (--content); nothing was written"
        )


def _merged(
    merge: Merge, identity: WriteContext, rules: WriteRules, view: View, kept: Insight, leaving: Insight, content: str
) -> ChangeSet:
    merged = _together(kept, leaving, content, identity.now)
    names = tuple(dict.fromkeys((*kept.entities, *leaving.entities)))
    reading = reanalyse(merged, view.snapshot, rules.config, names, "merge")
    merged = with_reading(merged, reading, view.snapshot)
    what = Relinking(
        insight=merged, newcomer=new_memory(merged, reading), had=_edges(view, kept, leaving), left=(kept, leaving)
    )
    links = relinked(view.snapshot, view.similarity, what, rules.config.graph)
    put = PutInsight(
        merged, "MERGE", embedded=True, vector=merge.vector, mentions=reading.mentions, queries=reading.queries
    )
    alone: list[Change] = [
        change
        for change in (*parted(view.snapshot, kept), *parted(view.snapshot, leaving))
        if isinstance(change, PutInsight) and change.insight.id not in (kept.id, leaving.id)
    ]
    return identity.change_set(
        method="merge",
        changes=(put, *alone, RetireInsight(leaving.id, "merged", successor=kept.id), *links.changes),
        outcome=_outcome(merge, identity, merged, (kept, leaving), links.links),
        detail=f"merged with {leaving.id}",
        subject=kept.id,
    )


def _outcome(
    merge: Merge, identity: WriteContext, merged: Insight, sources: tuple[Insight, Insight], links: EdgesCreated
) -> MergeResult:
    found = quality_warnings(merged.content)
    dropped = lost(merged.content, [it.content for it in by_age(*sources)])
    return MergeResult(
        id=merged.id,
        status="merged",
        message=merge_message(sources[1].id, _says(merge, sources, dropped)),
        merged_id=sources[1].id,
        content=merged.content,
        embedded=merge.vector is not None,
        embed_error=merge.embed_error,
        edges_moved=0,  # counted by the store
        edges_created=links,
        redacted=list(merge.redacted),
        quality_warnings=quality_labels(found),
        quality_details=list(found),
        op_id=identity.op_id,
        replayed=False,
        dropped=dropped,
        dry_run=merge.dry_run,
    )


def _says(merge: Merge, sources: tuple[Insight, Insight], dropped: Sequence[str]) -> str:
    """Return how the merged text relates to the two."""
    if dropped:
        return f"words of these are not in the new text: {_listed(dropped)}"
    repeated = () if merge.content is not None else _merged_of(*sources).repeated
    if repeated:
        return f"the text holds both, and once what both say: {_listed(repeated)}"
    return "the text holds every word of both"


def _together(kept: Insight, leaving: Insight, content: str, now: str) -> Insight:
    """Return the merged memory before its new text is read. Fields that cannot be combined stay as in `kept`."""
    older, newer = by_age(kept, leaving)
    return msgspec.structs.replace(
        kept,
        content=content,
        created_at=older.created_at,
        updated_at=now,
        importance=max(kept.importance, leaving.importance),
        tags=tuple(dict.fromkeys((*older.tags, *newer.tags))),
        cues=joined_cues(older.cues, newer.cues),
        when=joined_triggers(older.when, newer.when),
        valid_from=older.valid_from,
        boost_days=max(kept.boost_days, leaving.boost_days),
        paired_with=None,
        corroboration_count=kept.corroboration_count + 1,
        last_corroborated_at=now,
        pinned=kept.pinned or leaving.pinned,
    )


def _edges(view: View, kept: Insight, leaving: Insight) -> list[Edge]:
    """Return the edges of the kept memory after it has taken over those of the other."""
    found = {edges.key(edge): edge for edge in edges.touching(view.connection, kept.id)}
    found = {key: edge for key, edge in found.items() if leaving.id not in key}
    for edge in edges.touching(view.connection, leaving.id):
        taken = edges.moved(edge, leaving.id, kept.id)
        if taken is not None:
            found[edges.key(taken)] = _joined(found.get(edges.key(taken)), taken)
    return list(found.values())


def _joined(before: Edge | None, edge: Edge) -> Edge:
    """Return the one of two joined edges that matters here: one made by hand, else one that will be rebuilt."""
    if before is None:
        return edge
    chosen = next((each for each in (before, edge) if each.created_by != "auto"), None)
    return chosen or msgspec.structs.replace(edge, metadata="")


# pin: protect a memory from pruning and automatic replacement until it is unpinned.


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """The memory, and its new state."""

    id: str
    pinned: bool
    scope: Scope = Scope()


def propose_pin(pin: Pin, identity: WriteContext, find: Find) -> Proposal:
    """Propose to pin or unpin an active memory; no change if it is in that state."""
    return identity.proposal("pin", partial(_decide_pin, pin, identity, find))


def _decide_pin(pin: Pin, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    it = active_row(view, find, pin.id, pin.scope).insight
    changed = it.pinned != pin.pinned
    return identity.change_set(
        method="pin",
        changes=(PutInsight(msgspec.structs.replace(it, pinned=pin.pinned)),) if changed else (),
        outcome=PinResult(
            id=it.id,
            status="pinned" if pin.pinned else "unpinned",
            message=PIN_MESSAGES[pin.pinned, changed],
            changed=changed,
            op_id=identity.op_id,
            replayed=False,
        ),
        detail="pinned" if pin.pinned else "unpinned",
        operation="pin" if pin.pinned else "unpin",
        subject=it.id,
    )


# supersede: retire a memory in favour of another.


class Supersede(msgspec.Struct, frozen=True, kw_only=True):
    """The outdated memory and its successor."""

    old_id: str
    new_id: str
    scope: Scope = Scope()


def propose_supersede(supersede: Supersede, identity: WriteContext, find: Find) -> Proposal:
    """Propose the write. Everything is checked in the writer."""
    return identity.proposal("supersede", partial(decide_supersede, supersede, identity, find))


def decide_supersede(supersede: Supersede, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    """Return the changes. Raises MnemonError(NOT_FOUND) and MnemonError(INVALID_PARAMS)."""
    new = active_row(view, find, supersede.new_id, supersede.scope).insight
    named = any_row(view.connection, supersede.old_id, supersede.scope)
    old = last_successor(view.connection, named)
    _refuse_unfit_supersede(named, old, new)
    instead_of = None if old.id == named.id else named.id
    retired = RetireInsight(old.id, "superseded", successor=new.id, invalid_at=new.valid_from or new.created_at)
    return identity.change_set(
        method="supersede",
        changes=(*parted(view.snapshot, old), retired),
        outcome=SupersedeResult(
            id=old.id,
            status="superseded",
            message=supersede_message(new.id, instead_of),
            superseded_by=new.id,
            instead_of=instead_of,
            edges_moved=0,  # counted by the store
            op_id=identity.op_id,
            replayed=False,
        ),
        detail=f"superseded by {new.id}",
        subject=old.id,
    )


def _refuse_unfit_supersede(named: Insight, old: Insight, new: Insight) -> None:
    if named.id == new.id:
        raise invalid([FieldProblem("new_id", f"new_id is the old memory itself, {new.id}; name another")])
    if old.id == new.id:
        raise invalid([FieldProblem("old_id", f"{new.id} stands in the place of {named.id} already")])
    if old.status != "active":
        raise MnemonError(
            NOT_FOUND,
            f"memory {old.id} is not active: it is {old.status}",
            hint=f"there is nothing to supersede; `mnemonctl restore {old.id}` brings it back",
            outcome="rejected",
        )
    if lost := readers_lost(old.scope, new.scope):
        raise invalid(
            [FieldProblem("new_id", f"{new.id} is for {lost} alone; others who see {old.id} would lose it")],
            hint="remember the new one with the scope of the old one, or forget the old one",
        )


def readers_lost(old: Scope, new: Scope) -> str:
    """Return the restrictions of `new` that `old` does not have, so that readers of `old` would lose it; "" if none."""
    pairs = (
        ("user", old.user_id, new.user_id),
        ("session", old.session_id, new.session_id),
        ("agent", old.agent_id, new.agent_id),
        ("project", old.project, new.project),
    )
    return ", ".join(f"{kind} {theirs!a}" for kind, before, theirs in pairs if theirs not in (None, before))
