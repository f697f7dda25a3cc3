"""The prose of a message: its sentences without code, logs, tables, quotes and the insertions of hosts.

One pass over the lines; the sentences come in groups with the same subject.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

import msgspec

from mnemond.text.name_lists import name_lists
from mnemond.text.resources import regex
from mnemond.text.tokens import fold
from mnemond.text.transcripts import without_recalled

# ---------------------------------------------------------------- lines that a program wrote

MAX_LINE = 400
"""Characters of a line that are checked; a longer line without a space in them is no prose anyway."""

MAX_WORD = 80
"""Characters of an ASCII word that a person writes, except for an address."""

MAX_MARKS = 0.18
"""The share of marks of a programming language among the characters of a line, above which it is code."""

_TIME = (
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" [ \d]\d \d\d:\d\d"
)
_LEVEL = r"\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b\]?[:\s]|npm (?:ERR|WARN)|E {2,}\S"
_TRACE = (
    r"(?:at|in) [\w.$<>/\\:]+ ?\(|File \"|Traceback |Caused by: |\.\.\. \d+ more|goroutine \d|panic: |error\[E\d"
    r"|(?:error|warning|fatal|note): |\^+$|[\w.]{1,80}(?:Error|Exception)(?:: |$)"
)
_PROMPT = r"[$%❯➜] \S|[\w.-]{1,40}@[\w.-]{1,60}[:~]|PS [A-Z]:\\|>>> |C:\\"
_DIFF = r"diff --git |index [0-9a-f]{6,}\.\.|@@ |\+\+\+ |--- [ab/]|[+-](?=[\w@\"'#/(])\S*[(=:.;{]|[+-] {4}"
_CODE = (
    r"(?:async )?def \w+\(|class \w+[(:{]|(?:from [\w.]+ )?import [\w.{*]+(?:[ ,;]|$)(?:as \w+|\w+;?)?$"
    r"|from [\w.]+ import |(?:const|let|var) [\w{\[]+ ?[=,:]|(?:export|public|private|protected|static|pub) \w+ .*[({]"
    r"|func(?:tion)? ?\w*\(|fn \w+|#include|#!/|package [\w.]+;?$|using [\w.]+;|return\b.*[;()]|(?:if|for|while)"
    r" ?\(.*\)"
    r"|(?:for \w+ in|if|while|with|elif|else|try|except)\b.*:$|@[\w.]+(?:\(|$)|</?\w|/\*|\*/|//|<!--|SELECT |INSERT"
    r" INTO|"
    r"UPDATE \w+ SET|DELETE FROM|CREATE \w+ |ALTER TABLE|FROM \w+( \w)?$|WHERE \S+ |(?:LEFT|INNER|RIGHT)? ?JOIN "
    r"|ORDER BY |GROUP BY |VALUES ?\("
)
_LISTING = (
    r"[-dl][rwx-]{9}|total \d+$|[\w.-]+:\s\S+$|[\"']?[\w.-]+[\"']?\s?[:=]\s?[\"'\[{\d]|[A-Z_]{3,}=|[{}\[\]()<>,;]+$"
    r"|[=_*#~-]{4,}|[\w./-]+\s+[.FEsx]{2,}\s|(?:collected|platform|cachedir|rootdir|plugins)[: ]|FAILED |PASSED "
    r"|[├└│]"
)
_COMMAND = (
    r"(?:sudo )?(?:git|docker|kubectl|npm|npx|pnpm|yarn|pip|uv|cargo|go|make|curl|wget|ssh|cd|ls|cat|grep|python3?|apt)"
    r"(?: \S+){0,4} --?\w[\w-]*(?: \S+)?$"
)
_MACHINE = regex("|".join(f"(?:{each})" for each in (_TIME, _LEVEL, _TRACE, _PROMPT, _DIFF, _CODE, _LISTING,
                                                          _COMMAND)))  # fmt: skip
_SPANS = regex(r"`[^`]{1,200}`|https?://\S{1,200}|“[^”]{1,200}”|\"[^\"]{1,200}\"")
_MARKS = frozenset('{}[]()<>=;|\\/_$#&*^~+@"')
_ENDS = ("{", "}", ";", "=>", "->", "):", "(", "[", "\\", "=")


def is_machine(line: str) -> bool:
    """Return True if a program wrote `line`, which is stripped and not empty. Time is bounded for any line."""
    seen = line[:MAX_LINE]
    if _MACHINE.match(seen) is not None or seen.endswith(_ENDS):
        return True
    words = seen.split()
    if len(words) == 1 and seen.isascii() and any(mark in seen.rstrip(".:!?,;") for mark in "._/\\:"):
        return True  # a path, a name, a version
    if any(len(word) > MAX_WORD and word.isascii() and "://" not in word for word in words):
        return True
    bare = _SPANS.sub("", seen)
    marks = sum(char in _MARKS for char in bare)
    return marks > 3 and marks > MAX_MARKS * len(bare)


# ---------------------------------------------------------------- sentences
#
# English and Chinese ones; a full stop in a version, an address, a file name or an abbreviation ends none.

_MASKED = regex(r"`[^`\n]{1,400}`|https?://[^\s<>]{1,400}")
QUOTED = regex(
    r"\"[^\"\n]{4,1200}\"|“[^”\n]{4,1200}”|„[^“”\n]{4,1200}[“”]|«[^»\n]{4,1200}»|「[^」\n]{4,1200}」|『[^』\n]{4,1200}』"
    r"|(?<![\w'’])['‘](?=\w)(?:[^'’\n]|['’](?=\w)){8,1200}['’](?!\w)"
)
"""A quotation within a line."""

_KEPT = 2
"""Characters at the end of a quotation that may end the sentence around it."""

_END = regex(r"[。！？]+[」』”’）\"')]*|(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)")
_ABBREVIATION = regex(
    r"(?:\b(?:e\.g|i\.e|cf|vs|dr|mr|mrs|ms|prof|st|nos?|fig|approx|resp|incl|al|ca|eq|sec|ver|vol|ch|pp|dept|est|jr|sr"
    r"|inc|ltd"
    r"|co|corp|bzw|max|min|std|sek|nr|str|tel|evtl|inkl|zzgl|mio|mrd|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov"
    r"|dec)|(?<![\w./])(?-i:[A-Z]))\.$",
    re.IGNORECASE,
)
_ENDS_ANYWAY = regex(r"\bno\.$", re.IGNORECASE)
"""An abbreviation only before a number."""

_UNIT_ENDS = regex(
    r"\b(?:min|max|std|sek|mio|mrd|str|sec|inc|ltd|co|corp|dept|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
"""An abbreviation that ends a sentence before a capital."""

_LETTER_ENDS = regex(r"(?<![\w.])[A-Z]\.$")
_BEGINS = regex(
    r"\s+(?:I|I'm|I've|We|We're|My|Our|The|This|That|These|Those|It|It's|He|She|They|There|You|Your|What|How|Why|When"
    r"|Where|Who"
    r"|Can|Could|Would|Please|And|But|So|Also|If|In|On|For|Is|Are|Do|Does|Then|Now)(?!\w|\.)"
)
"""A letter ends a sentence before one of the words that begin most of them: "plan B. We …"."""

_GERMAN = regex(
    r"(?<![^\W\d_])[a-zäöü]\.(?=\s?[A-Za-z]\.)|(?<!\w)\d{1,2}\.(?=\s(?:Januar|Jänner|Februar|März|April|Mai|Juni"
    r"|Juli|August"
    r"|September|Oktober|November|Dezember|Jan|Feb|Apr|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Stock|Etage|Klasse|Semester|Quartal"
    r"|Platz|OG|Obergeschoss)\b)|(?<=[^\W\d_]\.\s)[A-Z]\.|(?<=[^\W\d_]\.)[A-Z]\."
)
"""Full stops of "z. B." and "3. August"."""

_BEFORE = 12
"""Characters before a full stop in which an abbreviation lies."""


def sentences(text: str) -> list[str]:
    """The sentences of one line of prose, stripped, with their closing marks. Linear time."""
    masked = _MASKED.sub(lambda found: "x" * len(found[0]), text)
    masked = QUOTED.sub(lambda found: "x" * (len(found[0]) - _KEPT) + found[0][-_KEPT:], masked)
    found: list[str] = []
    start = 0
    for end in _END.finditer(masked):
        if end[0][0] == "." and len(end[0]) == 1 and _is_abbreviation(masked, end.end()):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    found.append(text[start:].strip())
    return [each for each in found if each]


def _is_abbreviation(text: str, end: int) -> bool:
    """Return True if the full stop before `end` belongs to an abbreviation: "e.g.", "Dr.", an initial."""
    if any((found := _GERMAN.match(text, max(0, end - size))) and found.end() == end for size in (2, 3)):
        return True
    if _ABBREVIATION.search(text, max(0, end - _BEFORE), end) is None:
        return False
    following = text[end : end + 2].strip()
    if _LETTER_ENDS.search(text, max(0, end - _BEFORE), end) and _BEGINS.match(text, end):
        return False
    if _UNIT_ENDS.search(text, max(0, end - _BEFORE), end):
        return following != "" and not following[0].isupper()
    return following != "" and (following.isdigit() or not _ENDS_ANYWAY.search(text, max(0, end - _BEFORE), end))


# ---------------------------------------------------------------- reading a message

MAX_READ = 100_000
"""Characters of a message that are read: more was pasted."""

MAX_CODE_LINES = 5
"""Lines of a block of code that may be part of the sentence before it."""

MAX_CODE = 160
"""Characters of such a block."""

MIN_WRAPPED = 60
"""Characters from which on a line may have been broken by an editor rather than ended by its writer."""

MAX_UNWRAPPED = 2_000
"""Characters up to which broken lines are joined again."""

_FENCE = regex(r"\s{0,12}(`{3,}|~{3,})")
_TAG = regex(r"<([A-Za-z][\w-]{0,40})(?:\s[^<>]{0,200})?>")
_CLOSING = regex(r"</([A-Za-z][\w-]{0,40})\s*>")
_BULLET = regex(r"(?:[-*+•–]|\d{1,3}[.)]|[a-z]\)|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_EMPHASIS = regex(r"\*\*|__(?=\w)|(?<=\w)__|(?<![\w*])\*(?=\w)|(?<=[\w.!?])\*(?![\w*])")
_LINK = regex(r"!?\[([^\[\]]{1,200})\]\([^()\s]{1,300}\)")
_HAS_LETTER = regex(r"[^\W\d_]")
_SLASH = regex(r"/[A-Za-z][\w:-]{0,63}(?:\s|$)")
"""A command of a host at the beginning of a line."""


_SPEAKER = regex(
    r"(?:(?P<time>\[?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[AaPp][Mm])?\]?)[\s,–-]*)?"
    r"(?P<name>@?[A-Z][\w.'’-]{1,24}(?: [A-Z][\w.'’-]{0,24}){0,2}|[\u4e00-\u9fff]{1,5})"
    r"(?: ?\([^()\n]{1,40}\))?\s?[:：]\s*\S"
)
_WORDS_BEFORE_COLON = regex(
    r"(?i:corrections?|decisions?|decided|agreed|verdict|notes?|rules?|remember|todos?|update|ps|btw|fyi|important|fix"
    r"|questions?|answer|next|example|again|new rule|house rule|convention|policy|guideline|reason|prefer\w*|always"
    r"|never|entscheidung|beschluss|korrektur|regel|merke?|wichtig|frage|notiz|nochmal|beispiel|grund)\Z"
    r"|.*(?:决定|结论|规则|约定|规范|记住|更正|纠正|注意|问题|原因|另外|请|以后|补充|要求)"
)


def _talk(lines: list[str]) -> frozenset[int]:
    """Return the lines of a pasted talk: "Ana: …", with a time in front, a given name, or a name with several turns."""
    found = {
        at: speaker
        for at, line in enumerate(lines)
        if (speaker := _SPEAKER.match(line.strip()[:MAX_LINE])) and not _WORDS_BEFORE_COLON.match(speaker["name"])
    }
    turns = Counter(each["name"] for each in found.values())
    given = name_lists().given

    def is_turn(speaker: re.Match[str]) -> bool:
        first = speaker["name"].lstrip("@").split(maxsplit=1)[0]
        return speaker["time"] is not None or turns[speaker["name"]] > 1 or fold(first) in given

    return frozenset(at for at, each in found.items() if is_turn(each))


class Sentence(msgspec.Struct, frozen=True):
    """One sentence of prose. `group`: sentences with the same number belong together; `itemised`: it is in a list."""

    text: str
    group: int
    itemised: bool = False


class Prose(msgspec.Struct, frozen=True):
    """The sentences of a message in order, and every other part, with its kind."""

    sentences: tuple[Sentence, ...]
    others: tuple[tuple[str, str], ...]


def prose(content: str) -> Prose:
    """The prose of `content`. Linear time."""
    reader = _Reader()
    kept = without_recalled(content[:MAX_READ])
    reader.read(kept.splitlines())
    if len(content) > MAX_READ:
        reader.leave_out(content[MAX_READ:], "length")
    recalled = _recalled(content[:MAX_READ], kept)
    others = [("\n".join(lines), reason) for lines, reason in reader.others]
    return Prose(tuple(reader.sentences), (*others, *([(recalled, "recalled")] if recalled else [])))


def _recalled(content: str, kept: str) -> str:
    """The lines of `content` that `kept` does not have."""
    if len(content) == len(kept):
        return ""
    left = Counter(kept.splitlines())
    gone = []
    for line in content.splitlines():
        if left[line]:
            left[line] -= 1
        else:
            gone.append(line)
    return "\n".join(gone).strip()


class _Reader:
    """Reads the lines once; the group changes wherever a new subject may begin."""

    def __init__(self) -> None:
        self.sentences: list[Sentence] = []
        self.others: list[tuple[list[str], str]] = []
        self._group = 0
        self._line = ""
        self._itemised = False
        self._in_diff = False
        self._left_out = ""
        self._talk: frozenset[int] = frozenset()

    def read(self, lines: list[str]) -> None:
        closings = _closings(lines)
        self._talk = _talk(lines)
        at = 0
        while at < len(lines):
            at = self._fenced(lines, at) or self._tagged(lines, at, closings) or self._plain(lines[at], at)
        self._end()

    def leave_out(self, text: str, reason: str) -> None:
        """Note a part that is no prose; neighbours of one kind are one part."""
        self._end()
        if self._left_out == reason:
            self.others[-1][0].append(text)
        else:
            self.others.append(([text], reason))
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
        inline = "; ".join(filter(None, map(str.strip, code))) if len(code) <= MAX_CODE_LINES else ""
        if inline and len(inline) <= MAX_CODE and "`" not in inline and self._line.endswith((":", "：")):
            self._line = f"{self._line} `{inline}`"
            self._end()
        else:
            self.leave_out("\n".join(lines[at : end + 1]), "code")
        return end + 1

    def _tagged(self, lines: list[str], at: int, closings: dict[str, list[int]]) -> int:
        """The line behind a block in tags that begins at `at`, as hosts add them to a prompt; 0 if none does."""
        opening = _TAG.match(lines[at].lstrip())
        if opening is None:
            return 0
        places = closings.get(opening[1].lower(), [])
        behind = bisect_right(places, at - 1)
        end = places[behind] + 1 if behind < len(places) else at + 1
        self.leave_out("\n".join(lines[at:end]), "markup")
        return end

    def _plain(self, raw: str, at: int) -> int:
        line = raw.strip()
        if not line:
            self._in_diff = False
            self._paragraph()
        elif self._in_diff or line.startswith(("diff --git ", "@@ ")):
            self._in_diff = True
            self.leave_out(line, "code")
        elif line.startswith((">", "＞")) or at in self._talk:
            self.leave_out(line, "quote")
        elif _SLASH.match(line):
            self.leave_out(line, "command")
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
        """Split the collected line, which is complete."""
        if self._line:
            plain = _LINK.sub(r"\1", self._line)
            found = (Sentence(each, self._group, self._itemised) for each in sentences(plain))
            self.sentences.extend(found)
        self._line = ""


def _goes_on(line: str, following: str) -> bool:
    """Return True if an editor, not the writer, broke the line here."""
    return MIN_WRAPPED <= len(line) <= MAX_UNWRAPPED and line[-1] not in ".!?:;。！？：；" and following[0].islower()


def _closings(lines: list[str]) -> dict[str, list[int]]:
    """The lines in which each tag is closed, ascending."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        if "</" in line:
            for found in _CLOSING.finditer(line):
                places.setdefault(found[1].lower(), []).append(at)
    return places
