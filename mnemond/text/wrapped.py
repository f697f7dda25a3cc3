"""Messages without what other programs have put into them, which nobody said and nobody should search for or store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LEFT_OUT: Final = {
    "this program": ("recalled-data",),
    "Claude Code": (
        "system-reminder", "command-name", "command-message", "local-command-stdout", "local-command-stderr",
        "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "ide-opened-file", "ide-selection",
        "ide-diagnostics", "new-diagnostics", "task-notification", "teammate-message", "user-prompt-submit-hook",
    ),
    "Codex": ("environment-context", "user-instructions", "turn-aborted", "response-annotations"),
    "Gemini CLI": ("hook-context", "session-context"),
    "Cursor": (
        "additional-data", "attached-files", "open-and-recently-viewed-files", "user-info", "project-layout",
        "git-status", "system-notification",
    ),
    "Copilot": ("attachments", "attachment", "editorcontext", "reminderinstructions", "workspace-info",
                "environment-info"),
    "Cline": ("environment-details", "file-content", "explicit-instructions"),
    "Windsurf": ("additional-metadata", "user-information", "ephemeral-message"),
    "other memories": (
        "relevant-memories", "claude-mem-context", "supermemory-context", "memory-context", "hindsight-memories",
    ),
    "whoever does not want it kept": ("private",),
}  # fmt: skip
"""Tags around what somebody typed nothing of, by who writes them: as seen in transcripts that these programs left. "_"
and "-" are the same in them, and case does not matter."""

OPENED: Final = {
    "Claude Code": ("command-args",),
    "Cursor": ("user-query",),
    "Copilot": ("userrequest",),
    "Cline": ("task", "feedback", "user-message"),
}
"""Tags around what somebody typed: they go, and what stands in them stays."""

_LEFT_OUT: Final = frozenset(name for names in LEFT_OUT.values() for name in names)
_OPENED: Final = frozenset(name for names in OPENED.values() for name in names)
_SHORTEST: Final = min(map(len, _LEFT_OUT | _OPENED))
_LONGEST: Final = max(map(len, _LEFT_OUT | _OPENED))
_MARK = re.compile(rf"<(/?)([A-Za-z][A-Za-z_-]{{{_SHORTEST - 1},{_LONGEST - 1}}})(?:[ \t\r\n][^<>]{{0,400}})?>")
"""A tag of any name that is as long as one of these. All names as alternatives cost a microsecond for each "<"."""

_HEADED = re.compile(r"\s*#{1,2} (?:Context from my IDE setup|Files mentioned by the user)\b")
_REQUEST = re.compile(r"^#{1,2} My request for \w{1,20}:[ \t]*$", re.MULTILINE)
"""Codex in an editor: what is open stands first, then what somebody asks."""

_FILES_BEGIN, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""Gemini CLI: files that a prompt names with "@"."""

_THOUGHTS, _THOUGHTS_END = "<analysis>", "</analysis>"
_SUMMARY, _SUMMARY_END = "<summary>", "</summary>"
"""Claude Code 2.1: what its model is told to write when a conversation is compacted."""

_COMMAND = re.compile(r"/[A-Za-z][\w:-]{0,63}(?=\s|$)")


def typed(text: str) -> str:
    """The text without wrapped parts, white space at its ends removed. A part that is never closed stays: it may be
    what somebody typed. Linear time."""
    if "<" in text:
        text = "".join(_outside(text))
    if (headed := _HEADED.match(text)) and (request := _REQUEST.search(text, headed.end())):
        text = text[request.end() :]
    return "".join(_without_files(text)).strip()


def asked(said: str) -> str:
    """What a prompt asks, to be searched for: as `typed`, and without the name of a command that it begins with."""
    command = _COMMAND.match(said)
    return said if command is None else said[command.end() :].strip()


def summary(text: str) -> str:
    """What a model wrote that was told to sum up a conversation, without its thoughts before and the marks around it:
    Claude Code hands on both."""
    text = text.strip()
    if text.startswith(_THOUGHTS) and (end := text.find(_THOUGHTS_END)) >= 0:
        text = text[end + len(_THOUGHTS_END) :].lstrip()
    if text.startswith(_SUMMARY):
        text = text[len(_SUMMARY) :].removesuffix(_SUMMARY_END)
    return text.strip()


def _outside(text: str) -> Iterator[str]:
    """The pieces of `text` between what is left out, without the marks of what is opened."""
    start = 0
    for begin, end in _spans(text):
        if begin >= start:
            yield text[start:begin]
        start = max(start, end)
    yield text[start:]


def _without_files(text: str) -> Iterator[str]:
    start = 0
    while (begin := text.find(_FILES_BEGIN, start)) >= 0:
        end = text.find(_FILES_END, begin)
        if end < 0:
            break
        yield text[start:begin]
        start = end + len(_FILES_END)
    yield text[start:]


def _spans(text: str) -> list[tuple[int, int]]:
    """What is left out, by where it begins: from an opening mark to the mark that closes it, and single marks."""
    found: list[tuple[int, int]] = []
    waiting: dict[str, list[int]] = {}
    for mark in _MARK.finditer(text):
        name = mark[2]
        if name not in _LEFT_OUT:
            name = name.casefold().replace("_", "-")
        if name in _OPENED:
            found.append(mark.span())
        elif name not in _LEFT_OUT:
            continue
        elif not mark[1]:
            waiting.setdefault(name, []).append(mark.start())
        elif begun := waiting.get(name):
            found.append((begun.pop(), mark.end()))
    return sorted(found)
