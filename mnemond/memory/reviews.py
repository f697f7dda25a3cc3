"""resolve: carry out the decision on a review. Every decision is one operation, which undo takes back as a whole."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

import msgspec

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.memory import links, revise
from mnemond.memory.entities import NameDecision, decide_rows
from mnemond.memory.history import EmbeddedText, Find, active_row, admits
from mnemond.memory.questions.pairs import needs_a_person, refusal
from mnemond.memory.remember import LEAST_WEIGHT, both_ways
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import ChangeSet, PutInsight, Vector
from mnemond.model.memory import Edge, Insight, Scope, TextWithCues, contradicted, without_contradictions
from mnemond.model.outcomes import MergeResult, ResolveResult
from mnemond.model.reviews import ACCEPTED, OF_TEXTS, Action, CloseReview, OpenReview, Resolution, Review
from mnemond.store import insights, relations, reviews
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View

ACTIONS: Final[dict[Resolution, Action]] = {
    "DUPLICATE": "DELETE", "SUPERSEDE": "UPDATE", "MERGE": "MERGE", "COEXIST": "NONE", "LINK": "NONE",
    "KEEP": "NONE", "DROP": "NONE",
}  # fmt: skip
"""The effect of each decision on the two memories: the newer leaves recall, or takes the place of the older, or becomes
one with it; or both stay."""


class Resolve(EmbeddedText, frozen=True, kw_only=True):
    """The decision on a review. `content`: the common text of a merge, None where it follows from the two. `gated`: a
    machine decided, so the gates of the resolver must admit it."""

    review: int
    resolution: Resolution
    content: str | None = None
    redacted: tuple[str, ...] = ()
    gated: bool = False


def text_of(resolution: Resolution, older: Insight, newer: Insight, content: str | None) -> TextWithCues | None:
    """Return the text and cues that the kept memory will have, None if none changes: it is embedded before the
    write."""
    if resolution not in ("DUPLICATE", "MERGE"):
        return None
    if resolution == "DUPLICATE":
        content = older.content
    elif content is None:
        content = revise.text_of(older, newer)
    return TextWithCues(content, revise.merged_cues(older, newer))


def waiting(review: Review | None, number: int) -> Review:
    """Return a review that is not decided. Raises MnemonError(NOT_FOUND) otherwise."""
    if review is None:
        raise unknown(number)
    if review.resolved_at is not None:
        sentence = f"review {number} was decided as {review.resolution} by {review.by}, {review.resolved_at}"
        raise MnemonError(NOT_FOUND, sentence, hint=LISTED, outcome="rejected")
    return review


LISTED: Final = "`mnemonctl reviews` lists those that wait"


def unknown(number: int) -> MnemonError:
    """Return the error of a review that there is not, or not for this reader."""
    return MnemonError(NOT_FOUND, f"there is no review {number}", hint=LISTED, outcome="rejected")


def names_visible(connection: Connection, asked: OpenReview, scope: Scope) -> bool:
    """Return True if a reader with this scope sees both names of a review."""
    return not relations.hidden(connection, (asked.older, asked.newer), scope)


def visible(connection: Connection, asked: OpenReview, scope: Scope) -> bool:
    """Return True if a reader with this scope sees both sides of a review: memories, in any state, or names."""
    if scope == Scope():
        return True
    if asked.kind == "names":
        return names_visible(connection, asked, scope)
    pair = insights.read(connection, asked.older), insights.read(connection, asked.newer)
    return all(it is not None and admits(scope, it) for it in pair)


def propose_resolve(resolve: Resolve, identity: WriteContext, find: Find, rules: WriteRules) -> Proposal:
    """Propose the decision. Everything is checked in the writer; `find` resolves ids."""
    vector: Vector | None = resolve.vector  # type: ignore[assignment]
    return identity.proposal("resolve", partial(_decide, resolve, identity, find, rules), vector)


def _decide(resolve: Resolve, identity: WriteContext, find: Find, rules: WriteRules, view: View) -> ChangeSet:
    """Raises MnemonError: NOT_FOUND if it does not wait any more or a memory left recall; INVALID_PARAMS; BUSY if the
    text that was embedded is another by now."""
    review = waiting(reviews.read(view.connection, resolve.review), resolve.review)
    if review.asked.kind == "names" and not names_visible(view.connection, review.asked, resolve.scope):
        raise unknown(review.id)
    _refuse_unasked(review, resolve.resolution)
    if not (resolve.gated or identity.by_person) and needs_a_person(
        review.asked.kind, resolve.resolution, rules.config
    ):
        raise only_by_person(review.id, resolve.resolution)
    if review.asked.kind == "names":
        return _names(resolve, identity, view, review)
    older = active_row(view, find, review.asked.older, resolve.scope).insight
    newer = active_row(view, find, review.asked.newer, resolve.scope).insight
    if resolve.gated and (why := refusal(resolve.resolution, older, newer, rules.diff, identity.now_us)):
        sentence = f"review {review.id} is not decided as {resolve.resolution}: {why}"
        raise invalid([FieldProblem("resolution", sentence)], hint="both memories stay")
    if review.asked.link is None:
        reached = _carried_out(resolve, identity, find, rules, view, older, newer)
    else:
        reached = _linked(resolve, identity, find, view, review.asked)
    outcome = _outcome(resolve, identity, review, reached)
    return identity.change_set(
        "resolve",
        reached.changes,
        outcome,
        detail=f"review={review.id} as={resolve.resolution} older={older.id} newer={newer.id}",
        subject=reached.subject,
        reviews=(CloseReview(review.id, resolve.resolution, identity.triggered_by),),
    )


def only_by_person(number: int, resolution: Resolution) -> MnemonError:
    """Return the refusal of a decision that is a person's."""
    sentence = f"{resolution} of review {number} is taken from a person at a terminal only; nothing was changed"
    return invalid(
        [FieldProblem("resolution", sentence)],
        hint=f"ask the user to run: mnemonctl resolve {number} --as {resolution}",
    )


def _refuse_unasked(review: Review, resolution: Resolution) -> None:
    """Raise MnemonError(INVALID_PARAMS) for a decision that is none on the question of a review."""
    kind = review.asked.kind
    if resolution in ACCEPTED[kind]:
        return
    if resolution in OF_TEXTS:
        sentence = f"review {review.id} is about two memories: {resolution} is for a text that is none"
    elif kind == "names":
        sentence = f"review {review.id} asks whether two names are one: MERGE, or COEXIST if they are not"
    else:
        asks = "proposes a link: LINK, or COEXIST for none" if kind == "link" else "proposes no link"
        sentence = f"review {review.id} {asks}"
    raise invalid([FieldProblem("resolution", sentence)], hint="nothing was changed")


def _names(resolve: Resolve, identity: WriteContext, view: View, review: Review) -> ChangeSet:
    """Join two names, or note that they are of two things, as a person does by hand. Raises
    MnemonError(INVALID_PARAMS)."""
    if resolve.content is not None:
        raise invalid([FieldProblem("content", "names have no content to merge")], hint="nothing was changed")
    rows = review.asked.older, review.asked.newer
    called = relations.names(view.connection, rows)
    wanted = NameDecision(
        decision="merge" if resolve.resolution == "MERGE" else "not-same", name=called.get(rows[0], ""),
        other=called.get(rows[1], ""),
    )  # fmt: skip
    made = decide_rows(view.connection, wanted, rows, identity)
    outcome = msgspec.structs.replace(
        _nothing(*rows, identity), review=review.id, resolution=resolve.resolution, action=ACTIONS[resolve.resolution],
        message=_NAMES_MESSAGES[wanted.decision], names=[wanted.name, wanted.other],
    )  # fmt: skip
    closed = tuple(CloseReview(each, resolve.resolution, identity.triggered_by) for each in {
        review.id, *(it.id for it in made.reviews if isinstance(it, CloseReview))
    })  # fmt: skip
    detail = f"review={review.id} as={resolve.resolution}"
    change_set = identity.change_set("resolve", (), outcome, operation="entity", detail=detail, reviews=closed)
    return msgspec.structs.replace(change_set, knowledge=made.knowledge)


_NAMES_MESSAGES: Final = {
    "merge": "the second is a name of the first now", "not-same": "they are two, and will not be proposed again",
}  # fmt: skip


def _linked(resolve: Resolve, identity: WriteContext, find: Find, view: View, asked: OpenReview) -> ChangeSet:
    """Make the proposed link as `link` does by hand; without it nothing changes."""
    link = asked.link
    assert link is not None, "it is a review of a link"  # noqa: S101
    if resolve.resolution == "COEXIST":
        return identity.change_set("resolve", (), _nothing(asked.older, asked.newer, identity), subject=asked.newer)
    target = asked.newer if link.source == asked.older else asked.older
    fields = {"sub_type": link.sub_type, "source": "rules", "reason": asked.reason}
    edge = Edge(
        link.source, target, link.edge_type, max(LEAST_WEIGHT, asked.similarity),
        msgspec.json.encode(fields).decode(), created_by="user" if identity.triggered_by == "user" else "host",
    )  # fmt: skip
    return links.decide_link(links.LinkRequest(edge=edge, scope=resolve.scope), identity, find, view)


def _carried_out(
    resolve: Resolve, identity: WriteContext, find: Find, rules: WriteRules, view: View, older: Insight, newer: Insight
) -> ChangeSet:
    """Return the change set of the method that does the same by hand."""
    match resolve.resolution:
        case "SUPERSEDE":
            wanted = revise.Supersede(old_id=older.id, new_id=newer.id, scope=resolve.scope)
            return revise.decide_supersede(wanted, identity, find, view)
        case "COEXIST":
            return _both_stay(identity, older, newer)
    merge = revise.Merge(
        id=older.id,
        other_id=newer.id,
        into=older.id,
        content=older.content if resolve.resolution == "DUPLICATE" else resolve.content,
        redacted=resolve.redacted,
        scope=resolve.scope,
        embedded_text=resolve.embedded_text,
        vector=resolve.vector,
        embed_error=resolve.embed_error,
    )
    return revise.decide_merge(merge, identity, find, rules, view)


def _both_stay(identity: WriteContext, older: Insight, newer: Insight) -> ChangeSet:
    """Take back the note that the two contradict each other, so that neither is shown as doubtful, and link them."""
    puts = [_without_note(newer, older, identity.now)]
    puts += [_without_note(older, newer, identity.now)] if newer.id in contradicted(older) else []
    linked = both_ways(newer.id, older.id, 0.0)
    return identity.change_set("resolve", (*puts, *linked), _nothing(older.id, newer.id, identity), subject=newer.id)


def _nothing(older: str, newer: str, identity: WriteContext) -> ResolveResult:
    """Return an outcome that `_outcome` completes."""
    return ResolveResult(
        review=0, resolution="COEXIST", action="NONE", older_id=older, newer_id=newer, id=None, message="",
        op_id=identity.op_id, replayed=False,
    )  # fmt: skip


def _without_note(it: Insight, other: Insight, now: str) -> PutInsight:
    return PutInsight(
        msgspec.structs.replace(it, metadata=without_contradictions(it.metadata, (other.id,)), updated_at=now)
    )


_MESSAGES: Final[dict[Resolution, str]] = {
    "DUPLICATE": "they say the same: the newer one left recall",
    "SUPERSEDE": "the newer one holds: the older one left recall",
    "MERGE": "they are one memory now",
    "COEXIST": "both hold and stay in recall",
    "LINK": "both stay in recall and are linked",
}


def _outcome(resolve: Resolve, identity: WriteContext, review: Review, reached: ChangeSet) -> ResolveResult:
    merged = reached.outcome if isinstance(reached.outcome, MergeResult) else None
    left: Collection[str] = () if merged is None or resolve.resolution != "MERGE" else merged.dropped
    return ResolveResult(
        review=review.id,
        resolution=resolve.resolution,
        action=ACTIONS[resolve.resolution],
        older_id=review.asked.older,
        newer_id=review.asked.newer,
        id=_kept(resolve.resolution, review),
        message=_MESSAGES[resolve.resolution],
        content=merged.content if merged is not None and resolve.resolution == "MERGE" else None,
        dropped=list(left),
        redacted=list(resolve.redacted),
        embedded=merged is None or merged.embedded,
        embed_error=None if merged is None else merged.embed_error,
        op_id=identity.op_id,
        replayed=False,
    )


def _kept(resolution: Resolution, review: Review) -> str | None:
    """Return the memory that is left of the two; None if both stay."""
    if resolution in ("COEXIST", "LINK"):
        return None
    return review.asked.newer if resolution == "SUPERSEDE" else review.asked.older
