"""Which lines of a message a program wrote: logs, traces, code, diffs, listings. Nobody says anything in them."""

from __future__ import annotations

import re

LOOKED_AT = 400
"""Characters of a line that are looked at; a longer line without a space in them is no prose anyway."""

LONGEST_WORD = 80
"""Characters without a space that people write at most, but for an address; scripts without spaces are not meant."""

MOST_MARKS = 0.18
"""The share of marks of a programming language among the characters of a line from which on it is code."""

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
_MACHINE = re.compile("|".join(f"(?:{each})" for each in (_TIME, _LEVEL, _TRACE, _PROMPT, _DIFF, _CODE, _LISTING,
                                                          _COMMAND)))  # fmt: skip
_SPANS = re.compile(r"`[^`]{1,200}`|https?://\S{1,200}|“[^”]{1,200}”|\"[^\"]{1,200}\"")
_MARKS = frozenset('{}[]()<>=;|\\/_$#&*^~+@"')
_ENDS = ("{", "}", ";", "=>", "->", "):", "(", "[", "\\", "=")


def is_machine(line: str) -> bool:
    """Whether a program wrote `line`, which is stripped and not empty. Time is bounded for any line."""
    seen = line[:LOOKED_AT]
    if _MACHINE.match(seen) is not None or seen.endswith(_ENDS):
        return True
    words = seen.split()
    if len(words) == 1 and seen.isascii() and any(mark in seen.rstrip(".:!?,;") for mark in "._/\\:"):
        return True  # a path, a name, a version
    if any(len(word) > LONGEST_WORD and word.isascii() and "://" not in word for word in words):
        return True
    bare = _SPANS.sub("", seen)
    marks = sum(char in _MARKS for char in bare)
    return marks > 3 and marks > MOST_MARKS * len(bare)
