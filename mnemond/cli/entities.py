"""`mnemonctl entity list`, `show`, `merge`, `split`, `not-same` and `alias`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mnemond.api import types_entities
from mnemond.api.types_entities import EntityLine, EntityListResult, EntityPage
from mnemond.cli.output import (
    Style,
    body,
    counts,
    day,
    lines,
    note,
    one_line,
    repeated,
    row,
    short_id,
    undo_hint,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words
from mnemond.cli.relations import event, relation, statements
from mnemond.model.answers import NamingMemory
from mnemond.model.outcomes import EntityResult
from mnemond.model.relations import RelationshipView
from mnemond.wire.params import Method, plural

MAX_ALIASES: Final = 3
"""Other names of a thing in one line of a list."""


def _list(result: EntityListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.name) for each in result.entities))
    if not result.entities:
        return lines("no person and no thing like that is known")
    left = result.total - len(result.entities)
    asked = f"{plural(result.proposed, 'pair')} of names may be one: mnemonctl reviews" if result.proposed else None
    return lines(
        *(_entity(each, style) for each in result.entities),
        style.faint(f"{plural(result.total, 'name')}; of each type: {counts(result.types)}"),
        style.faint(f"{left:,} more: -n {result.total}") if left else None,
        asked,
    )


def _entity(it: EntityLine, style: Style) -> str:
    left = max(it.total_aliases, len(it.aliases)) - MAX_ALIASES
    more = f", and {left:,} more" if left > 0 else ""
    also = f" (also {', '.join(map(one_line, it.aliases[:MAX_ALIASES]))}{more})" if it.aliases else ""
    known = ", ".join(filter(None, (_many(it.memories, "memory"), _many(it.relations, "relation"))))
    return body(f"{one_line(it.name)}{also}  {one_line(it.type)}{'  ' if known else ''}{known}", style, "")


def _many(count: int, noun: str) -> str:
    return plural(count, noun) if count else ""


LIST = Command(
    "entity list",
    Group.LOOK,
    ("mnemonctl entity list", "mnemonctl entity list --type person -n 20", "mnemonctl entity list --query silva"),
    method=types_entities.ENTITY_LIST,
    details=("Those that most memories name come first. Names that are one thing are one line.",),
    render=_list,
)


def _show(result: EntityPage, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.memories))
    waiting = [f"{one_line(name)} (mnemonctl resolve {one_line(number)})" for number, name in result.proposed.items()]
    return lines(
        style.strong(one_line(result.name)) + f"  {one_line(result.type)}",
        _named("also", _some(result.aliases, result.total_aliases), style),
        _named("not", _some(result.not_same, result.total_not_same), style),
        _named("perhaps", waiting, style),
        _time(result),
        None if result.summary is None else "summary",
        None if result.summary is None else body(result.summary.content, style, "  "),
        *_relations("now", result.now, style),
        *_relations("before", result.before, style),
        *_relations("later", result.later, style),
        *_section("timeline", [event(each, style) for each in result.events], result.total_events),
        *_section("memories", [_memory(each, style) for each in result.memories], result.total_memories),
    )


def _some(names: Sequence[str], total: int) -> list[str]:
    """Return names as they are shown, and how many more there are."""
    left = total - len(names)
    return [*map(one_line, names), *([f"{left:,} more"] if left > 0 else [])]


def _named(what: str, names: Iterator[str] | Sequence[str], style: Style) -> str | None:
    text = ", ".join(names)
    return body(f"{what}: {text}", style, "  ") if text else None


def _time(result: EntityPage) -> str | None:
    times = (("as it was", result.as_of), ("as it was known", result.known_at))
    shown = [f"{what} {one_line(at[:19])}" for what, at in times if at is not None]
    return f"  {', '.join(shown)}" if shown else None


def _relations(what: str, found: Sequence[RelationshipView], style: Style) -> Iterator[str]:
    if found:
        yield what
    for each in found:
        yield f"  {relation(each, style)}"
        yield from (f"  {line}" for line in statements(each.evidence, style))


def _section(what: str, found: Sequence[str], total: int) -> Iterator[str]:
    if found:
        yield what if total == len(found) else f"{what}, {len(found):,} of {total:,}"
        yield from (f"  {line}" for line in found)


def _memory(it: NamingMemory, style: Style) -> str:
    return row(f"{day(it.created_at)}  {style.strong(short_id(it.id))}  ", one_line(it.content), style)


def _name(arguments: Arguments) -> Request:
    if not arguments.words:
        raise UsageError("entity show needs a name", "mnemonctl entity show Ana")
    params = {**arguments.options, "name": " ".join(arguments.words)}
    return Request(types_entities.ENTITY_SHOW.name, params)


SHOW = Command(
    "entity show",
    Group.LOOK,
    (
        "mnemonctl entity show Ana",
        "mnemonctl entity show Ana Silva --as-of 2025-06-01",
        "mnemonctl entity show Acme --known-at 2026-01-01 --json",
    ),
    method=types_entities.ENTITY_SHOW,
    words=Words("NAME", ("name",)),
    request=_name,
    details=(
        "A part of a name will do where only one thing has it in its name; of several it shows which they are.",
        "-q prints the ids of the memories alone.",
    ),
    render=_show,
)


# Decisions.


def _pair(method: Method, example: str) -> Callable[[Arguments], Request]:
    def request(arguments: Arguments) -> Request:
        words = arguments.words
        if len(words) == 3 and words[1] == "from":
            words = [words[2], words[0]]
        if len(words) != 2:
            raise UsageError(f"{arguments.command.name} needs two names", f"{example} (quotes around several words)")
        return Request(method.name, {**arguments.options, "name": words[0], "other": words[1]})

    return request


_DONE: Final = {
    "merged": "{other} is a name of {entity} now",
    "split": "{entity} and {other} are two",
    "not-same": "{entity} and {other} are two, for good",
    "alias": "{other} is another name of {entity}",
    "unchanged": "Nothing changed: that was so already",
    "proposed": "Asked whether {other} and {entity} are one{review}; until that is decided they are two",
}


def _decided(result: EntityResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.entity))
    review = "" if result.review is None else f" before (review {result.review})"
    sentence = _DONE.get(result.status, "{entity} and {other}").format(
        entity=style.strong(one_line(result.entity)), other=style.strong(one_line(result.other)), review=review
    )
    moved = ", ".join(filter(None, (_many(result.memories, "memory"), _many(result.relations, "relation"))))
    is_written = not result.dry_run and result.status not in ("unchanged", "proposed")
    return lines(
        f"{'Would be so: ' if result.dry_run else ''}{sentence}{repeated(result)}",
        note(f"with {moved}", style) if moved else None,
        *(f"  {relation(each, style)}" for each in result.changed),
        note("decide: mnemonctl reviews", style) if result.status == "proposed" and not result.dry_run else None,
        undo_hint(result.op_id, style) if is_written else None,
    )


MERGE = Command(
    "entity merge",
    Group.CHANGE,
    (
        'mnemonctl entity merge Ana "Ana Silva" --dry-run',
        'mnemonctl entity merge Ana "Ana Silva"',
    ),
    method=types_entities.ENTITY_MERGE,
    words=Words("NAME OTHER", ("name", "other")),
    request=_pair(types_entities.ENTITY_MERGE, 'mnemonctl entity merge Ana "Ana Silva"'),
    details=(
        "OTHER becomes a name of NAME. Nothing is deleted; `entity split` and `undo` separate them again.",
        "Done for a person at a terminal; what a tool or a script asks for waits in `mnemonctl reviews`.",
        "Of relations with one value at a time, as works_at, the later one ends the earlier one.",
    ),
    render=_decided,
)

SPLIT = Command(
    "entity split",
    Group.CHANGE,
    ('mnemonctl entity split Ana "Ana Silva"', "mnemonctl entity split Anita from Ana"),
    method=types_entities.ENTITY_SPLIT,
    words=Words("NAME OTHER | ALIAS from NAME", ("name", "other")),
    request=_pair(types_entities.ENTITY_SPLIT, 'mnemonctl entity split Ana "Ana Silva"'),
    details=("That they are two is remembered, as by `entity not-same`. An alias is no name of it any more.",),
    render=_decided,
)

NOT_SAME = Command(
    "entity not-same",
    Group.CHANGE,
    ('mnemonctl entity not-same Ana "Ana Costa"',),
    method=types_entities.ENTITY_NOT_SAME,
    words=Words("NAME OTHER", ("name", "other")),
    request=_pair(types_entities.ENTITY_NOT_SAME, 'mnemonctl entity not-same Ana "Ana Costa"'),
    details=("They are never proposed to be one, and no merge joins them, until `mnemonctl undo` takes it back.",),
    render=_decided,
)

ALIAS = Command(
    "entity alias",
    Group.CHANGE,
    ('mnemonctl entity alias "Ana Silva" Anita', "mnemonctl entity alias Kubernetes kube"),
    method=types_entities.ENTITY_ALIAS,
    words=Words("NAME ALIAS", ("name", "other")),
    request=_pair(types_entities.ENTITY_ALIAS, "mnemonctl entity alias Kubernetes kube"),
    details=("For a name that memories use already: `mnemonctl entity merge`.",),
    render=_decided,
)
