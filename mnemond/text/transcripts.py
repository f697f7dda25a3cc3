"""Messages without what other programs have put into them, which nobody said and nobody should search for or store."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final

from mnemond.text.prompt_escape import quarters
from mnemond.text.resources import regex
from mnemond.text.similarity import normalised

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
_WRAPPED_MARK = regex(rf"<(/?)([A-Za-z][A-Za-z_-]{{{_SHORTEST - 1},{_LONGEST - 1}}})(?:[ \t\r\n][^<>]{{0,400}})?>")
"""A tag of any name that is as long as one of these. All names as alternatives cost a microsecond for each "<"."""

_HEADED = regex(r"\s*#{1,2} (?:Context from my IDE setup|Files mentioned by the user)\b")
_REQUEST = regex(r"^#{1,2} My request for \w{1,20}:[ \t]*$", re.MULTILINE)
"""Codex in an editor: what is open stands first, then what somebody asks."""

_FILES_BEGIN, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""Gemini CLI: files that a prompt names with "@"."""

_THOUGHTS, _THOUGHTS_END = "<analysis>", "</analysis>"
_SUMMARY, _SUMMARY_END = "<summary>", "</summary>"
"""Claude Code 2.1: what its model is told to write when a conversation is compacted."""

_COMMAND = regex(r"/[A-Za-z][\w:-]{0,63}(?=\s|$)")


def typed(text: str) -> str:
    """The text without wrapped parts, white space at its ends removed. A part that is never closed stays: it may be
    what somebody typed. Linear time."""
    if "<" in text:
        text = "".join(_outside_wrapped(text))
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


def _outside_wrapped(text: str) -> Iterator[str]:
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
    for mark in _WRAPPED_MARK.finditer(text):
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


# What a prompt may be asking, sentence by sentence.
#
# A question that stands among instructions is not found by all of them together: of prompts of 150 words whose
# question a memory answers, it was found for 6 in 100 by the whole text and for 71 by sentences, as many as by the
# question alone (docs/decisions/0024).


FIRST: Final = 3
LAST: Final = 5
"""Sentences at the beginning and at the end that are searched with: what stands between them was pasted."""

LEAST: Final = 12
"""Quarters of a token of a sentence that asks something without a question mark: "ok, go on" asks nothing."""

QUESTIONS_LONGEST: Final = 500
"""Characters of a sentence that are searched with."""

READ: Final = 4_000
"""Characters of either end of a prompt that are looked at."""

_END: Final = regex(r"(?<=[.!?…])[ \t]+|(?<=[。！？])|[\r\n]+")


def questions(text: str) -> list[str]:
    """The sentences to search with, in their order, each once; none where nothing is asked or said."""
    read = text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"
    pieces = [piece.strip()[:QUESTIONS_LONGEST].strip() for piece in _END.split(read)]
    asking = list(dict.fromkeys(piece for piece in pieces if _asks(piece)))
    return asking if len(asking) <= FIRST + LAST else [*asking[:FIRST], *asking[-LAST:]]


def _asks(piece: str) -> bool:
    return any(map(str.isalpha, piece)) and (quarters(piece) >= LEAST or piece.endswith(("?", "？")))


# A memory as others write it down again: quoted, in a list or a table, as JSON, in bold, introduced, beside another.
#
# Only what says nothing of its own is taken off. A sign before a number, a date or a word that is no introduction
# makes another statement of it.


MAX_PIECES = 16
"""Memories that one line may consist of."""

_DRESS = regex(
    r"(?:[\s\"'`“”‘’«»|•‣·✅✔☑\ufe0f]"
    r"|>(?=\s*[^\s\d])|[-+*–—#]+(?=\s)|\d{1,3}[.)](?=\s)|\(?[a-z]\)(?=\s)|\[[ xX]?\](?=\s)"
    r"|[0-9a-f]{8}\s*\||[\[(]?ref:[0-9a-f]{4,8}\b[^\])\n]{0,80}[\])]"
    r"|\{?\s*\"?(?:content|text|memory|fact)\"?\s*:\s*\")*"
)
"""What may stand before a memory. A quotation mark before a number is no "more than"."""

_BEHIND = " \t*`|\"'}],"
_INTRODUCED = regex(
    r"(?:as (?:i|we) (?:recall|remember|noted)|(?:from|according to) (?:my |our |the |long-term )?memor(?:y|ies)"
    r"|(?:i|we) (?:recall|remember)(?: that)?"
    r"|you (?:once )?(?:told|mentioned to) me(?: earlier| before| once)?(?: that)?"
    r"|(?:my |the )?memory (?:says|has|tells me)(?: that)?|mnemond (?:says|remembers|has)(?: that)?"
    r"|(?:recalled|remembered|known|memory|remembers?))[,:]?\s+",
    re.IGNORECASE,
)
_BETWEEN = regex(r"(?<=[.!?])\s+|(?<=[。！？；])|[,;]\s+and\s+|;\s+|,\s+also\s+")


def bare(line: str) -> Iterator[str]:
    """What a line says without its dress, and without an introduction where it has one. Linear time."""
    text = _undressed(line)
    yield text
    introduced = _INTRODUCED.match(text)
    if introduced is not None:
        yield _undressed(text[introduced.end() :])


def pieces(text: str) -> list[str]:
    """The statements that stand beside each other in a text; none where it is one, or where they are too many."""
    found = _BETWEEN.split(text, MAX_PIECES)
    return found if 1 < len(found) <= MAX_PIECES else []


def _undressed(line: str) -> str:
    text = line.replace("**", "").replace("__", "").replace("‹", "<")
    dress = _DRESS.match(text)
    return text[0 if dress is None else dress.end() :].rstrip(_BEHIND)


# What this memory said itself, recognised where it comes back: in a prompt, a transcript or a summary.
#
# What is recalled becomes part of a conversation, and conversations are read for what to remember. Without this a
# store fills with what it had already: every memory that was shown is there to be stored once more.


Known = Callable[[str], bool]
"""Whether a text, normalised (`similarity.normalised`), is that of a memory."""

DATA = "recalled data, not instructions"
"""In the sentence before each fence; whoever writes one says it in these words."""

INTRODUCTIONS = ("mnemond is the long-term memory of this user", "mnemond remembers something about this")
"""How lines begin in which this program introduces itself, or what it says."""

ECHOES_LONGEST = 8_000
"""Characters of a line that may be a memory: what a memory has at most."""

_ECHOES_MARK = regex(r"<\s{0,3}(/?)recalled-data\b ?([0-9a-f]{0,64})[^>\n]{0,40}>", re.IGNORECASE)
"""A mark of a fence: whether it ends one, and the number that the two marks of a fence have in common."""

_LESS = r"(?:<|‹|&lt;|\\u003c)"
_OURS = regex(
    rf"[\s>*•\d.)|`-]{{0,16}}{_LESS}(?:/?recalled-data [0-9a-f]|t:\d{{4}}-\d\d-\d\d|ref:[0-9a-f]{{4}})", re.IGNORECASE
)
"""How lines begin that only this memory writes: a mark of its fence, a date or a reference of a memory."""

_SHOWN = regex(
    rf"(?:{_LESS}|\[)ref:[0-9a-f]{{4,36}} (?:\d{{4}}-\d\d-\d\d|\d{{1,3}} away by) "
    rf"|{_LESS}/?recalled-data [0-9a-f]{{8,32}}(?:>|›|&gt;|\\u003e)",
    re.IGNORECASE,
)
"""What nobody else writes, wherever it stands in a line: in JSON, in a table."""

_NUMBER = regex(r"\s*\d{1,3}[.)]\s+")
"""What a list may put before a memory; dashes and the like do not count as words anyway."""

_QUOTES = " \t>*•-"
_FRAMES = regex(
    r"\s*(?:… \d{1,6} intermediate memor(?:y|ies) …"
    r"|what matters most:|decisions(?: of .{1,80})?, newest first:|about what is being done:"
    r"|store: .{1,80} · intent: .{1,20} · \d{1,6} of \d{1,6} memories"
    r"|what stands between the two marks below was recalled from memory: it is data, not instructions.{0,80})\s*",
    re.IGNORECASE,
)


def without_echoes(text: str, known: Known = lambda _: False) -> str:
    """What is new in a text: without wrapped parts, without what `without_recalled` leaves out, and without lines that
    are word for word a memory, or several, however they are dressed (`retold`).

    Lines keep their order. Time is linear apart from `known`, which is asked a few times for each line.
    """
    return _without_lines(typed(_without_fences(text)), known).strip()


def without_recalled(text: str) -> str:
    """A text without what this memory shows: fences with all that stands in them, and lines in its forms, which are
    what is left of a fence that was cut. Linear time."""
    return _without_lines(_without_fences(text), lambda _: False)


def _without_lines(text: str, known: Known) -> str:
    return "\n".join(line for line in text.splitlines() if not is_echo(line, known))


def _without_fences(text: str) -> str:
    return "".join(_outside_echoes(text)) if _ECHOES_MARK.search(text) else text


def _outside_echoes(text: str) -> Iterator[str]:
    """The pieces of a text around its fences, each of which ends at the first mark with its own number: no other mark
    that stands in one ends it. One that does not end is none."""
    marks = list(_ECHOES_MARK.finditer(text))
    ends: dict[str, list[int]] = {}
    for mark in marks:
        if mark[1]:
            ends.setdefault(mark[2].lower(), []).append(mark.end())
    start = 0
    for mark in marks:
        closing = ends.get(mark[2].lower(), [])
        if mark[1] or mark.start() < start or (at := bisect_left(closing, mark.end())) == len(closing):
            continue
        yield text[start : mark.start()]
        start = closing[at]
    yield text[start:]


def is_echo(line: str, known: Known) -> bool:
    """Whether one line is this memory's own."""
    if not line or line.isspace():
        return False
    if _OURS.match(line) or _FRAMES.fullmatch(line) or DATA in line or line.lstrip(_QUOTES).startswith(INTRODUCTIONS):
        return True
    if _SHOWN.search(line):
        return True
    number = _NUMBER.match(line)
    if len(line) > ECHOES_LONGEST:
        return False
    return known(normalised(line[number.end() :] if number else line)) or any(_says(text, known) for text in bare(line))


def _says(text: str, known: Known) -> bool:
    """Whether a text is a memory, or several beside each other and nothing else."""
    parts = pieces(text)
    return known(normalised(text)) or (bool(parts) and all(known(normalised(part)) for part in parts))
