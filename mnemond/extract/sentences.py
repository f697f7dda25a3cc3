"""Where sentences end: in English and Chinese, but not within versions, addresses, names of files or abbreviations."""

from __future__ import annotations

import re

_MASKED = re.compile(r"`[^`\n]{1,400}`|https?://[^\s<>]{1,400}")
_END = re.compile(r"[。！？]+[」』”’）\"')]*|(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|dr|mr|mrs|ms|prof|st|nos?|fig|approx|resp|incl|al|ca|eq|sec|ver|vol|ch|pp|dept|est|jr|sr"
    r"|inc|ltd"
    r"|co|corp|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|(?<![\w.])[A-Za-z])\.$",
    re.IGNORECASE,
)
_ENDS_ANYWAY = re.compile(r"\bno\.$", re.IGNORECASE)
"""What is an abbreviation before a number alone."""

_BEFORE = 12
"""Characters before a full stop in which an abbreviation lies."""


def sentences(text: str) -> list[str]:
    """The sentences of one line of prose, stripped, with their closing marks. Linear time."""
    masked = _MASKED.sub(lambda found: "x" * len(found[0]), text)
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
    """Whether the full stop before `end` belongs to an abbreviation: "e.g.", "Dr.", an initial."""
    if _ABBREVIATION.search(text, max(0, end - _BEFORE), end) is None:
        return False
    following = text[end : end + 2].strip()
    return following != "" and (following.isdigit() or not _ENDS_ANYWAY.search(text, max(0, end - _BEFORE), end))
