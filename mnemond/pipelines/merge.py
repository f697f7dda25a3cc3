"""merge: two memories become one, which keeps one of the two ids and says what both said (spec 10.3, 10.4)."""

from __future__ import annotations

import unicodedata
from functools import partial

import msgspec

from mnemond.errors import BUSY, FieldProblem, MnemonError, invalid
from mnemond.model.changes import Change, ChangeSet, PutInsight, RetireInsight, Vector
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight, Scope
from mnemond.model.outcomes import EdgesMade, Merged
from mnemond.pipelines.active_row import Find, active_row
from mnemond.pipelines.draft import MAX_CONTENT, MAX_TAGS
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.limits import Limits
from mnemond.pipelines.merge_text import merged_text
from mnemond.pipelines.newcomer import as_newcomer, with_reading
from mnemond.pipelines.pairing import parted
from mnemond.pipelines.reading import notes_of
from mnemond.pipelines.relink import Relinking, relinked
from mnemond.pipelines.rereading import read_again
from mnemond.store import edges
from mnemond.store.proposal import Proposal, View


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Which two, and their common text. `into` names the one that keeps its id, by default the older.

    `content` is None where the text follows from the two; `embedded_text` is what `vector` belongs to.
    """

    id: str
    other_id: str
    into: str | None = None
    content: str | None = None
    redacted: tuple[str, ...] = ()
    scope: Scope = Scope()
    embedded_text: str | None = None
    vector: object = None  # Vector | None
    embed_error: str | None = None


def text_of(one: Insight, other: Insight) -> str:
    """What both say (spec 10.4)."""
    older, newer = by_age(one, other)
    return merged_text(newer.content, older.content)


def by_age(one: Insight, other: Insight) -> tuple[Insight, Insight]:
    """The older and the newer of two memories."""
    first, second = sorted((one, other), key=lambda each: (each.created_at, each.id))
    return first, second


def propose(merge: Merge, identity: Identity, find: Find, limits: Limits) -> Proposal:
    """The write that makes one memory of two. Everything is checked under the writer; `find` names memories."""
    vector: Vector | None = merge.vector  # type: ignore[assignment]
    return identity.proposal(
        method="merge",
        decide=partial(_decide, merge, identity, find, limits),
        vector=vector,
    )


def _decide(merge: Merge, identity: Identity, find: Find, limits: Limits, view: View) -> ChangeSet:
    one = active_row(view, find, merge.id, merge.scope).insight
    other = active_row(view, find, merge.other_id, merge.scope).insight
    kept, leaving = _roles(merge, find, view, one, other)
    content = merge.content if merge.content is not None else text_of(one, other)
    _refuse_unfit(kept, leaving, content)
    if content != merge.embedded_text:
        raise MnemonError(
            BUSY,
            "one of the two memories was changed while they were being merged; nothing was written",
            hint="look at both, then repeat",
            outcome="rejected",
        )
    return _merged(merge, identity, limits, view, kept, leaving, content)


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


def _refuse_unfit(kept: Insight, leaving: Insight, content: str) -> None:
    problems: list[FieldProblem] = []
    if kept.scope != leaving.scope:
        sentence = f"{kept.id} and {leaving.id} are not for the same user, session and agent"
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
    merge: Merge, identity: Identity, limits: Limits, view: View, kept: Insight, leaving: Insight, content: str
) -> ChangeSet:
    merged = _together(kept, leaving, content, identity.now)
    names = tuple(dict.fromkeys((*kept.entities, *leaving.entities)))
    reading = read_again(merged, view.snapshot, limits.policy, names, "merge")
    merged = with_reading(merged, reading, view.snapshot)
    what = Relinking(
        insight=merged, newcomer=as_newcomer(merged, reading), had=_edges(view, kept, leaving), left=(kept, leaving)
    )
    links = relinked(view, what, limits.policy.graph)
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
        outcome=_outcome(merge, identity, merged, leaving.id, links.links),
        detail=f"merged with {leaving.id}",
        subject=kept.id,
    )


def _outcome(merge: Merge, identity: Identity, merged: Insight, leaving: str, links: EdgesMade) -> Merged:
    return Merged(
        merged.id,
        identity.op_id,
        merged_id=leaving,
        content=merged.content,
        embedded=merge.vector is not None,
        edges_created=links,
        redacted=merge.redacted,
        notes=notes_of(merged.content),
        embed_error=merge.embed_error,
    )


def _together(kept: Insight, leaving: Insight, content: str, now: str) -> Insight:
    """The one memory, before its new text is read. What only one of the two can be stays as the kept one has it."""
    older, newer = by_age(kept, leaving)
    return msgspec.structs.replace(
        kept,
        content=content,
        created_at=older.created_at,
        updated_at=now,
        importance=max(kept.importance, leaving.importance),
        tags=tuple(dict.fromkeys((*older.tags, *newer.tags))),
        valid_from=older.valid_from,
        boost_days=max(kept.boost_days, leaving.boost_days),
        paired_with=None,
        corroboration_count=kept.corroboration_count + 1,
        last_corroborated_at=now,
        pinned=kept.pinned or leaving.pinned,
    )


def _edges(view: View, kept: Insight, leaving: Insight) -> list[Edge]:
    """The edges the kept memory has once it has taken over those of the other, as that one's retirement moves them."""
    found = {edges.key(edge): edge for edge in edges.touching(view.connection, kept.id)}
    found = {key: edge for key, edge in found.items() if leaving.id not in key}
    for edge in edges.touching(view.connection, leaving.id):
        taken = edges.moved(edge, leaving.id, kept.id)
        if taken is not None:
            found[edges.key(taken)] = _joined(found.get(edges.key(taken)), taken)
    return list(found.values())


def _joined(before: Edge | None, edge: Edge) -> Edge:
    """Of two edges that become one, what counts here: an automatic one is to be made anew, whatever it comes to."""
    if before is None:
        return edge
    chosen = next((each for each in (before, edge) if each.created_by != "auto"), None)
    return chosen or msgspec.structs.replace(edge, metadata="")
