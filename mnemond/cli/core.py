"""`mnemonctl core show`, `core update`, `core history`, `core diff` and `core set`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemond.api import types_core
from mnemond.api.types_core import CoreDiffResult, CoreHistoryResult, CoreLineView, CoreShowResult, CoreVersionView
from mnemond.cli.output import Style, body, lines, one_line, repeated, second, short_id, undo_hint
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.core import BY_HAND, RULES
from mnemond.model.outcomes import CoreResult
from mnemond.wire.params import plural


def _by(generator: str) -> str:
    return {RULES: "by the rules", BY_HAND: "as it was set"}.get(generator, f"by {one_line(generator)}")


def _of(user: str) -> str:
    return "" if user == "default" else f" of {one_line(user)}"


def _show(result: CoreShowResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each) for line in result.lines for each in line.memory_ids))
    if not result.version:
        return lines(
            f'No core summary{_of(result.user)} in store "{one_line(result.store)}" yet',
            style.faint("it is made after ten new memories; now: mnemonctl core update"),
        )
    about = f"version {result.version}, {plural(result.words, 'word')}, {_by(result.generator)}"
    made = f", {second(result.created_at)}" if result.created_at else ""
    over = "" if result.current else " (not the current one)"
    return lines(
        style.strong(f"Core summary{_of(result.user)}") + style.faint(f"  {about}{made}{over}"),
        *(body(one_line(each), style, "") for each in result.text.split("\n")),
        style.faint(f"not by the model: {one_line(result.reason)}") if result.reason else None,
        style.faint(f"{plural(result.left_out, 'line')} left out: a memory changed") if result.left_out else None,
        style.faint(f"taken back {second(result.taken_back_at)}") if result.taken_back_at else None,
    )  # fmt: skip


def _show_request(arguments: Arguments) -> Request:
    numbers = _numbers(arguments, 1, "core show takes the number of one version", "mnemonctl core show 3")
    return Request(types_core.CORE_SHOW.name, {**arguments.options, **dict(zip(("version",), numbers, strict=False))})


def _numbers(arguments: Arguments, most: int, sentence: str, example: str) -> list[int]:
    """Return the words as numbers of versions. Raises UsageError for others, or too many."""
    words = arguments.words
    if len(words) > most or not all(word.isdecimal() and len(word) <= MAX_DIGITS for word in words):
        raise UsageError(sentence, example)
    return [int(word) for word in words]


MAX_DIGITS: Final = 9
"""Digits of the number of a version."""


SHOW = Command(
    "core show",
    Group.LOOK,
    ("mnemonctl core show", "mnemonctl core show --user ana --json", "mnemonctl core show 3"),
    method=types_core.CORE_SHOW,
    words=Words("[VERSION]", ("version",), optional=True),
    request=_show_request,
    details=(
        "At most 500 words, in front of `recall --context` and of what a session begins with.",
        "A line is left out as soon as a memory that it rests on is corrected, changed or forgotten.",
        "--json has the memories of each line, and the scores by which they were chosen.",
    ),
    render=_show,
)


def _written(result: CoreResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.version))
    rests = f", {plural(result.memories, 'memory')}" if result.memories else ""
    about = f"version {result.version}{_of(result.user)}, {plural(result.words, 'word')}{rests}"
    if result.status == "unchanged":
        return lines(f"The core summary says the same: {about}{repeated(result)}")
    return lines(
        f"Core summary {_by(result.generator)}: {style.strong(about)}{repeated(result)}",
        style.faint(f"not by the model: {one_line(result.reason)}") if result.reason else None,
        style.faint("to read it: mnemonctl core show"),
        undo_hint(result.op_id, style),
    )


UPDATE = Command(
    "core update",
    Group.CHANGE,
    ("mnemonctl core update", "mnemonctl core update --user ana"),
    method=types_core.CORE_UPDATE,
    details=(
        "The daemon does it by itself after every ten new memories, but for a text that was set, which this replaces.",
        "core_summary.engine says what writes it; docs/config.md lists the other settings.",
    ),
    render=_written,
)

SET = Command(
    "core set",
    Group.CHANGE,
    ('mnemonctl core set "I work in Bergen and prefer short answers"', "mnemonctl core set - < about-me.txt"),
    method=types_core.CORE_SET,
    words=Words("TEXT… | -", ("text",), text=True),
    details=(
        "It counts until `core update` makes another one of the memories.",
        "A line with the words of a memory is left out once that memory changes or leaves recall.",
        "A purge of any memory takes the other lines out as well: they may have its words in any form.",
    ),
    render=_written,
)


def _history(result: CoreHistoryResult, style: Style) -> str:
    if style.quiet:
        return lines(*(str(each.version) for each in result.versions))
    if not result.versions:
        return lines(f'No core summary{_of(result.user)} in store "{one_line(result.store)}" yet')
    return lines(*(_version(each, style) for each in result.versions))


def _version(it: CoreVersionView, style: Style) -> str:
    state = "current" if it.current else "taken back" if it.taken_back_at else ""
    about = f"{plural(it.words, 'word')}, {plural(it.memories, 'memory')}, {_by(it.generator)}"
    number = style.strong(f"{it.version:>4}")
    return f"{number}  {second(it.created_at)}  {about}  {style.faint(one_line(it.op_id))}  {state}".rstrip()


HISTORY = Command(
    "core history",
    Group.LOOK,
    ("mnemonctl core history", "mnemonctl core history -n 5 --json"),
    method=types_core.CORE_HISTORY,
    details=("The last column names the operation: `mnemonctl undo OPERATION` takes a version back.",),
    render=_history,
)


def _diff(result: CoreDiffResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each) for line in (*result.added, *result.removed) for each in line.memory_ids))
    changes = [*(("-", each) for each in result.removed), *(("+", each) for each in result.added)]
    return lines(
        style.strong(f"version {result.older} to {result.newer}") + f"  {plural(result.same, 'line')} in both",
        *(line for sign, each in changes for line in _changed(sign, each, style)),
    )


def _changed(sign: str, it: CoreLineView, style: Style) -> Iterator[str]:
    ids = " ".join(map(short_id, it.memory_ids))
    yield body(f"{sign} {one_line(it.text)}" + (f"  ({ids})" if ids else ""), style, "")


def _diff_request(arguments: Arguments) -> Request:
    numbers = _numbers(arguments, 2, "core diff takes the numbers of two versions", "mnemonctl core diff 3 5")
    names = ("newer",) if len(numbers) == 1 else ("older", "newer")
    return Request(types_core.CORE_DIFF.name, {**arguments.options, **dict(zip(names, numbers, strict=False))})


DIFF = Command(
    "core diff",
    Group.LOOK,
    ("mnemonctl core diff", "mnemonctl core diff 3 5", "mnemonctl core diff 5"),
    method=types_core.CORE_DIFF,
    words=Words("[OLDER] [NEWER]", ("older", "newer"), optional=True),
    request=_diff_request,
    details=("Without numbers: the current version and the one before. With one number: that and the one before.",),
    render=_diff,
)
