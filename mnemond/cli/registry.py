"""Every command, in the order of help, and as data for a shell's completion."""

from __future__ import annotations

import msgspec

from mnemond.cli import admin, embed, history, links, maintenance, recall, remember, revise, stores
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
    words=Words("[COMMAND]"),
)
"""Both are answered without a daemon."""

_DECLARED = [
    each
    for module in (remember, recall, revise, links, history, admin, stores, embed, maintenance)
    for each in vars(module).values()
    if isinstance(each, Command)
]

COMMANDS = tuple(sorted([*_DECLARED, VERSION, HELP], key=lambda command: list(Group).index(command.group)))

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}

PREFIXES: dict[str, tuple[Command, ...]] = {
    prefix: tuple(command for command in COMMANDS if command.name.startswith(f"{prefix} "))
    for prefix in dict.fromkeys(name.partition(" ")[0] for name in BY_NAME if " " in name)
}
"""Commands of two words, by the first."""

FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(command.name.partition(" ")[0] for command in COMMANDS))


# Completion.


class OptionCompletion(msgspec.Struct, frozen=True):
    """An option as a shell completes it; `value` is empty where there is none."""

    flags: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    help: str


class CommandCompletion(msgspec.Struct, frozen=True):
    """A command as a shell completes it: what may follow its name, and its own options."""

    name: str
    group: str
    summary: str
    words: str
    options: tuple[OptionCompletion, ...]


class Completion(msgspec.Struct, frozen=True):
    """Everything that can be completed: commands, and the options of all of them."""

    commands: tuple[CommandCompletion, ...]
    options: tuple[OptionCompletion, ...]


def completion() -> Completion:
    """Return commands, options and choices as data."""
    return Completion(
        tuple(
            CommandCompletion(
                each.name, each.group, each.summary, each.words.usage, tuple(map(_completed, each.parser.options))
            )
            for each in COMMANDS
        ),
        tuple(map(_completed, GLOBALS)),
    )


def _completed(option: Option) -> OptionCompletion:
    return OptionCompletion((*option.flags, *option.off), option.metavar, option.choices, option.help)
