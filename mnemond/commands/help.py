"""Help texts: examples first, then what there is to choose from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from mnemond.commands.command import Command
from mnemond.commands.layout import Style, lines, wrap
from mnemond.commands.registry import COMMANDS, GROUPS

_COLUMN = 30
"""Cells of the left column of a table of options or commands."""

_TOP_EXAMPLES = (
    'mnemonctl remember "We chose SQLite because the team lacks Redis experience" --category decision',
    'mnemonctl recall "why SQLite"',
    "mnemonctl list --limit 5",
    "mnemonctl status",
)

_EXIT_CODES = (
    "0 done · 1 defect in mnemond · 2 bad usage or input · 3 not found · 4 busy · 5 read-only or degraded · "
    "6 dependency unavailable · 69 no daemon · 130 interrupted"
)


def top(style: Style) -> str:
    """`mnemonctl --help`."""
    return lines(
        "mnemonctl: remember and recall, through the mnemond daemon",
        "",
        *_examples(_TOP_EXAMPLES, style),
        "",
        style.strong("Commands"),
        *_table(((_usage(command), command.summary) for command in COMMANDS), style),
        "",
        style.strong("Options of every command"),
        *_table(_options(COMMANDS[0], globals_only=True), style),
        "",
        style.strong("Exit codes"),
        *(f"  {line}" for line in wrap(_EXIT_CODES, style.columns - 2)),
        "",
        "Output is text on a terminal and JSON elsewhere. More: mnemonctl COMMAND --help",
    )


def group(name: str, style: Style) -> str:
    """`mnemonctl store --help`."""
    commands = GROUPS[name]
    return lines(
        *_examples((command.examples[0] for command in commands), style),
        "",
        style.strong("Commands"),
        *_table(((_usage(command), command.summary) for command in commands), style),
        "",
        f"More: mnemonctl {name} COMMAND --help",
    )


def command(subject: Command, style: Style) -> str:
    """`mnemonctl recall --help`."""
    own = list(_options(subject, globals_only=False))
    return lines(
        *_examples(subject.examples, style),
        "",
        style.strong("Usage"),
        f"  mnemonctl {_usage(subject)} [options]",
        "",
        *wrap(" ".join(part for part in (subject.summary, subject.details) if part), style.columns),
        *(["", style.strong("Options"), *_table(own, style)] if own else []),
        "",
        style.strong("Options of every command"),
        *_table(_options(subject, globals_only=True), style),
    )


def _usage(subject: Command) -> str:
    return f"{subject.name} {subject.words}".rstrip()


def _examples(examples: Iterable[str], style: Style) -> list[str]:
    return [style.strong("Examples"), *(f"  {example}" for example in examples)]


def _options(subject: Command, *, globals_only: bool) -> Iterable[tuple[str, str]]:
    for section in subject.parser._action_groups:
        if (section.title == "global") == globals_only:
            yield from (_option(action) for action in section._group_actions)


def _option(action: argparse.Action) -> tuple[str, str]:
    names = ", ".join(action.option_strings)
    return (f"{names} {action.metavar}" if action.metavar else names), action.help or ""


def _table(rows: Iterable[tuple[str, str]], style: Style) -> list[str]:
    shown: list[str] = []
    for left, right in rows:
        texts = wrap(right, style.columns - _COLUMN - 2)
        if len(left) > _COLUMN - 2:
            shown.append(f"  {left}")
            left = ""
        shown.append(f"  {left:<{_COLUMN}}{texts[0]}".rstrip())
        shown.extend(f"  {'':<{_COLUMN}}{text}" for text in texts[1:])
    return shown
