"""Every command in the order of help, and the texts of help."""

from __future__ import annotations

from collections.abc import Iterable

from mnemond.cli import (
    admin,
    browse,
    core,
    cues,
    embed,
    entities,
    history,
    interchange,
    knowledge,
    links,
    maintenance,
    recall,
    relations,
    remember,
    reviews,
    revise,
    rules,
    sessions,
    stores,
    sync,
    viz,
)
from mnemond.cli.output import Style, lines, wrap
from mnemond.cli.parser import GLOBALS, Command, Group, Option, Words

VERSION = Command(
    "version",
    Group.DAEMON,
    ("mnemonctl version", "mnemonctl version --json"),
    summary="Show the version.",
)
HELP = Command(
    "help",
    Group.DAEMON,
    ("mnemonctl help recall", "mnemonctl recall --help"),
    summary="Show help for a command.",
    words=Words("[COMMAND]", completes="command"),
)
COMPLETION = Command(
    "completion",
    Group.DAEMON,
    ('eval "$(mnemonctl completion bash)"', "mnemonctl completion fish > ~/.config/fish/completions/mnemonctl.fish"),
    summary="Print the completion of a shell: commands, options, ids, stores and tags.",
    words=Words("bash|zsh|fish"),
    details=("In ~/.bashrc, or with zsh in ~/.zshrc, the first example loads it in every new terminal.",),
)
"""All three are answered without a daemon."""

_MODULES = (
    remember, cues, recall, revise, reviews, knowledge, core, rules, links, entities, relations, viz, browse, history,
    sessions, admin, stores, interchange, sync, embed, maintenance,
)  # fmt: skip
_DECLARED = [each for module in _MODULES for each in vars(module).values() if isinstance(each, Command)]

COMMANDS = tuple(sorted([*_DECLARED, VERSION, HELP, COMPLETION], key=lambda command: list(Group).index(command.group)))

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}

PREFIXES: dict[str, tuple[Command, ...]] = {
    prefix: tuple(command for command in COMMANDS if command.name.startswith(f"{prefix} "))
    for prefix in dict.fromkeys(name.partition(" ")[0] for name in BY_NAME if " " in name)
}
"""Commands of two words, by the first."""

FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(command.name.partition(" ")[0] for command in COMMANDS))


# ---------------------------------------------------------------- help

_COLUMN = 30
"""Cells of the left column of a table of options or commands."""

_TOP_EXAMPLES = (
    'mnemonctl remember "We chose SQLite, the team lacks Redis" --category decision',
    'mnemonctl recall "why SQLite"',
    "mnemonctl list --limit 5",
    "mnemonctl status",
)

EXIT_CODES = (
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
"""Those of `mnemond.errors`, in fewer words (a test compares them), and those that the client and the shell add."""

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
        *(line for group in Group for line in _group(group, style)),
        "",
        style.strong("Options of every command"),
        *table(map(option_row, GLOBALS), style),
        "",
        style.strong("Exit codes"),
        *table(EXIT_CODES, style, _NUMBER),
        "",
        "Output is text on a terminal and JSON elsewhere; so are errors.",
        "More: mnemonctl COMMAND --help",
    )


def _group(group: Group, style: Style) -> list[str]:
    members = [command for command in COMMANDS if command.group is group]
    return ["", f" {style.strong(group)}", *table(map(_summary, members), style)]


def prefix(word: str, style: Style) -> str:
    """`mnemonctl store --help`."""
    commands = PREFIXES[word]
    return lines(
        *_examples((command.examples[0] for command in commands), style),
        "",
        style.strong("Commands"),
        *table(map(_summary, commands), style),
        "",
        f"More: mnemonctl {word} COMMAND --help",
    )


def command(subject: Command, style: Style) -> str:
    """`mnemonctl recall --help`."""
    options = subject.parser.options
    details = (line for text in subject.details for line in wrap(text, style.columns))
    return lines(
        *_examples(subject.examples, style),
        "",
        style.strong("Usage"),
        f"  mnemonctl {_usage(subject)} [options]",
        "",
        *wrap(subject.summary, style.columns),
        *details,
        *(["", style.strong("Options"), *table(map(option_row, options), style)] if options else []),
        "",
        "Options of every command: mnemonctl help",
    )


def _usage(subject: Command) -> str:
    return f"{subject.name} {subject.words.usage}".rstrip()


def _summary(subject: Command) -> tuple[str, str]:
    return _usage(subject), subject.summary


def _examples(examples: Iterable[str], style: Style) -> list[str]:
    return [style.strong("Examples"), *(f"  {example}" for example in examples)]


def option_row(option: Option) -> tuple[str, str]:
    """The spellings of an option, and its description."""
    return f"{', '.join((*option.flags, *option.off))} {option.metavar}".rstrip(), option.help


def table(rows: Iterable[tuple[str, str]], style: Style, column: int = _COLUMN) -> list[str]:
    """Lay out two columns: names, and descriptions that are wrapped."""
    shown: list[str] = []
    for left, right in rows:
        texts = wrap(right, style.columns - column - 2)
        if len(left) > column - 2:
            shown.append(f"  {left}")
            left = ""
        shown.append(f"  {left:<{column}}{texts[0]}".rstrip())
        shown.extend(f"  {'':<{column}}{text}" for text in texts[1:])
    return shown
