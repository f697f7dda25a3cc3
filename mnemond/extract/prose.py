"""What of a message somebody said: its text without code, logs, tables, quotes and what a host put into it.

One pass over the lines; what is left comes in groups, the sentences of which speak of the same things.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from mnemond.extract.machine_lines import is_machine
from mnemond.extract.sentences import sentences
from mnemond.text.echoes import without_recalled

MOST_READ = 100_000
"""Characters read of one message: more was pasted."""

LONG_CODE = 5
"""Lines of a block of code above which it is never part of a sentence (spec 9)."""

SHORT_CODE = 160
"""Characters of a short block that may be put into the sentence which announces it."""

WRAPPED = 60
"""Characters from which on a line may have been broken by an editor rather than ended by its writer."""

LONGEST_LINE = 2_000
"""Characters up to which broken lines are put together again."""

_FENCE = re.compile(r"\s{0,12}(`{3,}|~{3,})")
_TAG = re.compile(r"<([A-Za-z][\w-]{0,40})(?:\s[^<>]{0,200})?>")
_CLOSING = re.compile(r"</([A-Za-z][\w-]{0,40})\s*>")
_BULLET = re.compile(r"(?:[-*+•–]|\d{1,3}[.)]|[a-z]\)|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|(?<![\w*])\*(?=\w)|(?<=[\w.!?])\*(?![\w*])")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\([^()\s]{1,300}\)")
_HAS_LETTER = re.compile(r"[^\W\d_]")


class Sentence(msgspec.Struct, frozen=True):
    """One sentence of prose. `group`: those with the same number stand together; `itemised`: it stands in a list."""

    text: str
    group: int
    itemised: bool = False


class Prose(msgspec.Struct, frozen=True):
    """The sentences of a message in order, and the first line of each part that is none, with what it is."""

    sentences: tuple[Sentence, ...]
    others: tuple[tuple[str, str], ...]


def prose(content: str) -> Prose:
    """What somebody said in `content`. Linear time."""
    reader = _Reader()
    reader.read(without_recalled(content[:MOST_READ]).splitlines())
    if len(content) > MOST_READ:
        reader.leave_out(content[MOST_READ : MOST_READ + 200], "length")
    return Prose(tuple(reader.sentences), tuple(reader.others))


class _Reader:
    """Goes through the lines once; `group` changes wherever a new subject may begin."""

    def __init__(self) -> None:
        self.sentences: list[Sentence] = []
        self.others: list[tuple[str, str]] = []
        self._group = 0
        self._line = ""
        self._itemised = False
        self._in_diff = False
        self._left_out = ""

    def read(self, lines: list[str]) -> None:
        closings = _closings(lines)
        at = 0
        while at < len(lines):
            at = self._fenced(lines, at) or self._tagged(lines, at, closings) or self._plain(lines[at], at)
        self._end()

    def leave_out(self, text: str, reason: str) -> None:
        """Note a part that is no prose; of neighbours of one kind the first is noted."""
        self._end()
        if self._left_out != reason:
            self.others.append((text, reason))
        self._left_out = reason
        self._group += 1

    def _fenced(self, lines: list[str], at: int) -> int:
        """The line behind a block of code that begins at `at`; 0 if none does."""
        opening = _FENCE.match(lines[at])
        if opening is None:
            return 0
        end = at + 1
        while end < len(lines) and not lines[end].lstrip().startswith(opening[1]):
            end += 1
        code = lines[at + 1 : end]
        inline = "; ".join(filter(None, map(str.strip, code))) if len(code) <= LONG_CODE else ""
        if inline and len(inline) <= SHORT_CODE and "`" not in inline and self._line.endswith((":", "：")):
            self._line = f"{self._line} `{inline}`"
            self._end()
        else:
            self.leave_out(lines[at + 1] if code else lines[at], "code")
        return end + 1

    def _tagged(self, lines: list[str], at: int, closings: dict[str, list[int]]) -> int:
        """The line behind a block in tags that begins at `at`, such as what a host adds to a prompt; 0 if none does."""
        opening = _TAG.match(lines[at].lstrip())
        if opening is None:
            return 0
        places = closings.get(opening[1].lower(), [])
        behind = bisect_right(places, at - 1)
        self.leave_out(lines[at], "markup")
        return places[behind] + 1 if behind < len(places) else at + 1

    def _plain(self, raw: str, at: int) -> int:
        line = raw.strip()
        if not line:
            self._in_diff = False
            self._paragraph()
        elif self._in_diff or line.startswith(("diff --git ", "@@ ")):
            self._in_diff = True
            self.leave_out(line, "code")
        elif line.startswith((">", "＞")):
            self.leave_out(line, "quote")
        elif line.startswith("#") or line.count("|") > 1 or _HAS_LETTER.search(line) is None:
            self.leave_out(line, "markup")
        else:
            self._words(raw, line)
        return at + 1

    def _words(self, raw: str, line: str) -> None:
        indent = len(raw.expandtabs(4)) - len(raw.expandtabs(4).lstrip())
        bullet = _BULLET.match(line)
        text = _EMPHASIS.sub("", line[bullet.end() :] if bullet else line)
        if not text or is_machine(text) or (indent >= 4 and bullet is None and not self._itemised):
            self.leave_out(line, "code")
            return
        self._left_out = ""
        if bullet:
            self._paragraph()
            self._itemised = True
        elif self._line and not _goes_on(self._line, line):
            self._end()
        self._line = f"{self._line} {text}" if self._line else text

    def _paragraph(self) -> None:
        self._end()
        self._itemised = False
        self._group += 1

    def _end(self) -> None:
        """The line is whole."""
        if self._line:
            plain = _LINK.sub(r"\1", self._line)
            found = (Sentence(each, self._group, self._itemised) for each in sentences(plain))
            self.sentences.extend(found)
        self._line = ""


def _goes_on(line: str, following: str) -> bool:
    """Whether an editor, not the writer, broke the line here."""
    return WRAPPED <= len(line) <= LONGEST_LINE and line[-1] not in ".!?:;。！？：；" and following[0].islower()


def _closings(lines: list[str]) -> dict[str, list[int]]:
    """Of each tag the lines in which it is closed, ascending."""
    places: dict[str, list[int]] = {}
    for at, name in _closed(lines):
        places.setdefault(name, []).append(at)
    return places


def _closed(lines: list[str]) -> Iterator[tuple[int, str]]:
    for at, line in enumerate(lines):
        if "</" in line:
            for found in _CLOSING.finditer(line):
                yield at, found[1].lower()
