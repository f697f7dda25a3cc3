"""Triggers of rules: to which calls of tools a rule belongs (docs/decisions/0044).

`Bash:git push*` is a command, `Edit:migrations/**` a path, `mcp__github__*` a tool, `words:drop table` words in what a
tool is given. Patterns have `*` and, in paths, `**`; nothing in them needs more than one pass over a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from mnemond.text.caches import text_cache
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.shell_commands import MAX_LINE, ShellLine, shell_line

Kind = Literal["command", "path", "tool", "words"]

WORDS: Final = "words"
"""Stands before words in place of a tool."""

MAX_STARS: Final = 8
"""Stars of a pattern: each is one search in a text."""


class ToolNames(NamedTuple):
    """Casefolded names of tools of all hosts, by what the tools do; `families`: by the name that stands for them in a
    trigger."""

    shells: frozenset[str]
    editors: frozenset[str]
    readers: frozenset[str]
    families: dict[str, frozenset[str]]


@on_first_use
def tool_names() -> ToolNames:
    """Return the names of `text/data/tool_names.toml`."""
    names = read("tool_names", dict[str, frozenset[str]])
    shells, editors, readers = names["shells"], names["editors"], names["readers"]
    families = {"bash": shells, "shell": shells, "edit": editors, "write": names["writers"], "read": readers}
    return ToolNames(shells, editors, readers, families)


_FORMS: Final = "write TOOL:PATTERN, as in Bash:git push* or Edit:migrations/**, a tool's name, or words:drop table"
_TOOL = regex(r"[A-Za-z_*][A-Za-z0-9_.*-]{0,99}")
_PERMISSION = regex(r"([A-Za-z_*][A-Za-z0-9_.*-]{0,99})\((.*)\)")
_WORD = regex(r"\w+")


class Trigger(NamedTuple):
    """A trigger as it is read. `tool` is casefolded; `pattern` is a command, a path or words; empty for any."""

    kind: Kind
    tool: str
    pattern: str


class ToolCall(NamedTuple):
    """A call of a tool. `tool`: its casefolded name; `commands`: the simple commands of a shell line; `paths`: the
    segments of each; `text`: casefolded, all it is given as far as it is looked at; `editor`: the tool that it is to
    its files, another one for a patch in a shell line; `unread`: the kinds of triggers for which a limit kept something
    from being read."""

    tool: str
    commands: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    editor: str = ""
    unread: frozenset[Kind] = frozenset()

    @property
    def changes(self) -> bool:
        """Return False for a tool that only reads."""
        return self.tool not in tool_names().readers

    def words(self) -> frozenset[str]:
        """Return the words of the text."""
        return frozenset(_WORD.findall(self.text))


MAX_PATHS: Final = 50
"""Paths of one call that are looked at."""

PATCHES: Final = "apply_patch"
"""The tool, and the command, that takes a patch of several files."""


def tool_call(
    tool: str, line: str, paths: Sequence[str], text: str, directory: str = "", unread: frozenset[Kind] = frozenset()
) -> ToolCall:
    """Return a call by what a host tells of it; other paths than absolute ones are of `directory`. A patch, also in a
    shell line, is an edit of its files. `unread`: the kinds for which its caller has left something out."""
    name, missed = tool.casefold(), set(unread)
    patched = patched_files(line[:MAX_LINE]) or patched_files(text[:MAX_LINE])
    named = (*paths, *patched)
    if len(named) > MAX_PATHS or any(each.count("/") > MAX_DEPTH for each in named):
        missed.add("path")
    if patched or name == PATCHES:  # it may name more files in what was not read
        missed.update("path" for each in ("command", "words") if each in unread)
    segments = tuple(path_segments(each, directory) for each in named[:MAX_PATHS])
    read = shell_line(line) if name in tool_names().shells else ShellLine((), is_whole=True)
    if not read.is_whole:
        missed.add("command")
    return ToolCall(name, read.commands, segments, text.casefold(), PATCHES if patched else name, frozenset(missed))


# Reading a trigger.


def normal_trigger(text: str) -> str:
    """Return a trigger in the form in which it is stored. Raises ValueError with a sentence."""
    plain = " ".join(text.split())
    form = _PERMISSION.fullmatch(plain)
    if form is not None:  # as Claude Code writes permissions: Bash(git push:*)
        pattern = f"{form[2][:-2]}*" if form[2].endswith(":*") else form[2]
        plain = f"{form[1]}:{pattern}"
    tool, colon, pattern = plain.partition(":")
    tool, pattern = tool.strip(), pattern.strip()
    if tool.casefold() == WORDS:
        if not _WORD.search(pattern):
            raise ValueError(f"{text!a} names no words: {_FORMS}")
        return f"{WORDS}:{pattern}"
    if not _TOOL.fullmatch(tool):
        raise ValueError(f"{text!a} is no trigger: {_FORMS}")
    if pattern.strip("*/. ") == "" and (tool.strip("*") == "" or pattern):
        raise ValueError(f"{text!a} is true of every call; name a tool, a command or a path")
    if tool.count("*") + pattern.count("*") > MAX_STARS + pattern.count("**"):
        raise ValueError(f"{text!a} has more than {MAX_STARS} stars")
    return f"{tool}:{pattern}" if colon and pattern else tool


def read_trigger(text: str) -> Trigger:
    """Return a trigger that is in its normal form."""
    tool, _, pattern = text.partition(":")
    tool = tool.casefold()
    if tool == WORDS:
        return Trigger("words", "", pattern.casefold())
    if not pattern:
        return Trigger("tool", tool, "")
    names = tool_names()
    if tool in names.shells:
        program, space, rest = pattern.partition(" ")  # programs of a call are named without their directory
        return Trigger("command", tool, f"{program.rpartition('/')[2] or program}{space}{rest}")
    if tool in names.families or tool in names.editors or tool in names.readers or tool.strip("*") == "":
        return Trigger("path", tool, pattern)
    return Trigger("words", tool, pattern.casefold())


# Matching.

MAX_PATTERNS: Final = 16_384
"""Patterns, and segments of them, that are kept split at their stars."""


def has_tool(trigger: Trigger, tool: str) -> bool:
    """Return True if a trigger is about a tool of this (casefolded) name."""
    if not trigger.tool or trigger.tool == tool:
        return True
    family = tool_names().families.get(trigger.tool)
    if family is not None:
        return tool in family
    return "*" in trigger.tool and fits(trigger.tool, tool)


@text_cache(maxsize=MAX_PATTERNS)
def _chunks(pattern: str) -> tuple[str, list[str], str | None]:
    """Return the text before, between and after the stars of a pattern; None for the last if it has no star."""
    first, *rest = pattern.split("*")
    return (first, rest[:-1], rest[-1]) if rest else (first, [], None)


def fits(pattern: str, text: str) -> bool:
    """Return True if `*` of a pattern can stand for what a text has there. One search in the text a star."""
    first, middle, last = _chunks(pattern)
    if last is None:
        return first == text
    if not text.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - len(last) >= at and text.endswith(last)


def fits_command(pattern: str, command: str) -> bool:
    """Return True if a command begins with a pattern; a pattern ends at the end of a word unless it ends with `*`."""
    if pattern.endswith("*"):
        return fits(pattern, command)
    return fits(f"{pattern} *", command) or fits(pattern, command)


def fits_path(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Return True if segments of a path fit those of a pattern, `**` standing for any number of them."""
    at = of = 0
    star = -1
    held = 0
    while at < len(path):
        if of < len(pattern) and pattern[of] == "**":
            star, held = of, at
            of += 1
        elif of < len(pattern) and fits(pattern[of], path[at]):
            of += 1
            at += 1
        elif star >= 0:
            of, held = star + 1, held + 1
            at = held
        else:
            return False
    return all(each == "**" for each in pattern[of:])


def path_pattern(pattern: str) -> tuple[str, ...]:
    """Return the segments of a path pattern; one that does not begin at the root fits at any depth."""
    whole = pattern.removeprefix("~/").removeprefix("./")
    segments = [each for each in whole.split("/") if each and each != "."]
    if whole.endswith("/"):
        segments.append("**")
    if segments and segments[-1] == "**":
        segments[-1:] = ["*", "**"]  # below a directory, not the directory itself
    return tuple(segments) if whole.startswith("/") else ("**", *segments)


MAX_DEPTH: Final = 64
"""Segments of a path that are looked at, the last ones."""


def path_segments(path: str, directory: str = "") -> tuple[str, ...]:
    """Return the segments of a path, without `.` and `..`; one that is not absolute is of `directory`."""
    path = path.replace("\\", "/")
    whole = path if path.startswith(("/", "~")) or path[1:2] == ":" else f"{directory}/{path}"
    kept: list[str] = []
    for each in whole.split("/"):
        if each == "..":
            del kept[-1:]
        elif each not in ("", "."):
            kept.append(each)
    return tuple(kept[-MAX_DEPTH:])


def words_in(pattern: str) -> tuple[str, ...]:
    """Return the words of a pattern, casefolded."""
    return tuple(_WORD.findall(pattern.casefold()))


def has_words(wanted: Iterable[str], words: frozenset[str], text: str) -> bool:
    """Return True if all wanted words are in a text; those of scripts without spaces anywhere in it."""
    return all(each in words if each.isascii() else each in text for each in wanted)


# Files of a patch.


_PATCHED = regex(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


def patched_files(text: str) -> list[str]:
    """Return the paths that a patch of `apply_patch` names; empty for another text."""
    return [(one or other).strip() for one, other in _PATCHED.findall(text)] if "*** Begin Patch" in text else []
