"""Triggers that the text of a rule proposes: the command, act or files it names (docs/decisions/0044).

A proposal does nothing until a person applies it, so one too many costs a line of `rules list`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from mnemond.text.resources import on_first_use, one_of, read, regex

MAX_TEXT: Final = 2_000
"""Characters of a text that are read."""

MAX_SENTENCES: Final = 12

WITHIN: Final = 60
"""Characters after "before", "never" and the like in which the act is named."""

_DEEPER: Final = frozenset(("run", "compose", "exec"))
"""Second words of a command after which the third says what is done."""


class _ProposedTriggersWords(msgspec.Struct):
    before: list[str]
    never: list[str]
    needs: list[str]
    instead: list[str]
    changes: list[str]
    past: list[str]


class _Data(msgspec.Struct):
    programs: list[str]
    bare: dict[str, list[str]]
    acts: dict[str, list[str]]
    words: _ProposedTriggersWords


@on_first_use
def _data() -> _Data:
    return read("proposed_triggers", _Data)


@on_first_use
def _programs() -> frozenset[str]:
    return frozenset(_data().programs)


@on_first_use
def _acts() -> dict[str, str]:
    return {word: command for command, words in _data().acts.items() for word in words}


def _any_of(words: Iterable[str]) -> str:
    """Words as an expression; those of scripts without spaces stand anywhere."""
    spaced = [each for each in words if each[0] < "\u2e80"]
    others = [each for each in words if each[0] >= "\u2e80"]
    return "|".join(filter(None, (rf"\b(?:{one_of(spaced)})\b" if spaced else "", one_of(others) if others else "")))


_sentence_end = regex(r"[.!?;:](?=\s|\Z)|[。！？；\n]")
_before = regex(lambda: _any_of(_data().words.before), re.IGNORECASE)
_never = regex(lambda: _any_of(_data().words.never), re.IGNORECASE)
_needs = regex(lambda: _any_of(_data().words.needs), re.IGNORECASE)
_changes = regex(lambda: _any_of(_data().words.changes), re.IGNORECASE)
_past = regex(lambda: _any_of(_data().words.past), re.IGNORECASE)
_instead = regex(
    lambda: rf"(?:{_any_of(_data().words.instead)})\s{{0,3}}`?({one_of(_data().programs)})(?![\w/.-])", re.IGNORECASE
)
_quoted = regex(r"`([^`\n]{1,100})`")
_named = regex(
    lambda: "|".join(
        (
            *(rf"\b{re.escape(program)} (?:{one_of(verbs)})\b" for program, verbs in _data().bare.items()),
            r"\bsudo\b",
            _any_of(_acts()),
        )
    ),
    re.IGNORECASE,
)
_path = regex(
    r"(?<![\w/:.@-])((?:[\w.-]{1,40}/){1,6}(?:[\w-][\w.-]{0,60})?"
    r"|[\w-]{1,60}\.(?:sql|py|pyi|ts|tsx|go|rs|java|kt|rb|php|toml|ya?ml|json|md|lock|proto|c|h|cpp|css|html|sh|ini|cfg"
    r"|env|txt|csv|xml|tf))(?![\w/])"
)


def proposed_trigger(text: str) -> str | None:
    """Return the trigger that the text of a rule names, or None: what must not be done, or not before something else,
    as a command; or files that are not to be changed."""
    for sentence in _sentence_end.split(text[:MAX_TEXT], MAX_SENTENCES)[:MAX_SENTENCES]:
        if not _past.search(sentence) and (found := _of_sentence(sentence)) is not None:
            return found
    return None


def _of_sentence(sentence: str) -> str | None:
    if (instead := _instead.search(sentence)) is not None:
        return f"Bash:{instead[1].casefold()}*"
    for moment in (_before, _never):
        for found in moment.finditer(sentence):
            if (command := _command(sentence, found.end())) is not None:
                return f"Bash:{command}*"
    command = _command(sentence, 0, len(sentence))
    needs = _needs.search(sentence)
    if command is not None and needs is not None and (begun := _place(sentence)) is not None and begun < needs.start():
        return f"Bash:{command}*"
    path = _path.search(sentence)
    if path is not None and _changes.search(sentence) and (_never.search(sentence) or _before.search(sentence)):
        return f"Edit:{path[1]}{'**' if path[1].endswith('/') else ''}"
    return None


def _place(sentence: str) -> int | None:
    found = _quoted.search(sentence) or _named.search(sentence)
    return None if found is None else found.start()


def _command(sentence: str, at: int, within: int = WITHIN) -> str | None:
    """Return the first command or act that is named after a place."""
    named = _named.search(sentence, at, at + within)
    for quoted in _quoted.finditer(sentence, at, at + within + 100):
        if quoted.start() - at < within and (named is None or quoted.start() < named.start()):
            words = quoted[1].split()
            if words and (words[0] in _programs() or (len(words) > 1 and re.fullmatch(r"[\w./-]{2,40}", words[0]))):
                return _begin(words)
    if named is None:
        return None
    said = named[0].casefold()
    return _acts().get(said, said)


def _begin(words: list[str]) -> str:
    """Return the words of a command that say what is done, without what it is done to."""
    many = 3 if len(words) > 2 and words[1] in _DEEPER else 2
    return " ".join(words[:many]).rstrip("*.,;")
