"""`mnemonctl reviews` and `resolve`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemond.api import types_changes
from mnemond.api.types_changes import HeldTextView, ReviewedMemory, ReviewsResult, ReviewView
from mnemond.cli.output import (
    MAX_SAID,
    SHORT_ID,
    Style,
    body,
    lines,
    note,
    one_line,
    remarks,
    repeated,
    short_id,
    shorten,
    undo_hint,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.outcomes import ResolveResult
from mnemond.wire.params import plural

MAX_DIGITS: Final = 15
"""Digits of a number that are read: any JSON reader has it exactly."""


def _reviews(result: ReviewsResult, style: Style) -> str:
    if style.quiet:
        return lines(*(str(each.id) for each in result.reviews), *(str(each.id) for each in result.texts))
    store = f'store "{one_line(result.store)}"'
    texts = _texts(result, store, style) if result.texts else ()
    if not result.reviews:
        return lines(*(texts or (f"No memories of {store} wait for a decision",)))
    decided = result.reviews[0].resolved_at is not None
    proposed = f", {plural(result.links, 'proposed link')}" if result.links else ""
    proposed += f", {plural(result.names, 'pair')} of names" if result.names else ""
    waiting = f"{plural(result.total, 'review')}{proposed} in {store}; both stay meanwhile"
    head = f"Decided lately in {store}" if decided else waiting
    answers = "SUPERSEDE | MERGE | DUPLICATE | COEXIST" + (" | LINK" if result.links else "")
    if all(each.kind == "names" for each in result.reviews):
        answers = "MERGE | COEXIST"
    return lines(
        style.strong(head),
        *(line for each in result.reviews for line in _review(each, style)),
        None if decided else style.faint(f"decide: mnemonctl resolve N --as {answers}"),
        *texts,
    )


def _texts(result: ReviewsResult, store: str, style: Style) -> Iterator[str]:
    """Show texts that are no memory, each as a quotation of which nothing is confirmed."""
    decided = result.texts[0].resolved_at is not None
    waiting = f"Texts that give orders, {result.texts_total} in {store}: no memories, unconfirmed, not recalled"
    yield style.strong("Texts that were no memory, decided lately" if decided else waiting)
    for each in result.texts:
        yield f"{style.strong(str(each.id))}  {_what_becomes(each)}"
        said = f'"{shorten(each.content, MAX_SAID)}"' if each.content else "(the text is gone)"
        yield body(one_line(f"unconfirmed  {each.said_at[:10]}  {said}"), style, "  ")
        yield note(each.reason, style)
    if not decided:
        yield style.faint("decide: mnemonctl resolve N --as KEEP | DROP; KEEP is taken from you at a terminal only")


def _what_becomes(it: HeldTextView) -> str:
    if it.resolved_at is None:
        return f"KEEP or DROP?  dropped on {one_line(it.expires_at[:10])}"
    by = f" by {one_line(it.by)}" if it.by else ""
    return f"{one_line(it.resolution or '?')}{by}, {one_line(it.resolved_at[:10])}"


def _review(it: ReviewView, style: Style) -> Iterator[str]:
    if it.resolved_at is None:
        yield f"{style.strong(str(it.id))}  {one_line(it.suggestion)}?  until {one_line(it.expires_at[:10])}"
    else:
        by = f" by {one_line(it.by)}" if it.by else ""
        yield f"{style.strong(str(it.id))}  {one_line(it.resolution or '?')}{by}, {one_line(it.resolved_at[:10])}"
    if it.kind == "names":
        for each in (it.older, it.newer):
            yield body(f"{one_line(each.content)}  {one_line(each.category)}", style, "  ")
    else:
        yield _memory(_which("older", it.older, it), it.older, style)
        yield _memory(_which("newer", it.newer, it), it.newer, style)
    yield note(it.reason, style)
    if it.preview is not None:
        yield body(one_line(f"merged  {shorten(it.preview, MAX_SAID)}"), style, "  ")


def _which(which: str, memory: ReviewedMemory, it: ReviewView) -> str:
    """Return the age of one of the two memories or, of a proposed causal link, its end."""
    if it.link is None or it.link.edge_type != "causal":
        return which
    return "cause" if memory.id == it.link.source else "effect"


def _memory(which: str, it: ReviewedMemory, style: Style) -> str:
    said = "purged" if it.status is None else shorten(it.content, MAX_SAID)
    left = "" if it.status in (None, "active") else f" ({one_line(it.status)})"
    head = f"{which}  {short_id(it.id)}  {it.created_at[:10]}{left}  ".rstrip() + "  "
    return body(one_line(head + said), style, "  ")


REVIEWS = Command(
    "reviews",
    Group.CHANGE,
    ("mnemonctl reviews", "mnemonctl reviews --decided", "mnemonctl reviews --json"),
    method=types_changes.REVIEWS,
    details=(
        "Memories that contradict each other, or may be one statement, and stay until it is decided.",
        "Two names that may be of one thing, and are two until it is decided.",
        "After 14 days a review ends and both stay. Two sessions of the user that say the newer one end it, too.",
        "Texts of conversations that give orders to a program wait here, too: no memories until you KEEP them.",
        "-q prints the numbers alone.",
    ),
    render=_reviews,
)


def _resolve_request(arguments: Arguments) -> Request:
    request = arguments.request()
    number = str(request.params["id"])
    if not (number.isascii() and number.isdecimal() and int(number[:MAX_DIGITS]) > 0):
        raise UsageError(
            f"{one_line(number[:SHORT_ID])} is no number of a review", "`mnemonctl reviews` shows their numbers"
        )
    return Request(request.method, {**request.params, "id": int(number[:MAX_DIGITS])})


def _resolve(result: ResolveResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id or result.newer_id or str(result.review)))
    if result.names:
        pair = " and ".join(map(one_line, result.names))
    elif result.older_id is None or result.newer_id is None:
        pair = "the text" if result.id is None else short_id(result.id)
    else:
        pair = f"{short_id(result.older_id)} and {short_id(result.newer_id)}"
    return lines(
        f"Review {result.review}, {style.strong(one_line(result.resolution))}: {pair}, {one_line(result.message)}"
        f"{repeated(result)}",
        None if result.content is None else body(result.content, style, "  "),
        *(f"  not in it: {one_line(clause)}" for clause in result.dropped),
        *remarks(result.embed_error, result.redacted),
        undo_hint(result.op_id, style),
    )


RESOLVE = Command(
    "resolve",
    Group.CHANGE,
    (
        "mnemonctl resolve 3 --as SUPERSEDE",
        "mnemonctl resolve 3 --as COEXIST",
        'mnemonctl resolve 3 --as MERGE --content "In Berlin, since May in Munich"',
    ),
    method=types_changes.RESOLVE,
    words=Words("N --as TYPE", ("id",)),
    request=_resolve_request,
    details=(
        "SUPERSEDE: the newer one holds, the older leaves recall. DUPLICATE: they say the same, the newer leaves.",
        "MERGE: they become one memory; clauses that contradict each other need --content. COEXIST: both hold.",
        "LINK: both hold and are linked as proposed; COEXIST then means no link.",
        "KEEP: a text that gives orders becomes a memory, with --content in your words; DROP: it does not.",
        "Of names MERGE: they are of one thing; COEXIST: they are of two, which is remembered.",
        "That names are one, and what `consolidate` proposed, is decided by you at a terminal, never by an agent.",
        "`mnemonctl undo` takes a decision back, and the review waits again.",
    ),
    render=_resolve,
)
