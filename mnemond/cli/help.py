"""Help texts: examples first, then what there is to choose from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from mnemond.cli.output import Style, lines, wrap
from mnemond.cli.parser import Command
from mnemond.cli.registry import COMMANDS, GROUPS

_COLUMN = 30
"""Cells of the left column of a table of options or commands."""

_TOP_EXAMPLES = (
    'mnemonctl remember "We chose SQLite, the team lacks Redis" --category decision',
    'mnemonctl recall "why SQLite"',
    "mnemonctl list --limit 5",
    "mnemonctl status",
)

_EXIT_CODES = (
    ("0", "done"),
    ("1", "a defect in mnemond"),
    ("2", "bad usage, input, configuration or data directory"),
    ("3", "not found"),
    ("4", "busy: try again"),
    ("5", "the disk or the database refused"),
    ("6", "something it depends on is not installed or not answering"),
    ("69", "no daemon answers"),
    ("74", "done, but the output could not be written"),
    ("75", "another daemon holds the lock of the data directory"),
    ("130", "interrupted"),
)
"""Those of `mnemond.errors`, in fewer words (a test compares them), and what the client and the shell add."""

_NUMBER = 6
"""Cells of the column of exit codes."""


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
        *_table(_EXIT_CODES, style, _NUMBER),
        "",
        "Output is text on a terminal and JSON elsewhere; so are errors.",
        "More: mnemonctl COMMAND --help",
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
    details = (line for text in subject.details for line in wrap(text, style.columns))
    return lines(
        *_examples(subject.examples, style),
        "",
        style.strong("Usage"),
        f"  mnemonctl {_usage(subject)} [options]",
        "",
        *wrap(subject.summary, style.columns),
        *details,
        *(["", style.strong("Options"), *_table(own, style)] if own else []),
        "",
        "Options of every command: mnemonctl help",
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


def _table(rows: Iterable[tuple[str, str]], style: Style, column: int = _COLUMN) -> list[str]:
    shown: list[str] = []
    for left, right in rows:
        texts = wrap(right, style.columns - column - 2)
        if len(left) > column - 2:
            shown.append(f"  {left}")
            left = ""
        shown.append(f"  {left:<{column}}{texts[0]}".rstrip())
        shown.extend(f"  {'':<{column}}{text}" for text in texts[1:])
    return shown
