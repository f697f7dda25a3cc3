"""What a person most likely meant by a command or an option that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CLOSE = 0.75
"""Least similarity (difflib's ratio, 0 to 1) of a suggestion. "forgot" is .83 from "forget"; "force" is .73 from
"source" and was meant to be neither."""

SYNONYMS = {
    "add": "remember", "save": "remember", "put": "remember",
    "find": "recall", "query": "recall", "ask": "recall",
    "show": "get", "cat": "get",
    "ls": "list",
    "delete": "forget", "rm": "forget", "remove": "forget",
    "connect": "link", "disconnect": "unlink", "neighbours": "related", "neighbors": "related",
    "grep": "search",
    "info": "status", "verify": "doctor", "health": "doctor",
    "start": "daemon start", "stop": "daemon stop", "restart": "daemon restart", "run": "daemon run",
}  # fmt: skip
"""What other programs call it."""

OPTION_SYNONYMS = {"unpin": "pin ID --unpin"}
"""What is no command and an option of one, as it is typed."""

GROUP_SYNONYMS = {
    "ls": "list", "new": "create", "add": "create", "make": "create", "delete": "remove", "rm": "remove", "use": "set",
    "switch": "set", "where": "path", "get": "show",
}  # fmt: skip
"""The same for the second word of a command."""


def close(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is: similar enough, or the same letters in another order."""
    choices = list(known)
    swapped = (choice for choice in choices if len(word) > 1 and sorted(word) == sorted(choice))
    similar = difflib.get_close_matches(word[:64], choices, n=1, cutoff=CLOSE)
    return next(swapped, None) or (similar[0] if similar else None)


def command(word: str, known: Iterable[str]) -> str | None:
    """The command that `word` means, with the option that it means of it."""
    return OPTION_SYNONYMS.get(word) or SYNONYMS.get(word) or close(word, known)


def second(word: str, known: Iterable[str]) -> str | None:
    """The second word of a command that `word` means: one of `known`."""
    choices = list(known)
    synonym = GROUP_SYNONYMS.get(word)
    return synonym if synonym in choices else close(word, choices)


def option(name: str, known: Iterable[str]) -> str | None:
    """The long option that `name`, with its dashes, means. Dashes, which all of them have, are not compared."""
    names = {long.removeprefix("--"): long for long in known if long.startswith("--")}
    found = close(name.lstrip("-"), names) if name.startswith("--") else None
    return names[found] if found else None
