"""argparse without its habits: it neither prints nor leaves nor guesses abbreviations, and names the nearest option."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from mnemond.commands import suggestions
from mnemond.commands.terminal import one_line

SHOWN = 60
"""Characters of an unknown option that are shown."""

LONGEST_CLUSTER = 32
"""Characters of a word such as -qn3 that may be several short options; there are not as many."""


class UsageError(Exception):
    """A command line that cannot be run: a sentence, and what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Parser(argparse.ArgumentParser):
    """Parses the options of one command. Built once; parsing leaves no trace in it.

    Only what was typed appears in the result, under its name on the wire. Everything that is not an option is a word
    of the command, wherever it stands; after "--" everything is.
    """

    def __init__(self, command: str, *, takes_text: bool = False) -> None:
        super().__init__(prog=command, add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
        self.command = command
        self._takes_text = takes_text

    def error(self, message: str) -> NoReturn:
        """Called by argparse for a missing or bad value."""
        raise UsageError(message.removeprefix("argument "), f"See: mnemonctl {self.command} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Never called: there is no option that leaves."""
        raise UsageError(message or f"the parser left with status {status}")

    def option_names(self) -> list[str]:
        """Every long option."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def split(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """(options, words). Raises UsageError for an unknown option or a bad value."""
        head, tail = split_at_dashes(argv)
        for word in head:
            if len(word) > LONGEST_CLUSTER and word.startswith("-") and not word.startswith("--"):
                raise self.unknown_option(word)  # argparse would take it apart letter by letter
        options, rest = self.parse_known_args(head)
        for word in rest:
            if looks_like_option(word):
                raise self.unknown_option(word)
        return options, rest + tail

    def unknown_option(self, word: str) -> UsageError:
        """The error for an option this command does not have."""
        name = word.partition("=")[0]
        meant = suggestions.option(name, self.option_names())
        hint = f"Did you mean {meant}?" if meant else f"See: mnemonctl {self.command} --help"
        text = "; what follows -- is text, not options" if self._takes_text and not meant else ""
        return UsageError(f"{self.command} has no option {one_line(name[:SHOWN])}", hint + text)


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first "--", and those after it."""
    words = list(argv)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def looks_like_option(word: str) -> bool:
    """Whether a person who typed `word` meant an option: not "-", not "-5 °C", not "- buy milk"."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and " " not in word
