"""`mnemonctl relations list`, `relations add`, `relations close` and `timeline`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemond.api import types_relations
from mnemond.api.types_relations import RelationsListResult, TimelineEvent, TimelineResult
from mnemond.cli.output import (
    MAX_SAID,
    Style,
    body,
    day,
    lines,
    note,
    one_line,
    repeated,
    row,
    short_id,
    shorten,
    undo_hint,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, long_enough
from mnemond.model.outcomes import RelationResult
from mnemond.model.relations import EvidenceView, RelationshipView, TogetherView, span_text, time_text
from mnemond.wire.params import plural

MAX_EVIDENCE: Final = 3
"""Statements shown of a relation."""


def relation(it: RelationshipView, style: Style) -> str:
    """Return a relation in one line; one that is over is faint."""
    text = f"{one_line(it.source)} {one_line(it.type)} {one_line(it.target)}"
    over = "" if it.status == "current" else f"  ({one_line(it.status)})"
    shown = text if it.status == "current" else style.faint(text)
    when = f"  {style.faint(one_line(span_text(it)))}" if span_text(it) else ""
    return f"{style.strong(short_id(it.first_id))}  {shown}{when}{over}"


def statements(found: list[EvidenceView], style: Style) -> Iterator[str]:
    """Yield lines with the statements of a relation, the last ones."""
    for each in found[-MAX_EVIDENCE:]:
        if each.memory_id is None:
            yield note(f"given by {one_line(each.origin)}", style)
            continue
        quote = f": {shorten(one_line(each.quote), MAX_SAID)}" if each.quote else ""
        yield note(f"said {day(each.created_at)} in {short_id(each.memory_id)}{quote}", style)


def _list(result: RelationsListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.first_id) for each in result.relations))
    if not result.relations and not result.together:
        return lines("no relations like that")
    left = result.total - len(result.relations)
    return lines(
        *(line for each in result.relations for line in (relation(each, style), *statements(each.evidence, style))),
        style.faint(f"{left:,} more: -n {result.total}") if left else None,
        *(together(each, style) for each in result.together),
    )


def together(it: TogetherView, style: Style) -> str:
    """Return a name that stands in the same memories in one line."""
    newest = ", ".join(map(short_id, it.memory_ids))
    where = f"in {plural(it.memories, 'memory')}: {newest}"
    return f"together with {one_line(it.name)}  {style.faint(where)}"


LIST = Command(
    "relations list",
    Group.LOOK,
    (
        "mnemonctl relations list --of Ana",
        "mnemonctl relations list --type works_at --as-of 2025-06-01",
        "mnemonctl relations list --of Ana --history",
        "mnemonctl relations list --of Ana --together",
        "mnemonctl relations list --known-at 2026-01-01",
    ),
    method=types_relations.RELATIONS_LIST,
    details=(
        "Without a time: what holds now. --as-of asks what held then, --known-at what was known then.",
        "Relations are given with a memory (`remember --relation`) or by `relations add`, or read by a model.",
        "A relation without a beginning holds since before anything is known of it.",
        "--together adds names that stand in the same memories, without a relation that is stated; with --as-of or",
        "--known-at in those of that time.",
    ),
    render=_list,
)


def _add_request(arguments: Arguments) -> Request:
    if len(arguments.words) != 3:
        raise UsageError(
            "relations add needs a source, a type and a target", "mnemonctl relations add Ana works_at Acme"
        )
    source, kind, target = arguments.words
    params = {**arguments.options, "source": source, "type": kind, "target": target}
    return Request(types_relations.RELATIONS_ADD.name, params)


def _written(result: RelationResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.first_id) for each in result.relations))
    what = f"{one_line(result.source)} {one_line(result.type)} {one_line(result.target)}"
    verb = "Noted" if result.status == "added" else "Closed"
    known = "" if result.relations else "; its times are as they were"
    return lines(
        f"{verb}: {style.strong(what)}{known}{repeated(result)}",
        *(f"  {relation(each, style)}" for each in result.relations),
        undo_hint(result.op_id, style),
    )


ADD = Command(
    "relations add",
    Group.CHANGE,
    (
        "mnemonctl relations add Ana works_at Acme --since 2024-03",
        "mnemonctl relations add Ana works_at Initech --since 2018 --until 2020",
        'mnemonctl relations add "billing service" limit "200 req/s" --literal',
    ),
    method=types_relations.RELATIONS_ADD,
    words=Words("SOURCE TYPE TARGET", ("source", "type", "target")),
    request=_add_request,
    details=(
        "works_at, lives_in, located_in, reports_to, named and primary_…: one at a time, a new one ends that before.",
        "Without --since it is known to hold now, and may have begun at any time before.",
    ),
    render=_written,
)


def _close_request(arguments: Arguments) -> Request:
    words = arguments.words
    if len(words) == 1:
        params: dict[str, object] = {"id": long_enough(words[0])}
    elif len(words) in (2, 3):
        params = dict(zip(("source", "type", "target"), words, strict=False))
    else:
        raise UsageError(
            "relations close needs the id of a relation, or a source, a type and a target",
            "mnemonctl relations close Ana works_at Acme --at 2026-03-05",
        )
    return Request(types_relations.RELATIONS_CLOSE.name, {**arguments.options, **params})


CLOSE = Command(
    "relations close",
    Group.CHANGE,
    (
        "mnemonctl relations close Ana works_at Acme --at 2026-03-05",
        "mnemonctl relations close Ana works_at",
        "mnemonctl relations close 1a2b3c4d",
    ),
    method=types_relations.RELATIONS_CLOSE,
    words=Words("ID | SOURCE TYPE [TARGET]", ("id", "source", "type", "target")),
    request=_close_request,
    details=("It adds nothing in its place, and does nothing where nothing holds.",),
    render=_written,
)


def _timeline(result: TimelineResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.events))
    if not result.events:
        return lines(f"nothing is known of the time of {one_line(result.name)}")
    left = result.total - len(result.events)
    return lines(
        style.strong(one_line(result.name)),
        style.faint(f"{plural(left, 'earlier event')}: -n {result.total}") if left else None,
        *(event(each, style) for each in result.events),
    )


def event(it: TimelineEvent, style: Style) -> str:
    """Return an event in one line, or several."""
    at = "before" if it.at is None else one_line(time_text(it.at, it.granularity))
    if it.what == "memory":
        return row(f"{at:<10}  {style.strong(short_id(it.id))}  ", one_line(it.text), style)
    return body(f"{at:<10}  {one_line(it.what)}: {one_line(it.text)}", style, "")


TIMELINE = Command(
    "timeline",
    Group.LOOK,
    ("mnemonctl timeline Ana", "mnemonctl timeline Acme --as-of 2026-01-01", "mnemonctl timeline Ana --no-memories"),
    method=types_relations.TIMELINE,
    words=Words("NAME", ("name",), what="the name of a person or a thing"),
    render=_timeline,
)
