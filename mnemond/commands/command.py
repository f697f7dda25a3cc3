"""What a command is: its names, its options, its request and its text for people."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import msgspec

from mnemond.commands.layout import SHORT_ID, Style, plural
from mnemond.commands.parser import Parser, UsageError

MIN_PREFIX = 6
"""Characters of an id that are needed to name a memory; the same as in the protocol (a test compares them)."""


class Arguments(msgspec.Struct, frozen=True):
    """A parsed command line: its words, the options typed (names on the wire) and standard input, if it was sent."""

    words: list[str]
    options: dict[str, object]
    stdin: str | None = None

    def text(self, command: str, what: str) -> str:
        """All words joined; standard input for a lone "-". Raises UsageError when there is nothing."""
        if self.words == ["-"]:
            return self._standard_input(command)
        if not self.words:
            raise UsageError(f"{command} needs {what}", f"See: mnemonctl {command} --help")
        return " ".join(self.words)

    def single(self, command: str, what: str) -> str:
        """The one word a command takes. Raises UsageError for none or several."""
        if len(self.words) == 1:
            return self.words[0]
        count = len(self.words)
        message = f"{command} needs {what}" + (f", and only one ({count} were given)" if count else "")
        raise UsageError(message, f"See: mnemonctl {command} --help")

    def identifier(self, command: str) -> str:
        """The id of a memory, or the beginning of one. Raises UsageError for one too short to mean anything."""
        return long_enough(self.single(command, "the id of a memory"))

    def two_identifiers(self, command: str) -> tuple[str, str]:
        """The ids of two memories, or their beginnings. Raises UsageError for more, fewer, or one too short."""
        if len(self.words) != 2:
            given = "1 was given" if len(self.words) == 1 else f"{len(self.words)} were given"
            message = f"{command} needs the ids of two memories ({given})"
            raise UsageError(message, f"See: mnemonctl {command} --help")
        one, other = map(long_enough, self.words)
        return one, other

    def nothing(self, command: str) -> None:
        """For a command that takes no words. Raises UsageError for any."""
        count = len(self.words)
        if count:
            given = "1 was given" if count == 1 else f"{count} were given"
            raise UsageError(f"{command} takes no arguments, only options ({given})")

    def _standard_input(self, command: str) -> str:
        if self.stdin is None:
            raise UsageError(
                f'"-" means standard input, but none was sent to {command}',
                'To use a dash as the text itself, write "-- -".',
            )
        return self.stdin.rstrip("\r\n")


def long_enough(word: str) -> str:
    """The id of a memory, or the beginning of one. Raises UsageError for one too short to mean anything."""
    if len(word) < MIN_PREFIX:
        raise UsageError(
            f"the id has {plural(len(word), 'character')}; it needs {MIN_PREFIX}",
            f"give at least {MIN_PREFIX} characters of the id; `mnemonctl list` shows {SHORT_ID}",
        )
    return word


class Request(msgspec.Struct, frozen=True):
    """A method of the registry and its parameters by name."""

    method: str
    params: dict[str, object]


class Command(msgspec.Struct, frozen=True):
    """One command. `words` is what may follow its name; `request` is None for what the client does by itself;
    `details` are paragraphs of its help.

    `render` makes the text for people, from the method's result; `notes` are lines for standard error.
    """

    name: str
    summary: str
    words: str
    examples: tuple[str, ...]
    parser: Parser
    request: Callable[[Arguments], Request] | None = None
    render: Callable[[Any, Style], str] | None = None
    details: tuple[str, ...] = ()


def typed(options: argparse.Namespace) -> dict[str, object]:
    """What the user typed, by name."""
    return dict(vars(options))
